import { Redis } from 'ioredis';
import pRetry from 'p-retry';
import { wakeWebhooks } from '../delivery/wake.ts';
import { openQueues, type Queues } from '../platform/queues.ts';
import { connectFailFast, type RedisClient } from '../platform/redis.ts';
import type { Installation } from './open-service.ts';

/** Reaches the Redis of a service from a command, which must also work without it. */

/** How long a command tries to reach Redis. Milliseconds. */
export const REDIS_TIMEOUT = 3_000;

/** Connects to Redis. @returns null when it cannot be reached within 3 s. */
export async function reachRedis(redisUrl: string): Promise<RedisClient | null> {
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

/** A connection on which all commands fail immediately, for work that does not depend on Redis. */
export function withoutRedis(): Redis {
  const redis = new Redis({ lazyConnect: true });
  redis.disconnect();
  return redis;
}

/**
 * Connects to the Redis of a running service, so that the service is notified of a change immediately. Without a running service, commands
 * on the connection fail.
 * @param redisUrl undefined: no service is running.
 */
export async function connectToService(
  redisUrl: string | undefined,
  note: (line: string) => void,
): Promise<RedisClient> {
  if (redisUrl === undefined) {
    note('No service is running: this takes effect once one is started.');
    return withoutRedis();
  }
  const redis = await reachRedis(redisUrl);
  if (redis === null)
    note('Redis cannot be reached: the service finds this by itself, within 10 s of its return.');
  return redis ?? withoutRedis();
}

/** Opens the queues of the service while `work` runs. Then closes the queues and the connection. */
export async function withQueues<T>(
  redis: RedisClient,
  { deliveryQueues, redisPrefix: prefix }: Pick<Installation, 'deliveryQueues' | 'redisPrefix'>,
  work: (queues: Queues) => Promise<T>,
): Promise<T> {
  const queues = openQueues(redis, { prefix, deliveryQueues });
  try {
    return await work(queues);
  } finally {
    redis.disconnect();
    await queues.close().catch(() => {});
  }
}

/** Tells delivery runs that their webhooks have changed. Without this, the runs end by themselves within a minute. */
export async function endRuns(
  installation: Installation,
  webhookIds: readonly string[],
  note: (line: string) => void,
): Promise<void> {
  if (webhookIds.length === 0) return;
  const { database, redisUrl, redisPrefix: prefix } = installation;
  const redis = await connectToService(redisUrl, note);
  await withQueues(redis, installation, (queues) =>
    wakeWebhooks({ database, queues, redis, prefix }, webhookIds, { reread: true }),
  ).catch(() => note('The service has not been told: delivery runs finish the POSTs that they have begun.'));
}
