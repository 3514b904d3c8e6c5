import { Redis } from 'ioredis';
import pRetry from 'p-retry';
import { connectFailFast } from '../queues/connection.ts';

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
