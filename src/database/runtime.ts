import { once } from 'node:events';
import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { type Config, VERSION } from '../platform/config.ts';
import { explainAddressErrors, useAddressTimeout } from '../platform/connector.ts';
import { createDnsWatch, type DnsWatch } from '../platform/dns-watch.ts';
import type { Log } from '../platform/log.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import { openQueues, type Queues } from '../platform/queues.ts';
import { connectFailFast, connectWorker, type RedisClient } from '../platform/redis.ts';
import { abandonStart, type Stop, stopInReverse } from '../platform/stopping.ts';
import type { Tracing } from '../platform/tracing.ts';
import { findHostProblems, type HostsReport, UnfitHostsError } from './cluster/primary.ts';
import { createDataSource } from './data-source.ts';
import { isConnectionError } from './errors.ts';
import { type Health, watchHealth } from './health.ts';
import { onHostsChange, readHosts } from './lead-to-primary.ts';
import { findNewerMigrations, migrate } from './migrate.ts';
import { requireMinimumVersion } from './migrations/minimum-version.ts';
import { claimPrefix, readInstallationId, sharedPrefix } from './processes/installation.ts';
import { checkSecretKey, createSecretBox, type SecretBox } from './secret-box.ts';

/** What every process keeps open: MySQL, Redis and the queues. */

const SECOND = 1_000;
const START_TIMEOUT = 60 * SECOND;

/** Connections and settings that all roles share. Created once per process and passed down. */
export interface Runtime {
  config: Config;
  database: DataSource;
  secrets: SecretBox;
  queues: Queues;
  /** Its commands fail fast while Redis is unreachable, like the commands of the queues. */
  redis: RedisClient;
  /** Opens a separate connection for a worker. Its commands wait until Redis is reachable again. */
  connectWorker: () => RedisClient;
  prefix: string;
  /** Claims the prefix for this installation. @returns the id of the other installation that has it; null: it is ours. */
  claimPrefix: () => Promise<string | null>;
  /** Whether the DNS servers of this machine answer. */
  dns: DnsWatch;
  /** Looks at MySQL and Redis. Never throws. */
  health: () => Promise<Health>;
  log: Log;
  metrics: Metrics;
  /** `undefined`: traces are off. */
  tracing: Tracing | undefined;
}

/** A part of the service that runs in this process. */
export interface Role {
  name: string;
  /** Stops the part. Resolves when all work in progress is finished or given back. */
  stop(): Promise<void>;
}

/** The URLs of MySQL and Redis, the key of the sealed secrets, and a function that stops embedded servers. */
export interface Servers {
  databaseUrl: string;
  redisUrl: string;
  secretKey: string;
  stop(): Promise<void>;
}

/**
 * Connects to MySQL and Redis, waiting up to 60 s for each, then prepares the schema and checks SECRET_KEY.
 * @param signal stops waiting and closes all connections.
 * @param migrations run: bring the schema up to date. expect: wait until another process (`ledgerbell migrate`) has done so.
 */
