import type { Sql } from '../database/connection.ts';
import {
  type concerns,
  type Filter,
  matchesFilter,
  type StoredFilter,
  toFilter,
} from '../webhook-record/filter.ts';

/**
 * Stores and reads the filters of webhooks. A filter applies from one movement id up to the next filter. Also begins, locks and resets
 * what is recorded about the deliveries of a webhook, for those who change the webhook.
 */

/** While this row is locked, no movement of the customer is stored. */
const LOCK_IMPORTS = 'SELECT last_transaction_id FROM import_locks WHERE customer_id = ? FOR UPDATE';

const CHANGE_VERSION = 'UPDATE import_locks SET filters_version = filters_version + 1 WHERE customer_id = ?';

const ADD_FILTER = `
  INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event, account_id, withdrawals) VALUES (?, ?, ?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE event = VALUES(event), account_id = VALUES(account_id), withdrawals = VALUES(withdrawals)`;

const ADD_BACKLOG = `
  INSERT INTO webhook_backlogs (webhook_id, customer_id, matched_through, due_at)
  SELECT id, customer_id, ?, IF(delivery = 'push' AND is_template = 0, NOW(6), NULL) FROM webhooks WHERE id = ?`;

const ADD_CURSOR = `
  INSERT INTO webhook_cursors (webhook_id, customer_id, sent_through, highest_recorded_id) VALUES (?, ?, ?, ?)`;

/**
 * Locks a customer's imports: no movement of the customer is stored until the transaction ends. Take this lock before you lock rows
 * of `webhooks` or `webhook_cursors`. All transactions use this order, which prevents deadlocks.
 * @returns the id of the customer's newest movement; "0" when there is none.
 */
export async function lockImports(sql: Sql, customerId: string): Promise<string> {
  const [lock] = await sql.query<{ last_transaction_id: string }[]>(LOCK_IMPORTS, [customerId]);
  if (lock === undefined) throw new Error(`customer ${customerId} has no row in import_locks`);
  return lock.last_transaction_id;
}

/**
 * Sets what a webhook matches among the movements stored from now on.
 * @param sql a transaction. The caller changes the row in `webhooks` in the same transaction.
 * @param filter null: the webhook matches nothing, because it is disabled or deleted.
 */
export async function setFilter(
  sql: Sql,
  { id, customerId }: { id: string; customerId: string },
  filter: Filter | null,
): Promise<void> {
  const newest = await lockImports(sql, customerId);
  await sql.query(CHANGE_VERSION, [customerId]);
  const { event = null, accountId = null, withdrawals = false } = filter ?? {};
  await sql.query(ADD_FILTER, [id, newest, customerId, event, accountId, withdrawals ? 1 : 0]);
}

/** Adds a new webhook's rows in other tables than `webhooks`. It matches movements stored from now on. @param filter null: matches nothing. */
export async function createProgress(
  sql: Sql,
  webhook: { id: string; customerId: string },
  filter: Filter | null,
): Promise<void> {
  const newest = await lockImports(sql, webhook.customerId);
  const { id, customerId } = webhook;
  await sql.query(ADD_BACKLOG, [newest, id]);
  await sql.query(ADD_CURSOR, [id, customerId, newest, newest]);
  await setFilter(sql, webhook, filter);
}

/** A row of webhook_filters with its end. The webhook has this filter for the movements fromId < id <= throughId. */
export interface FilterRange {
  fromId: string;
  throughId: string;
  /** null: the webhook matches nothing. */
  filter: Filter | null;
}

/** Reads one range of the primary key. The lowest row may begin before `after`. */
const READ_FILTER_RANGES = `
  SELECT from_id, event, account_id, withdrawals FROM webhook_filters
  WHERE webhook_id = ? AND from_id < ? AND from_id >= COALESCE(
    (SELECT MAX(f.from_id) FROM webhook_filters f WHERE f.webhook_id = ? AND f.from_id <= ?), 0)
  ORDER BY from_id DESC LIMIT ?`;

/** Most webhooks have a few rows. A webhook whose filter changes often may have very many. */
export const MOST_RANGES = 50;

/**
 * Reads a webhook's filters for the movements after < id <= through, the newest range first. Reads at most 50 ranges.
 * Index: the primary key of webhook_filters.
 */
export async function readFilterRanges(
  sql: Sql,
  webhookId: string,
  { after, through }: { after: string; through: string },
): Promise<FilterRange[]> {
  const rows = await sql.query<(StoredFilter & { from_id: string })[]>(READ_FILTER_RANGES, [
    webhookId,
    through,
    webhookId,
    after,
    MOST_RANGES,
  ]);
  return rows.map(({ from_id, ...stored }, at) => ({
    fromId: BigInt(from_id) > BigInt(after) ? from_id : after,
    throughId: rows[at - 1]?.from_id ?? through,
    filter: toFilter(stored),
  }));
}

/** Ids of movements: after < id <= through. */
export interface IdRange {
  after: string;
  through: string;
}

