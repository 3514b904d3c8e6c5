import type { Sql } from '../database/transaction.ts';
import type { Filter } from './filters.ts';

/** Reads what a webhook matches in ranges of movement ids. */

/** A row of webhook_filters and where it ends: what a webhook matches among the movements fromId < id <= throughId. */
export interface FilterRange {
  fromId: string;
  throughId: string;
  /** null: nothing. */
  filter: Filter | null;
}

interface FilterRow {
  from_id: string;
  event: Filter['event'] | null;
  account_id: string | null;
}

/** Both bounds are a range of the primary key. The first row may begin before `after`. */
const READ = `
  SELECT from_id, event, account_id FROM webhook_filters
  WHERE webhook_id = ? AND from_id < ? AND from_id >= COALESCE(
    (SELECT MAX(f.from_id) FROM webhook_filters f WHERE f.webhook_id = ? AND f.from_id <= ?), 0)
  ORDER BY from_id DESC LIMIT ?`;

/** Most webhooks have a handful of rows. One whose filter changes between any two movements may have very many. */
export const MOST_RANGES = 50;

/**
 * Reads what a webhook matches among the movements after < id <= through, the newest range first; at most 50 ranges.
 * Index: the primary key of webhook_filters.
 */
export async function readFilterRanges(
  sql: Sql,
  webhookId: string,
  { after, through }: { after: string; through: string },
): Promise<FilterRange[]> {
  const rows = await sql.query<FilterRow[]>(READ, [webhookId, through, webhookId, after, MOST_RANGES]);
  return rows.map(({ from_id, event, account_id }, at) => ({
    fromId: BigInt(from_id) > BigInt(after) ? from_id : after,
    throughId: rows[at - 1]?.from_id ?? through,
    filter: event === null ? null : { event, accountId: account_id },
  }));
}

const READ_ONE = `
  SELECT from_id, event, account_id FROM webhook_filters
  WHERE webhook_id = ? AND from_id < ? ORDER BY from_id DESC LIMIT 1`;

/** Reads what a webhook matches at one movement's id. @returns null: nothing. Index: the primary key of webhook_filters. */
export async function readFilterAt(
  sql: Sql,
  webhookId: string,
  transactionId: string,
): Promise<Filter | null> {
  const [row] = await sql.query<FilterRow[]>(READ_ONE, [webhookId, transactionId]);
  return row?.event == null ? null : { event: row.event, accountId: row.account_id };
}

export function matchesFilter(
  { event, accountId }: Filter,
  movement: { account_id: string; dc: 'Debit' | 'Credit' },
): boolean {
  if (accountId !== null && accountId !== movement.account_id) return false;
  return event === 'NEW_TRANSACTION' || event === (movement.dc === 'Debit' ? 'NEW_DEBIT' : 'NEW_CREDIT');
}
