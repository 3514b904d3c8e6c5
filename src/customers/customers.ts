import { createHash, randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import type { SecretBox } from '../database/secret-box.ts';
import { SEALED } from '../database/secret-box.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';

/** Enough of a key to tell it from others, and useless to guess the rest: 4 of 32 random bytes. */
const PREFIX_LENGTH = 9;

export interface NewCustomer {
  customer: { id: string; name: string };
  /** Shown once: only its SHA-256 is kept. */
  api_key: string;
  /** Part of the `hash` in every notification of this customer. */
  api_secret: string;
}

/** 32 random bytes, as text. */
const createApiSecret = () => randomBytes(32).toString('base64url');

/** Makes a customer with a first API key that sees all accounts. */
export function createCustomer(
  { database, secrets }: { database: DataSource; secrets: SecretBox },
  name: string,
): Promise<NewCustomer> {
  const apiSecret = createApiSecret();
  return inTransaction(database, async (sql) => {
    const { insertId } = await sql.query<WriteResult>(
      'INSERT INTO customers (name, api_secret) VALUES (?, ?)',
      [name, secrets.seal(apiSecret, SEALED.apiSecret)],
    );
    const id = String(insertId);
    await sql.query('INSERT INTO import_locks (customer_id) VALUES (?)', [id]);
    const { apikey } = await createApiKey(sql, { customerId: id, title: 'First key', accountIds: 'all' });
    return { customer: { id, name }, api_key: apikey, api_secret: apiSecret };
  });
}

/** The customer's API secret, opened. @throws {SecretBoxError} when SECRET_KEY is not the one it was sealed with. */
export async function readApiSecret(
  { database, secrets }: { database: DataSource; secrets: SecretBox },
  customerId: string,
): Promise<string> {
  const [row] = await database.query<{ api_secret: string }[]>(
    'SELECT api_secret FROM customers WHERE id = ?',
    [customerId],
  );
  return secrets.open(row?.api_secret ?? '', SEALED.apiSecret);
}

/**
 * Gives the customer a new API secret. The former one counts for nothing from then on, except in notifications that are
 * being sent: each webhook's revision grows, so that an active delivery run reads the secret again with its next batch.
 * @returns the new secret.
 */
export async function rotateApiSecret(
  { database, secrets }: { database: DataSource; secrets: SecretBox },
  customerId: string,
): Promise<string> {
  const apiSecret = createApiSecret();
  await inTransaction(database, async (sql) => {
    await sql.query('UPDATE customers SET api_secret = ? WHERE id = ?', [
      secrets.seal(apiSecret, SEALED.apiSecret),
      customerId,
    ]);
    await sql.query(
      "UPDATE webhooks SET revision = revision + 1 WHERE customer_id = ? AND status <> 'deleted'",
      [customerId],
    );
  });
  return apiSecret;
}

/** All customers, the oldest first. */
export function listCustomers(sql: Sql): Promise<{ id: string; name: string; created_at: Date }[]> {
  return sql.query('SELECT id, name, created_at FROM customers ORDER BY id');
}

/**
 * Makes an API key. The whole key is in the answer only.
 * @param accountIds the accounts it may see, or 'all' including those made later. They must be the customer's.
 */
export async function createApiKey(
  sql: Sql,
  {
    customerId,
    title,
    accountIds,
  }: { customerId: string; title: string; accountIds: 'all' | readonly string[] },
): Promise<{ id: string; apikey: string }> {
  const apikey = `lb_${randomBytes(32).toString('base64url')}`;
  const { insertId } = await sql.query<WriteResult>(
    'INSERT INTO api_keys (customer_id, title, prefix, key_hash, all_accounts) VALUES (?, ?, ?, ?, ?)',
    [
      customerId,
      title,
      apikey.slice(0, PREFIX_LENGTH),
      createHash('sha256').update(apikey).digest(),
      accountIds === 'all' ? 1 : 0,
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
