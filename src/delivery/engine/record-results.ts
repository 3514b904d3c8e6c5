import type { DataSource } from 'typeorm';
import { cutTo } from '../../database/text-columns.ts';
import { derivedRows, type Sql, tryTransaction, type WriteResult } from '../../database/transaction.ts';
import { LEASE_SECONDS } from '../../webhook-record/lease.ts';
import { joinSettings, revisionOf } from '../../webhook-record/record.ts';
import { withdrawnWhileSent } from '../run/attempt.ts';
import type { AttemptResult } from '../run/types.ts';
import type { LeasedRecord, Recorded } from './ports.ts';
import { applyHealthChanges, type RecentHealth, type SharedHealth } from './shared-health.ts';

/** Records the results of many runs in one transaction. */

/** Another run has taken over one of the webhooks. It sends the deliveries again that this run could not record. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError';
}

const CURSOR_COLUMNS = [
  'webhook_id',
  'sent',
  'recorded',
  'delivered',
  'failed',
  'unreported',
  'rate_wait',
  'release_lease',
];

/** Only the holder of the lease can record. `lease_writes` shows whether this record was already written and only its COMMIT got no answer. */
const MOVE_CURSORS = (webhooks: number) => `
  /* MOVE_CURSORS */ UPDATE webhook_cursors k JOIN (${derivedRows(CURSOR_COLUMNS, webhooks)}) r ON k.webhook_id = r.webhook_id
  SET k.lease_until = IF(r.release_lease = 1, NULL, NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND),
    k.lease_writes = k.lease_writes + 1, k.crash_count = 0,
    k.sent_through = GREATEST(k.sent_through, r.sent), k.highest_recorded_id = GREATEST(k.highest_recorded_id, r.recorded),
    k.delivered_count = k.delivered_count + r.delivered, k.failed_count = k.failed_count + r.failed,
    k.unreported_failures = k.unreported_failures + r.unreported,
    k.progressed_at = IF(r.delivered + r.failed > 0, NOW(6), k.progressed_at),
    k.rate_next_at = NOW(6) + INTERVAL r.rate_wait MICROSECOND
  WHERE (k.webhook_id, k.lease_token, k.lease_writes) IN (?) AND k.lease_until IS NOT NULL`;

const HEALTH_COLUMNS = [
  'webhook_id',
  'revision',
  'consecutive_failures',
  'failing_since',
  'failing_days',
  'circuit_openings',
  'open_for',
  'recovery_successes',
  'consecutive_rejections',
  'batch_limit',
  'last_error',
];

/** Skips a webhook whose health the API has reset since this run read it, because the run's health is then out of date. */
const WRITE_ENDPOINT_HEALTH = (webhooks: number) => `
  /* WRITE_ENDPOINT_HEALTH */ UPDATE webhook_cursors k JOIN (${derivedRows(HEALTH_COLUMNS, webhooks)}) r ON k.webhook_id = r.webhook_id
  SET k.consecutive_failures = r.consecutive_failures, k.failing_since = r.failing_since, k.failing_days = r.failing_days,
    k.circuit_openings = r.circuit_openings, k.circuit_open_until = NOW(6) + INTERVAL r.open_for MICROSECOND,
    k.recovery_successes = r.recovery_successes, k.consecutive_rejections = r.consecutive_rejections, k.batch_limit = r.batch_limit,
    k.last_error = r.last_error
  WHERE k.health_revision <= r.revision`;

const WRITE_DELIVERIES = `
  /* WRITE_DELIVERIES */ INSERT INTO deliveries
    (webhook_id, transaction_id, customer_id, status, attempts, outcome, status_code, started_at, duration_ms, posts, error, response,
      batch_first)
  VALUES ?
  ON DUPLICATE KEY UPDATE status = VALUES(status), attempts = VALUES(attempts), outcome = VALUES(outcome),
    status_code = VALUES(status_code), started_at = VALUES(started_at), duration_ms = VALUES(duration_ms), posts = VALUES(posts),
    error = VALUES(error), response = VALUES(response), batch_first = VALUES(batch_first)`;

/** Adds only failed attempts. A success is the last attempt, which is in the row in `deliveries`. */
const ADD_ATTEMPTS = `
  /* ADD_ATTEMPTS */ INSERT INTO attempts
    (webhook_id, transaction_id, customer_id, number, outcome, status_code, started_at, duration_ms, posts, error, response, batch_first)
  VALUES ? ON DUPLICATE KEY UPDATE number = VALUES(number)`;

