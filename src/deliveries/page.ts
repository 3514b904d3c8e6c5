import type { Sql } from '../database/transaction.ts';
import type { Caller } from '../http/environment.ts';
import { findAttempted } from './attempted.ts';
import { type Found, PER_PAGE } from './scan.ts';
import { findUnattempted } from './unattempted.ts';
import { DELIVERY_COLUMNS, type DeliveryRow, type ListedStatus, statusOf } from './view.ts';

/** Above every id, and still a number that a cursor may hold. */
const NEWEST = '999999999999999999';

export interface DeliveryPage {
  /** The newest movement first. */
  rows: DeliveryRow[];
  /** The next page begins below this movement; null: there is none. */
  next: string | null;
}

/**
 * Reads a page of a webhook's deliveries, the newest movement first. Deliveries that had an attempt have rows. The others are
 * the matching movements beyond the webhook's cursor. Both are read in the order of an index and merged.
 * @param before the page begins below this movement; null: at the newest.
 */
export async function readPage(
  sql: Sql,
  caller: Caller,
  { webhookId, status, before }: { webhookId: string; status: ListedStatus | null; before: string | null },
): Promise<DeliveryPage> {
  const position = before ?? NEWEST;
  const found: Found[] = [];
  // The log comes first: a delivery that gets its first attempt in between is then found among the rows.
  if (status === null || status === 'pending')
    found.push(await findUnattempted(sql, caller, webhookId, position));
  found.push(await findAttempted(sql, caller, { webhookId, status, before: position }));
  // Below the point that either of them has reached, deliveries may be missing.
  const floor = found.reduce((most, { reached }) => (reached > most ? reached : most), 0n);
  const ids = [...new Set(found.flatMap((it) => it.ids))]
    .map(BigInt)
    .filter((id) => id >= floor)
    .sort((a, b) => (a < b ? 1 : -1));
  const page = ids.slice(0, PER_PAGE);
  const last = page.at(-1);
  const next = ids.length > PER_PAGE && last !== undefined ? last : floor > 0n ? floor : null;
  const rows = await readRows(sql, webhookId, page.map(String));
  return {
    rows: rows.filter((row) => status === null || statusOf(row) === status),
    next: next === null ? null : String(next),
  };
}

/** Indexes: the primary keys. */
const ROWS = `
  SELECT ? AS webhook_id, ${DELIVERY_COLUMNS} FROM transactions t
  LEFT JOIN deliveries d ON d.webhook_id = ? AND d.transaction_id = t.id
  LEFT JOIN retries r ON r.webhook_id = ? AND r.transaction_id = t.id
  WHERE t.id IN (?) ORDER BY t.id DESC`;

async function readRows(sql: Sql, webhookId: string, ids: readonly string[]): Promise<DeliveryRow[]> {
  if (ids.length === 0) return [];
  return sql.query<DeliveryRow[]>(ROWS, [webhookId, webhookId, webhookId, ids]);
}
