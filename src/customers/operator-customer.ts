import type { SecretBox } from '../database/secret-box.ts';
import type { Sql } from '../database/transaction.ts';
import { byOperator, recordChange } from './audit.ts';
import type { Operator } from './caller.ts';
import { addCustomer } from './customers.ts';

/** The customer that represents the operator. Webhooks of the operator belong to it, so they work like all others, and so do templates. */

const NAME = 'Operator';

/** Index: customers_operator. */
const FIND_OPERATOR = 'SELECT id FROM customers WHERE is_operator = 1';

/** @returns the id of the operator's customer; null: there is none yet. */
export async function findOperatorCustomer(sql: Sql): Promise<string | null> {
  const [operator] = await sql.query<{ id: string }[]>(FIND_OPERATOR);
  return operator?.id ?? null;
}

/**
 * Finds the operator's customer, or adds it.
 * @param by for the audit log.
 * @throws MySQL's error when another transaction adds it at the same time.
 */
export async function requireOperatorCustomer(sql: Sql, secrets: SecretBox, by: Operator): Promise<string> {
  const found = await findOperatorCustomer(sql);
  if (found !== null) return found;
  const { id } = await addCustomer(sql, secrets, { name: NAME, isOperator: true });
  await recordChange(sql, byOperator(by, id), { action: 'create', subject: `customer ${id}`, detail: NAME });
  return id;
}
