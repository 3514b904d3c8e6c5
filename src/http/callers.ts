import type { DataSource } from 'typeorm';
import { createBatcher } from '../batcher.ts';
import type { Sql } from '../database/transaction.ts';
import type { Caller } from './environment.ts';

interface KeyRow {
  id: string;
  customer_id: string;
  all_accounts: number;
  key_hash: string;
}

/** Index: api_keys_hash. Keys are looked up by their SHA-256, so that no key is compared byte by byte. */
const FIND_KEYS =
  'SELECT id, customer_id, all_accounts, HEX(key_hash) AS key_hash FROM api_keys WHERE key_hash IN (?)';
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
  const callers = new Map(
    keys.map(({ id, customer_id, all_accounts, key_hash }): [string, Caller] => {
      const own = accounts.filter(({ api_key_id }) => api_key_id === id);
      const accountIds = all_accounts === 1 ? 'all' : own.map(({ account_id }) => account_id);
      return [key_hash.toLowerCase(), { customerId: customer_id, apiKeyId: id, accountIds }];
    }),
  );
  return hashes.map((hash) => callers.get(hash.toString('hex')) ?? null);
}
