import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Role, Runtime } from '../runtime.ts';
import { VERSION } from '../version.ts';
import { recordHeartbeat, removeProcess } from './processes.ts';

const SECOND = 1_000;
const BEAT_EVERY = 5 * SECOND;

/** A shutdown does not wait longer for MySQL to remove the process. It then counts as running for up to 15 s more. */
const FAREWELL = SECOND;

/** Milliseconds between two measurements of the event loop. */
const RESOLUTION = 20;

const MICROSECONDS = 1_000;
const NANOSECONDS = 1_000_000;
const MIB = 1024 * 1024;

/**
 * Writes a heartbeat of this process to MySQL every 5 s: its roles, version and load. The console and `status` show it. A heartbeat
 * that fails is left out.
 * @returns once the first one was written, or has failed.
 */
export async function startHeartbeat(
  { database, log }: Pick<Runtime, 'database' | 'log'>,
  roles: readonly string[],
): Promise<Role> {
  const id = randomBytes(16).toString('base64url');
  const load = watchLoad();
  let beating: Promise<void> | undefined;
  const beat = () => {
    // MySQL may be slow. A second heartbeat beside the first would say nothing more.
    beating ??= recordHeartbeat(database, {
      id,
      roles,
      version: VERSION,
      host: hostname(),
      pid: process.pid,
      ...load.read(),
    })
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
      // After the last heartbeat, which would add the row again.
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
      // The time between two measurements is part of what is measured.
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
