import type { Sql } from '../database/transaction.ts';
import { MOST_RANGES, matchesFilter, readFilterRanges } from '../delivering/filter-ranges.ts';
import { type Caller, maySee } from '../http/environment.ts';
import { type DeliveryRange, type Found, MOST_LOOKED_AT, scan } from './scan.ts';

interface Cursor {
  customer_id: string;
  sent_through: string;
  highest_recorded_id: string;
  matched_through: string;
}

/** Indexes: the primary keys. */
const CURSOR = `
  SELECT c.customer_id, c.sent_through, c.highest_recorded_id, b.matched_through
  FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id WHERE c.webhook_id = ?`;

/** The log of a customer, or of one of its accounts. Both indexes cover all columns that are read. */
const LOG_OF = {
  customer: `
    SELECT id, account_id, dc FROM transactions FORCE INDEX (transactions_customer_page)
    WHERE customer_id = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT ?`,
  account: `
    SELECT id, account_id, dc FROM transactions FORCE INDEX (transactions_account_page)
    WHERE account_id = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT ?`,
};

/** Index: the primary key. */
const HAVE_ROWS =
  'SELECT transaction_id AS id FROM deliveries WHERE webhook_id = ? AND transaction_id IN (?)';

/** Finds deliveries without an attempt: matching movements beyond the webhook's cursor that have no row in `deliveries`. */
export async function findUnattempted(
  sql: Sql,
  caller: Caller,
  { webhookId, after, before, perPage }: DeliveryRange,
): Promise<Found> {
  const [cursor] = await sql.query<Cursor[]>(CURSOR, [webhookId]);
  if (cursor === undefined) return { ids: [], reached: 0n };
  const { customer_id, sent_through, highest_recorded_id, matched_through } = cursor;
  const last = BigInt(before) - 1n;
  const through = last < BigInt(matched_through) ? last : BigInt(matched_through);
  const start = BigInt(after) > BigInt(sent_through) ? after : sent_through;
  if (through <= BigInt(start)) return { ids: [], reached: 0n };
  const ranges = await readFilterRanges(sql, webhookId, { after: start, through: String(through) });

  const budget = { entries: MOST_LOOKED_AT };
  const ids: string[] = [];
  for (const { fromId, throughId, filter } of ranges) {
    if (filter === null || (filter.accountId !== null && !maySee(caller, filter.accountId))) continue;
    const read = (from: string, limit: number) =>
      filter.accountId === null
        ? sql.query<LogEntry[]>(LOG_OF.customer, [customer_id, fromId, from, limit])
        : sql.query<LogEntry[]>(LOG_OF.account, [filter.accountId, fromId, from, limit]);
    const keep = async (entries: LogEntry[]) => {
      const matching = entries.filter((it) => matchesFilter(filter, it) && maySee(caller, it.account_id));
      return withoutRows(sql, webhookId, highest_recorded_id, matching);
    };
    const found = await scan({ before: String(BigInt(throughId) + 1n), perPage, budget }, read, keep);
    ids.push(...found.ids);
    if (found.reached > 0n) return { ids, reached: found.reached };
    if (ids.length > perPage) return { ids, reached: BigInt(fromId) + 1n };
  }
  const oldest = ranges.at(-1);
  const more = ranges.length === MOST_RANGES && oldest !== undefined && oldest.fromId !== start;
  return { ids, reached: more ? BigInt(oldest.fromId) + 1n : 0n };
}

interface LogEntry {
  id: string;
  account_id: string;
  dc: 'Debit' | 'Credit';
}

/** After a crash, some movements beyond the cursor have a row; none beyond highest_recorded_id has one. */
async function withoutRows(
  sql: Sql,
  webhookId: string,
  highestRecordedId: string,
  entries: LogEntry[],
): Promise<LogEntry[]> {
  const doubtful = entries.filter(({ id }) => BigInt(id) <= BigInt(highestRecordedId)).map(({ id }) => id);
  if (doubtful.length === 0) return entries;
  const rows = await sql.query<{ id: string }[]>(HAVE_ROWS, [webhookId, doubtful]);
  const known = new Set(rows.map(({ id }) => id));
  return entries.filter(({ id }) => !known.has(id));
}