export async function openRuntime(
  config: Config,
  servers: Omit<Servers, 'stop'>,
  {
    log,
    announce,
    migrations,
    prefix = config.redisPrefix,
    startTimeout = START_TIMEOUT,
    signal,
    tracing,
  }: {
    log: Log;
    announce: (line: string) => void;
    migrations: 'run' | 'expect';
    prefix?: string;
    startTimeout?: number;
    signal?: AbortSignal | undefined;
    tracing?: Tracing | undefined;
  },
): Promise<Runtime & { close(): Promise<void> }> {
  useAddressTimeout();
  const waitFor = <T>(what: string, attempt: () => Promise<T>, mayPass = (_error: Error) => true) => {
    let announced = '';
    return pRetry(attempt, {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 200,
      maxTimeout: 2 * SECOND,
      maxRetryTime: startTimeout,
      ...(signal === undefined ? {} : { signal }),
      onFailedAttempt: ({ error }) => {
        if (!mayPass(error)) throw error;
        const words = explainAddressErrors(error) ?? error.message;
        const line = `Waiting for ${what}: ${words || ('code' in error ? error.code : error.name)}`;
        if (line !== announced) announce(line);
        announced = line;
      },
    });
  };

  const secrets = createSecretBox(servers.secretKey, config.previousSecretKeys);
  const database = createDataSource(servers.databaseUrl);
  const redis = connectFailFast(servers.redisUrl);
  const workerConnections: RedisClient[] = [];
  const started: Stop[] = [
    () => (database.isInitialized ? database.destroy() : undefined),
    () => {
      for (const connection of [redis, ...workerConnections]) connection.disconnect();
    },
  ];
  const close = () => stopInReverse(started);
  let claim: () => Promise<string | null>;
  try {
    await waitFor(
      'MySQL',
      () => database.initialize(),
      (error) => !(error instanceof UnfitHostsError),
    );
    logHosts(database, log);
    await waitFor('Redis', async () => {
      if (redis.status !== 'ready') await once(redis, 'ready', { signal: AbortSignal.timeout(2 * SECOND) });
      await redis.ping();
    });
    if (migrations === 'expect') {
      await waitFor('the database schema', async () => {
        if (await database.showMigrations()) {
          throw new Error('migrations have not been run; run: ledgerbell migrate');
        }
      });
    }
    // A server that is about to become the primary takes no writes yet.
    const prepare = async () => {
      if (migrations === 'run') await migrate(database);
      await requireMinimumVersion(database, VERSION);
      await checkSecretKey(database, secrets);
      return readInstallationId(database);
    };
    const installation = await waitFor('MySQL', prepare, isConnectionError);
    claim = () => claimPrefix({ redis, prefix }, installation);
    // The last process of another installation may have ended without a word, half a minute ago.
    await waitFor('Redis', async () => {
      const other = await claim();
      if (other !== null) throw new Error(`This Redis ${sharedPrefix(prefix, other)}.`);
    });
    for (const warning of await checkEviction(redis)) log.warn(warning);
    const newer = await findNewerMigrations(database);
    if (newer.length > 0)
      announce(
        `A newer version has migrated this database (${newer.join(', ')}). This version can run beside it.`,
      );
    signal?.throwIfAborted();
  } catch (error) {
    return await abandonStart(error, close);
  }
  const queues = openQueues(redis, { prefix, deliveryQueues: config.deliveryQueues });
  // Closing fails while Redis is unreachable. The shutdown must not fail because of that.
  started.push(() => queues.close().catch(() => {}));
  return {
    config,
    database,
    secrets,
    queues,
    redis,
    connectWorker: () => {
      const connection = connectWorker(servers.redisUrl);
      workerConnections.push(connection);
      return connection;
    },
    prefix,
    claimPrefix: claim,
    dns: createDnsWatch(),
    health: watchHealth({ database, queues, log }),
    log,
    metrics: createMetrics(),
    tracing,
    close,
  };
}

/** Warns if Redis removes keys when its memory is full. A job that is gone waits until the maintenance finds it. */
async function checkEviction(redis: RedisClient): Promise<string[]> {
  // The managed services forbid CONFIG, and some forbid INFO.
  const info = await redis.info('memory').catch(() => '');
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
  if (policy === 'noeviction') return [];
  return [
    `Redis has maxmemory-policy ${policy}: when its memory is full, it removes keys of jobs, and work waits until it is found again. Set maxmemory-policy to noeviction.`,
  ];
}

/** Logs what a person should know about the hosts of DATABASE_URL: a change of the primary, and hosts that are set up dangerously. */
function logHosts(database: DataSource, log: Log): void {
  const logProblems = (report: HostsReport, known: readonly string[]) => {
    for (const problem of findHostProblems(report))
      if (!known.includes(problem)) log[report.conflicting.length > 0 ? 'error' : 'warn'](problem);
  };
  const first = readHosts(database);
  if (first !== null) logProblems(first, []);
  onHostsChange(database, (report, before) => {
    const { primary, others, conflicting } = report;
    logProblems(report, findHostProblems(before));
    if (primary === null && conflicting.length === 0 && before.primary !== null)
      log.error(
        { others },
        'no host in DATABASE_URL may be written; the hosts are checked several times a second',
      );
    else if (primary !== null && primary !== before.primary)
      log.warn({ primary, others }, 'another host in DATABASE_URL takes the writes now');
  });
}
