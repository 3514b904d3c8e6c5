import { resolve } from 'node:path';
import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { checkSecretKey, createSecretBox, type SecretBox } from '../database/secret-box.ts';
import { type Config, requireServers } from '../platform/config.ts';
import { loadOrCreateSecretKey } from '../servers/private-file.ts';
import { DataDirInUseError, findRunning, hasDatabase } from '../servers/running-servers.ts';
import { type CommandContext, Failure, SCHEMA_MISSING } from './context.ts';

/** Opens the database of an installation, for the commands that work without a service. */

const SECOND = 1_000;

/** How long to wait for a service that is starting its servers. */
const STARTING_SERVICE = 30 * SECOND;

/** Small, because a command runs few statements at the same time. */
const POOL_SIZE = 2;

/** The parts of the service that a command works with. */
export interface Installation {
  database: DataSource;
  secrets: SecretBox;
  /** The names of the migrations that this command has run. */
  migrated: string[];
}

interface Location {
  databaseUrl: string;
  /** Whether MySQL was started only for this command. */
  own: boolean;
  stop(): Promise<void>;
}

/**
 * Opens the service's database while `work` runs: the configured database, the database of a service that runs on the same DATA_DIR, or
 * an embedded database that is started and migrated for this command.
 * @param migrations `run` migrates the schema first, `expect` requires it to be up to date, `ignore` leaves that to
 * `work`, which must not seal anything. Only `run` begins a new embedded database.
 * @throws {Failure} when there is no database, or its schema is not up to date. {SecretBoxError} when SECRET_KEY is not the key of the
 * database. Errors of MySQL are passed on.
 */
export async function withInstallation<T>(
  { readConfig, terminal }: CommandContext,
  work: (installation: Installation) => Promise<T>,
  { migrations = 'expect' }: { migrations?: 'run' | 'expect' | 'ignore' } = {},
): Promise<T> {
  const config = readConfig();
  const mayBegin = migrations === 'run';
  const { databaseUrl, own, stop } = await locate(config, { mayBegin, note: terminal.note });
  try {
    const secretKey = config.secretKey ?? (await loadOrCreateSecretKey(config.dataDir));
    // Loaded here, because --help needs no database.
    const { createDataSource } = await import('../database/data-source.ts');
    const { endConnectionsInUse } = await import('../database/connection.ts');
    const { migrate } = await import('../database/migrate.ts');
    const database = createDataSource(databaseUrl, { poolSize: POOL_SIZE });
    await database.initialize();
    try {
      const migrated = migrations === 'run' || own ? await migrate(database) : [];
      if (migrations === 'expect' && !own && (await database.showMigrations()))
        throw new Failure(SCHEMA_MISSING);
      const secrets = createSecretBox(secretKey, config.previousSecretKeys);
      // Without this check, a command could seal values with a key that the service does not have.
      if (migrations !== 'ignore') await checkSecretKey(database, secrets);
      return await work({ database, secrets, migrated });
    } finally {
      endConnectionsInUse(database);
      await database.destroy();
    }
  } finally {
    await stop();
  }
}

interface Start {
  mayBegin: boolean;
  note: (line: string) => void;
}

const OTHER_FOLDER = 'Set DATA_DIR to the folder of your service. To begin here: ledgerbell start';

async function locate(config: Config, start: Start): Promise<Location> {
  requireServers(config, ['databaseUrl']);
  const { databaseUrl } = config;
  if (databaseUrl !== undefined) return { databaseUrl, own: false, stop: async () => {} };
  return pRetry(() => locateEmbedded(config, start), {
    retries: Number.POSITIVE_INFINITY,
    factor: 1,
    minTimeout: 250,
    maxRetryTime: STARTING_SERVICE,
    // Another process owns the directory, but has not published the URLs of its servers yet.
    shouldRetry: ({ error }) => error instanceof DataDirInUseError,
  });
}

async function locateEmbedded(config: Config, { mayBegin, note }: Start): Promise<Location> {
  const { dataDir, install } = config;
  const databaseUrl = (await findRunning(dataDir))?.databaseUrl;
  if (databaseUrl !== undefined) return { databaseUrl, own: false, stop: async () => {} };
  if (!mayBegin && !hasDatabase(dataDir))
    throw new Failure(
      `There is no database in ${resolve(dataDir)}, and no service runs on it. ${OTHER_FOLDER}`,
    );
  const { startEmbedded } = await import('../servers/embedded.ts');
  const embedded = await startEmbedded({ dataDir, mysql: true, redis: false, install, announce: note });
  if (embedded.databaseUrl === undefined)
    throw new Error('the embedded MySQL started without telling where it is');
  return { databaseUrl: embedded.databaseUrl, own: true, stop: embedded.stop };
}
