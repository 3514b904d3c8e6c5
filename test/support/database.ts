import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, inject } from 'vitest';
import { createDataSource } from '../../src/platform/database/data-source.ts';
import { migrate } from '../../src/platform/database/migrate.ts';

export interface TestDatabase {
  /** Connected and migrated, once the file's `beforeAll` has run. */
  readonly database: DataSource;
  readonly url: string;
}

/** Creates a database for this test file, which is dropped at its end. Call it at the top of the file. */
export function useDatabase({ migrated = true } = {}): TestDatabase {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const url = new URL(inject('databaseUrl'));
  const server = createDataSource(url.href, { poolSize: 1 });
  url.pathname = `/${name}`;
  const database = createDataSource(url.href);

  beforeAll(async () => {
    await server.initialize();
    await server.query(`CREATE DATABASE ${name}`);
    await database.initialize();
    if (migrated) await migrate(database);
  });
  afterAll(async () => {
    if (database.isInitialized) await database.destroy();
    await server.query(`DROP DATABASE IF EXISTS ${name}`);
    await server.destroy();
  });
  return { database, url: url.href };
}
