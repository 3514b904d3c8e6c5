import type { Sql } from '../database/transaction.ts';
import { isOfEvents } from '../database/webhook-enums.ts';
import { circuitOpenUntil, probedUntil, secondsOf, TOLERANCE } from '../webhook-record/circuit.ts';
import { type Filter, type StoredFilter, toFilter } from '../webhook-record/filter.ts';
import { readFirstNotSent } from '../webhook-record/first-not-sent.ts';
import { LEASE_IS_FREE } from '../webhook-record/lease.ts';
import { pendingOf } from '../webhook-record/pending.ts';
import { endpointOf, joinSettings, sendingOf } from '../webhook-record/record.ts';
import type { Waits } from '../webhook-record/waiting.ts';
import type { SealedSettings } from './posting/request.ts';
import { longestDelay, RETRY_DELAYS } from './run/schedule.ts';

/** Reads the state of a webhook for a delivery run. */

/** The longest waits after 1, 2, … failures, in seconds. A delivery that is sent again has none. */
const LONGEST_WAITS = RETRY_DELAYS.map((_, index) => secondsOf(longestDelay(index + 1)));

/** When a retry is due. NULL, a delivery that has failed for good, stays NULL. @param retry alias of `retries`. */
export const retryDueAt = (retry: string): string =>
  `IF(${retry}.due_at > NOW(6) + INTERVAL COALESCE(ELT(${retry}.failures, ${LONGEST_WAITS.join(', ')}), ${TOLERANCE}) SECOND,
    NOW(6), ${retry}.due_at)`;

/** A range of the movement log with the webhook's filter. null: the webhook matches nothing in the range. */
export interface LogFilter {
  /** Exclusive. */
  from: number;
  /** Inclusive; null: no end. */
  through: number | null;
  filter: Filter | null;
}

/** The state of a webhook as it was read. Durations are milliseconds by MySQL's clock. */
export interface WebhookState extends Waits {
  settings: SealedSettings;
  highestRecordedId: number;
  filters: LogFilter[];
  filtersVersion: number;
  /** The customer's accounts that are being deleted. Their movements are not sent any more. */
  deletedAccounts: string[];
  /** How many accounts of the customer have been deleted completely. Changes when `deletedAccounts` no longer names one. */
  accountsDeleted: number;
  /** The token of the last lease, and the number of records written under it. */
  lastToken: string;
  lastWrites: number;
  crashCount: number;
  /** Only for the delivery pull; see `webhook_cursors`. */
  feed: { epoch: number; hasSample: boolean; removedThrough: number };
}

/**
 * When the rate limit allows the next POST, from `webhook_cursors k`. The interval is at most a second. A moment more than 2 s ahead
 * was therefore written before the clock was set back, and is ignored.
 */
const RATE_NEXT_AT = 'IF(k.rate_next_at < NOW(6) + INTERVAL 2 SECOND, k.rate_next_at, NULL)';

const millisecondsUntil = (moment: string) => `TIMESTAMPDIFF(MICROSECOND, NOW(6), ${moment}) / 1000`;

/**
 * Reads one entry of the index retries_due for each webhook. With MIN, or with the condition inside the subquery, MySQL would read all
 * retries of a webhook. Without webhook_id in ORDER BY, it would sort them. For an ordered webhook, the retry with the lowest
 * transaction id counts, due or not. MySQL sorts to find it, but an ordered webhook has few waiting retries.
 */
const NEXT_RETRY_AT = `IF(s.ordered,
    (SELECT ${retryDueAt('r')} FROM retries r FORCE INDEX (retries_due)
     WHERE r.webhook_id = w.id AND r.due_at IS NOT NULL ORDER BY r.transaction_id LIMIT 1),
    (SELECT ${retryDueAt('r')} FROM retries r FORCE INDEX (retries_due)
     WHERE r.webhook_id = w.id AND r.due_at IS NOT NULL ORDER BY r.webhook_id, r.due_at LIMIT 1))`;

