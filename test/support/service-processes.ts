import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { findDirectory } from '../servers/start.ts';
import { newDataDir } from './data-dir.ts';
import { useDatabase } from './database.ts';
import { type ServiceProcess, startServiceProcess } from './process.ts';
import { useRedisDatabase } from './redis-database.ts';

/** Starts services as processes of their own, and ends them after the file's tests. Call it at the top of the file. */
export function useServiceProcesses() {
  const running: ServiceProcess[] = [];
  const directories: string[] = [];
  afterAll(async () => {
    await Promise.all(
      running.map(({ child, end }) =>
        child.exitCode === null && child.signalCode === null ? end('SIGTERM') : null,
      ),
    );
    for (const directory of directories) await rm(directory, { recursive: true, force: true });
  });
  return {
    start(env: Record<string, string>, args?: string[], entry?: string, root?: string): ServiceProcess {
      const service = startServiceProcess(env, args, entry, root);
      running.push(service);
      return service;
    },
    async newDirectory(): Promise<string> {
      const directory = await mkdtemp(join(await findDirectory(), 'lb-process-'));
      directories.push(directory);
      return directory;
    },
  };
}

/** The variables of services on the run's servers, with a database and a key of this file's own. Call it at the top of the file. */
export const useServers = () => ({
  DATA_DIR: newDataDir(),
  DATABASE_URL: useDatabase().url,
  REDIS_URL: useRedisDatabase(),
  SECRET_KEY: randomBytes(32).toString('base64'),
});
