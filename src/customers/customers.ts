import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { SEALED, type SecretBox } from '../database/secret-box.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { insertApiKey } from './api-keys.ts';
import { byOperator, recordChange } from './audit.ts';
import type { Caller, Operator } from './caller.ts';
import type { CustomerChange } from './customer-view.ts';
import { requireCustomer, requireKept } from './find-customers.ts';

export interface NewCustomer {
  customer: { id: string; name: string };
  /** Shown only once, because only its SHA-256 is stored. */
  api_key: string;
  /** Part of the `hash` in every notification of this customer. */
  api_secret: string;
}

/** 32 random bytes in base64url. */
const createApiSecret = () => randomBytes(32).toString('base64url');

interface NewCustomerRow {
  name: string;
  external_id?: string | null;
  metadata?: Readonly<Record<string, string>>;
  /** For the operator's own customer. */
  isOperator?: boolean;
}

/** NULL: none. */
const storedMetadata = (metadata: Readonly<Record<string, string>>): string | null =>
  Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata);

/**
 * Adds a customer without an API key.
 * @throws MySQL's error when another customer has the external id, or the operator already has a customer.
 */
export async function addCustomer(
  sql: Sql,
  secrets: SecretBox,
  { name, external_id = null, metadata = {}, isOperator = false }: NewCustomerRow,
): Promise<{ id: string; apiSecret: string }> {
  const apiSecret = createApiSecret();
  const { insertId } = await sql.query<WriteResult>(
    "INSERT INTO customers (name, external_id, metadata, api_secret, is_operator) VALUES (?, ?, ?, '', ?)",
    [name, external_id, storedMetadata(metadata), isOperator ? 1 : null],
  );
  const id = String(insertId);
  // Sealing needs the row's id, which is known only now.
  await sql.query('UPDATE customers SET api_secret = ? WHERE id = ?', [
    secrets.seal(apiSecret, SEALED.apiSecret(id)),
    id,
  ]);
  await sql.query('INSERT INTO import_locks (customer_id) VALUES (?)', [id]);
  return { id, apiSecret };
}

/**
 * Creates a customer with a first API key that sees all accounts.
 * @param operator who creates the customer, for the audit log. The demo and tests have no operator.
 */
export function createCustomer(
  { database, secrets }: { database: DataSource; secrets: SecretBox },
  name: string,
  operator?: Operator,
): Promise<NewCustomer> {
  return inTransaction(database, async (sql) => {
    const { id, apiSecret } = await addCustomer(sql, secrets, { name });
    const { apikey } = await insertApiKey(sql, { customerId: id, title: 'First key', accountIds: 'all' });
    if (operator !== undefined) {
      await recordChange(sql, byOperator(operator, id), {
        action: 'create',
        subject: `customer ${id}`,
        detail: name,
      });
    }
    return { customer: { id, name }, api_key: apikey, api_secret: apiSecret };
  });
}

/** Reads and decrypts the customer's API secret. @throws {SecretBoxError} when it was sealed with another SECRET_KEY. */
export async function readApiSecret(
  { database, secrets }: { database: DataSource; secrets: SecretBox },
  customerId: string,
): Promise<string> {
  const [row] = await database.query<{ api_secret: string }[]>(
    'SELECT api_secret FROM customers WHERE id = ?',
    [customerId],
  );
  return secrets.open(row?.api_secret ?? '', SEALED.apiSecret(customerId));
}

/**
 * Replaces the customer's API secret. The old secret is no longer used, except in notifications that are being sent. The revision of each
 * webhook grows, so that active delivery runs end and the webhooks are read again with the new secret.
 * @returns the new secret.
 */
export async function rotateApiSecret(
  { database, secrets }: { database: DataSource; secrets: SecretBox },
  caller: Caller,
): Promise<string> {
  const { customerId } = caller;
  const apiSecret = createApiSecret();
  await inTransaction(database, async (sql) => {
    await sql.query('UPDATE customers SET api_secret = ? WHERE id = ?', [
      secrets.seal(apiSecret, SEALED.apiSecret(customerId)),
      customerId,
    ]);
    await sql.query(
      "UPDATE webhooks SET revision = revision + 1 WHERE customer_id = ? AND status <> 'deleted'",
      [customerId],
    );
    await recordChange(sql, caller, { action: 'rotate API secret', subject: `customer ${customerId}` });
  });
  return apiSecret;
}

const LOCK = 'SELECT id FROM customers WHERE id = ? FOR UPDATE';

/**
 * Changes what a program says of a customer.
 * @param sql a transaction.
 * @throws {Problem} 404; 409 when the customer is being deleted.
 * @throws MySQL's error when another customer has the external id.
 */
export async function updateCustomer(
  sql: Sql,
  operator: Operator,
  id: string,
  { name, external_id, metadata }: CustomerChange,
): Promise<void> {
  const columns = {
    ...(name === undefined ? {} : { name }),
    ...(external_id === undefined ? {} : { external_id }),
    ...(metadata === undefined ? {} : { metadata: storedMetadata(metadata) }),
  };
  const set = Object.keys(columns).map((column) => `${column} = ?`);
  await sql.query(LOCK, [id]);
  requireKept(await requireCustomer(sql, { id }));
  await sql.query(`UPDATE customers SET ${set.join(', ')} WHERE id = ?`, [...Object.values(columns), id]);
  const detail = Object.entries({ name, external_id }).flatMap(([field, value]) =>
    value === undefined ? [] : [`${field} ${value ?? 'none'}`],
  );
  if (metadata !== undefined) detail.push('metadata');
  await recordChange(sql, byOperator(operator, id), {
    action: 'change',
    subject: `customer ${id}`,
    detail: detail.join(', '),
  });
}
