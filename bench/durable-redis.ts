import { connectWorker } from '../src/platform/redis.ts';
import { startServers } from './servers.ts';

/** With these settings Redis never loses a write that it has acknowledged. */
const DURABLE = { appendonly: 'yes', appendfsync: 'always' };

/**
 * Starts a Redis for the baselines that keep their jobs only in Redis. It writes each job to disk before it answers, as MySQL
 * does for the service. It is a process of its own, on a Unix socket that only this user can open.
 */
export async function startDurableRedis(): Promise<{ url: string; end(): Promise<void> }> {
  const servers = await startServers({ mysql: false, redis: true });
  const url = servers.redisUrl ?? '';
  const redis = connectWorker(url);
  for (const [name, value] of Object.entries(DURABLE)) {
    await redis.config('SET', name, value);
    const [, set] = (await redis.config('GET', name)) as string[];
    if (set !== value) throw new Error(`Redis keeps ${name} at ${set}, and the baseline needs ${value}`);
  }
  redis.disconnect();
  return { url, end: servers.end };
}