/** Indexes: the primary key of each table, one retry by its index, and one index entry each for the replays, the filters and the deletions. */
const READ_WEBHOOK_STATES = `
  /* READ_WEBHOOK_STATES */ SELECT ${sendingOf('w', 's')}, s.secret, IF(s.previous_secret_until > NOW(6), s.previous_secret, NULL) AS previous_secret,
    ${endpointOf('h')}, c.api_secret, c.external_id, ${pendingOf('b', 'k')} AS pending,
    k.sent_through, k.highest_recorded_id, k.lease_token, k.lease_writes, k.crash_count,
    IF(${LEASE_IS_FREE}, NULL, ${millisecondsUntil('k.lease_until')}) AS leased_for,
    ${millisecondsUntil(circuitOpenUntil('h'))} AS open_for, ${millisecondsUntil(probedUntil('w', 'h'))} AS probed_for,
    ${millisecondsUntil(RATE_NEXT_AT)} AS rate_wait,
    ${millisecondsUntil(NEXT_RETRY_AT)} AS retry_in,
    EXISTS (SELECT 1 FROM replays p WHERE p.webhook_id = w.id AND p.finished_at IS NULL) AS replaying,
    EXISTS (SELECT 1 FROM webhook_filters f WHERE f.webhook_id = w.id AND f.from_id > k.sent_through) AS refiltered,
    l.removals > 0 AND EXISTS (SELECT 1 FROM deletions x WHERE x.customer_id = w.customer_id) AS deleting,
    b.matched_through, l.filters_version, l.accounts_deleted, l.removed_through, k.feed_epoch, k.feed_sample_at IS NOT NULL AS has_sample
  FROM webhooks w
  ${joinSettings('w', 's')}
  JOIN webhook_cursors h ON h.webhook_id = s.id
  JOIN customers c ON c.id = w.customer_id
  JOIN webhook_cursors k ON k.webhook_id = w.id
  JOIN webhook_backlogs b ON b.webhook_id = w.id
  JOIN import_locks l ON l.customer_id = w.customer_id
  WHERE w.id IN (?)`;

const READ_LATEST_FILTERS = `
  /* READ_LATEST_FILTERS */ SELECT webhook_id, from_id, event, account_id, withdrawals FROM webhook_filters WHERE webhook_id IN (?) ORDER BY webhook_id, from_id`;

/** Index: the primary key. */
const READ_ACCOUNT_DELETIONS =
  '/* READ_ACCOUNT_DELETIONS */ SELECT customer_id, account_id FROM deletions WHERE customer_id IN (?)';

type Row = SealedSettings & {
  sent_through: string;
  highest_recorded_id: string;
  lease_token: string;
  lease_writes: number;
  crash_count: number;
  leased_for: string | null;
  open_for: string | null;
  probed_for: string | null;
  rate_wait: string | null;
  retry_in: string | null;
  replaying: string | number;
  refiltered: string | number;
  deleting: string | number;
  matched_through: string;
  pending: string | number;
  filters_version: number;
  accounts_deleted: number;
  removed_through: string;
  feed_epoch: number;
  has_sample: string | number;
};

interface FilterRow extends StoredFilter {
  webhook_id: string;
  from_id: string;
}

interface DeletionRow {
  customer_id: string;
  account_id: string;
}

/** Reads the states of webhooks. @returns one for each id; null for a webhook that does not exist. */
export async function readStates(sql: Sql, webhookIds: readonly string[]): Promise<(WebhookState | null)[]> {
  const rows = await sql.query<Row[]>(READ_WEBHOOK_STATES, [webhookIds]);
  const refiltered = rows.filter((row) => Number(row.refiltered) === 1).map(({ id }) => id);
  const filters =
    refiltered.length === 0 ? [] : await sql.query<FilterRow[]>(READ_LATEST_FILTERS, [refiltered]);
  const deleting = rows.filter((row) => Number(row.deleting) === 1).map(({ customer_id }) => customer_id);
  const deletions =
    deleting.length === 0 ? [] : await sql.query<DeletionRow[]>(READ_ACCOUNT_DELETIONS, [deleting]);
  const batches = await readBatches(sql, rows);
  const states = new Map(
    rows.map((row) => [
      row.id,
      toState(
        row,
        batches.get(row.id) ?? 0,
        filters.filter(({ webhook_id }) => webhook_id === row.id),
        deletions.filter(({ customer_id }) => customer_id === row.customer_id),
      ),
    ]),
  );
  return webhookIds.map((id) => states.get(id) ?? null);
}

