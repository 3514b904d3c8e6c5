import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, inject } from 'vitest';
import { createDataSource } from '../../src/database/data-source.ts';
import { migrate } from '../../src/database/migrate.ts';

export interface TestDatabase {
  /** Connected and migrated, once the file's `beforeAll` has run. */
  readonly database: DataSource;
  readonly url: string;
}

/** Creates a database for this test file, which is dropped at its end. Call it at the top of the file. */
export function useDatabase({ migrated = true } = {}): TestDatabase {
  const name = newName();
  const url = urlOf(name);
  const database = createDataSource(url);
  let own: OwnDatabase;
  beforeAll(async () => {
    own = await createDatabase({ name, migrated });
    await database.initialize();
  });
  afterAll(async () => {
    if (database.isInitialized) await database.destroy();
    await own?.drop();
  });
  return { database, url };
}

export interface OwnDatabase {
  url: string;
  drop(): Promise<void>;
}

/** Creates a database with a name of its own. */
export async function createDatabase({ name = newName(), migrated = true } = {}): Promise<OwnDatabase> {
  const url = urlOf(name);
  await withDatabase(inject('databaseUrl'), (server) => server.query(`CREATE DATABASE ${name}`));
  if (migrated) await withDatabase(url, migrate);
  return {
    url,
    drop: () =>
      withDatabase(inject('databaseUrl'), (server) => server.query(`DROP DATABASE IF EXISTS ${name}`)),
  };
}

const newName = () => `${inject('databasePrefix')}${randomBytes(6).toString('hex')}`;

function urlOf(name: string): string {
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${name}`;
  return url.href;
}

async function withDatabase(url: string, use: (database: DataSource) => Promise<unknown>): Promise<void> {
  const database = createDataSource(url, { poolSize: 1 });
  await database.initialize();
  try {
    await use(database);
  } finally {
    await database.destroy();
  }
}
