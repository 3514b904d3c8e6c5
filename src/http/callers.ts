import type { DataSource } from 'typeorm';
import { createBatcher } from '../batcher.ts';
import type { Sql } from '../database/transaction.ts';
import type { Caller } from './environment.ts';
import { parseScopes } from './scopes.ts';

interface KeyRow {
  id: string;
  customer_id: string;
  all_accounts: number;
  scopes: string;
  unused: number | string;
  key_hash: string;
}

/** Index: api_keys_hash. Keys are looked up by their SHA-256 and never compared byte by byte. */
const FIND_KEYS = `
  SELECT id, customer_id, all_accounts, scopes, HEX(key_hash) AS key_hash,
    (last_used_at IS NULL OR last_used_at < NOW(6) - INTERVAL 1 MINUTE) AS unused
  FROM api_keys WHERE key_hash IN (?)`;

const SET_LAST_USED = 'UPDATE api_keys SET last_used_at = NOW(6) WHERE id IN (?)';

const KEY_ACCOUNTS = 'SELECT api_key_id, account_id FROM api_key_accounts WHERE api_key_id IN (?)';

/**
 * Creates a function that finds the caller by the SHA-256 of an API key, or null for an unknown key. Keys of concurrent
 * requests are looked up together.
 */
export function createCallerFinder(database: DataSource): (hash: Buffer) => Promise<Caller | null> {
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
