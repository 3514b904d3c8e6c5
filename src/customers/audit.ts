import { cutTo } from '../database/text-columns.ts';
import type { Sql } from '../database/transaction.ts';
import { type Actor, isOperator, type Operator } from './caller.ts';

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
type Author = { actor: Actor | { importId: string }; customerId: string | null };

/** An operator as author. @param customerId null: the changed object belongs to no customer. */
export const byOperator = (actor: Operator, customerId: string | null): Author => ({ actor, customerId });

/** Records a change. @param sql the transaction of the change, so that both are committed or neither. */
export async function recordChange(
  sql: Sql,
  author: Author,
  { action, subject, detail = '' }: Change,
): Promise<void> {
  const [source, actor] = await nameActor(sql, author.actor);
  await sql.query(INSERT, [
    author.customerId,
    source,
    actor,
    action,
    subject,
    cutTo('audit_events.detail', detail),
  ]);
}

async function nameActor(sql: Sql, actor: Author['actor']): Promise<[source: string, actor: string]> {
  if ('importId' in actor) return ['api', `import ${actor.importId}`];
  return isOperator(actor) ? [actor.source, actor.name] : ['api', await nameKey(sql, actor.apiKeyId)];
}

async function nameKey(sql: Sql, apiKeyId: string): Promise<string> {
  const [key] = await sql.query<{ name: string }[]>(NAME_KEY, [apiKeyId]);
  return key?.name ?? `key ${apiKeyId}`;
}
