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

const FENCE = `
  UPDATE pumps SET lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND, tries = 0,
    consecutive_failures = ?, failing_since = ?,
    pauses = ?, paused_until = NOW(6) + INTERVAL ? MICROSECOND, in_flight_limit = ?,
    rate_next_at = NOW(6) + INTERVAL ? MICROSECOND, last_error = ?
  WHERE webhook_id = ? AND lease_token = ?`;

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

export interface Results {
  lease: Lease;
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

/**
 * Writes what came of a batch, and the endpoint's state with it, in one transaction. Only when this resolves to true does a
 * delivery count as delivered.
 * @returns false when the lease was lost: nothing was written, and another run sends the same again.
 */
export function writeResults(database: DataSource, results: Results): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    if (!(await fence(sql, results))) return false;
    const { attempts, disable, lease, revision } = results;
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
    if (disable !== null) await sql.query(DISABLE, [disable, lease.webhookId, revision]);
    return true;
  });
}

async function fence(sql: Sql, { lease, breaker, rateWait, lastError, now }: Results): Promise<boolean> {
  const { affectedRows } = await sql.query<WriteResult>(FENCE, [
    breaker.consecutiveFailures,
    breaker.failingSince === null ? null : new Date(breaker.failingSince),
    breaker.pauses,
    breaker.pausedUntil === null || breaker.pausedUntil <= now ? null : (breaker.pausedUntil - now) * 1_000,
    breaker.inFlightLimit,
    rateWait === null ? null : Math.round(rateWait * 1_000),
    lastError,
    lease.webhookId,
    lease.token,
  ]);
  return affectedRows === 1;
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
