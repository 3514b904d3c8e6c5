import type { Sql, WriteResult } from '../database/transaction.ts';

export interface FanOut {
  deliveries: number;
  /** The webhooks that are now owed something, for the pump to be woken. */
  webhookIds: string[];
}

interface NewMovements {
  account_id: string;
  dc: 'Debit' | 'Credit';
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

/** Indexes: transactions_customer_page for the new movements, the primary key for the webhooks. */
const OWE = `
  INSERT INTO deliveries (webhook_id, transaction_id)
  SELECT w.id, t.id
  FROM transactions t
  JOIN webhooks w ON w.id IN (?)
    AND (w.account_id IS NULL OR w.account_id = t.account_id)
    AND (w.event = 'NEW_TRANSACTION' OR (w.event = 'NEW_DEBIT' AND t.dc = 'Debit') OR (w.event = 'NEW_CREDIT' AND t.dc = 'Credit'))
  WHERE t.customer_id = ? AND t.id > ?
  ORDER BY t.id, w.id`;

/**
 * Owes each new movement to every webhook of the customer that matches it, in the transaction that stores the movements:
 * either both are committed, or neither.
 * @param after the customer's newest movement before this chunk; all beyond it are new.
 */
export async function fanOut(
  sql: Sql,
  customerId: string,
  after: string,
  movements: readonly NewMovements[],
): Promise<FanOut> {
  const accounts = [...new Set(movements.map(({ account_id }) => account_id))];
  const subscriptions = await sql.query<Subscription[]>(SUBSCRIPTIONS, [customerId, accounts]);
  const webhookIds = subscriptions
    .filter((subscription) => movements.some((movement) => matches(subscription, movement)))
    .map(({ id }) => id);
  if (webhookIds.length === 0) return { deliveries: 0, webhookIds };
  const { affectedRows } = await sql.query<WriteResult>(OWE, [webhookIds, customerId, after]);
  return { deliveries: affectedRows, webhookIds };
}

function matches(subscription: Subscription, { account_id, dc }: NewMovements): boolean {
  if (subscription.account_id !== null && subscription.account_id !== account_id) return false;
  return (
    subscription.event === 'NEW_TRANSACTION' ||
    subscription.event === `NEW_${dc === 'Debit' ? 'DEBIT' : 'CREDIT'}`
  );
}