/** Reads all filters that a webhook has had. For a reader that begins before the webhook's cursor. */
export async function readAllFilters(sql: Sql, webhookId: string): Promise<LogFilter[]> {
  return toLogFilters(await sql.query<FilterRow[]>(READ_LATEST_FILTERS, [[webhookId]]));
}

/** MySQL gives computed integers as strings, MariaDB as numbers. */
const toNumber = (value: string | number | null): number | null => (value === null ? null : Number(value));

function toState(
  row: Row,
  batchIn: number,
  filters: readonly FilterRow[],
  deletions: readonly DeletionRow[],
): WebhookState {
  return {
    settings: { ...row, revision: Number(row.revision) },
    sentThrough: Number(row.sent_through),
    highestRecordedId: Number(row.highest_recorded_id),
    matchedThrough: Number(row.matched_through),
    filters: toRanges(row, filters),
    filtersVersion: row.filters_version,
    accountsDeleted: row.accounts_deleted,
    deletedAccounts: deletions.map(({ account_id }) => account_id),
    lastToken: row.lease_token,
    lastWrites: row.lease_writes,
    leasedFor: toNumber(row.leased_for),
    crashCount: row.crash_count,
    openFor: toNumber(row.open_for),
    probedFor: toNumber(row.probed_for),
    rateWait: Math.max(0, toNumber(row.rate_wait) ?? 0),
    retryIn: toNumber(row.retry_in),
    batchIn,
    replaying: Number(row.replaying) === 1,
    feed: {
      epoch: row.feed_epoch,
      hasSample: Number(row.has_sample) === 1,
      removedThrough: Number(row.removed_through),
    },
  };
}

/** Reads for how many milliseconds the batches that are not full still wait, by webhook. */
async function readBatches(sql: Sql, rows: readonly Row[]): Promise<Map<string, number>> {
  const waiting = rows.filter(
    (row) =>
      row.batch_max !== null &&
      row.batch_wait_ms > 0 &&
      row.status === 'active' &&
      Number(row.pending) < Math.min(row.batch_max, row.batch_limit ?? row.batch_max) &&
      BigInt(row.matched_through) > BigInt(row.sent_through),
  );
  const waitOf = new Map(waiting.map(({ id, batch_wait_ms }) => [id, batch_wait_ms]));
  const found = await readFirstNotSent(
    sql,
    waiting.map((row) => ({
      webhook_id: row.id,
      customer_id: row.customer_id,
      account_id: row.account_id,
      event: row.event,
      withdrawals: row.withdrawals,
      after_id: row.sent_through,
      matched_through: row.matched_through,
    })),
  );
  return new Map(found.map(({ id, seconds }) => [id, batchIn(waitOf.get(id) ?? 0, seconds * 1_000)]));
}

/**
 * For how many milliseconds a batch that is not full still waits. Movements are never listed before older ones, so after the clock was set back, the
 * time of its first movement may be in the future. Then nothing says how long the batch has waited, and it is due.
 */
const batchIn = (waitMs: number, waitedMs: number): number =>
  waitedMs < 0 ? 0 : Math.max(0, waitMs - waitedMs);

/** If the filter has not changed beyond the cursor, the webhook's own row gives the filter. The log holds no events. */
function toRanges({ event, ...row }: Row, filters: readonly FilterRow[]): LogFilter[] {
  if (isOfEvents(event)) return [{ from: 0, through: null, filter: null }];
  if (filters.length === 0) return [{ from: 0, through: null, filter: toFilter({ ...row, event }) }];
  return toLogFilters(filters);
}

const toLogFilters = (filters: readonly FilterRow[]): LogFilter[] =>
  filters.map((row, index) => ({
    from: Number(row.from_id),
    through: toNumber(filters[index + 1]?.from_id ?? null),
    filter: toFilter(row),
  }));

/** This many runs in a row took the lease, recorded nothing and did not give it back. Most likely, the webhook makes the process crash. */
export const MAX_CRASHES = 10;

export const CRASHED = `Its delivery runs have ended without a result ${MAX_CRASHES} times in a row`;
