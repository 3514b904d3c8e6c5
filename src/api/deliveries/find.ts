import type { Sql } from '../../database/transaction.ts';
import type { Caller } from '../../http/environment.ts';
import { notFound } from '../../http/problem.ts';
import { DELIVERY_COLUMNS, type DeliveryRow } from './view.ts';

/**
 * A condition on `deliveries d` for a caller that sees a webhook: a key limited to accounts sees what that webhook is owed of
 * these accounts alone, since it may have been for others before.
 */
export function ofVisibleAccounts({ accountIds }: Caller): { sql: string; values: unknown[] } {
  if (accountIds === 'all') return { sql: '', values: [] };
  if (accountIds.length === 0) return { sql: 'AND FALSE', values: [] };
  return {
    sql: 'AND EXISTS (SELECT 1 FROM transactions t WHERE t.id = d.transaction_id AND t.account_id IN (?))',
    values: [accountIds],
  };
}

export interface FoundDelivery extends DeliveryRow {
  webhook_status: 'active' | 'paused' | 'disabled' | 'deleted';
}

/**
 * A delivery of one of the caller's webhooks, deleted ones included: their log stays.
 * @throws {Problem} 404.
 */
export async function findDelivery(sql: Sql, caller: Caller, id: string): Promise<FoundDelivery> {
  const visible = ofVisibleAccounts(caller);
  const ofWebhook =
    caller.accountIds === 'all' || caller.accountIds.length === 0
      ? { sql: '', values: [] }
      : { sql: 'AND w.account_id IN (?)', values: [caller.accountIds] };
  const [delivery] = await sql.query<FoundDelivery[]>(
    `SELECT ${DELIVERY_COLUMNS}, w.status AS webhook_status
     FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
     WHERE d.id = ? AND w.customer_id = ? ${ofWebhook.sql} ${visible.sql}`,
    [id, caller.customerId, ...ofWebhook.values, ...visible.values],
  );
  if (delivery === undefined) throw notFound('delivery');
  return delivery;
}
