import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { VERSION } from '../platform/config.ts';
import type { Health } from './health.ts';
import { endSessionsOfLost, readOwnSessions } from './processes/end-sessions.ts';
import { sharedPrefix } from './processes/installation.ts';
import type { Role, Runtime } from './runtime.ts';
import type { Sql } from './transaction.ts';

const SECOND = 1_000;
const BEAT_EVERY = 5 * SECOND;

/** How long a shutdown waits for MySQL to remove the process. If that fails, the process counts as running for up to 15 s more. */
const FAREWELL = SECOND;

/** Milliseconds between two measurements of the event loop. */
const RESOLUTION = 20;

const MICROSECONDS = 1_000;
const NANOSECONDS = 1_000_000;
const MIB = 1024 * 1024;

/**
 * Writes a heartbeat of this process to MySQL every 5 s: its roles, version, load, and what it sees of MySQL and Redis. The console and
 * `status` show it. A heartbeat that fails is left out.
 * @param name of the process, if the service has several.
 * @returns once the first heartbeat was written or has failed.
 */
export async function startHeartbeat(
  {
    config,
    database,
    health,
    claimPrefix,
    prefix,
    dns,
    log,
  }: Pick<Runtime, 'config' | 'database' | 'health' | 'claimPrefix' | 'prefix' | 'dns' | 'log'>,
  roles: readonly string[],
  name = '',
): Promise<Role> {
  const id = randomBytes(16).toString('base64url');
  const load = watchLoad();
  let beating: Promise<void> | undefined;
  let otherInstallation: string | null = null;
  /** The problem with the prefix in Redis. null: it is ours, or Redis does not answer. */
  const lookForOther = async () => {
    const other = await claimPrefix().catch(() => null);
    const problem = other === null ? null : sharedPrefix(prefix, other);
    if (other !== null && other !== otherInstallation) log.error(`Redis ${problem}.`);
    otherInstallation = other;
    return problem;
  };
  const beat = () => {
    // MySQL may be slow. A second heartbeat at the same time would add nothing.
    beating ??= Promise.all([health(), lookForOther()])
      .then(async ([seen, redisProblem]) => {
        const sessions = await readOwnSessions(database);
        const { pid } = process;
        const own = {
          id,
          name,
          roles,
          version: VERSION,
          host: hostname(),
          pid,
          timeZoneOffset: config.zone.text,
          sessions,
          dnsProblem: dns.problem(),
          ...load.read(),
        };
        await recordHeartbeat(database, own, { ...seen, redis: redisProblem ?? seen.redis });
        await endSessionsOfLost(database, id, log);
      })
      // `health` has logged what is wrong.
      .catch((err: unknown) => log.debug({ err }, 'heartbeat not written'))
      .finally(() => {
        beating = undefined;
      });
    return beating;
  };
  await beat();
  const timer = setInterval(beat, BEAT_EVERY);

  return {
    name: 'heartbeat',
    async stop() {
      clearInterval(timer);
      load.stop();
      // Waits for the last heartbeat, because it would add the row again.
      const removed = (beating ?? Promise.resolve())
        .then(() => removeProcess(database, id))
        .catch((err: unknown) => log.debug({ err }, 'process not removed'));
      const patience = new Promise((resolve) => setTimeout(resolve, FAREWELL).unref());
      await Promise.race([removed, patience]);
    },
  };
}

/** Measures this process. @returns `read`, which reads its load since the last call. */
function watchLoad() {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  delays.enable();
  let since = performance.now();
  let used = process.cpuUsage();
  const read = () => {
    const now = performance.now();
    const { user, system } = process.cpuUsage(used);
    const milliseconds = Math.max(now - since, 1);
    const load = {
      cpuPercent: Math.round(((user + system) / MICROSECONDS / milliseconds) * 100),
      // The measured delay includes the time between two measurements.
      loopDelayMs: Math.max(0, Math.round(delays.percentile(99) / NANOSECONDS) - RESOLUTION),
      memoryMib: Math.round(process.memoryUsage.rss() / MIB),
    };
    since = now;
    used = process.cpuUsage();
    delays.reset();
    return load;
  };
  return { read, stop: () => void delays.disable() };
}

/** The processes of the installation, as their heartbeats in MySQL show them. */

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
const BEAT = `
  INSERT INTO processes (id, name, roles, version, host, pid, time_zone_offset, cpu_percent, loop_delay_ms, memory_mib, mysql_problem, redis_problem,
    clock_ahead_ms, sessions, dns_problem)
  VALUES (?)
  ON DUPLICATE KEY UPDATE cpu_percent = VALUES(cpu_percent), loop_delay_ms = VALUES(loop_delay_ms), memory_mib = VALUES(memory_mib),
    mysql_problem = VALUES(mysql_problem), redis_problem = VALUES(redis_problem), clock_ahead_ms = VALUES(clock_ahead_ms),
    sessions = VALUES(sessions), dns_problem = VALUES(dns_problem),
    steady_since = IF(seen_at < NOW(6) - INTERVAL ${STEADY_GAP_SECONDS} SECOND, NOW(6), steady_since), seen_at = NOW(6)`;

/** A process that was killed stays visible for an hour. The table has one row per process and is read as a whole. */
const FORGET = 'DELETE FROM processes WHERE id = ? OR seen_at < NOW(6) - INTERVAL 1 HOUR';

const READ = `
  SELECT name, roles, version, host, pid, time_zone_offset AS timeZoneOffset, cpu_percent AS cpuPercent, loop_delay_ms AS loopDelayMs, memory_mib AS memoryMib,
    started_at AS startedAt, mysql_problem AS mysqlProblem, redis_problem AS redisProblem, dns_problem AS dnsProblem, clock_ahead_ms AS clockAhead,
    killed_at AS killedAt, (steady_since <= started_at OR steady_since < NOW(6) - INTERVAL ${HEARTBEATS_SETTLE / SECOND} SECOND) AS steady,
    TIMESTAMPDIFF(MICROSECOND, seen_at, NOW(6)) / 1000000 AS seenSecondsAgo
  FROM processes WHERE seen_at > NOW(6) - INTERVAL 1 HOUR ORDER BY host, started_at LIMIT 500`;

async function recordHeartbeat(
  sql: Sql,
  beat: Heartbeat,
  { mysql, redis, clockAhead }: Health,
): Promise<void> {
  const problems = [mysql, redis].map((state) => (state === 'ok' ? null : state));
  await sql.query(BEAT, [
    [
      ...[beat.id, beat.name, beat.roles.join(), beat.version, beat.host, beat.pid, beat.timeZoneOffset],
      ...[beat.cpuPercent, beat.loopDelayMs, beat.memoryMib],
      ...problems,
      clockAhead === null ? null : Math.round(clockAhead),
      ...[beat.sessions, beat.dnsProblem],
    ],
  ]);
}

/** Removes a process that stops, and all processes that have not been seen for an hour. */
async function removeProcess(sql: Sql, id: string): Promise<void> {
  await sql.query(FORGET, [id]);
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
  const rows = await sql.query<Row[]>(READ);
  return rows.map((row) => ({
    ...row,
    roles: row.roles.split(','),
    seenSecondsAgo: Number(row.seenSecondsAgo),
    running: Number(row.seenSecondsAgo) < RUNNING_SECONDS && row.killedAt === null,
    steady: Number(row.steady) === 1,
    clockAhead: row.clockAhead === null ? null : Number(row.clockAhead),
  }));
}
