import { type Caller, maySee } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import { concernedAt, type Filter, matchesFilter, matchesNewMovements } from '../webhook-record/filter.ts';
import {
  DELIVERY_COLUMNS,
  type DeliveryRow,
  EVENTS_AS_MOVEMENTS,
  type ListedStatus,
  statusOf,
} from './delivery.ts';
import { MOST_RANGES, readFilterRanges } from './filters.ts';
import { accountOf, SUBJECTS } from './subject.ts';

/** Lists the deliveries of a webhook by page, those that were never attempted too. */

export interface DeliveryPage {
  /** The newest movement first. */
  rows: DeliveryRow[];
  /** The next page begins below this movement. null: there is no next page. */
  next: string | null;
}

/**
 * Reads a page of a webhook's deliveries, newest movement first. Deliveries that had an attempt have a row in `deliveries`. The others
 * are matching movements beyond the webhook's cursor, or events that only have a row in `retries`. Those of a feed are all in the log. Each source is read in the order of
 * an index, and the sources are merged.
 * @param range the movements that the page is taken from, beginning with the newest.
 */
export async function readPage(
  sql: Sql,
  caller: Caller,
  range: DeliveryRange,
  status: ListedStatus | null,
): Promise<DeliveryPage> {
  const found: Found[] = [];
  // The log is read first. If a delivery's first attempt ends between the two reads, the second read finds its row.
  if (status !== 'failed') found.push(await findInLog(sql, caller, range, status));
  if (status === null && range.ofEvents)
    found.push(await findAttempted(sql, caller, { ...range, status: 'pending' }));
  found.push(await findAttempted(sql, caller, { ...range, status }));
  // A source that stopped early may have more deliveries below the id that it reached. The page ends at that id.
  const floor = found.reduce((most, { reached }) => (reached > most ? reached : most), 0n);
  const ids = [...new Set(found.flatMap((it) => it.ids))]
    .map(BigInt)
    .filter((id) => id >= floor)
    .sort((a, b) => (a < b ? 1 : -1));
  const page = ids.slice(0, range.perPage);
  const last = page.at(-1);
  const next = ids.length > range.perPage && last !== undefined ? last : floor > 0n ? floor : null;
  const rows = await readRows(sql, range, page.map(String));
  return {
    rows: rows.filter((row) => status === null || statusOf(row) === status),
    next: next === null ? null : String(next),
  };
}

/** Indexes: the primary keys. */
const READ_ROWS = (content: string) => `
  SELECT w.id AS webhook_id, ${DELIVERY_COLUMNS} FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN ${content}
  LEFT JOIN deliveries d ON d.webhook_id = w.id AND d.transaction_id = t.id
  LEFT JOIN retries r ON r.webhook_id = w.id AND r.transaction_id = t.id
  WHERE w.id = ? AND t.id IN (?) ORDER BY t.id DESC`;

async function readRows(
  sql: Sql,
  { webhookId, ofEvents = false }: DeliveryRange,
  ids: readonly string[],
): Promise<DeliveryRow[]> {
  if (ids.length === 0) return [];
  return ofEvents
    ? sql.query<DeliveryRow[]>(READ_ROWS(EVENTS_AS_MOVEMENTS), [webhookId, ids])
    : sql.query<DeliveryRow[]>(READ_ROWS(SUBJECTS.sql), [...SUBJECTS.values(ids), webhookId, ids]);
}

interface Entry {
  id: string;
  /** null if the caller may see all accounts, because it is not read then. */
  account_id: string | null;
  kept: number | string;
}

/** Index: the primary keys of the movements or events. */
const WITH_ACCOUNT = (entries: string, ofEvents = false) => `
  SELECT it.id, ${ofEvents ? '(SELECT x.account_id FROM operational_events x WHERE x.id = it.id)' : accountOf('it.id')} AS account_id, it.kept
  FROM (${entries}) it ORDER BY it.id DESC`;

/** Index: the primary key. */
const READ_ATTEMPTED = `
  SELECT transaction_id AS id, NULL AS account_id, (? IS NULL OR status = ?) AS kept
  FROM deliveries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id > ? AND transaction_id < ? ORDER BY transaction_id DESC LIMIT ?`;

