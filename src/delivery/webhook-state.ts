import { randomBytes } from 'node:crypto';
import type { Sql, WriteResult } from '../database/transaction.ts';
import { isOfEvents } from '../database/webhook-enums.ts';
import { circuitOpenUntil, secondsOf, TOLERANCE } from '../webhook-record/circuit.ts';
import { pendingOf } from '../webhook-record/pending.ts';
import { endpointOf, sendingOf } from '../webhook-record/record.ts';
import type { SealedSettings } from './posting/request.ts';
import { longestDelay, RETRY_DELAYS } from './run/schedule.ts';

/** A delivery is one movement for one webhook. Its id combines their ids and stays the same on every attempt. */
export interface DeliveryKey {
  webhookId: string;
  subjectId: string;
}

/** `17-4711`. The header `webhook-id` of its notification is `msg_17-4711`. */
export const formatDeliveryId = ({ webhookId, subjectId }: DeliveryKey): string =>
  `${webhookId}-${subjectId}`;

/**
 * The id of a batch: another one for each POST, because a delivery is in one POST at a time.
 * @param batch.first the first delivery. @param batch.startedAt milliseconds since 1970.
 */
export const formatBatchId = ({
  webhookId,
  first,
  startedAt,
}: {
  webhookId: string;
  first: number | string;
  startedAt: number;
}): string => `batch_${webhookId}-${first}-${startedAt.toString(36)}`;

/** Only the holder of the lease can record results, so the results of two runs never mix. */
export interface Lease {
  webhookId: string;
  token: string;
  /** Records written under this lease so far, so that a record whose COMMIT got no answer is not counted twice. */
  writes: number;
}

/** A webhook as it was read: its revision, the token of its last lease, and the number of records written under that lease. */
export interface LeaseRequest {
  webhookId: string;
  revision: number;
  lastToken: string;
  lastWrites: number;
}

/**
 * How long a lease lasts unless it is renewed. After that, another run can take over the webhook. BullMQ restarts the job of a crashed
 * worker after 10 to 15 s, so the job usually finds the lease expired.
 */
export const LEASE_SECONDS = 12;

/**
 * A condition on `webhook_cursors k`: the lease was given back or has expired. A lease that ends later than a new lease would was taken
 * before the clock was set back. It also counts as expired. Otherwise the webhook would wait until the clock has caught up.
 */
export const LEASE_IS_FREE = `(k.lease_until IS NULL OR k.lease_until < NOW(6)
    OR k.lease_until > NOW(6) + INTERVAL ${LEASE_SECONDS + 1} SECOND)`;

/**
 * Skips a webhook if, since it was read, its lease was taken, results were recorded, or its settings or status changed. The state that
 * was read is then out of date. The token alone is not enough: the holder of an expired lease may still have recorded results and given
 * the lease back. Recording sets crash_count back to 0.
 */
const CLAIM_LEASES = `
  /* CLAIM_LEASES */ UPDATE webhook_cursors k JOIN webhooks w ON w.id = k.webhook_id SET k.lease_token = ?, k.lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND,
    k.lease_writes = 0, k.crash_count = k.crash_count + 1
  WHERE k.webhook_id IN (?) AND (k.webhook_id, k.lease_token, k.lease_writes, w.revision) IN (?) AND ${LEASE_IS_FREE}`;

const READ_CLAIMED_LEASES =
  '/* READ_CLAIMED_LEASES */ SELECT webhook_id FROM webhook_cursors WHERE webhook_id IN (?) AND lease_token = ?';

/** Leaves out rows that another transaction has locked. The next renewal comes before their leases end. */
const READ_HELD_LEASES = `
  /* READ_HELD_LEASES */ SELECT webhook_id FROM webhook_cursors
  WHERE webhook_id IN (?) AND (webhook_id, lease_token) IN (?) AND lease_until IS NOT NULL FOR UPDATE SKIP LOCKED`;

const RENEW_LEASES = `
  /* RENEW_LEASES */ UPDATE webhook_cursors SET lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND WHERE webhook_id IN (?)`;

/**
 * Takes leases in one statement.
 * @returns a lease for each request; null when another run holds the lease, or when, since the webhook was read, another run has held
 * the lease or recorded results, or the webhook was changed.
 */
