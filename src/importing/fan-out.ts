import type { Sql } from '../database/transaction.ts';

/** Movements that have just been stored, counted. */
export interface NewMovements {
  import_id: string;
  account_id: string;
  dc: 'Debit' | 'Credit';
  movements: number;
}

export interface FanOut {
  /** How many notifications each import made owed. */
  deliveries: ReadonlyMap<string, number>;
  /** The webhooks that are now owed something, for the pump to be woken. */
  webhookIds: string[];
}

interface Subscription {
  id: string;
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT';
  account_id: string | null;
}

/**
 * Only those that may match: a customer may have thousands of others. Indexes: webhooks_account, or webhooks_customer. A
 * paused webhook is owed as well: it gets all when it goes on.
 */
const SUBSCRIPTIONS = `
  SELECT id, event, account_id FROM webhooks
  WHERE customer_id = ? AND status IN ('active', 'paused') AND (account_id IS NULL OR account_id IN (?))`;

/**
 * Webhook by webhook, as the indexes of deliveries are ordered; of each webhook in the order of the movements. The index is
 * forced since MariaDB walks through all of the customer's movements in it, or through all customers' new ones, where it has
 * the choice. The webhooks are found by the primary key.
 */
const OWE = `
  INSERT INTO deliveries (webhook_id, transaction_id)
  SELECT w.id, t.id
  FROM transactions t FORCE INDEX (transactions_customer_page)
  JOIN webhooks w ON w.id IN (?)
    AND (w.account_id IS NULL OR w.account_id = t.account_id)
    AND (w.event = 'NEW_TRANSACTION' OR (w.event = 'NEW_DEBIT' AND t.dc = 'Debit') OR (w.event = 'NEW_CREDIT' AND t.dc = 'Credit'))
  WHERE t.customer_id = ? AND t.id > ?
  ORDER BY w.id, t.id`;

/** Webhooks for which one statement is made. For thousands of them, and a thousand movements each, it would time out. */
const OWED_TOGETHER = 200;

/**
 * Owes each new movement to every webhook of the customer that matches it, in the transaction that stores the movements:
 * either both are committed, or neither.
 * @param after the customer's newest movement before these; all beyond it are new.
 * @param added the new ones, by import, account and direction.
 */
export async function fanOut(
  sql: Sql,
  customerId: string,
  after: string,
  added: readonly NewMovements[],
): Promise<FanOut> {
  const accounts = [...new Set(added.map(({ account_id }) => account_id))];
  const subscriptions = await sql.query<Subscription[]>(SUBSCRIPTIONS, [customerId, accounts]);
  const matching = new Map<string, Subscription[]>();
  const deliveries = new Map<string, number>();
  for (const { import_id, account_id, dc, movements } of added) {
    const sort = `${account_id} ${dc}`;
    const owed = matching.get(sort) ?? subscriptions.filter((it) => matches(it, account_id, dc));
    matching.set(sort, owed);
    deliveries.set(import_id, (deliveries.get(import_id) ?? 0) + owed.length * movements);
  }
  const owed = new Set([...matching.values()].flat());
  const webhookIds = subscriptions.filter((it) => owed.has(it)).map(({ id }) => id);
  for (let start = 0; start < webhookIds.length; start += OWED_TOGETHER) {
    await sql.query(OWE, [webhookIds.slice(start, start + OWED_TOGETHER), customerId, after]);
  }
  return { deliveries, webhookIds };
}

function matches(subscription: Subscription, accountId: string, dc: NewMovements['dc']): boolean {
  if (subscription.account_id !== null && subscription.account_id !== accountId) return false;
  return (
    subscription.event === 'NEW_TRANSACTION' ||
    subscription.event === `NEW_${dc === 'Debit' ? 'DEBIT' : 'CREDIT'}`
  );
}
