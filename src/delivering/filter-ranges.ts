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

/** Index: the primary key of webhook_filters, once for the last row of each webhook and once for its columns. */
const READ_AT = `
  SELECT f.webhook_id, f.event, f.account_id
  FROM (
    SELECT webhook_id, MAX(from_id) AS from_id FROM webhook_filters
    WHERE webhook_id IN (?) AND from_id < ? GROUP BY webhook_id
  ) newest
  JOIN webhook_filters f ON f.webhook_id = newest.webhook_id AND f.from_id = newest.from_id`;

/** Reads what webhooks match at one movement's id. @returns the filters by webhook, without webhooks that match nothing. */
export async function readFiltersAt(
  sql: Sql,
  webhookIds: readonly string[],
  transactionId: string,
): Promise<Map<string, Filter>> {
  if (webhookIds.length === 0) return new Map();
  const rows = await sql.query<(Omit<FilterRow, 'from_id'> & { webhook_id: string })[]>(READ_AT, [
    webhookIds,
    transactionId,
  ]);
  return new Map(
    rows.flatMap(({ webhook_id, event, account_id }) =>
      event === null ? [] : [[webhook_id, { event, accountId: account_id }] as const],
    ),
  );
}

export function matchesFilter(
  { event, accountId }: Filter,
  movement: { account_id: string; dc: 'Debit' | 'Credit' },
): boolean {
  if (accountId !== null && accountId !== movement.account_id) return false;
  return event === 'NEW_TRANSACTION' || event === (movement.dc === 'Debit' ? 'NEW_DEBIT' : 'NEW_CREDIT');
}
