import type { RedisClient } from './redis.ts';

/** How long one process may take to read before another process reads. Milliseconds. */
const READ_LIMIT = 30_000;

/**
 * Shares an expensive reading among all processes through Redis. Within `seconds`, only the first process that asks reads the value. While
 * it reads, the other processes get the previous value.
 *
 * While Redis is unreachable, each process reads for itself, at most once in `seconds`.
 * @param options.key of the value in Redis. Change it when the shape of the value changes.
 * @param options.read returns the value, which must survive JSON.
 * @returns a function that gets the value, at most twice as old as `seconds`. It throws what `read` throws.
 */
export function shareReading<T>({
  redis,
  key,
  seconds,
  read,
  clock = () => performance.now(),
}: {
  redis: RedisClient;
  key: string;
  seconds: number;
  read: () => Promise<T>;
  /** Milliseconds. Must never go back. */
  clock?: () => number;
}): () => Promise<T> {
  let last: { value: T; at: number } | null = null;
  let reading: Promise<T> | null = null;
  const lockKey = `${key}:reading`;

  async function readAndShare(): Promise<T> {
    try {
      const value = await read();
      await redis.set(key, JSON.stringify(value), 'EX', seconds).catch(() => {});
      return value;
    } finally {
      await redis.del(lockKey).catch(() => {});
    }
  }

  async function find(): Promise<T> {
    const shared = await redis.get(key).catch(() => null);
    if (shared !== null) return JSON.parse(shared) as T;
    const isMine = await redis.set(lockKey, '', 'PX', READ_LIMIT, 'NX').catch(() => 'OK');
    // Without a previous value, this process reads too, because an answer without the value would look like an outage.
    return isMine === null && last !== null ? last.value : readAndShare();
  }

  return async () => {
    if (last !== null && clock() - last.at < seconds * 1_000) return last.value;
    reading ??= find().finally(() => {
      reading = null;
    });
    const value = await reading;
    last = { value, at: clock() };
    return value;
  };
}