const RETRY_COLUMNS = ['webhook_id', 'transaction_id', 'customer_id', 'retry_in', 'attempts', 'failures'];

/** A batch may have a thousand. A derived table with so many rows would be slow. */
const RETRIES_PER_STATEMENT = 300;

/** due_at NULL: the delivery has failed for good. */
const SCHEDULE_RETRIES = (rows: number) => `
  /* SCHEDULE_RETRIES */ INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
  SELECT webhook_id, transaction_id, customer_id, NOW(6) + INTERVAL retry_in MICROSECOND, attempts, failures
  FROM (${derivedRows(RETRY_COLUMNS, rows)}) r
  ON DUPLICATE KEY UPDATE due_at = VALUES(due_at), attempts = VALUES(attempts), failures = VALUES(failures)`;

const DELETE_ENDED_RETRIES =
  '/* DELETE_ENDED_RETRIES */ DELETE FROM retries WHERE webhook_id = ? AND transaction_id IN (?)';

/** Deliveries that ended while they were being sent. Indexes: the primary key, and withdrawn_transactions_id. */
const READ_ENDED_MEANWHILE = `
  /* READ_ENDED_MEANWHILE */ SELECT d.transaction_id, d.status, w.id IS NOT NULL AS is_gone
  FROM deliveries d LEFT JOIN withdrawn_transactions w ON w.id = d.transaction_id
  WHERE d.webhook_id = ? AND d.transaction_id IN (?) AND d.status <> 'pending'`;

const COUNT_ENDED_AGAIN = `
  /* COUNT_ENDED_AGAIN */ UPDATE webhook_cursors SET delivered_count = delivered_count - ?, failed_count = failed_count + ? WHERE webhook_id = ?`;

/** Index: replays_open. */
const COUNT_FEWER_OF_REPLAY = `
  /* COUNT_FEWER_OF_REPLAY */ UPDATE replays SET withdrawn = IF(withdrawn > ?, withdrawn - ?, 0)
  WHERE webhook_id = ? AND cancelled_at IS NOT NULL ORDER BY cancelled_at DESC LIMIT 1`;

const ADD_REJECTED_BATCHES = `
  /* ADD_REJECTED_BATCHES */ INSERT INTO rejected_batches
    (webhook_id, customer_id, first_id, last_id, events, status_code, started_at, duration_ms, response)
  VALUES ?`;

/** The rejected batches of a webhook that are kept. */
const KEPT_REJECTED_BATCHES = 100;

/** Index: rejected_batches_webhook. */
const READ_OLD_REJECTED_BATCHES = `
  /* READ_OLD_REJECTED_BATCHES */ SELECT id FROM rejected_batches FORCE INDEX (rejected_batches_webhook)
  WHERE webhook_id = ? ORDER BY id DESC LIMIT 1000 OFFSET ${KEPT_REJECTED_BATCHES}`;

const DELETE_REJECTED_BATCHES = '/* DELETE_REJECTED_BATCHES */ DELETE FROM rejected_batches WHERE id IN (?)';

const READ_WEBHOOK_REVISIONS = `/* READ_WEBHOOK_REVISIONS */ SELECT w.id, ${revisionOf('w', 's')} AS revision FROM webhooks w ${joinSettings('w', 's')} WHERE w.id IN (?)`;

/** Finds a row if this record was written before and only the answer was lost. */
const FIND_WRITTEN_RECORD =
  '/* FIND_WRITTEN_RECORD */ SELECT 1 FROM webhook_cursors WHERE webhook_id = ? AND lease_token = ? AND lease_writes = ?';

/**
 * Records the results of these runs, their cursors and the health of their endpoints in one transaction. Renews their leases, or gives
 * them back at the end of a run. A delivery counts as delivered only when this resolves.
 * @param recent what the process has read lately of the health of templates' endpoints.
 * @throws {LeaseLostError} when one of the leases was lost. Then nothing was written for any of them.
 */
export async function recordResults(
  database: DataSource,
  records: readonly LeasedRecord[],
  recent: RecentHealth = new Map(),
): Promise<Recorded[]> {
  // In the order of the primary key, like the renewal of leases. Transactions that lock in opposite orders would deadlock.
  const inOrder = records.toSorted((a, b) => Number(a.lease.webhookId) - Number(b.lease.webhookId));
  // Not repeated here, so that a row that another transaction locks does not hold up later records.
  const { revisions, shared } = await tryTransaction(database, (sql) => write(sql, inOrder, recent));
  return records.map(({ lease, settings, record }) => ({
    revision: revisions.get(lease.webhookId) ?? record.revision + 1,
    health: shared.get(settings.id) ?? null,
  }));
}

