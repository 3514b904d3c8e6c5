import type { Health } from './health.ts';
import type { Sql } from './transaction.ts';

/** The processes of the installation, as their heartbeats in MySQL show them. */

const SECOND = 1_000;
export const BEAT_EVERY = 5 * SECOND;

/** A process counts as running for this long after its last heartbeat. Three heartbeats fit into this time. Seconds. */
const RUNNING_SECONDS = 15;

/** Two heartbeats further apart than this have one between them that was left out. */
const STEADY_GAP_SECONDS = 9;

/** For this long after MySQL came back, a process that runs may not have written its heartbeat yet. Milliseconds. */
export const HEARTBEATS_SETTLE = BEAT_EVERY + SECOND;

/** The heartbeat of a process. */
interface Heartbeat {
  id: string;
  /** Empty if the process has no supervisor. */
  name: string;
  roles: readonly string[];
  version: string;
  host: string;
  pid: number;
  /** TIME_ZONE_OFFSET, such as "+03". All processes must have the same. */
  timeZoneOffset: string;
  /** OPS_HOST, if operators' passwords cross the network to it in plain text; null: they do not. */
  plainTextHost: string | null;
  /** In per cent of one core. */
  cpuPercent: number;
  /** The 99th percentile of the event loop's delay, in milliseconds. */
  loopDelayMs: number;
  memoryMib: number;
  /** The problem with the DNS servers of its machine. null: there is none. */
  dnsProblem: string | null;
  /** The sessions of its connections to MySQL, separated by commas. */
  sessions: string;
}

export interface ProcessSeen extends Omit<Heartbeat, 'id' | 'sessions'> {
  startedAt: Date;
  seenSecondsAgo: number;
  running: boolean;
  /** Whether its heartbeats come without a gap: for at least 6 s, or since it started. */
  steady: boolean;
  /** What is wrong with MySQL and Redis as the process sees them. null: nothing. */
  mysqlProblem: string | null;
  redisProblem: string | null;
  /** Milliseconds by which its clock is ahead of MySQL's. null: not measured. */
  clockAhead: number | null;
  /** When its supervisor has killed it because it did not answer; null: it has not. */
  killedAt: Date | null;
}

/** Index: the primary key. The times are those of MySQL's clock. `steady_since` is set before `seen_at`, from which it follows. */
const WRITE_HEARTBEAT = `
  INSERT INTO processes (id, name, roles, version, host, pid, time_zone_offset, plain_text_host, cpu_percent, loop_delay_ms, memory_mib, mysql_problem,
    redis_problem, clock_ahead_ms, sessions, dns_problem)
  VALUES (?)
  ON DUPLICATE KEY UPDATE cpu_percent = VALUES(cpu_percent), loop_delay_ms = VALUES(loop_delay_ms), memory_mib = VALUES(memory_mib),
    mysql_problem = VALUES(mysql_problem), redis_problem = VALUES(redis_problem), clock_ahead_ms = VALUES(clock_ahead_ms),
    sessions = VALUES(sessions), dns_problem = VALUES(dns_problem),
    steady_since = IF(seen_at < NOW(6) - INTERVAL ${STEADY_GAP_SECONDS} SECOND, NOW(6), steady_since), seen_at = NOW(6)`;

/** A process that was killed stays visible for an hour. The table has one row per process and is read as a whole. */
const DELETE_GONE_PROCESSES = 'DELETE FROM processes WHERE id = ? OR seen_at < NOW(6) - INTERVAL 1 HOUR';

const READ_PROCESSES = `
  SELECT name, roles, version, host, pid, time_zone_offset AS timeZoneOffset, plain_text_host AS plainTextHost, cpu_percent AS cpuPercent, loop_delay_ms AS loopDelayMs,
    memory_mib AS memoryMib, started_at AS startedAt, mysql_problem AS mysqlProblem, redis_problem AS redisProblem, dns_problem AS dnsProblem, clock_ahead_ms AS clockAhead,
    killed_at AS killedAt, (steady_since <= started_at OR steady_since < NOW(6) - INTERVAL ${HEARTBEATS_SETTLE / SECOND} SECOND) AS steady,
    TIMESTAMPDIFF(MICROSECOND, seen_at, NOW(6)) / 1000000 AS seenSecondsAgo
  FROM processes WHERE seen_at > NOW(6) - INTERVAL 1 HOUR ORDER BY host, started_at LIMIT 500`;

export async function recordHeartbeat(
  sql: Sql,
  beat: Heartbeat,
  { mysql, redis, clockAhead }: Health,
): Promise<void> {
  const problems = [mysql, redis].map((state) => (state === 'ok' ? null : state));
  await sql.query(WRITE_HEARTBEAT, [
    [
      ...[beat.id, beat.name, beat.roles.join(), beat.version, beat.host, beat.pid, beat.timeZoneOffset],
      ...[beat.plainTextHost, beat.cpuPercent, beat.loopDelayMs, beat.memoryMib],
      ...problems,
      clockAhead === null ? null : Math.round(clockAhead),
      ...[beat.sessions, beat.dnsProblem],
    ],
  ]);
}

/** Removes a process that stops, and all processes that have not been seen for an hour. */
export async function removeProcess(sql: Sql, id: string): Promise<void> {
  await sql.query(DELETE_GONE_PROCESSES, [id]);
}

/** A host reuses the ids of processes, but not within an hour. */
const MARK_KILLED =
  'UPDATE processes SET killed_at = NOW(6) WHERE host = ? AND pid = ? AND killed_at IS NULL ORDER BY started_at DESC LIMIT 1';

/** Records that the supervisor of a process has killed it because it did not answer. */
export async function markKilled(sql: Sql, { host, pid }: { host: string; pid: number }): Promise<void> {
  await sql.query(MARK_KILLED, [host, pid]);
}

interface Row extends Omit<ProcessSeen, 'roles' | 'seenSecondsAgo' | 'running' | 'steady' | 'clockAhead'> {
  roles: string;
  seenSecondsAgo: string;
  /** MySQL gives it as a string, MariaDB as a number. */
  steady: number | string;
  clockAhead: string | null;
}

/** Reads all processes that were seen within the last hour, including those that no longer run. */
export async function readProcesses(sql: Sql): Promise<ProcessSeen[]> {
  const rows = await sql.query<Row[]>(READ_PROCESSES);
  return rows.map((row) => ({
    ...row,
    roles: row.roles.split(','),
    seenSecondsAgo: Number(row.seenSecondsAgo),
    running: Number(row.seenSecondsAgo) < RUNNING_SECONDS && row.killedAt === null,
    steady: Number(row.steady) === 1,
    clockAhead: row.clockAhead === null ? null : Number(row.clockAhead),
  }));
}