/** Calls `use` for each part of a range of ids in which one filter of a webhook matches something, the newest part first. */
export async function eachFilter(
  sql: Sql,
  webhookId: string,
  { after, through }: IdRange,
  use: (range: { fromId: string; throughId: string; filter: Filter }) => Promise<void>,
): Promise<void> {
  for (let end = through; BigInt(end) > BigInt(after); ) {
    const ranges = await readFilterRanges(sql, webhookId, { after, through: end });
    for (const { filter, ...ids } of ranges) if (filter !== null) await use({ ...ids, filter });
    end = ranges.length < MOST_RANGES ? after : (ranges.at(-1)?.fromId ?? after);
  }
}

/** A movement that is deleted with its account, or withdrawn. */
export interface RemovedMovement {
  id: string;
  account_id: string;
  dc: 'Debit' | 'Credit';
}

/**
 * Finds which movements a webhook matched when they were stored.
 * @param movements in the order of their ids.
 * @param matches `concerns`: finds the movements of whose withdrawals it hears.
 */
export async function matchedAmong(
  sql: Sql,
  webhookId: string,
  movements: readonly RemovedMovement[],
  matches: typeof matchesFilter | typeof concerns = matchesFilter,
): Promise<RemovedMovement[]> {
  const [first, last] = [movements[0]?.id, movements.at(-1)?.id];
  if (first === undefined || last === undefined) return [];
  const matched = new Set<RemovedMovement>();
  await eachFilter(sql, webhookId, { after: String(BigInt(first) - 1n), through: last }, async (range) => {
    for (const it of movements)
      if (
        BigInt(it.id) > BigInt(range.fromId) &&
        BigInt(it.id) <= BigInt(range.throughId) &&
        matches(range.filter, it)
      )
        matched.add(it);
  });
  return movements.filter((it) => matched.has(it));
}

/** Index: the primary key of webhook_filters, once for the last row of each webhook and once for its columns. */
const READ_FILTERS_AT = `
  SELECT f.webhook_id, f.event, f.account_id, f.withdrawals
  FROM (
    SELECT webhook_id, MAX(from_id) AS from_id FROM webhook_filters
    WHERE webhook_id IN (?) AND from_id < ? GROUP BY webhook_id
  ) newest
  JOIN webhook_filters f ON f.webhook_id = newest.webhook_id AND f.from_id = newest.from_id`;

/** Reads the filters that apply at one movement's id. @returns the filters by webhook, without webhooks that match nothing. */
export async function readFiltersAt(
  sql: Sql,
  webhookIds: readonly string[],
  transactionId: string,
): Promise<Map<string, Filter>> {
  if (webhookIds.length === 0) return new Map();
  const rows = await sql.query<(StoredFilter & { webhook_id: string })[]>(READ_FILTERS_AT, [
    webhookIds,
    transactionId,
  ]);
  return new Map(
    rows.flatMap(({ webhook_id, ...stored }) => {
      const filter = toFilter(stored);
      return filter === null ? [] : [[webhook_id, filter] as const];
    }),
  );
}

/**
 * Sets the health of a new webhook. progressed_at is reset, so that an old backlog is not reported as stalled. health_revision keeps runs
 * that read an earlier revision from overwriting this health.
 */
const RESET_HEALTH = `
  UPDATE webhook_cursors SET crash_count = 0, consecutive_failures = 0, failing_since = NULL, failing_days = 0,
    circuit_openings = 0, circuit_open_until = NULL, recovery_successes = 0, consecutive_rejections = 0, batch_limit = NULL, last_error = NULL, progressed_at = NOW(6),
    probe_by = NULL, probe_until = NULL, health_revision = ?
  WHERE webhook_id = ?`;

/**
 * Resets the health of a webhook's endpoint. With the old failing_since, a webhook that was disabled after five days of failures would
 * be disabled again at its first failure.
 * @param sql the transaction that changes the webhook.
 * @param revision the webhook's revision after the change.
 */
export async function resetHealth(sql: Sql, webhookId: string, revision: number): Promise<void> {
  await sql.query(RESET_HEALTH, [revision, webhookId]);
}

const LOCK_CURSOR = 'SELECT webhook_id FROM webhook_cursors WHERE webhook_id = ? FOR UPDATE';

/** Locks the webhook's cursor. Until the transaction ends, no delivery run can record results of the webhook. */
export async function lockCursor(sql: Sql, webhookId: string): Promise<void> {
  await sql.query(LOCK_CURSOR, [webhookId]);
}

/** An active run ends when it sees another revision, and drops the deliveries that it has read but not sent. */
const CHANGE_REVISION = 'UPDATE webhooks SET revision = revision + 1 WHERE id = ?';

/** Ends the webhook's active run, and locks its cursor. A result of the run that comes later is recorded as `endMeanwhile` says. */
export async function endRun(sql: Sql, webhookId: string): Promise<void> {
  await sql.query(CHANGE_REVISION, [webhookId]);
  await lockCursor(sql, webhookId);
}
