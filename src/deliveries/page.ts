import type { Sql } from '../database/transaction.ts';
import { isEventId } from '../delivering/events/operational-event.ts';
import type { Caller } from '../http/environment.ts';
import { findAttempted } from './attempted.ts';
import type { DeliveryRange, Found } from './scan.ts';
import { findUnattempted } from './unattempted.ts';
import {
  DELIVERY_COLUMNS,
  type DeliveryRow,
  EVENTS_AS_MOVEMENTS,
  type ListedStatus,
  statusOf,
} from './view.ts';

export interface DeliveryPage {
  /** The newest movement first. */
  rows: DeliveryRow[];
  /** The next page begins below this movement; null: there is none. */
  next: string | null;
}

/**
 * Reads a page of a webhook's deliveries, newest movement first. Deliveries that had an attempt have rows. The others are the
 * matching movements beyond the webhook's cursor, and for an OPERATIONAL webhook the events with a row in `retries` alone. All are
 * read in the order of an index and merged.
 * @param range the movements that the page is taken from. It begins at the newest of them.
 */
export async function readPage(
  sql: Sql,
  caller: Caller,
  range: DeliveryRange,
  status: ListedStatus | null,
): Promise<DeliveryPage> {
  const found: Found[] = [];
  // The log is read first: a delivery whose first attempt ends between the two reads is then found among the rows.
  if (status === null || status === 'pending') found.push(await findUnattempted(sql, caller, range));
  if (status === null && range.ofEvents)
    found.push(await findAttempted(sql, caller, { ...range, status: 'pending' }));
  found.push(await findAttempted(sql, caller, { ...range, status }));
  // A source that stopped early may have more deliveries below the id it reached, so the page ends there.
  const floor = found.reduce((most, { reached }) => (reached > most ? reached : most), 0n);
  const ids = [...new Set(found.flatMap((it) => it.ids))]
    .map(BigInt)
    .filter((id) => id >= floor)
    .sort((a, b) => (a < b ? 1 : -1));
  const page = ids.slice(0, range.perPage);
  const last = page.at(-1);
  const next = ids.length > range.perPage && last !== undefined ? last : floor > 0n ? floor : null;
  const rows = await readRows(sql, range.webhookId, page.map(String));
  return {
    rows: rows.filter((row) => status === null || statusOf(row) === status),
    next: next === null ? null : String(next),
  };
}

/** Indexes: the primary keys. */
const ROWS = (content: string) => `
  SELECT ? AS webhook_id, ${DELIVERY_COLUMNS} FROM ${content}
  LEFT JOIN deliveries d ON d.webhook_id = ? AND d.transaction_id = t.id
  LEFT JOIN retries r ON r.webhook_id = ? AND r.transaction_id = t.id
  WHERE t.id IN (?) ORDER BY t.id DESC`;

async function readRows(sql: Sql, webhookId: string, ids: readonly string[]): Promise<DeliveryRow[]> {
  const [first] = ids;
  if (first === undefined) return [];
  const content = isEventId(first) ? EVENTS_AS_MOVEMENTS : 'transactions t';
  return sql.query<DeliveryRow[]>(ROWS(content), [webhookId, webhookId, webhookId, ids]);
}
