import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { digestOf } from '../platform/tokens.ts';
import { invalidIssues, shortList, Title } from '../platform/validation.ts';
import { Id } from '../platform/whole-numbers.ts';
import { recordChange } from './audit.ts';
import { apiKeyOf, type Caller, parseScopes, SCOPES, type Scope } from './caller.ts';

/** The API keys of customers: which there are, and how they are created and deleted. */

/** Shows 4 of the 32 random bytes. This is enough to recognise a key, but does not help to guess the rest. */
const PREFIX_LENGTH = 9;

/** The data of an API key without the key itself. Only the SHA-256 of the key is stored. */
export interface StoredKey {
  id: string;
  prefix: string;
  title: string;
  /** The accounts that the key may see. */
  accountIds: 'all' | string[];
  scopes: Scope[];
  createdAt: Date;
  /** To the minute. */
  lastUsedAt: Date | null;
}

type KeyRow = Omit<StoredKey, 'accountIds' | 'scopes'> & { all_accounts: number; scopes: string };

/** Index: api_keys_page. */
const KEYS = `
  SELECT id, prefix, title, all_accounts, scopes, created_at AS createdAt, last_used_at AS lastUsedAt FROM api_keys
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
  return rows.map(({ all_accounts, scopes, ...row }) => ({
    ...row,
    accountIds:
      all_accounts === 1
        ? 'all'
        : accounts.filter(({ api_key_id }) => api_key_id === row.id).map(({ account_id }) => account_id),
    scopes: parseScopes(scopes),
  }));
}

/**
 * Stores a new API key. Only the result has the complete key, because only its SHA-256 is stored.
 * @param accountIds the accounts that the key may see. They must be the customer's. 'all' includes accounts that are added later.
 */
export async function insertApiKey(
  sql: Sql,
  {
    customerId,
    title,
    accountIds,
    scopes = SCOPES,
  }: {
    customerId: string;
    title: string;
    accountIds: 'all' | readonly string[];
    scopes?: readonly Scope[];
  },
): Promise<{ id: string; apikey: string }> {
  const apikey = `lb_${randomBytes(32).toString('base64url')}`;
  const { insertId } = await sql.query<WriteResult>(
    'INSERT INTO api_keys (customer_id, title, prefix, key_hash, all_accounts, scopes) VALUES (?, ?, ?, ?, ?, ?)',
    [
      customerId,
      title,
      apikey.slice(0, PREFIX_LENGTH),
      digestOf(apikey),
      accountIds === 'all' ? 1 : 0,
      scopes.join(','),
    ],
  );
  const id = String(insertId);
  if (accountIds !== 'all' && accountIds.length > 0) {
    await sql.query('INSERT INTO api_key_accounts (api_key_id, account_id) VALUES ?', [
      accountIds.map((accountId) => [id, accountId]),
    ]);
  }
  return { id, apikey };
}

const ACCOUNTS = "SELECT id FROM accounts WHERE customer_id = ? AND id IN (?) AND status <> 'deleting'";

/**
 * Creates an API key for a caller.
 * @param most how many keys the customer may have, including this one.
 * @throws {Problem} 422 with each account that is not the customer's; 409 when the customer has reached its limit of keys.
 */
export async function createApiKey(
  database: DataSource,
  caller: Caller,
  { title, account, scopes }: v.InferOutput<typeof NewApiKey>,
  most: number,
): Promise<{ id: string; apikey: string }> {
  const { customerId } = caller;
  if (account !== 'all') await requireOwnAccounts(database, customerId, account);
  const accountIds = account === 'all' ? account : [...new Set(account)];
  return inTransaction(database, async (sql) => {
    await requireRoom(sql, customerId, most);
    const created = await insertApiKey(sql, { customerId, title, accountIds, scopes });
    await recordChange(sql, caller, {
      action: 'create',
      subject: `API key ${created.id}`,
      detail: `${title}, for ${accountIds === 'all' ? 'all accounts' : `accounts ${accountIds.join(', ')}`}`,
    });
    return created;
  });
}

/** If two keys are created at the same moment, one of the requests waits here. */
const LOCK_CUSTOMER = 'SELECT id FROM customers WHERE id = ? FOR UPDATE';
/** Index: api_keys_page. */
const COUNT = 'SELECT COUNT(*) AS number FROM api_keys WHERE customer_id = ?';

async function requireRoom(sql: Sql, customerId: string, most: number): Promise<void> {
  await sql.query(LOCK_CUSTOMER, [customerId]);
  const [count] = await sql.query<{ number: string | number }[]>(COUNT, [customerId]);
  if (Number(count?.number) >= most)
    throw new Problem(
      'api-key-limit-reached',
      `You have ${most} API keys, which is the limit. Delete one that you no longer need, or ask the operator to raise KEYS_PER_CUSTOMER.`,
    );
}

async function requireOwnAccounts(sql: Sql, customerId: string, accountIds: readonly string[]) {
  const rows = await sql.query<{ id: string }[]>(ACCOUNTS, [customerId, accountIds]);
  const own = new Set(rows.map(({ id }) => id));
  const issues = accountIds.flatMap((id, index) =>
    own.has(id) ? [] : [{ path: `account.${index}`, message: 'must be the id of one of your accounts' }],
  );
  if (issues.length > 0) throw invalidIssues(issues);
}

const LOCK = 'SELECT id FROM api_keys WHERE id = ? AND customer_id = ? FOR UPDATE';

/** The importer needs the key to know which accounts a row may have. Index: imports_status. */
const UNFINISHED = `
  SELECT id FROM imports WHERE status IN ('receiving', 'queued', 'running') AND customer_id = ? AND api_key_id = ? LIMIT 1`;

const DELETE = 'DELETE FROM api_keys WHERE id = ?';

/** Deletes an API key. @throws {Problem} 403, 404, or 409 while an import that was sent with the key is not finished. */
export async function deleteApiKey(database: DataSource, caller: Caller, id: string): Promise<void> {
  const { customerId, actor, accountIds } = caller;
  if (accountIds !== 'all' && id !== apiKeyOf(actor)) {
    throw new Problem(
      'limited-api-key',
      'This API key is limited to some accounts, so the only key it can delete is itself. Use a key for all accounts.',
    );
  }
  await inTransaction(database, async (sql) => {
    const [key] = await sql.query<{ id: string }[]>(LOCK, [id, customerId]);
    if (key === undefined) throw notFound('API key');
    const [unfinished] = await sql.query<{ id: string }[]>(UNFINISHED, [customerId, id]);
    if (unfinished !== undefined) {
      throw new Problem(
        'unfinished-import',
        `Import ${unfinished.id} was sent with this API key and is not finished. Delete the key when the import is done or failed.`,
      );
    }
    // Recorded before the key is deleted, because the audit log names the caller's key, which may be this key.
    await recordChange(sql, caller, { action: 'delete', subject: `API key ${id}` });
    await sql.query(DELETE, [id]);
  });
}

const MAX_ACCOUNTS = 1_000;

/** A list may name a scope twice. */
const MAX_SCOPES = 100;

const SCOPES_RULE = `must be a list with at least one of ${SCOPES.join(', ')}`;

const RULE = 'must be "all", or a list of the ids of your accounts';

/** A list of scopes, in their own order. */
export const KeyScopes = v.pipe(
  shortList(
    v.picklist(SCOPES, SCOPES_RULE),
    MAX_SCOPES,
    `must be a list of at most ${MAX_SCOPES} names`,
    SCOPES_RULE,
  ),
  v.minLength(1, SCOPES_RULE),
  v.transform((scopes) => SCOPES.filter((scope) => scopes.includes(scope))),
);

/** The body of POST /v1/apikeys. */
export const NewApiKey = v.strictObject({
  title: Title,
  account: v.union(
    [
      v.literal('all'),
      v.pipe(
        shortList(Id, MAX_ACCOUNTS, `must name at most ${MAX_ACCOUNTS} accounts`),
        v.minLength(1, 'must name at least one account'),
      ),
    ],
    RULE,
  ),
  scopes: v.optional(KeyScopes, [...SCOPES]),
});
