import type { Sql } from '../database/transaction.ts';

/** The processes of the installation, as their heartbeats in MySQL show them. */

/** Seconds after its last heartbeat for which a process counts as running. Three heartbeats fit into them. */
const RUNNING_SECONDS = 15;

/** What a process tells about itself with each heartbeat. */
export interface Heartbeat {
  id: string;
  roles: readonly string[];
  version: string;
  host: string;
  pid: number;
  /** Of one core. */
  cpuPercent: number;
  /** The 99th percentile of the event loop's delay, in milliseconds. */
  loopDelayMs: number;
  memoryMib: number;
}

export interface ProcessSeen {
  roles: string[];
  version: string;
  host: string;
  pid: number;
  cpuPercent: number;
  loopDelayMs: number;
  memoryMib: number;
  startedAt: Date;
  seenSecondsAgo: number;
  running: boolean;
}

/** Index: the primary key. The times are those of MySQL's clock. */
const BEAT = `
  INSERT INTO processes (id, roles, version, host, pid, cpu_percent, loop_delay_ms, memory_mib) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE seen_at = NOW(6), cpu_percent = VALUES(cpu_percent), loop_delay_ms = VALUES(loop_delay_ms),
    memory_mib = VALUES(memory_mib)`;

/** A process that was killed stays visible for an hour. The table has a row per process, and is read as a whole. */
const FORGET = 'DELETE FROM processes WHERE id = ? OR seen_at < NOW(6) - INTERVAL 1 HOUR';

const READ = `
  SELECT roles, version, host, pid, cpu_percent, loop_delay_ms, memory_mib, started_at,
    TIMESTAMPDIFF(MICROSECOND, seen_at, NOW(6)) / 1000000 AS seen_ago
  FROM processes WHERE seen_at > NOW(6) - INTERVAL 1 HOUR ORDER BY host, started_at LIMIT 500`;

export async function recordHeartbeat(sql: Sql, beat: Heartbeat): Promise<void> {
  const { id, roles, version, host, pid, cpuPercent, loopDelayMs, memoryMib } = beat;
  await sql.query(BEAT, [id, roles.join(), version, host, pid, cpuPercent, loopDelayMs, memoryMib]);
}

/** Removes a process that stops, and those that have not been seen for an hour. */
export async function removeProcess(sql: Sql, id: string): Promise<void> {
  await sql.query(FORGET, [id]);
}

interface Row {
  roles: string;
  version: string;
  host: string;
  pid: number;
  cpu_percent: number;
  loop_delay_ms: number;
  memory_mib: number;
  started_at: Date;
  seen_ago: string;
}

/** Reads all processes that were seen within the last hour, also those that no longer run. */
export async function readProcesses(sql: Sql): Promise<ProcessSeen[]> {
  const rows = await sql.query<Row[]>(READ);
  return rows.map((row) => ({
    roles: row.roles.split(','),
    version: row.version,
    host: row.host,
    pid: row.pid,
    cpuPercent: row.cpu_percent,
    loopDelayMs: row.loop_delay_ms,
    memoryMib: row.memory_mib,
    startedAt: row.started_at,
    seenSecondsAgo: Number(row.seen_ago),
    running: Number(row.seen_ago) < RUNNING_SECONDS,
  }));
}

/** How many running processes have a role. */
export const countRunning = (processes: readonly ProcessSeen[], role: string): number =>
  processes.filter(({ running, roles }) => running && roles.includes(role)).length;