/** Index: retries_due, which holds the dead letters in the order of their movements. */
const READ_DEAD_LETTERS = `
  SELECT transaction_id AS id, NULL AS account_id, 1 AS kept FROM retries FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NULL AND transaction_id > ? AND transaction_id < ? ORDER BY transaction_id DESC LIMIT ?`;

/** Index: the primary key. */
const READ_RETRIES = `
  SELECT transaction_id AS id, NULL AS account_id, due_at IS NOT NULL AS kept FROM retries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id > ? AND transaction_id < ? ORDER BY transaction_id DESC LIMIT ?`;

/** Finds deliveries that had an attempt. @param status null: all. */
function findAttempted(
  sql: Sql,
  caller: Caller,
  { webhookId, status, after, before, perPage, ofEvents }: DeliveryRange & { status: ListedStatus | null },
): Promise<Found> {
  const limited = caller.accountIds !== 'all';
  const [statement, values] = sourceOf(status);
  const read = (from: string, limit: number) =>
    sql.query<Entry[]>(limited ? WITH_ACCOUNT(statement, ofEvents) : statement, [
      ...values,
      webhookId,
      after,
      from,
      limit,
    ]);
  return scan({ before, perPage, budget: { entries: MOST_LOOKED_AT } }, read, (entries) =>
    entries.filter(
      ({ account_id, kept }) =>
        Number(kept) === 1 && (!limited || (account_id !== null && maySee(caller, account_id))),
    ),
  );
}

function sourceOf(status: ListedStatus | null): [statement: string, values: unknown[]] {
  switch (status) {
    case null:
    case 'delivered':
      return [READ_ATTEMPTED, [status, status]];
    case 'failed':
      return [READ_DEAD_LETTERS, []];
    case 'pending':
      return [READ_RETRIES, []];
  }
}

interface Cursor {
  customer_id: string;
  delivery: 'push' | 'pull';
  sent_through: string;
  highest_recorded_id: string;
  matched_through: string;
}

/** Indexes: the primary keys. */
const READ_CURSOR = `
  SELECT c.customer_id, w.delivery, c.sent_through, c.highest_recorded_id, b.matched_through
  FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id JOIN webhooks w ON w.id = c.webhook_id
  WHERE c.webhook_id = ?`;

/** The log of a customer, or of one of its accounts. Both indexes cover all columns that are read. */
const READ_LOG_OF = {
  customer: `
    SELECT id, account_id, dc FROM transactions FORCE INDEX (transactions_customer_page)
    WHERE customer_id = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT ?`,
  account: `
    SELECT id, account_id, dc FROM transactions FORCE INDEX (transactions_account_page)
    WHERE account_id = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT ?`,
};

/** Indexes: withdrawn_transactions_customer, and the primary key of webhook_filters. */
const READ_WITHDRAWALS = `
  SELECT t.event_id AS id, t.account_id, t.dc, ${concernedAt('t')} AS kept
  FROM withdrawn_transactions t FORCE INDEX (withdrawn_transactions_customer)
  WHERE t.customer_id = ? AND t.event_id > ? AND t.event_id < ? ORDER BY t.event_id DESC LIMIT ?`;

/** Index: the primary key. */
const FIND_ATTEMPTED =
  'SELECT transaction_id AS id FROM deliveries WHERE webhook_id = ? AND transaction_id IN (?)';

/**
 * Finds deliveries without an attempt: matching movements beyond the webhook's cursor that have no row in `deliveries`. Of a feed, those
 * up to its position are delivered.
 */