async function write(sql: Sql, records: readonly LeasedRecord[], recent: RecentHealth) {
  const isNew = await moveCursors(sql, records);
  const ids = records.map(({ lease }) => lease.webhookId);
  const rows = await sql.query<{ id: string; revision: number | string }[]>(READ_WEBHOOK_REVISIONS, [ids]);
  const revisions = new Map(rows.map(({ id, revision }) => [id, Number(revision)]));
  if (isNew) {
    await writeHealth(sql, records);
    const results: OwnedResult[] = [];
    for (const { lease, customerId, record } of records) {
      const { webhookId } = lease;
      // Cancelling a replay changes the revision, and so does a withdrawal.
      const isChanged = revisions.get(webhookId) !== record.revision;
      const own = isChanged ? await endMeanwhile(sql, webhookId, record.results) : record.results;
      for (const result of own) results.push({ webhookId, customerId, result });
    }
    await addResults(sql, results);
    for (const it of records) if (it.record.rejectedBatches.length > 0) await addRejectedBatches(sql, it);
  }
  const { stored: shared, write: changed } = await applyHealthChanges(sql, isNew ? records : [], recent);
  if (changed.length > 0)
    await sql.query(
      WRITE_ENDPOINT_HEALTH(changed.length),
      changed.flatMap((it) => healthRow(it.templateId, it)),
    );
  return { revisions, shared };
}

/**
 * Corrects the numbers for deliveries that ended while they were being sent, because a replay was cancelled or their movements were
 * withdrawn. They would count twice. If such a delivery has failed, it is not tried again.
 */
async function endMeanwhile(
  sql: Sql,
  webhookId: string,
  results: readonly AttemptResult[],
): Promise<readonly AttemptResult[]> {
  if (results.length === 0) return results;
  const ids = results.map(({ subjectId }) => subjectId);
  const rows = await sql.query<{ transaction_id: string; status: string; is_gone: number | string }[]>(
    READ_ENDED_MEANWHILE,
    [webhookId, ids],
  );
  if (rows.length === 0) return results;
  const ended = new Map(rows.map(({ transaction_id, is_gone }) => [Number(transaction_id), Number(is_gone)]));
  const isTriedAgain = ({ subjectId, status }: AttemptResult) => ended.has(subjectId) && status === 'pending';
  const delivered = rows.filter(({ status }) => status === 'delivered').length;
  const failed = rows.length - delivered;
  await sql.query(COUNT_ENDED_AGAIN, [delivered, results.filter(isTriedAgain).length - failed, webhookId]);
  const ofReplay = rows.filter(({ is_gone }) => Number(is_gone) === 0).length;
  if (ofReplay > 0) await sql.query(COUNT_FEWER_OF_REPLAY, [ofReplay, ofReplay, webhookId]);
  // They have rows in `retries` now, wherever they came from.
  const here = results.map(
    (it): AttemptResult => (ended.has(it.subjectId) ? { ...it, source: 'retries' } : it),
  );
  return here.map((it) => {
    if (!isTriedAgain(it)) return it;
    const error = ended.get(it.subjectId) === 1 ? withdrawnWhileSent(it) : it.error;
    return { ...it, status: 'failed', retryIn: null, error };
  });
}

/** @returns false when the record was written before. */
async function moveCursors(sql: Sql, records: readonly LeasedRecord[]): Promise<boolean> {
  const { affectedRows } = await sql.query<WriteResult>(MOVE_CURSORS(records.length), [
    ...records.flatMap(({ lease, record: { results, cursor, rateWait, release } }) => {
      const failed = results.filter(({ status }) => status === 'failed');
      return [
        lease.webhookId,
        cursor.sentThrough,
        cursor.highestRecordedId,
        results.filter(({ status }) => status === 'delivered').length,
        failed.length,
        // A delivery that was deleted before it could be sent is not a failure.
        failed.filter(({ storedAt }) => storedAt !== null).length,
        rateWait === null ? null : Math.round(rateWait * 1_000),
        release ? 1 : 0,
      ];
    }),
    records.map(({ lease }) => [lease.webhookId, lease.token, lease.writes]),
  ]);
  if (affectedRows === records.length) return true;
  const [only] = records;
  if (records.length === 1 && only !== undefined) {
    const { webhookId, token, writes } = only.lease;
    const written = await sql.query<unknown[]>(FIND_WRITTEN_RECORD, [webhookId, token, writes + 1]);
    if (written.length > 0) return false;
  }
  throw new LeaseLostError();
}

