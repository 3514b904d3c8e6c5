import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import type { Breaker } from './breaker.ts';
import { LEASE_SECONDS, type Lease } from './lease.ts';
import type { Outcome } from './outcome.ts';

/** One attempt that has ended, to be logged. */
export interface AttemptResult {
  deliveryId: string;
  /** Counted from 1 over the life of the delivery. */
  number: number;
  outcome: Outcome['kind'];
  statusCode: number | null;
  startedAt: Date;
  durationMs: number;
  error: string | null;
  response: string;
  /** Failures on the schedule, this one included. */
  failures: number;
  /**
   * Milliseconds until the next attempt; null: the schedule is over. An ordered webhook waits as a whole, and its
   * delivery stays where it is in the order: then it is 'in order'.
   */
  retryIn: number | null | 'in order';
}

/** Nobody writes without the lease. Who has ended its run gives it back here, and spares a statement and a commit. */
const FENCE = (webhooks: number) => `
  UPDATE pumps p JOIN (
    SELECT ? AS webhook_id, ? AS consecutive_failures, ? AS failing_since, ? AS pauses, ? AS paused_for, ? AS in_flight_limit,
      ? AS rate_wait, ? AS last_error, ? AS ended ${'UNION ALL SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? '.repeat(webhooks - 1)}
  ) r ON p.webhook_id = r.webhook_id
  SET p.lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND, p.lease_token = IF(r.ended, NULL, p.lease_token), p.tries = 0,
    p.consecutive_failures = r.consecutive_failures, p.failing_since = r.failing_since, p.pauses = r.pauses,
    p.paused_until = NOW(6) + INTERVAL r.paused_for MICROSECOND, p.in_flight_limit = r.in_flight_limit,
    p.rate_next_at = NOW(6) + INTERVAL r.rate_wait MICROSECOND, p.last_error = r.last_error
  WHERE (p.webhook_id, p.lease_token) IN (?)`;

/** What has arrived has arrived, even if it was cancelled meanwhile. */
const DELIVERED = `
  UPDATE deliveries SET status = 'delivered', attempts = attempts + 1, due_at = NULL, finished_at = NOW(6)
  WHERE id IN (?) AND status <> 'delivered'`;

/** A delivery that was cancelled meanwhile stays cancelled. */
const OTHERS = (rows: number) => `
  UPDATE deliveries d JOIN (
    SELECT ? AS id, ? AS attempts, ? AS failures, ? AS retry_in, ? AS failed ${'UNION ALL SELECT ?, ?, ?, ?, ? '.repeat(rows - 1)}
  ) r ON d.id = r.id
  SET d.attempts = r.attempts, d.failures = r.failures,
    d.status = IF(r.failed = 1, 'failed', 'pending'),
    d.finished_at = IF(r.failed = 1, NOW(6), NULL),
    d.due_at = IF(r.failed = 1, NULL, IF(r.retry_in IS NULL, d.due_at, NOW(6) + INTERVAL r.retry_in MICROSECOND))
  WHERE d.status = 'pending'`;

/** The same number comes twice when the answer to a COMMIT was lost and the batch is written again. */
const LOG_ATTEMPTS = `
  INSERT INTO attempts (delivery_id, number, outcome, status_code, started_at, duration_ms, error, response) VALUES ?
  ON DUPLICATE KEY UPDATE number = VALUES(number)`;

/** Only as it was when this run read it: what its owner has changed meanwhile is a new beginning. */
const DISABLE = `
  UPDATE webhooks SET status = 'disabled', status_reason = ?, revision = revision + 1 WHERE id = ? AND status = 'active' AND revision = ?`;

/** What came of a batch of one webhook's deliveries, and how its endpoint is doing since. */
export interface Results {
  lease: Lease;
  /** The run ends with this batch: its lease is given back. */
  ended: boolean;
  attempts: readonly AttemptResult[];
  breaker: Breaker;
  /** Milliseconds from now until the webhook's own rate limit lets the next POST go; null: at once. */
  rateWait: number | null;
  lastError: string | null;
  /** Why the webhook is to be disabled, for its owner and for ops; null: it is not. */
  disable: string | null;
  /** The webhook's, as the run knows it. */
  revision: number;
  now: number;
}

/** Another run has taken one of the webhooks over: it sends again what this one could not write. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError';
}

/**
 * Writes what came of a batch of each of these webhooks, and the state of their endpoints with it, in one transaction. Only
 * when this resolves does a delivery count as delivered.
 * @throws {LeaseLostError} when one of the leases was lost: nothing was written, of none of them.
 */
export async function writeResults(database: DataSource, batches: readonly Results[]): Promise<void> {
  // In the order of the primary key, in which leases are renewed too: two that lock in opposite orders would deadlock.
  const inOrder = [...batches].sort((a, b) => Number(a.lease.webhookId) - Number(b.lease.webhookId));
  await inTransaction(database, (sql) => write(sql, inOrder));
}

async function write(sql: Sql, batches: readonly Results[]): Promise<void> {
  await fence(sql, batches);
  const attempts = batches.flatMap((batch) => batch.attempts);
  const delivered = attempts.filter(({ outcome }) => outcome === 'delivered');
  const others = attempts.filter(({ outcome }) => outcome !== 'delivered');
  if (delivered.length > 0) await sql.query(DELIVERED, [delivered.map(({ deliveryId }) => deliveryId)]);
  if (others.length > 0) {
    await sql.query(
      OTHERS(others.length),
      others.flatMap(({ deliveryId, number, failures, retryIn }) => [
        deliveryId,
        number,
        failures,
        typeof retryIn === 'number' ? retryIn * 1_000 : null,
        retryIn === null ? 1 : 0,
      ]),
    );
  }
  if (attempts.length > 0) await sql.query(LOG_ATTEMPTS, [attempts.map(toRow)]);
  for (const { disable, lease, revision } of batches) {
    if (disable !== null) await sql.query(DISABLE, [disable, lease.webhookId, revision]);
  }
}

async function fence(sql: Sql, batches: readonly Results[]): Promise<void> {
  const { affectedRows } = await sql.query<WriteResult>(FENCE(batches.length), [
    ...batches.flatMap(({ lease, breaker, rateWait, lastError, ended, now }) => [
      lease.webhookId,
      breaker.consecutiveFailures,
      breaker.failingSince === null ? null : new Date(breaker.failingSince),
      breaker.pauses,
      breaker.pausedUntil === null || breaker.pausedUntil <= now ? null : (breaker.pausedUntil - now) * 1_000,
      breaker.inFlightLimit,
      rateWait === null ? null : Math.round(rateWait * 1_000),
      lastError,
      ended ? 1 : 0,
    ]),
    batches.map(({ lease }) => [lease.webhookId, lease.token]),
  ]);
  if (affectedRows !== batches.length) throw new LeaseLostError();
}

const toRow = (attempt: AttemptResult) => [
  attempt.deliveryId,
  attempt.number,
  attempt.outcome,
  attempt.statusCode,
  attempt.startedAt,
  attempt.durationMs,
  attempt.error,
  attempt.response === '' ? null : attempt.response,
];
