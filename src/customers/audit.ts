import type { Sql } from '../platform/database/transaction.ts';
import type { Caller, Operator } from './caller.ts';

/** Records who has changed what. */

/** A change. `subject` is what was changed, such as "webhook 12". Neither field may hold a secret. */
export interface Change {
  action: string;
  subject: string;
  /** A few words for a person. Longer texts are cut. */
  detail?: string;
}

const MOST_DETAIL = 500;

/** Index: the primary key. A key keeps its name in the audit log when it is deleted. */
const NAME_KEY = `SELECT CONCAT(prefix, '… ', title) AS name FROM api_keys WHERE id = ?`;

const INSERT = `
  INSERT INTO audit_events (customer_id, source, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?, ?)`;

/** Who has made a change. `customerId` is null for what belongs to no customer, such as a queue. */
type Author = Pick<Caller, 'apiKeyId' | 'operator'> & { customerId: string | null };

/** An operator. @param customerId null: what is changed belongs to no customer. */
export const byOperator = (operator: Operator, customerId: string | null): Author => ({
  customerId,
  apiKeyId: '0',
  operator,
});

/** Records a change. @param sql the transaction of the change, so that neither is committed without the other. */
export async function recordChange(
  sql: Sql,
  { customerId, apiKeyId, operator }: Author,
  { action, subject, detail = '' }: Change,
): Promise<void> {
  const [source, actor] =
    operator === undefined ? ['api', await nameKey(sql, apiKeyId)] : [operator.source, operator.name];
  const cut = [...detail].slice(0, MOST_DETAIL).join('');
  await sql.query(INSERT, [customerId, source, actor, action, subject, cut]);
}

async function nameKey(sql: Sql, apiKeyId: string): Promise<string> {
  const [key] = await sql.query<{ name: string }[]>(NAME_KEY, [apiKeyId]);
  return key?.name ?? `key ${apiKeyId}`;
}