export async function takeLeases(sql: Sql, requests: readonly LeaseRequest[]): Promise<(Lease | null)[]> {
  const token = randomBytes(16).toString('base64url');
  const ids = requests.map(({ webhookId }) => webhookId);
  const last = requests.map((it) => [it.webhookId, it.lastToken, it.lastWrites, it.revision]);
  const { affectedRows } = await sql.query<WriteResult>(CLAIM_LEASES, [token, ids, last]);
  const lease = (webhookId: string): Lease => ({ webhookId, token, writes: 0 });
  if (affectedRows === ids.length) return ids.map(lease);
  if (affectedRows === 0) return ids.map(() => null);
  const rows = await sql.query<{ webhook_id: string }[]>(READ_CLAIMED_LEASES, [ids, token]);
  const taken = new Set(rows.map(({ webhook_id }) => webhook_id));
  // Of two requests for the same webhook, the first gets the lease.
  return ids.map((webhookId) => (taken.delete(webhookId) ? lease(webhookId) : null));
}

/**
 * Renews leases that are still held. A lease that was lost stays lost.
 * @param sql a transaction.
 * @returns the leases that were renewed.
 */
export async function renewLeases(sql: Sql, leases: readonly Lease[]): Promise<Lease[]> {
  if (leases.length === 0) return [];
  const tokens = leases.map(({ webhookId, token }) => [webhookId, token]);
  const ids = leases.map(({ webhookId }) => webhookId);
  const rows = await sql.query<{ webhook_id: string }[]>(READ_HELD_LEASES, [ids, tokens]);
  if (rows.length === 0) return [];
  const held = new Set(rows.map(({ webhook_id }) => webhook_id));
  await sql.query(RENEW_LEASES, [[...held]]);
  return leases.filter(({ webhookId }) => held.has(webhookId));
}

/** The longest waits after 1, 2, … failures, in seconds. A delivery that is sent again has none. */
const LONGEST_WAITS = RETRY_DELAYS.map((_, index) => secondsOf(longestDelay(index + 1)));

/** When a retry is due. NULL, a delivery that has failed for good, stays NULL. @param retry alias of `retries`. */
export const retryDueAt = (retry: string): string =>
  `IF(${retry}.due_at > NOW(6) + INTERVAL COALESCE(ELT(${retry}.failures, ${LONGEST_WAITS.join(', ')}), ${TOLERANCE}) SECOND,
    NOW(6), ${retry}.due_at)`;

/** Reads the state of a webhook for a delivery run, and works out how long the webhook has to wait. */

/** A range of the movement log with the webhook's filter. null: the webhook matches nothing in the range. */
export interface LogFilter {
  /** Exclusive. */
  from: number;
  /** Inclusive; null: no end. */
  through: number | null;
  filter: Filter | null;
}