async function findInLog(
  sql: Sql,
  caller: Caller,
  { webhookId, after, before, perPage }: DeliveryRange,
  status: Exclude<ListedStatus, 'failed'> | null,
): Promise<Found> {
  const [cursor] = await sql.query<Cursor[]>(READ_CURSOR, [webhookId]);
  if (cursor === undefined) return { ids: [], reached: 0n };
  const { customer_id, sent_through, highest_recorded_id, matched_through } = cursor;
  const isFeed = cursor.delivery === 'pull';
  if (!isFeed && status === 'delivered') return { ids: [], reached: 0n };
  const end = BigInt(status === 'delivered' ? sent_through : matched_through);
  const through = BigInt(before) <= end ? BigInt(before) - 1n : end;
  const isDeliveredToo = isFeed && status !== 'pending';
  const start = isDeliveredToo || BigInt(after) > BigInt(sent_through) ? after : sent_through;
  if (through <= BigInt(start)) return { ids: [], reached: 0n };
  const ranges = await readFilterRanges(sql, webhookId, { after: start, through: String(through) });

  const budget = { entries: MOST_LOOKED_AT };
  const ids: string[] = [];
  for (const { fromId, throughId, filter } of ranges) {
    if (filter === null) continue;
    const below = { before: String(BigInt(throughId) + 1n), perPage, budget };
    const withdrawals = filter.withdrawals ? await scanWithdrawals(fromId, below) : NOTHING;
    const movements = matchesNewMovements(filter) ? await scanMovements(fromId, filter, below) : NOTHING;
    ids.push(...withdrawals.ids, ...movements.ids);
    const reached = movements.reached > withdrawals.reached ? movements.reached : withdrawals.reached;
    if (reached > 0n) return { ids, reached };
    if (ids.length > perPage) return { ids, reached: BigInt(fromId) + 1n };
  }
  const oldest = ranges.at(-1);
  const more = ranges.length === MOST_RANGES && oldest !== undefined && oldest.fromId !== start;
  return { ids, reached: more ? BigInt(oldest.fromId) + 1n : 0n };

  async function scanMovements(fromId: string, filter: Filter, below: ScanOptions): Promise<Found> {
    if (filter.accountId !== null && !maySee(caller, filter.accountId)) return NOTHING;
    const read = (from: string, limit: number) =>
      filter.accountId === null
        ? sql.query<LogEntry[]>(READ_LOG_OF.customer, [customer_id, fromId, from, limit])
        : sql.query<LogEntry[]>(READ_LOG_OF.account, [filter.accountId, fromId, from, limit]);
    const keep = async (entries: LogEntry[]) => {
      const matching = entries.filter((it) => matchesFilter(filter, it) && maySee(caller, it.account_id));
      return isFeed ? matching : withoutRows(sql, webhookId, highest_recorded_id, matching);
    };
    return scan(below, read, keep);
  }

  function scanWithdrawals(fromId: string, below: ScanOptions): Promise<Found> {
    const read = (from: string, limit: number) =>
      sql.query<(LogEntry & { kept: number | string })[]>(READ_WITHDRAWALS, [
        webhookId,
        customer_id,
        fromId,
        from,
        limit,
      ]);
    return scan(below, read, async (entries) => {
      const heard = entries.filter((it) => Number(it.kept) === 1 && maySee(caller, it.account_id));
      return isFeed ? heard : withoutRows(sql, webhookId, highest_recorded_id, heard);
    });
  }
}

const NOTHING: Found = { ids: [], reached: 0n };

interface LogEntry {
  id: string;
  account_id: string;
  dc: 'Debit' | 'Credit';
}

/** After a crash, some movements beyond the cursor have a row. Movements beyond highest_recorded_id never have a row. */
async function withoutRows<T extends LogEntry>(
  sql: Sql,
  webhookId: string,
  highestRecordedId: string,
  entries: T[],
): Promise<T[]> {
  const doubtful = entries.filter(({ id }) => BigInt(id) <= BigInt(highestRecordedId)).map(({ id }) => id);
  if (doubtful.length === 0) return entries;
  const rows = await sql.query<{ id: string }[]>(FIND_ATTEMPTED, [webhookId, doubtful]);
  const known = new Set(rows.map(({ id }) => id));
  return entries.filter(({ id }) => !known.has(id));
}

/** Index entries read per statement. The first statement reads only a page, because most listings leave out few entries. */
const WINDOW = 1_000;

/** The most entries read for one page, so that a search for rare matches ends. */
export const MOST_LOOKED_AT = 10_000;

/** A webhook's deliveries of the movements after < id < before. A scan ends when it has found more than `perPage` of them. */
interface DeliveryRange {
  webhookId: string;
  after: string;
  before: string;
  perPage: number;
  /** The webhook's deliveries are of events, not of movements. */
  ofEvents?: boolean;
}

/** The movements that one source has for a page, newest first. */
export interface Found {
  ids: string[];
  /** All movements from this id upward have been read. 0: all movements. */
  reached: bigint;
}

/** How many of MOST_LOOKED_AT are left. All scans for one page share them. */
interface Budget {
  entries: number;
}

