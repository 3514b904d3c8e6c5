import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { redisOptions } from '../../src/platform/redis.ts';
import { MARKER } from './load/movements.ts';
import type { Installation } from './service.ts';

/**
 * Searches for secrets and for the content of movements: in everything that Redis holds, in every command that it was ever given
 * (its append-only files), and in every log.
 * @returns what was found and where, without the secret itself.
 */
export async function findLeaks({
  directory,
  redis,
  secrets,
}: Pick<Installation, 'directory' | 'secrets'> & {
  redis: { url: string; nodeUrls?: readonly string[] };
}): Promise<string[]> {
  const needles = new Map([...secrets, [MARKER, "a movement's description"]]);
  const leaks: string[] = [];
  const search = (text: string, where: string) => {
    for (const [needle, name] of needles) if (text.includes(needle)) leaks.push(`${name} in ${where}`);
  };
  for (const url of redis.nodeUrls ?? [redis.url])
    for (const { key, text } of await readAllKeys(url)) search(text, `the Redis key ${key}`);
  for (const folder of ['logs', join('data', 'redis', 'appendonlydir')]) {
    // Redis with Sentinel and Redis Cluster keep no such files here.
    for (const name of await readdir(join(directory, folder)).catch(() => [])) {
      search(await readFile(join(directory, folder, name), 'utf8'), join(folder, name));
    }
  }
  return leaks;
}

async function readAllKeys(url: string): Promise<{ key: string; text: string }[]> {
  // A replica in a cluster is read too.
  const redis = new Redis({ ...redisOptions(url), readOnly: true });
  try {
    const all: { key: string; text: string }[] = [];
    for await (const keys of redis.scanStream() as AsyncIterable<string[]>) {
      for (const key of keys) all.push({ key, text: key + JSON.stringify(await readKey(redis, key)) });
    }
    return all;
  } finally {
    redis.disconnect();
  }
}

async function readKey(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, 0, -1);
    case 'stream':
      return redis.xrange(key, '-', '+');
    default:
      return null; // The key is gone by now.
  }
}