/** The state of a webhook as it was read. Durations are milliseconds by MySQL's clock. */
export interface WebhookState {
  settings: SealedSettings;
  status: 'active' | 'paused' | 'disabled' | 'deleted';
  customerId: string;
  sentThrough: number;
  highestRecordedId: number;
  matchedThrough: number;
  filters: LogFilter[];
  filtersVersion: number;
  /** The customer's accounts that are being deleted. Their movements are not sent any more. */
  deletedAccounts: string[];
  /** How many accounts of the customer have been deleted completely. Changes when `deletedAccounts` no longer names one. */
  accountsDeleted: number;
  /** The token of the last lease, and the number of records written under it. */
  lastToken: string;
  lastWrites: number;
  /** Time until another run's lease ends. null: the lease is free. */
  leasedFor: number | null;
  crashCount: number;
  /** Time until the circuit is half-open. null: the circuit is not open. */
  openFor: number | null;
  rateWait: number;
  /** Time until the next retry is due (for an ordered webhook: the retry with the lowest transaction id). null: no retry is waiting. */
  retryIn: number | null;
  /** Time until a batch of movements that were never attempted is due, because it waits for more. 0: now, or nothing waits. */
  batchIn: number;
  replaying: boolean;
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
const NEXT_RETRY_AT = `IF(w.ordered,
    (SELECT ${retryDueAt('r')} FROM retries r FORCE INDEX (retries_due)
     WHERE r.webhook_id = w.id AND r.due_at IS NOT NULL ORDER BY r.transaction_id LIMIT 1),
    (SELECT ${retryDueAt('r')} FROM retries r FORCE INDEX (retries_due)
     WHERE r.webhook_id = w.id AND r.due_at IS NOT NULL ORDER BY r.webhook_id, r.due_at LIMIT 1))`;

/** Indexes: the primary key of each table, one retry by its index, and one index entry each for the replays, the filters and the deletions. */
const READ_WEBHOOK_STATES = `
  /* READ_WEBHOOK_STATES */ SELECT ${sendingOf('w')}, w.secret, IF(w.previous_secret_until > NOW(6), w.previous_secret, NULL) AS previous_secret,
    ${endpointOf('k')}, c.api_secret, ${pendingOf('b', 'k')} AS pending,
    k.sent_through, k.highest_recorded_id, k.lease_token, k.lease_writes, k.crash_count,
    IF(${LEASE_IS_FREE}, NULL, ${millisecondsUntil('k.lease_until')}) AS leased_for,
    ${millisecondsUntil(circuitOpenUntil('k'))} AS open_for, ${millisecondsUntil(RATE_NEXT_AT)} AS rate_wait,
    ${millisecondsUntil(NEXT_RETRY_AT)} AS retry_in,
    EXISTS (SELECT 1 FROM replays p WHERE p.webhook_id = w.id AND p.finished_at IS NULL) AS replaying,
    EXISTS (SELECT 1 FROM webhook_filters f WHERE f.webhook_id = w.id AND f.from_id > k.sent_through) AS refiltered,
    l.removals > 0 AND EXISTS (SELECT 1 FROM deletions x WHERE x.customer_id = w.customer_id) AS deleting,
    b.matched_through, l.filters_version, l.accounts_deleted, l.removed_through, k.feed_epoch, k.feed_sample_at IS NOT NULL AS has_sample
  FROM webhooks w
  JOIN customers c ON c.id = w.customer_id
  JOIN webhook_cursors k ON k.webhook_id = w.id
  JOIN webhook_backlogs b ON b.webhook_id = w.id
  JOIN import_locks l ON l.customer_id = w.customer_id
  WHERE w.id IN (?)`;

const READ_LATEST_FILTERS = `
  /* READ_LATEST_FILTERS */ SELECT webhook_id, from_id, event, account_id FROM webhook_filters WHERE webhook_id IN (?) ORDER BY webhook_id, from_id`;

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

interface FilterRow {
  webhook_id: string;
  from_id: string;
  event: Filter['event'] | null;
  account_id: string | null;
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
    settings: row,
    status: row.status,
    customerId: row.customer_id,
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
      BigInt(row.matched_through) > BigInt(row.sent_through) &&
      !isOfEvents(row.event),
  );
  const waitOf = new Map(waiting.map(({ id, batch_wait_ms }) => [id, batch_wait_ms]));
  const found = await readFirstNotSent(
    sql,
    waiting.map((row) => ({
      webhook_id: row.id,
      customer_id: row.customer_id,
      account_id: row.account_id,
      event: row.event as Filter['event'],
      after_id: row.sent_through,
      matched_through: row.matched_through,
    })),
  );
  return new Map(found.map(({ id, seconds }) => [id, Math.max(0, (waitOf.get(id) ?? 0) - seconds * 1_000)]));
}

/** If the filter has not changed beyond the cursor, the webhook's own row gives the filter. The log holds no events. */
function toRanges({ event, account_id }: Row, filters: readonly FilterRow[]): LogFilter[] {
  if (isOfEvents(event)) return [{ from: 0, through: null, filter: null }];
  if (filters.length === 0) return [{ from: 0, through: null, filter: { event, accountId: account_id } }];
  return toLogFilters(filters);
}

const toLogFilters = (filters: readonly FilterRow[]): LogFilter[] =>
  filters.map((row, index) => ({
    from: Number(row.from_id),
    through: toNumber(filters[index + 1]?.from_id ?? null),
    filter: row.event === null ? null : { event: row.event, accountId: row.account_id },
  }));

/** Says whether the log holds matching movements beyond the webhook's cursor. */
export const hasBacklog = ({ matchedThrough, sentThrough }: WebhookState): boolean =>
  matchedThrough > sentThrough;

/**
 * How long a webhook has to wait until a run may send something.
 * @returns milliseconds (0: now); null when there is nothing to send, the webhook is not active, or its events are pulled.
 */
export function waitBeforeSending(state: WebhookState): number | null {
  const { status, settings, retryIn, batchIn, replaying, openFor, rateWait, leasedFor } = state;
  if (status !== 'active' || settings.delivery === 'pull') return null;
  const isBlocked = settings.ordered === 1 && retryIn !== null;
  const newIn = isBlocked ? null : replaying ? 0 : hasBacklog(state) ? batchIn : null;
  const due = newIn === null || retryIn === null ? (newIn ?? retryIn) : Math.min(newIn, retryIn);
  if (due === null) return null;
  return Math.ceil(Math.max(0, due, openFor ?? 0, rateWait, leasedFor ?? 0));
}

