import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbedded } from '../src/platform/embedded/servers.ts';
import { compile } from './support/compiled.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    databaseUrl: string;
    redisUrl: string;
  }
}

/**
 * Compiles the product, and provides real servers for the whole test run: those named by TEST_DATABASE_URL and TEST_REDIS_URL, each of the two that is
 * not named an embedded one with an empty data directory. Tests read them with `inject('databaseUrl')`; the user of
 * that URL may create databases of its own.
 */
export default async function provideServers(project: TestProject): Promise<() => Promise<void>> {
  const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
  const dataDir = await mkdtemp(join(tmpdir(), 'ledgerbell-test-'));
  const [embedded] = await Promise.all([
    startEmbedded({
      dataDir,
      mysql: !TEST_DATABASE_URL,
      redis: !TEST_REDIS_URL,
      install: 'auto',
      announce: (line) => console.error(line),
    }),
    compile(),
  ]);
  project.provide('databaseUrl', TEST_DATABASE_URL || (embedded.databaseUrl ?? ''));
  project.provide('redisUrl', TEST_REDIS_URL || (embedded.redisUrl ?? ''));
  return async () => {
    await embedded.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}
