import { connectPatient } from '../src/queues/connection.ts';
import { startServers } from './servers.ts';

/** What makes Redis keep every write that it has answered, whatever happens to it. */
const DURABLE = { appendonly: 'yes', appendfsync: 'always' };

/**
 * A Redis for the baselines that keep their jobs in Redis alone: it writes each job to the disk before it answers, as MySQL
 * does for the service. It is a process of its own, on a Unix socket that only this user can open.
 */
export async function startDurableRedis(): Promise<{ url: string; end(): Promise<void> }> {
  const servers = await startServers({ mysql: false, redis: true });
  const url = servers.redisUrl ?? '';
  const redis = connectPatient(url);
  for (const [name, value] of Object.entries(DURABLE)) {
    await redis.config('SET', name, value);
    const [, set] = (await redis.config('GET', name)) as string[];
    if (set !== value) throw new Error(`Redis keeps ${name} at ${set}, and the baseline needs ${value}`);
  }
  redis.disconnect();
  return { url, end: servers.end };
}
