import type { DataSource } from 'typeorm';
import { countRunning, readProcesses } from '../console/heartbeat.ts';
import {
  countSourcesInTrouble,
  findSourcesInTrouble,
  type SourcesInTrouble,
} from '../console/sources/source-rows.ts';
import {
  readOldestPending,
  readTotals,
  readUnfinishedImports,
  readWebhooksNeedingAttention,
  type Totals,
  type UnfinishedImport,
  type WebhookNeedingAttention,
} from '../console/totals.ts';
import { readWebhooksBehind } from '../deliveries/reconcile.ts';
import { countOf } from '../platform/counts.ts';
import { readHostProblems } from '../platform/database/cluster/lead-to-primary.ts';
import { NoPrimaryError, UnfitHostsError } from '../platform/database/cluster/primary.ts';
import { isConnectionError } from '../platform/database/errors.ts';
import { findRunning } from '../platform/embedded/running-servers.ts';
import { ROLES, type RoleName } from '../platform/roles.ts';
import type { SourceSummary } from '../sources/find-source.ts';
import { type Deletion, readDeletions } from '../upkeep/deletion/deletions.ts';
import { withInstallation } from './open-service.ts';
import type { CommandContext } from './output.ts';
import { mayStart } from './service-access.ts';
import { reachRedis } from './service-redis.ts';

/** How many processes run each role, according to the heartbeats of the last 15 s. */
type Processes = Record<RoleName, number>;

/** The most sources in trouble that are shown. */
const SHOWN = 50;

/** Figures and lists from MySQL. */
export interface Work {
  totals: Totals;
  oldestPending: Date | null;
  /** The first of the webhooks that need attention, and how many of all are behind. */
  webhooks: WebhookNeedingAttention[];
  webhooksBehind: number;
  imports: UnfinishedImport[];
  /** The first of the sources in trouble, and how many there are. */
  sources: SourceSummary[];
  sourcesInTrouble: SourcesInTrouble;
  deletions: Deletion[];
}

/** The state of an installation, as far as this machine can see it. */
export interface StatusReport {
  mysql: 'ok' | 'not available';
  redis: 'ok' | 'not available';
  migrations: 'ok' | 'not run' | 'unknown';
  /** Problems with the hosts of DATABASE_URL, in one sentence each. */
  hostProblems: string[];
  /** null while MySQL is not available, or migrations have not been run. */
  processes: Processes | null;
  /** null while MySQL is not available, or migrations have not been run. */
  work: Work | null;
}

/** Looks at MySQL and Redis, but starts neither. */
export async function readStatus(context: CommandContext): Promise<StatusReport> {
  const config = context.readConfig();
  const redisUrl = config.redisUrl ?? (await findRunning(config.dataDir))?.redisUrl;
  const redis = redisUrl === undefined ? null : await reachRedis(redisUrl);
  try {
    return {
      ...(await readDatabase(context)),
      redis: redis === null ? 'not available' : 'ok',
    };
  } finally {
    redis?.disconnect();
  }
}

type DatabasePart = Omit<StatusReport, 'redis'>;

async function readDatabase(context: CommandContext): Promise<DatabasePart> {
  const unavailable = (...hostProblems: string[]) =>
    ({ mysql: 'not available', migrations: 'unknown', hostProblems, processes: null, work: null }) as const;
  if (await mayStart(context.readConfig())) return unavailable();
  try {
    return await withInstallation(context, ({ database }) => readWork(database), { migrations: 'ignore' });
  } catch (error) {
    if (error instanceof NoPrimaryError || error instanceof UnfitHostsError)
      return unavailable(error.message);
    if (isConnectionError(error)) return unavailable();
    throw error;
  }
}

async function readWork(database: DataSource): Promise<DatabasePart> {
  const hostProblems = readHostProblems(database);
  if (await database.showMigrations())
    return { mysql: 'ok', migrations: 'not run', hostProblems, processes: null, work: null };
  const behind = await readWebhooksBehind(database);
  const work = {
    totals: await readTotals(database),
    oldestPending: await readOldestPending(database),
    webhooks: await readWebhooksNeedingAttention(database, behind),
    webhooksBehind: behind.length,
    imports: await readUnfinishedImports(database),
    sources: await findSourcesInTrouble(database, SHOWN),
    sourcesInTrouble: await countSourcesInTrouble(database),
    deletions: await readDeletions(database),
  };
  const seen = await readProcesses(database);
  const processes = Object.fromEntries(ROLES.map((role) => [role, countRunning(seen, role)])) as Processes;
  return { mysql: 'ok', migrations: 'ok', hostProblems, processes, work };
}

/**
 * Finds the problems that an operator has to solve, in one sentence each. Failing endpoints of subscribers, webhooks paused by their
 * owners, and disabled webhooks do not count, because they say nothing about this installation. An unreadable file does not count either,
 * unless a source has collected it. The source then shows the error until a later file is imported without errors.
 */
export function findProblems(report: StatusReport): string[] {
  const { mysql, redis, migrations, hostProblems, processes, work } = report;
  const missing = Object.entries(processes ?? {}).flatMap(([role, count]) => (count === 0 ? [role] : []));
  const { importsGivenUp: givenUp, importsStuck: stuck } = work?.totals ?? {
    importsGivenUp: 0,
    importsStuck: 0,
  };
  const { failing, withWrongFile } = work?.sourcesInTrouble ?? { failing: 0, withWrongFile: 0 };
  const quarantined = work?.totals.quarantined ?? 0;
  return [
    ...(mysql === 'ok' ? [] : ['MySQL cannot be reached.']),
    ...hostProblems,
    ...(redis === 'ok' ? [] : ['Redis cannot be reached.']),
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