async function writeHealth(sql: Sql, records: readonly LeasedRecord[]): Promise<void> {
  const changed = records.flatMap(({ lease, settings: { revision }, record, now }) =>
    record.health === null
      ? []
      : [healthRow(lease.webhookId, { revision, health: record.health, lastError: record.lastError, now })],
  );
  if (changed.length > 0) await sql.query(WRITE_ENDPOINT_HEALTH(changed.length), changed.flat());
}

const healthRow = (
  webhookId: string,
  { revision, health, lastError, now }: Omit<SharedHealth, 'templateId'>,
) => [
  webhookId,
  revision,
  health.consecutiveFailures,
  health.failingSince === null ? null : new Date(health.failingSince),
  health.failingDays,
  health.circuitOpenings,
  health.openUntil === null || health.openUntil <= now ? null : Math.round((health.openUntil - now) * 1_000),
  health.recoverySuccesses,
  health.consecutiveRejections,
  health.batchLimit,
  lastError === null ? null : cutTo('webhook_cursors.last_error', lastError),
];

/** A result with its webhook. */
export interface OwnedResult {
  webhookId: string;
  customerId: string;
  result: AttemptResult;
}

/** Writes results into the deliveries, attempts and retries of their webhooks. */
export async function addResults(sql: Sql, all: readonly OwnedResult[]): Promise<void> {
  if (all.length > 0) await sql.query(WRITE_DELIVERIES, [all.map(deliveryRow)]);
  const unsuccessful = all.filter(({ result }) => result.status !== 'delivered');
  if (unsuccessful.length > 0) {
    await sql.query(ADD_ATTEMPTS, [unsuccessful.map(attemptRow)]);
    for (let start = 0; start < unsuccessful.length; start += RETRIES_PER_STATEMENT) {
      const part = unsuccessful.slice(start, start + RETRIES_PER_STATEMENT);
      await sql.query(SCHEDULE_RETRIES(part.length), part.flatMap(retryRow));
    }
  }
  const ended = all.filter(({ result }) => result.status === 'delivered' && result.source === 'retries');
  for (const webhookId of new Set(ended.map((it) => it.webhookId))) {
    const ids = ended.filter((it) => it.webhookId === webhookId).map(({ result }) => result.subjectId);
    await sql.query(DELETE_ENDED_RETRIES, [webhookId, ids]);
  }
}

async function addRejectedBatches(sql: Sql, { lease, customerId, record }: LeasedRecord): Promise<void> {
  const { webhookId } = lease;
  const rows = record.rejectedBatches.map((it) => [
    webhookId,
    customerId,
    it.firstId,
    it.lastId,
    it.events,
    it.statusCode,
    toDateTime(it.startedAt),
    it.durationMs,
    it.response === '' ? null : cutTo('rejected_batches.response', it.response),
  ]);
  await sql.query(ADD_REJECTED_BATCHES, [rows]);
  const old = await sql.query<{ id: string }[]>(READ_OLD_REJECTED_BATCHES, [webhookId]);
  if (old.length > 0) await sql.query(DELETE_REJECTED_BATCHES, [old.map(({ id }) => id)]);
}

const attemptValues = (table: 'deliveries' | 'attempts', result: AttemptResult) => [
  result.outcome,
  result.statusCode,
  toDateTime(result.startedAt),
  result.durationMs,
  result.posts,
  result.error === null ? null : cutTo(`${table}.error`, result.error),
  result.response === '' ? null : cutTo(`${table}.response`, result.response),
  result.batchFirst,
];

const deliveryRow = ({ webhookId, customerId, result }: OwnedResult) => [
  webhookId,
  result.subjectId,
  customerId,
  result.status,
  result.number,
  ...attemptValues('deliveries', result),
];

/** Of an endpoint's answers, the body of the first is kept here. The body of the last is kept in `deliveries`. */
const attemptRow = ({ webhookId, customerId, result }: OwnedResult) => [
  webhookId,
  result.subjectId,
  customerId,
  result.number,
  ...attemptValues('attempts', result.number === 1 ? result : { ...result, response: '' }),
];

const retryRow = ({ webhookId, customerId, result }: OwnedResult) => [
  webhookId,
  result.subjectId,
  customerId,
  result.retryIn === null ? null : result.retryIn * 1_000,
  result.number,
  result.failures,
];

/** Milliseconds since 1970 as a DATETIME in UTC. The driver would format a Date again for each row. */
const toDateTime = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().slice(0, -1).replace('T', ' ');
