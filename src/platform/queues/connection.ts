import { Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl } from '../config/server-urls.ts';

/**
 * Options for ioredis from `redis://:password@host:6379/0`, `rediss://…`, with `?socketPath=/run/redis.sock` for a Unix socket, or from
 * `redis+sentinel://…`. After a failover, the connection goes to the new master.
 */
export function redisOptions(url: string): RedisOptions {
  const { hosts, username, password, database, socketPath, tls, sentinels } = parseRedisUrl(url);
  return {
    ...(sentinels === null
      ? socketPath === null
        ? hosts[0]
        : { path: socketPath }
      : {
          sentinels: sentinels.addresses,
          name: sentinels.name,
          ...(sentinels.password === null ? {} : { sentinelPassword: sentinels.password }),
          ...(tls === null ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
          sentinelRetryStrategy: retryStrategy,
        }),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(tls === null ? {} : { tls }),
    db: Number(database || 0),
    reconnectOnError,
  };
}

/** A former master answers READONLY to writes. Whoever waits for a job when a master becomes a replica gets UNBLOCKED. */
function reconnectOnError({ message }: Error): false | 1 | 2 {
  if (message.startsWith('READONLY')) return RECONNECT_AND_RESEND;
  return message.startsWith('UNBLOCKED') ? RECONNECT : false;
}

const RECONNECT = 1;
const RECONNECT_AND_RESEND = 2;

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
