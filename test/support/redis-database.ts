import { inject } from 'vitest';

/** The test files that start the service or its command line as it is, so that its queues have their usual names. */
const OWNERS = [
  'audit',
  'deletions',
  'event-processes',
  'failover',
  'five-minutes',
  'killed-process',
  'operations',
  'reload',
  'replay',
  'secrets-reseal',
  'sources',
  'status',
  'upgrade',
  'verify',
] as const;

export type RedisDatabaseOwner = (typeof OWNERS)[number];

/**
 * @returns the URL of a Redis database that no other test file uses. Database 0 is for queues with a prefix of their own, and for
 * processes of the role api alone.
 */
export function redisDatabaseOf(owner: RedisDatabaseOwner): string {
  const url = new URL(inject('redisUrl'));
  url.pathname = `/${OWNERS.indexOf(owner) + 1}`;
  return url.href;
}
