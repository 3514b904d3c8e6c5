import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { redisOptions } from '../../platform/redis.ts';
import { writePrivate } from '../private-file.ts';
import type { ServerProcess } from './child.ts';

/**
 * Prepares the embedded Redis, whose data is in DATA_DIR/redis.
 * @param socket Absolute path of the Unix socket, the only way to connect.
 * @returns the server process to run.
 */
export function prepareRedis(
  dataDir: string,
  { binary, socket, password }: { binary: string; socket: string; password: string },
): ServerProcess {
  const directory = join(dataDir, 'redis');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const configFile = join(dataDir, 'redis.conf');
  writePrivate(configFile, renderRedisConfig({ directory, socket, password }));
  const url = `redis://:${password}@localhost/0?socketPath=${encodeURIComponent(socket)}`;
  return {
    name: 'redis',
    title: 'Redis',
    command: [binary, configFile],
    socket,
    url,
    ping: () => pingRedis(url),
  };
}

/**
 * No port, no eviction, and an fsync only every second, because MySQL is the source of truth, and jobs that Redis loses are queued
 * again.
 */
function renderRedisConfig(settings: { directory: string; socket: string; password: string }): string {
  return [
    'port 0',
    `unixsocket ${quoted(settings.socket)}`,
    'unixsocketperm 700',
    `requirepass ${quoted(settings.password)}`,
    `dir ${quoted(settings.directory)}`,
    'appendonly yes',
    'appendfsync everysec',
    'maxmemory-policy noeviction',
    'save ""',
    'daemonize no',
    '',
  ].join('\n');
}

/** Rejects when the server does not answer within two seconds, refuses the password or is still loading its data. */
export async function pingRedis(url: string): Promise<void> {
  const redis = new Redis({
    ...redisOptions(url),
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    // The ready check would wait until the data is loaded, however long that takes.
    enableReadyCheck: false,
  });
  // connect() or ping() rejects with the error.
  redis.on('error', () => {});
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
