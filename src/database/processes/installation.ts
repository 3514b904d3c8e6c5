import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../../platform/redis.ts';
import type { Sql } from '../transaction.ts';

/**
 * The identity of an installation, which all its processes share: a row in MySQL. While they run, it stands in Redis, so that two
 * installations never share a prefix there. Each would take the other's jobs, and find nothing to do.
 */

const ADD_INSTALLATION_ID = 'INSERT IGNORE INTO installation_id (id, value) VALUES (1, ?)';
const READ_INSTALLATION_ID = 'SELECT value FROM installation_id WHERE id = 1';

/** Reads the id of the installation, 16 characters. The first process makes it. */
export async function readInstallationId(sql: Sql): Promise<string> {
  await sql.query(ADD_INSTALLATION_ID, [randomBytes(8).toString('hex')]);
  const [row] = await sql.query<{ value: string }[]>(READ_INSTALLATION_ID);
  if (row === undefined) throw new Error('the installation has no id');
  return row.value;
}

/** An installation without a process gives its prefix up after this long. Each process claims it every 5 s. Milliseconds. */
const CLAIM = 30_000;

/**
 * Claims the prefix in Redis for an installation, for 30 s.
 * @returns the id of the other installation that has it; null: the prefix is ours.
 */
export async function claimPrefix(
  { redis, prefix }: { redis: RedisClient; prefix: string },
  installation: string,
): Promise<string | null> {
  const key = `${prefix}:installation`;
  const holder = await redis.get(key);
  if (holder !== null && holder !== installation) return holder;
  await redis.set(key, installation, 'PX', CLAIM);
  return null;
}

/** "is used by another installation, too …", which follows the word Redis. @param other its id. */
export const sharedPrefix = (prefix: string, other: string): string =>
  `is used by another installation, too (${other}), with the prefix ${prefix}: set REDIS_PREFIX of one of them`;
