import { Redis } from 'ioredis';
import { beforeAll, inject } from 'vitest';
import { redisOptions } from '../../src/platform/redis.ts';

/**
 * A Redis database for a file that starts the service or its command line as it is, so that its queues have their usual names. It is
 * empty, and only files of this worker use it, one after the other. Database 0 is for queues with a prefix of their own, and for processes
 * of the role api alone. Call it at the top of the file.
 * @returns its URL.
 */
export function useRedisDatabase(): string {
  const url = new URL(inject('redisUrl'));
  url.pathname = `/${process.env.VITEST_POOL_ID}`;
  beforeAll(async () => {
    const redis = new Redis(redisOptions(url.href));
    await redis.flushdb();
    redis.disconnect();
  });
  return url.href;
}
