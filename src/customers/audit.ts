import { cutTo } from '../database/text-columns.ts';
import type { Sql } from '../database/transaction.ts';
import type { Caller, Operator } from './caller.ts';

/** Records changes and who made them. */

/** A change. `subject` is the changed object, such as "webhook 12". No field may hold a secret. */
export interface Change {
  action: string;
  subject: string;
  /** A few words for a person. Longer texts are cut. */
  detail?: string;
}

/** Index: the primary key. The audit log keeps the name of a key after the key is deleted. */
const NAME_KEY = `SELECT CONCAT(prefix, '… ', title) AS name FROM api_keys WHERE id = ?`;

const INSERT = `
  INSERT INTO audit_events (customer_id, source, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?, ?)`;

/** Who has made a change. `customerId` is null if the changed object belongs to no customer, such as a queue. */
type Author = (Pick<Caller, 'apiKeyId' | 'operator'> | { importId: string }) & { customerId: string | null };

/** An operator as author. @param customerId null: the changed object belongs to no customer. */
export const byOperator = (operator: Operator, customerId: string | null): Author => ({
  customerId,
  apiKeyId: '0',
  operator,
});

/** Records a change. @param sql the transaction of the change, so that both are committed or neither. */
export async function recordChange(
  sql: Sql,
  author: Author,
  { action, subject, detail = '' }: Change,
): Promise<void> {
  const [source, actor] = await nameAuthor(sql, author);
  await sql.query(INSERT, [
    author.customerId,
    source,
    actor,
    action,
    subject,
    cutTo('audit_events.detail', detail),
  ]);
}

async function nameAuthor(sql: Sql, author: Author): Promise<[source: string, actor: string]> {
  if ('importId' in author) return ['api', `import ${author.importId}`];
  const { apiKeyId, operator } = author;
  return operator === undefined ? ['api', await nameKey(sql, apiKeyId)] : [operator.source, operator.name];
}

async function nameKey(sql: Sql, apiKeyId: string): Promise<string> {
  const [key] = await sql.query<{ name: string }[]>(NAME_KEY, [apiKeyId]);
  return key?.name ?? `key ${apiKeyId}`;
}
