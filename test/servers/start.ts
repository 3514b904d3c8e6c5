import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDataSource } from '../../src/database/data-source.ts';
import { startEmbedded } from '../../src/servers/embedded.ts';

export interface TestServers {
  databaseUrl: string;
  redisUrl: string;
  /** Stops the servers that were started. */
  stop(): Promise<void>;
}

/**
 * Servers for a whole test run: those named by TEST_DATABASE_URL and TEST_REDIS_URL, and for each of the two that is not named an
 * embedded one without data. What tests store need not survive a crash, so it stays in memory where the machine has enough.
 */
export async function startTestServers(announce: (line: string) => void): Promise<TestServers> {
  const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
  const dataDir = await mkdtemp(join(await findDirectory(), 'ledgerbell-test-'));
  const embedded = await startEmbedded({
    dataDir,
    mysql: !TEST_DATABASE_URL,
    redis: !TEST_REDIS_URL,
    install: 'auto',
    announce,
  });
  if (embedded.databaseUrl !== undefined) await setForTests(embedded.databaseUrl);
  return {
    databaseUrl: TEST_DATABASE_URL || (embedded.databaseUrl ?? ''),
    redisUrl: TEST_REDIS_URL || (embedded.redisUrl ?? ''),
    async stop() {
      await embedded.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const IN_MEMORY = '/dev/shm';
const NEEDED_BYTES = 4 * 2 ** 30;

/** For the data of servers that need not survive a crash of the machine: in memory, where there is enough. */
export async function findDirectory(): Promise<string> {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize > NEEDED_BYTES ? IN_MEMORY : tmpdir();
}

/** Nothing is written to disk at once, and there are connections for the services of all workers. */
async function setForTests(databaseUrl: string): Promise<void> {
  const database = await createDataSource(databaseUrl, { poolSize: 1 }).initialize();
  try {
    await database.query('SET GLOBAL innodb_flush_log_at_trx_commit = 0');
    await database.query('SET GLOBAL sync_binlog = 0');
    await database.query('SET GLOBAL max_connections = 1000');
  } finally {
    await database.destroy();
  }
}
