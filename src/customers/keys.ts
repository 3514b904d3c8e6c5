import type { Sql } from '../database/transaction.ts';
import { parseScopes, type Scope } from '../http/scopes.ts';

/** An API key without the key itself, of which only its SHA-256 is stored. */
export interface StoredKey {
  id: string;
  prefix: string;
  title: string;
  /** What it may see. */
  accountIds: 'all' | string[];
  scopes: Scope[];
  createdAt: Date;
  /** To the minute. */
  lastUsedAt: Date | null;
}

interface KeyRow {
  id: string;
  prefix: string;
  title: string;
  all_accounts: number;
  scopes: string;
  created_at: Date;
  last_used_at: Date | null;
}

/** Index: api_keys_page. */
const KEYS = `
  SELECT id, prefix, title, all_accounts, scopes, created_at, last_used_at FROM api_keys
  WHERE customer_id = ? AND id > ? ORDER BY id LIMIT ?`;

const KEY_ACCOUNTS = `
  SELECT api_key_id, account_id FROM api_key_accounts WHERE api_key_id IN (?) ORDER BY api_key_id, account_id`;

/** A customer's API keys, the oldest first. */
export async function findKeys(
  sql: Sql,
  customerId: string,
  { after, limit }: { after: string; limit: number },
): Promise<StoredKey[]> {
  const rows = await sql.query<KeyRow[]>(KEYS, [customerId, after, limit]);
  const limited = rows.filter(({ all_accounts }) => all_accounts !== 1).map(({ id }) => id);
  const accounts =
    limited.length === 0
      ? []
      : await sql.query<{ api_key_id: string; account_id: string }[]>(KEY_ACCOUNTS, [limited]);
  return rows.map((row) => ({
    id: row.id,
    prefix: row.prefix,
    title: row.title,
    accountIds:
      row.all_accounts === 1
        ? 'all'
        : accounts.filter(({ api_key_id }) => api_key_id === row.id).map(({ account_id }) => account_id),
    scopes: parseScopes(row.scopes),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }));
}
