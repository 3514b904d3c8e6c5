import type { Sql } from '../database/transaction.ts';

/** Ids and date_readed grow together per customer, so a bound is one entry of the index transactions_readed. */
const NEWEST_BEFORE = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed < CAST(? AS DATETIME(6)) + INTERVAL ? SECOND
  ORDER BY date_readed DESC, id DESC LIMIT 1`;

/**
 * The id of the customer's newest movement that was stored before a moment; "0" when there is none.
 * @param options.inclusive also in the second that begins with the moment, since date_readed is shown in whole seconds.
 */
export async function newestBefore(
  sql: Sql,
  customerId: string,
  moment: Date | string,
  { inclusive }: { inclusive: boolean },
): Promise<string> {
  const [row] = await sql.query<{ id: string }[]>(NEWEST_BEFORE, [customerId, moment, inclusive ? 1 : 0]);
  return row?.id ?? '0';
}
