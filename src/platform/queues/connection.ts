import { Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl } from '../config/server-urls.ts';

/**
 * Options for ioredis from `redis://:password@host:6379/0`, `rediss://…`, or with `?socketPath=/run/redis.sock` for a
 * Unix socket.
 */
export function redisOptions(url: string): RedisOptions {
  const { protocol, host, port, username, password, database, socketPath } = parseRedisUrl(url);
  return {
    ...(socketPath === null ? { host, port: port ?? 6379 } : { path: socketPath }),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
    db: Number(database || 0),
  };
}

/** For workers. While Redis is unreachable, commands wait until it is back. */
export function connectWorker(url: string): Redis {
  return quiet(new Redis({ ...redisOptions(url), maxRetriesPerRequest: null, retryStrategy }));
}

/** For callers that must respond (the API). While Redis is unreachable, commands fail fast, and the reconciler adds the jobs. */
export function connectFailFast(url: string): Redis {
  return quiet(
    new Redis({
      ...redisOptions(url),
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      commandTimeout: 2_000,
      retryStrategy,
    }),
  );
}

const retryStrategy = (times: number) => Math.min(50 * 2 ** times, 1_000);

/** ioredis reconnects by itself, and each command reports an outage to its caller. */
function quiet(redis: Redis): Redis {
  redis.on('error', () => {});
  return redis;
}
