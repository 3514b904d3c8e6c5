import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import {
  areHeartbeatsSettled,
  countRunning,
  findProcessProblems,
  HEARTBEATS_SETTLE,
  type ProcessSeen,
  readProcesses,
} from '../console/heartbeat.ts';
import {
  countSourcesInTrouble,
  findSourcesInTrouble,
  readOldestPending,
  readTotals,
  readUnfinishedImports,
  readWebhooksNeedingAttention,
} from '../console/totals.ts';
import { mysqlProblem } from '../database/errors.ts';
import {
  createWriteCheck,
  lookAtRedis,
  type ServerState,
  sentenceOf,
  stateOf,
  WRITE_PATIENCE,
} from '../database/health.ts';
import { NoPrimaryError, readHostProblems, UnfitHostsError } from '../database/lead-to-primary.ts';
import { readWebhooksBehind } from '../delivery/reconcile.ts';
import { type Config, ROLES, type RoleName } from '../platform/config.ts';
import { connectFailFast } from '../platform/redis.ts';
import { countOf } from '../platform/text.ts';
import { findRunning } from '../servers/running-servers.ts';
import { readDeletions } from '../upkeep/deletions.ts';
import type { CommandContext } from './context.ts';
import { withInstallation } from './open-service.ts';
import { mayStart } from './service-access.ts';
import { REDIS_TIMEOUT, withQueues } from './service-redis.ts';

/** How many processes run each role, according to the heartbeats of the last 15 s. */
type Processes = Record<RoleName, number>;

/** The most sources in trouble that are shown. */
const SHOWN = 50;

/** Figures and lists from MySQL. */
export type Work = Awaited<ReturnType<typeof readFigures>>;

/** The state of an installation, as far as this machine can see it. */
export interface StatusReport {
  mysql: ServerState;
  redis: ServerState;
  migrations: 'ok' | 'not run' | 'unknown';
  /** Problems with the hosts of DATABASE_URL, in one sentence each. */
  hostProblems: string[];
  /** What the processes of the service see of MySQL, Redis and their clocks, in one sentence each. */
  processProblems: string[];
  /** null while MySQL cannot be read, its heartbeats are not settled, or migrations have not been run. */
  processes: Processes | null;
  /** null while MySQL cannot be read, or migrations have not been run. */
  work: Work | null;
}

/** Looks at MySQL and Redis, but starts neither. */
export async function readStatus(context: CommandContext): Promise<StatusReport> {
  const config = context.readConfig();
  const redisUrl = config.redisUrl ?? (await findRunning(config.dataDir))?.redisUrl;
  const redis = await readRedis(redisUrl, config);
  return { ...(await readDatabase(context, redis)), redis };
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

type DatabasePart = Omit<StatusReport, 'redis'>;

const unavailable = (mysql: ServerState, ...hostProblems: string[]): DatabasePart => ({
  mysql,
  migrations: 'unknown',
  hostProblems,
  processProblems: [],
  processes: null,
  work: null,
});

async function readDatabase(context: CommandContext, redis: ServerState): Promise<DatabasePart> {
  if (await mayStart(context.readConfig())) return unavailable('not available');
  try {
    return await withInstallation(context, ({ database }) => readWork(database, redis), {
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

async function readWork(database: DataSource, redis: ServerState): Promise<DatabasePart> {
  const hostProblems = readHostProblems(database);
  if (await database.showMigrations())
    return { ...unavailable('ok', ...hostProblems), migrations: 'not run' };
  const own = await createWriteCheck(database)(WRITE_PATIENCE);
  const work = await readFigures(database);
  const seen = await readSettledProcesses(database);
  const mysql = own === 'ok' ? findRefusal(seen) : own;
  return {
    mysql,
    migrations: 'ok',
    hostProblems,
    processProblems: findProcessProblems(seen, { mysql, redis }),
    // A process that cannot write its heartbeat may be running.
    processes: mysql === 'ok' ? countByRole(seen) : null,
    work,
  };
}

async function readFigures(database: DataSource) {
  const behind = await readWebhooksBehind(database);
  return {
    totals: await readTotals(database),
    oldestPending: await readOldestPending(database),
    /** The first of the webhooks that need attention, and how many of all are behind. */
    webhooks: await readWebhooksNeedingAttention(database, behind),
    webhooksBehind: behind.length,
    imports: await readUnfinishedImports(database),
    /** The first of the sources in trouble, and how many there are. */
    sources: await findSourcesInTrouble(database, SHOWN),
    sourcesInTrouble: await countSourcesInTrouble(database),
    deletions: await readDeletions(database),
  };
}

/** A small write succeeds on a full disk. The larger writes of a running process may have been refused. */
const findRefusal = (seen: readonly ProcessSeen[]): ServerState =>
  seen.find((it) => it.running && it.mysqlProblem?.startsWith('refuses writes'))?.mysqlProblem ?? 'ok';

const countByRole = (seen: readonly ProcessSeen[]) =>
  Object.fromEntries(ROLES.map((role) => [role, countRunning(seen, role)])) as Processes;

/** After an outage of MySQL, waits until the processes have written their heartbeats again, or had time to. */
async function readSettledProcesses(database: DataSource): Promise<ProcessSeen[]> {
  const deadline = performance.now() + HEARTBEATS_SETTLE;
  for (;;) {
    const seen = await readProcesses(database);
    if (areHeartbeatsSettled(seen) || performance.now() > deadline) return seen;
    await sleep(500);
  }
}

/**
 * Finds the problems that an operator has to solve, in one sentence each. Failing endpoints of subscribers, webhooks paused by their
 * owners, and disabled webhooks do not count, because they say nothing about this installation. An unreadable file does not count either,
 * unless a source has collected it. The source then shows the error until a later file is imported without errors.
 */
export function findProblems(report: StatusReport): string[] {
  const { mysql, redis, migrations, hostProblems, processProblems, processes, work } = report;
  const missing = Object.entries(processes ?? {}).flatMap(([role, count]) => (count === 0 ? [role] : []));
  const { importsGivenUp: givenUp, importsStuck: stuck } = work?.totals ?? {
    importsGivenUp: 0,
    importsStuck: 0,
  };
  const { failing, withWrongFile } = work?.sourcesInTrouble ?? { failing: 0, withWrongFile: 0 };
  const quarantined = work?.totals.quarantined ?? 0;
  return [
    ...(mysql === 'ok' ? [] : [sentenceOf('MySQL', mysql)]),
    ...hostProblems,
    ...(redis === 'ok' ? [] : [sentenceOf('Redis', redis)]),
    ...processProblems,
    ...(migrations === 'not run' ? ['The database schema is not up to date.'] : []),
    ...missing.map((role) => `No process runs the role ${role}.`),
    ...(givenUp === 0 ? [] : [`${countOf(givenUp, 'import was', 'imports were')} given up.`]),
    ...(stuck === 0
      ? []
      : [
          `${countOf(stuck, 'import has', 'imports have')} been waiting for more than 5 minutes, and nothing of the same customer is stored.`,
        ]),
    ...(failing === 0 ? [] : [`${countOf(failing, 'source is', 'sources are')} failing.`]),
    ...(withWrongFile === 0
      ? []
      : [
          `${countOf(withWrongFile, 'source has', 'sources have')} brought a file that could not be imported.`,
        ]),
    ...(quarantined === 0 ? [] : [`${countOf(quarantined, 'webhook is', 'webhooks are')} quarantined.`]),
  ];
}
