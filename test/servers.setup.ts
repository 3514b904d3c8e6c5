import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { createDataSource } from '../src/database/data-source.ts';
import { startTestServers } from './servers/start.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    databaseUrl: string;
    redisUrl: string;
    /** The names of the run's databases begin with it. */
    databasePrefix: string;
    /** For files. It is removed when the run ends. */
    directory: string;
  }
}

const announce = (line: string) => console.error(line);

/**
 * Provides real servers for the whole test run (see `startTestServers`). Tests read them with
 * `inject('databaseUrl')`; the user of that URL may create databases of its own.
 */
export default async function provideServers(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-test-'));
  const databasePrefix = `test_${randomBytes(3).toString('hex')}_`;
  const servers = await startTestServers(announce);
  project.provide('databaseUrl', servers.databaseUrl);
  project.provide('redisUrl', servers.redisUrl);
  project.provide('databasePrefix', databasePrefix);
  project.provide('directory', directory);
  return async () => {
    if (process.env.TEST_DATABASE_URL) await dropDatabases(servers.databaseUrl, databasePrefix);
    await servers.stop();
    await rm(directory, { recursive: true, force: true });
  };
}

/** Drops the databases that the files of a worker had in common. */
async function dropDatabases(databaseUrl: string, prefix: string): Promise<void> {
  const server = await createDataSource(databaseUrl, { poolSize: 1 }).initialize();
  try {
    const left = await server.query<{ name: string }[]>(
      'SELECT schema_name AS name FROM information_schema.schemata WHERE LEFT(schema_name, ?) = ?',
      [prefix.length, prefix],
    );
    for (const { name } of left) await server.query(`DROP DATABASE ${name}`);
  } finally {
    await server.destroy();
  }
}
