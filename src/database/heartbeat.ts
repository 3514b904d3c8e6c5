import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { findPlainTextHost, VERSION } from '../platform/config.ts';
import { endSessionsOfLost, readOwnSessions } from './processes/end-sessions.ts';
import { sharedPrefix } from './processes/installation.ts';
import { BEAT_EVERY, recordHeartbeat, removeProcess } from './processes.ts';
import type { Role, Runtime } from './runtime.ts';

/** Writes the heartbeat of this process to MySQL. processes.ts has the rows. */

const SECOND = 1_000;

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
          plainTextHost: findPlainTextHost(config),
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