/** Where a scan begins, and when it ends. */
interface ScanOptions {
  before: string;
  perPage: number;
  budget: Budget;
}

/**
 * Reads an index downward from `before` until it has found more than a page, or the budget is used up.
 * @param before the first entry is below this movement.
 * @param read returns entries below a movement, in descending order.
 * @param keep returns the entries that belong to the listing.
 */
export async function scan<T extends { id: string }>(
  { before, perPage, budget }: ScanOptions,
  read: (before: string, limit: number) => Promise<T[]>,
  keep: (entries: T[]) => Promise<T[]> | T[],
): Promise<Found> {
  const ids: string[] = [];
  for (let from = before, limit = perPage + 1; ; limit = WINDOW) {
    const entries = await read(from, limit);
    for (const { id } of await keep(entries)) ids.push(id);
    budget.entries -= entries.length;
    const last = entries.at(-1);
    if (last === undefined || entries.length < limit) return { ids, reached: 0n };
    if (ids.length > perPage || budget.entries <= 0) return { ids, reached: BigInt(last.id) };
    from = last.id;
  }
}

/** A customer's ids grow with date_readed, so one entry of the index transactions_readed gives the bound. */
const READ_NEWEST_BEFORE = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed < CAST(? AS DATETIME(6)) + INTERVAL ? SECOND
  ORDER BY date_readed DESC, id DESC LIMIT 1`;

/** Withdrawals have ids of the same sequence. Index: withdrawn_transactions_time. */
const READ_NEWEST_WITHDRAWAL_BEFORE = `
  SELECT event_id AS id FROM withdrawn_transactions FORCE INDEX (withdrawn_transactions_time)
  WHERE customer_id = ? AND withdrawn_at < CAST(? AS DATETIME(6)) + INTERVAL ? SECOND
  ORDER BY withdrawn_at DESC, event_id DESC LIMIT 1`;

/** Covers all customers, because the operator is sent all their events. Index: operational_events_created. */
const READ_NEWEST_EVENT_BEFORE = `
  SELECT id FROM operational_events FORCE INDEX (operational_events_created)
  WHERE created_at < CAST(? AS DATETIME(6)) + INTERVAL ? SECOND ORDER BY created_at DESC, id DESC LIMIT 1`;

/** The subjects of a webhook's deliveries: the movements of a customer, or operational events. */
export interface Contents {
  customerId: string;
  ofEvents: boolean;
}

/** Bounds of a listing of deliveries. */
export interface DeliveryBounds {
  /** `since` and `until` are inclusive. They refer to when the movement was stored, in UTC as MySQL writes it. */
  since?: string | undefined;
  until?: string | undefined;
  /** Only movements below this id. */
  before: string;
}

/** The ids that bounds allow: after < id < before. */
export async function findIdBounds(
  sql: Sql,
  contents: Contents,
  { since, until, before }: DeliveryBounds,
): Promise<{ after: string; before: string }> {
  const after = since === undefined ? '0' : await newestBefore(sql, contents, since, { inclusive: false });
  if (until === undefined) return { after, before };
  const last = BigInt(await newestBefore(sql, contents, until, { inclusive: true })) + 1n;
  return { after, before: last < BigInt(before) ? String(last) : before };
}

/**
 * The id of the newest movement, withdrawal or event that was stored before a moment; "0" when there is none.
 * @param options.inclusive includes the second that begins at the moment, because date_readed is shown in whole seconds.
 */
export async function newestBefore(
  sql: Sql,
  { customerId, ofEvents }: Contents,
  moment: Date | string,
  { inclusive }: { inclusive: boolean },
): Promise<string> {
  const bound = [moment, inclusive ? 1 : 0];
  const read = (statement: string, values: unknown[]) => sql.query<{ id: string }[]>(statement, values);
  const [row, withdrawal] = ofEvents
    ? await read(READ_NEWEST_EVENT_BEFORE, bound)
    : [
        ...(await read(READ_NEWEST_BEFORE, [customerId, ...bound])),
        ...(await read(READ_NEWEST_WITHDRAWAL_BEFORE, [customerId, ...bound])),
      ];
  const [one, other] = [row?.id ?? '0', withdrawal?.id ?? '0'];
  return BigInt(one) > BigInt(other) ? one : other;
}
