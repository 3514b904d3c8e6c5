import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { StatusReport } from '../api/status-view.ts';
import { mysqlProblem } from '../database/errors.ts';
import {
  createWriteCheck,
  lookAtRedis,
  type ServerState,
  stateOf,
  WRITE_PATIENCE,
  within,
} from '../database/health.ts';
import { NoPrimaryError, readHostProblems, UnfitHostsError } from '../database/lead-to-primary.ts';
import { findPacketProblem } from '../database/packet-size.ts';
import { type ProcessSeen, readProcesses } from '../database/processes.ts';
import type { Sql } from '../database/transaction.ts';
import type { Config } from '../platform/config.ts';
import { openQueues } from '../platform/queues.ts';
import { connectFailFast } from '../platform/redis.ts';
import { findRunning } from '../servers/running-servers.ts';
import { readDeletions } from '../upkeep/deletions.ts';
import type { SeenServers } from '../verdict/servers.ts';
import { areHeartbeatsSettled } from '../verdict/servers.ts';
import { readVerdict } from '../verdict/verdict.ts';
import type { CommandContext } from './context.ts';
import { withInstallation } from './open-service.ts';

/** Reads what the command `status --offline` shows, also when parts of the installation cannot be reached. */

/** How long the command tries to reach Redis. Milliseconds. */
const REDIS_TIMEOUT = 3_000;

/** Whatever MySQL does, the report comes within this time. Milliseconds. */
const REPORT_LIMIT = 9_000;

/**
 * Looks at MySQL and Redis, but starts neither.
 * @throws {Interruption} when the command is interrupted.
 */
export async function readStatus(context: CommandContext): Promise<StatusReport> {
  const { signal } = context;
  // A signal may have come before this function was loaded.
  signal.throwIfAborted();
  const seen: SeenServers = { mysql: 'does not answer', redis: 'does not answer', hostProblems: [] };
  const report = lookAtInstallation(context, seen);
  // It may fail after the limit.
  report.catch(() => {});
  const interrupted = once(signal, 'abort').then(() => signal.throwIfAborted());
  const first = await within(Promise.race([report, interrupted]), REPORT_LIMIT, () => undefined);
  return first ?? reportWithout({ ...seen, mysql: seen.mysql === 'ok' ? 'does not answer' : seen.mysql });
}

const reportWithout = async (seen: SeenServers): Promise<StatusReport> => ({
  verdict: await readVerdict(null, seen),
  migrations: 'unknown',
  deletions: null,
});

/** @param seen is kept up to date. */
async function lookAtInstallation(context: CommandContext, seen: SeenServers): Promise<StatusReport> {
  const config = context.readConfig();
  const redisUrl = config.redisUrl ?? (await findRunning(config.dataDir))?.redisUrl;
  const redis = readRedis(redisUrl, config).then((state) => {
    seen.redis = state;
  });
  const [report] = await Promise.all([lookAtMysql(context, seen, redis), redis]);
  return report;
}

async function lookAtMysql(
  context: CommandContext,
  seen: SeenServers,
  redis: Promise<void>,
): Promise<StatusReport> {
  const without = async (mysql: ServerState, ...hostProblems: string[]) => {
    await redis;
    return reportWithout({ ...seen, mysql, hostProblems });
  };
  if (await isStopped(context.readConfig())) return without('not available');
  try {
    return await withInstallation(context, ({ database }) => readInstallation(database, seen, redis), {
      migrations: 'ignore',
    });
  } catch (error) {
    if (error instanceof NoPrimaryError || error instanceof UnfitHostsError)
      return without('not available', error.message);
    const problem = mysqlProblem(error);
    if (problem === null) throw error;
    return without(isTimeout(error) ? 'does not answer' : stateOf(problem));
  }
}

/** A server that is frozen lets the operating system open a connection, and says nothing on it. */
const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ETIMEDOUT';

async function readRedis(
  redisUrl: string | undefined,
  { deliveryQueues, redisPrefix: prefix }: Pick<Config, 'deliveryQueues' | 'redisPrefix'>,
): Promise<ServerState> {
  if (redisUrl === undefined) return 'not available';
  const deadline = performance.now() + REDIS_TIMEOUT;
  const redis = connectFailFast(redisUrl);
  const queues = openQueues(redis, { prefix, deliveryQueues });
  try {
    for (;;) {
      const { state } = await lookAtRedis(queues);
      if (state !== 'not available') return state;
      // Connected, and without an answer to the first commands.
      if (performance.now() > deadline) return redis.status === 'connect' ? 'does not answer' : state;
      await sleep(100);
    }
  } finally {
    redis.disconnect();
    await queues.close().catch(() => {});
  }
}

/** Says whether MySQL is embedded, not running, and could be started. */
const isStopped = async ({ databaseUrl, dataDir, embedded }: Config): Promise<boolean> =>
  databaseUrl === undefined && embedded === 'auto' && (await findRunning(dataDir)) === null;

async function readInstallation(
  database: DataSource,
  seen: SeenServers,
  redis: Promise<void>,
): Promise<StatusReport> {
  const mysqlLimit = await findPacketProblem(database);
  Object.assign(seen, { mysqlLimit, hostProblems: readHostProblems(database) });
  if (await database.showMigrations()) {
    await redis;
    const verdict = await readVerdict(null, { ...seen, mysql: 'ok', isSchemaOld: true });
    return { verdict, migrations: 'not run', deletions: null };
  }
  seen.mysql = await createWriteCheck(database)(WRITE_PATIENCE);
  seen.worksSince = performance.now();
  // While MySQL takes no writes, no heartbeat comes.
  const readHeartbeats = seen.mysql === 'ok' ? readSettledProcesses(seen.worksSince) : readProcesses;
  await redis;
  const verdict = await readVerdict(database, seen, readHeartbeats);
  const deletions = verdict.work === null ? null : await readDeletions(database);
  return { verdict, migrations: 'ok', deletions };
}

/** After an outage of MySQL, waits until the processes have written their heartbeats again, or had time to. */
const readSettledProcesses =
  (worksSince: number) =>
  async (sql: Sql): Promise<ProcessSeen[]> => {
    for (;;) {
      const seen = await readProcesses(sql);
      if (areHeartbeatsSettled(seen, worksSince)) return seen;
      await sleep(500);
    }
  };