/** This many runs in a row took the lease, recorded nothing and did not give it back. Most likely, the webhook makes the process crash. */
export const MAX_CRASHES = 10;

export const CRASHED = `Its delivery runs have ended without a result ${MAX_CRASHES} times in a row`;

/** The movements that a webhook matches. */
export interface Filter {
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT';
  /** null: every account of the customer. */
  accountId: string | null;
}

export function matchesFilter(
  filter: Filter,
  movement: { account_id: string; dc: 'Debit' | 'Credit' },
): boolean {
  const { accountId } = filter;
  const dc = dcOf(filter);
  return (accountId === null || accountId === movement.account_id) && (dc === null || dc === movement.dc);
}

/** The movements that a filter of a customer matches. */
interface Matching {
  customerId: string;
  filter: Filter;
}

/** The first column of the index that holds a filter's movements. */
export const ownerOf = ({ filter }: Matching): 'customer_id' | 'account_id' =>
  filter.accountId === null ? 'customer_id' : 'account_id';

export const ownerIdOf = ({ filter, customerId }: Matching): string => filter.accountId ?? customerId;

/** The direction that a filter matches; null: both. */
export const dcOf = ({ event }: Filter): 'Debit' | 'Credit' | null =>
  event === 'NEW_TRANSACTION' ? null : event === 'NEW_DEBIT' ? 'Debit' : 'Credit';

/** The index that holds a filter's movements, with its columns in order. @param alias of the table. */
export function indexOf(matching: Matching, alias: string): { name: string; columns: string } {
  const owner = ownerOf(matching);
  const of = owner === 'customer_id' ? 'customer' : 'account';
  return dcOf(matching.filter) === null
    ? { name: `transactions_${of}_page`, columns: `${alias}.${owner}, ${alias}.id` }
    : { name: `transactions_${of}_dc`, columns: `${alias}.${owner}, ${alias}.dc, ${alias}.id` };
}

/** Finds since when the deliveries of a webhook have waited for their first attempt. */

export interface Backlog {
  webhook_id: string;
  customer_id: string;
  account_id: string | null;
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT';
  after_id: string;
  matched_through: string;
}

/**
 * The first matching movement in the log that was not sent to a webhook. Uses a join, because for NOT EXISTS, MariaDB would first read
 * all deliveries of the webhook. Indexes: the webhook's index of the log, and the primary key of deliveries.
 */
function firstNotSent(backlog: Backlog): { sql: string; values: unknown[] } {
  const { webhook_id: id, customer_id, account_id, event, after_id, matched_through } = backlog;
  const range = { customerId: customer_id, filter: { event, accountId: account_id } };
  const dc = dcOf(range.filter);
  const { name, columns } = indexOf(range, 'l');
  return {
    sql: `
  (SELECT ? AS webhook_id, l.date_readed AS since, TIMESTAMPDIFF(MICROSECOND, l.date_readed, NOW(6)) / 1000000 AS seconds
   FROM transactions l FORCE INDEX (${name}) LEFT JOIN deliveries d ON d.webhook_id = ? AND d.transaction_id = l.id
   WHERE d.webhook_id IS NULL AND l.${ownerOf(range)} = ? ${dc === null ? '' : 'AND l.dc = ?'} AND l.id > ? AND l.id <= ?
   ORDER BY ${columns} LIMIT 1)`,
    values: [id, id, ownerIdOf(range), ...(dc === null ? [] : [dc]), after_id, matched_through],
  };
}

export interface WaitingWebhook {
  id: string;
  /** When the oldest unsent movement was stored, and how many seconds ago that was by MySQL's clock. */
  since: Date;
  seconds: number;
}

/** Reads the first movement of each backlog that was never attempted, the longest waiting first. Backlogs in which nothing waits are left out. */
export async function readFirstNotSent(sql: Sql, backlogs: readonly Backlog[]): Promise<WaitingWebhook[]> {
  if (backlogs.length === 0) return [];
  const statements = backlogs.map(firstNotSent);
  const rows = await sql.query<{ webhook_id: string; since: Date; seconds: string }[]>(
    statements.map(({ sql: statement }) => statement).join(' UNION ALL '),
    statements.flatMap(({ values }) => values),
  );
  return rows
    .map(({ webhook_id, since, seconds }) => ({ id: String(webhook_id), since, seconds: Number(seconds) }))
    .sort((a, b) => a.since.getTime() - b.since.getTime());
}
