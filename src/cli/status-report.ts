import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { mysqlProblem } from '../database/errors.ts';
import {
  createWriteCheck,
  lookAtRedis,
  type ServerState,
  stateOf,
  WRITE_PATIENCE,
} from '../database/health.ts';
import { type ProcessSeen, readProcesses } from '../database/heartbeat.ts';
import { NoPrimaryError, readHostProblems, UnfitHostsError } from '../database/lead-to-primary.ts';
import { findPacketProblem } from '../database/packet-size.ts';
import type { Sql } from '../database/transaction.ts';
import type { Config } from '../platform/config.ts';
import { connectFailFast } from '../platform/redis.ts';
import { findRunning } from '../servers/running-servers.ts';
import { type Deletion, readDeletions } from '../upkeep/deletions.ts';
import type { SeenServers } from '../verdict/servers.ts';
import { areHeartbeatsSettled } from '../verdict/servers.ts';
import { readVerdict, type Verdict } from '../verdict/verdict.ts';
import type { CommandContext } from './context.ts';
import { withInstallation } from './open-service.ts';
import { mayStart } from './service-access.ts';
import { REDIS_TIMEOUT, withQueues } from './service-redis.ts';

/** The state of an installation, as far as this machine can see it. */
export interface StatusReport {
  verdict: Verdict;
  migrations: 'ok' | 'not run' | 'unknown';
  /** null while MySQL cannot be read, or migrations have not been run. */
  deletions: Deletion[] | null;
}

/** Looks at MySQL and Redis, but starts neither. */
export async function readStatus(context: CommandContext): Promise<StatusReport> {
  const config = context.readConfig();
  const redisUrl = config.redisUrl ?? (await findRunning(config.dataDir))?.redisUrl;
  const redis = await readRedis(redisUrl, config);
  const unavailable = async (mysql: ServerState, ...hostProblems: string[]): Promise<StatusReport> => ({
    verdict: await readVerdict(null, { mysql, redis, hostProblems }),
    migrations: 'unknown',
    deletions: null,
  });
  if (await mayStart(config)) return unavailable('not available');
  try {
    return await withInstallation(context, ({ database }) => readInstallation(database, redis), {
      migrations: 'ignore',
    });
  } catch (error) {
    if (error instanceof NoPrimaryError || error instanceof UnfitHostsError)
      return unavailable('not available', error.message);
    const problem = mysqlProblem(error);
    if (problem !== null) return unavailable(stateOf(problem));
    throw error;
  }
}

async function readRedis(
  redisUrl: string | undefined,
  config: Pick<Config, 'deliveryQueues'>,
): Promise<ServerState> {
  if (redisUrl === undefined) return 'not available';
  const deadline = performance.now() + REDIS_TIMEOUT;
  return withQueues(connectFailFast(redisUrl), config, async (queues) => {
    for (;;) {
      const { state } = await lookAtRedis(queues);
      if (state !== 'not available' || performance.now() > deadline) return state;
      await sleep(100);
    }
  });
}

async function readInstallation(database: DataSource, redis: ServerState): Promise<StatusReport> {
  const servers: SeenServers = {
    mysql: 'ok',
    mysqlLimit: await findPacketProblem(database),
    redis,
    hostProblems: readHostProblems(database),
  };
  if (await database.showMigrations()) {
    const verdict = await readVerdict(null, { ...servers, isSchemaOld: true });
    return { verdict, migrations: 'not run', deletions: null };
  }
  const mysql = await createWriteCheck(database)(WRITE_PATIENCE);
  const worksSince = performance.now();
  const readSettled = (sql: Sql) => readSettledProcesses(sql, worksSince);
  const verdict = await readVerdict(database, { ...servers, mysql, worksSince }, readSettled);
  const deletions = verdict.work === null ? null : await readDeletions(database);
  return { verdict, migrations: 'ok', deletions };
}

/** After an outage of MySQL, waits until the processes have written their heartbeats again, or had time to. */
async function readSettledProcesses(sql: Sql, worksSince: number): Promise<ProcessSeen[]> {
  for (;;) {
    const seen = await readProcesses(sql);
    if (areHeartbeatsSettled(seen, worksSince)) return seen;
    await sleep(500);
  }
}
