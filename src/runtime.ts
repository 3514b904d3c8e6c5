import { once } from 'node:events';
import type { Redis } from 'ioredis';
import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import type { Config } from './config.ts';
import { createDataSource } from './database/data-source.ts';
import { migrate } from './database/migrate.ts';
import { createSecretBox, type SecretBox } from './database/secret-box.ts';
import { checkSecretKey } from './database/secret-check.ts';
import type { Log } from './log.ts';
import { connectHasty, connectPatient } from './queues/connection.ts';
import { openQueues, type Queues } from './queues/queues.ts';
import { abandonStart, type Stop, stopInReverse } from './stopping.ts';

const SECOND = 1_000;
const START_TIMEOUT = 60 * SECOND;

/** BullMQ's keys in Redis start with this. */
export const DEFAULT_PREFIX = 'ledgerbell';

/** What every role works with; made once per process and passed down. */
export interface Runtime {
  config: Config;
  database: DataSource;
  secrets: SecretBox;
  queues: Queues;
  /** Fails fast, like the queues. */
  redis: Redis;
  /** A connection of its own for a worker, which waits as long as Redis is away. */
  connectWorker: () => Redis;
  prefix: string;
  log: Log;
}

/** A part of the service that runs in this process. */
export interface Role {
  name: string;
  /** Resolves when everything in hand is finished or given back. */
  stop(): Promise<void>;
}

/** Where MySQL and Redis are, who ends them, and the key to the secrets. */
export interface Servers {
  databaseUrl: string;
  redisUrl: string;
  secretKey: string;
  stop(): Promise<void>;
}

/**
 * Connects to MySQL and Redis, waiting up to 60 s for one that is not up yet, and makes sure of the schema.
 * @param signal gives up waiting; nothing stays open.
 * @param migrations run: bring the schema up to date. expect: wait until somebody else has (`ledgerbell migrate`).
 */
export async function openRuntime(
  config: Config,
  servers: Omit<Servers, 'stop'>,
  {
    log,
    announce,
    migrations,
    prefix = DEFAULT_PREFIX,
    startTimeout = START_TIMEOUT,
    signal,
  }: {
    log: Log;
    announce: (line: string) => void;
    migrations: 'run' | 'expect';
    prefix?: string;
    startTimeout?: number;
    signal?: AbortSignal | undefined;
  },
): Promise<Runtime & { close(): Promise<void> }> {
  const waitFor = <T>(what: string, attempt: () => Promise<T>) => {
    let said = '';
    return pRetry(attempt, {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 200,
      maxTimeout: 2 * SECOND,
      maxRetryTime: startTimeout,
      ...(signal === undefined ? {} : { signal }),
      onFailedAttempt: ({ error }) => {
        const line = `Waiting for ${what}: ${error.message || ('code' in error ? error.code : error.name)}`;
        if (line !== said) announce(line);
        said = line;
      },
    });
  };

  const secrets = createSecretBox(servers.secretKey);
  const database = createDataSource(servers.databaseUrl);
  const redis = connectHasty(servers.redisUrl);
  const workerConnections: Redis[] = [];
  const started: Stop[] = [
    () => (database.isInitialized ? database.destroy() : undefined),
    () => {
      for (const connection of [redis, ...workerConnections]) connection.disconnect();
    },
  ];
  const close = () => stopInReverse(started);
  try {
    await waitFor('MySQL', () => database.initialize());
    await waitFor('Redis', async () => {
      if (redis.status !== 'ready') await once(redis, 'ready', { signal: AbortSignal.timeout(2 * SECOND) });
      await redis.ping();
    });
    if (migrations === 'run') await migrate(database);
    else {
      await waitFor('the database schema', async () => {
        if (await database.showMigrations()) {
          throw new Error('migrations have not been run; run: npm run cli -- migrate');
        }
      });
    }
    signal?.throwIfAborted();
    await checkSecretKey(database, secrets);
    signal?.throwIfAborted();
  } catch (error) {
    return await abandonStart(error, close);
  }
  const queues = openQueues(redis, prefix);
  // While Redis is away there is nobody to say goodbye to.
  started.push(() => queues.close().catch(() => {}));
  return {
    config,
    database,
    secrets,
    queues,
    redis,
    connectWorker: () => {
      const connection = connectPatient(servers.redisUrl);
      workerConnections.push(connection);
      return connection;
    },
    prefix,
    log,
    close,
  };
}
