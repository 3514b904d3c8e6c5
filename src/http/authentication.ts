import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { DataSource } from 'typeorm';
import { type Caller, parseScopes } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import type { Sql } from '../database/transaction.ts';
import { createBatcher } from '../platform/batcher.ts';
import { Problem } from '../platform/problem.ts';
import { limitGuesses } from './admission/guesses.ts';
import { createMiddleware } from './app.ts';

/**
 * Identifies the caller by the API key in `Authentication` (with or without "Bearer "), or in `Authorization: Bearer`.
 * Answers 401 when the key is missing or unknown, and 429 to a client that has sent too many unknown keys.
 */
export function authenticate(
  { database, redis, prefix }: Pick<Runtime, 'database' | 'redis' | 'prefix'>,
  callers: CallerCache,
) {
  const attempt = limitGuesses({ redis, prefix });
  const findCaller = createCallerFinder(database);
  return createMiddleware(async (c, next) => {
    const key =
      bearer(c.req.header('authentication')) ??
      bearer(c.req.header('authorization'), { schemeRequired: true });
    if (key === null) {
      throw unauthenticated(
        'missing-api-key',
        'Send your API key in the header Authentication, or as Authorization: Bearer <api key>.',
      );
    }
    const hash = createHash('sha256').update(key).digest();
    const find = () => callers.find(hash, () => findCaller(hash));
    const caller = await attempt({ hash, address: c.get('clientAddress'), find });
    if (caller === null) throw unknownKey();
    c.set('caller', caller);
    c.set('requireKey', async () => {
      if ((await find()) === null) throw unknownKey();
    });
    await next();
  });
}

function bearer(header: string | undefined, { schemeRequired = false } = {}): string | null {
  const [, scheme, key] = /^\s*(Bearer\s+)?(\S+)\s*$/i.exec(header ?? '') ?? [];
  return key === undefined || (schemeRequired && scheme === undefined) ? null : key;
}

const unauthenticated = (problem: 'missing-api-key' | 'unknown-api-key', detail: string) =>
  // RFC 9110, section 11.6.1: a 401 must name an accepted scheme.
  new Problem(problem, detail, { headers: { 'WWW-Authenticate': 'Bearer realm="ledgerbell"' } });

/** 401 for a key that is unknown, or was deleted while its request was being handled. */
export const unknownKey = () =>
  unauthenticated('unknown-api-key', 'This API key does not exist. It may be mistyped, or it was deleted.');

interface KeyRow {
  id: string;
  customer_id: string;
  all_accounts: number;
  scopes: string;
  unused: number | string;
  key_hash: string;
}

/** Index: api_keys_hash. Looks up keys by their SHA-256 and never compares them byte by byte. */
const FIND_KEYS = `
  SELECT id, customer_id, all_accounts, scopes, HEX(key_hash) AS key_hash,
    (last_used_at IS NULL OR last_used_at < NOW(6) - INTERVAL 1 MINUTE) AS unused
  FROM api_keys WHERE key_hash IN (?)`;

const SET_LAST_USED = 'UPDATE api_keys SET last_used_at = NOW(6) WHERE id IN (?)';

const KEY_ACCOUNTS = 'SELECT api_key_id, account_id FROM api_key_accounts WHERE api_key_id IN (?)';

/**
 * Creates a function that finds the caller by the SHA-256 of an API key, or null for an unknown key. Looks up the keys of concurrent
 * requests together.
 */
function createCallerFinder(database: DataSource): (hash: Buffer) => Promise<Caller | null> {
  return createBatcher((hashes: readonly Buffer[]) => findCallers(database, hashes));
}

async function findCallers(sql: Sql, hashes: readonly Buffer[]): Promise<(Caller | null)[]> {
  const keys = await sql.query<KeyRow[]>(FIND_KEYS, [hashes]);
  const limited = keys.filter(({ all_accounts }) => all_accounts !== 1).map(({ id }) => id);
  const accounts =
    limited.length === 0
      ? []
      : await sql.query<{ api_key_id: string; account_id: string }[]>(KEY_ACCOUNTS, [limited]);
  const unused = keys.filter((key) => Number(key.unused) === 1).map(({ id }) => id);
  // Not awaited. If it fails, the key's next use writes it.
  if (unused.length > 0) sql.query(SET_LAST_USED, [unused]).catch(() => {});
  const callers = new Map(
    keys.map(({ id, customer_id, all_accounts, scopes, key_hash }): [string, Caller] => {
      const own = accounts.filter(({ api_key_id }) => api_key_id === id);
      const accountIds = all_accounts === 1 ? 'all' : own.map(({ account_id }) => account_id);
      const caller: Caller = {
        customerId: customer_id,
        apiKeyId: id,
        accountIds,
        scopes: parseScopes(scopes),
      };
      return [key_hash.toLowerCase(), caller];
    }),
  );
  return hashes.map((hash) => callers.get(hash.toString('hex')) ?? null);
}

/** How long a caller is cached. For this long, a process may still accept a key that another process has deleted. Milliseconds. */
const KEPT_FOR = 1_000;

const KEPT_KEYS = 10_000;

/** Caches the caller of an API key for a second. Most requests then need no query. */
export interface CallerCache {
  /**
   * @param hash SHA-256 of the key.
   * @param read looks up the caller; null for an unknown key, which is not cached.
   */
  find(hash: Buffer, read: () => Promise<Caller | null>): Promise<Caller | null>;
  /** Removes a deleted key. The key stops working in this process immediately. */
  forget(apiKeyId: string): void;
}

/** @param clock milliseconds; must never go back. */
export function createCallerCache(clock: () => number = () => performance.now()): CallerCache {
  const kept = new LRUCache<string, { caller: Caller; until: number }>({ max: KEPT_KEYS });
  /** Grows when a key is deleted. The result of a read that began before is not cached, because it may have found the deleted key. */
  let version = 0;
  return {
    async find(hash, read) {
      const key = hash.toString('base64');
      const found = kept.get(key);
      if (found !== undefined && found.until > clock()) return found.caller;
      const before = version;
      const until = clock() + KEPT_FOR;
      const caller = await read();
      if (caller !== null && version === before) kept.set(key, { caller, until });
      return caller;
    },
    forget(apiKeyId) {
      version += 1;
      for (const [key, { caller }] of [...kept]) if (caller.apiKeyId === apiKeyId) kept.delete(key);
    },
  };
}
