import { Redis } from 'ioredis';
import pRetry from 'p-retry';
import * as v from 'valibot';
import type { Config } from '../platform/config/config.ts';
import { findRunning, hasDatabase } from '../platform/embedded/servers.ts';
import { createLog } from '../platform/log.ts';
import { connectFailFast } from '../platform/queues/connection.ts';
import { ROLES, startService } from '../service.ts';
import { type Api, createApi, RefusedError, UnreachableError } from './api-client.ts';
import { Failure } from './failure.ts';
import { noDatabaseIn } from './open-service.ts';
import type { CommandContext } from './output.ts';

/**
 * Runs `work` with a client of the API at `url`, or at the address of this configuration. If nothing answers at the latter,
 * and MySQL may be embedded but is not running, it starts the whole service while `work` runs.
 * @throws {Failure} when no service answers and there is no database to start one on, or it does not know the key.
 */
export async function withApi<T>(
  { readConfig, terminal }: CommandContext,
  { url, key }: { url: URL | undefined; key: string },
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const config = readConfig();
  const api = createApi(url?.href ?? defaultUrl(config), key);
  try {
    await probe(api);
  } catch (error) {
    if (!(error instanceof UnreachableError) || url !== undefined || !(await mayStart(config))) throw error;
    // A new database does not know the key.
    if (!hasDatabase(config.dataDir))
      throw new Failure(
        `${error.message} ${noDatabaseIn(config.dataDir)} Perhaps DATA_DIR is another folder.`,
      );
    terminal.note('No service is running: starting it for this command.');
    const log = createLog('silent');
    const service = await startService({
      config: { ...config, port: 0, opsPort: 0 },
      roles: ROLES,
      log,
      announce: terminal.note,
    });
    try {
      const own = createApi(service.url, key);
      await probe(own);
      return await work(own);
    } finally {
      await service.stop();
    }
  }
  return work(api);
}

/** Checks that the service answers and knows the key, before a large file is sent. A key without the scope `read` gets 403. */
const probe = (api: Api) =>
  api.get('/v1/banks', v.object({ banks: v.array(v.unknown()) })).catch((error: unknown) => {
    if (!(error instanceof RefusedError && error.status === 403)) throw error;
  });

/** Whether MySQL is embedded, not running, and may be started. */
export const mayStart = async ({ databaseUrl, dataDir, embedded }: Config): Promise<boolean> =>
  databaseUrl === undefined && embedded === 'auto' && (await findRunning(dataDir)) === null;

function defaultUrl({ host, port }: Config): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const SECOND = 1_000;
const REDIS_TIMEOUT = 3 * SECOND;

/** Connects to Redis. @returns null when it cannot be reached within 3 s. */
export async function reachRedis(redisUrl: string): Promise<Redis | null> {
  const redis = connectFailFast(redisUrl);
  try {
    await pRetry(() => redis.ping(), {
      retries: 30,
      factor: 1,
      minTimeout: 100,
      maxRetryTime: REDIS_TIMEOUT,
    });
    return redis;
  } catch {
    redis.disconnect();
    return null;
  }
}

/** A connection whose commands all fail immediately, for work that does not depend on Redis. */
export function withoutRedis(): Redis {
  const redis = new Redis({ lazyConnect: true });
  redis.disconnect();
  return redis;
}

/**
 * Connects to the Redis of a running service, so that it learns of a change immediately. Without one, commands of the connection fail.
 * @param redisUrl undefined: no service is running.
 */
export async function connectToService(
  redisUrl: string | undefined,
  note: (line: string) => void,
): Promise<Redis> {
  if (redisUrl === undefined) {
    note('No service is running: this takes effect once one is started.');
    return withoutRedis();
  }
  const redis = await reachRedis(redisUrl);
  if (redis === null)
    note('Redis cannot be reached: the service finds this by itself, within 10 s of its return.');
  return redis ?? withoutRedis();
}
