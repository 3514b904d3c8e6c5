import { Redis } from 'ioredis';
import mysql from 'mysql2/promise';
import { redisOptions } from '../../../src/platform/redis.ts';

/** Runs one query on a connection of its own. */
export async function ask(databaseUrl: string, sql: string): Promise<mysql.RowDataPacket[]> {
  const connection = await mysql.createConnection({ uri: databaseUrl, multipleStatements: true });
  try {
    const [rows] = await connection.query<mysql.RowDataPacket[]>(sql);
    return rows;
  } finally {
    await connection.end();
  }
}

/** Runs one command on a connection of its own. If Redis is unreachable, it fails and does not wait. */
export async function tell(redisUrl: string, command: string, ...args: string[]): Promise<unknown> {
  const redis = new Redis({
    ...redisOptions(redisUrl),
    lazyConnect: true,
    retryStrategy: () => null,
    enableReadyCheck: false,
  });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}

/** The same URL with another user and password. */
export function as(url: string, user: string, password: string): string {
  const other = new URL(url);
  other.username = user;
  other.password = password;
  return other.href;
}
