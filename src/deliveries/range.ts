import type { Sql } from '../database/transaction.ts';

/** Ids and date_readed grow together per customer, so a bound is one entry of the index transactions_readed. */
const NEWEST_BEFORE = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed < CAST(? AS DATETIME(6)) + INTERVAL ? SECOND
  ORDER BY date_readed DESC, id DESC LIMIT 1`;

/** Of all customers: the operator is sent the events of all of them. Index: operational_events_created. */
const NEWEST_EVENT_BEFORE = `
  SELECT id FROM operational_events FORCE INDEX (operational_events_created)
  WHERE created_at < CAST(? AS DATETIME(6)) + INTERVAL ? SECOND ORDER BY created_at DESC, id DESC LIMIT 1`;

/** What the deliveries of a webhook are of: the movements of a customer, or operational events. */
export interface Contents {
  customerId: string;
  ofEvents: boolean;
}

/**
 * The id of the newest movement or event that was stored before a moment; "0" when there is none.
 * @param options.inclusive also in the second that begins with the moment, since date_readed is shown in whole seconds.
 */
export async function newestBefore(
  sql: Sql,
  { customerId, ofEvents }: Contents,
  moment: Date | string,
  { inclusive }: { inclusive: boolean },
): Promise<string> {
  const bound = [moment, inclusive ? 1 : 0];
  const [row] = ofEvents
    ? await sql.query<{ id: string }[]>(NEWEST_EVENT_BEFORE, bound)
    : await sql.query<{ id: string }[]>(NEWEST_BEFORE, [customerId, ...bound]);
  return row?.id ?? '0';
}
