import type { Sql } from '../../database/transaction.ts';
import { type AttemptRow, byTime, readAttempts } from '../../delivery/attempts.ts';

/** The newest attempts of webhooks, whatever the status of their deliveries. The console takes latencies and success rates from them. */

/** Index: the primary key, read backwards. */
const FIND_NEWEST_DELIVERIES = `
  SELECT transaction_id AS id FROM deliveries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? ORDER BY webhook_id DESC, transaction_id DESC LIMIT ?`;

/** Index: retries_due. */
const FIND_NEXT_RETRIES = `
  SELECT transaction_id AS id FROM retries FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NOT NULL ORDER BY webhook_id, due_at LIMIT ?`;

/** How many attempts are read of a webhook with batches, each of which is one line of its page. */
const MOST_IN_BATCHES = 1_000;

/**
 * Reads the newest attempts of a webhook, the newest first: more than `limit` if it is sent batches. Searches the newest deliveries and the
 * next retries, because no index has the attempts in the order of time.
 */
export async function readNewestAttempts(sql: Sql, webhookId: string, limit: number): Promise<AttemptRow[]> {
  const [newest, retried] = await Promise.all([
    sql.query<{ id: string }[]>(FIND_NEWEST_DELIVERIES, [webhookId, limit]),
    sql.query<{ id: string }[]>(FIND_NEXT_RETRIES, [webhookId, limit]),
  ]);
  const subjectIds = [...new Set([...newest, ...retried].map(({ id }) => id))];
  const attempts = await readAttempts(sql, { webhookIds: [webhookId], subjectIds });
  if (limit < MOST_IN_BATCHES && attempts.some(({ batch_first }) => batch_first !== null))
    return readNewestAttempts(sql, webhookId, MOST_IN_BATCHES);
  return attempts.sort(byTime).reverse().slice(0, limit);
}

interface RecentAttempt {
  webhook_id: string;
  outcome: string;
  started_at: Date;
  duration_ms: number;
}

/** The last attempt of the newest deliveries. Index: the primary key, read backwards. */
const READ_LAST_ATTEMPTS = `
  (SELECT webhook_id, outcome, started_at, duration_ms FROM deliveries FORCE INDEX (PRIMARY)
   WHERE webhook_id = ? ORDER BY webhook_id DESC, transaction_id DESC LIMIT ?)`;

/** Reads the last attempts of the newest deliveries of each webhook. @param each how many per webhook. */
export async function readRecentAttempts(
  sql: Sql,
  webhookIds: readonly string[],
  each: number,
): Promise<RecentAttempt[]> {
  if (webhookIds.length === 0) return [];
  const statement = webhookIds.map(() => READ_LAST_ATTEMPTS).join(' UNION ALL ');
  return sql.query<RecentAttempt[]>(
    statement,
    webhookIds.flatMap((id) => [id, each]),
  );
}

export interface AttemptSummary {
  attempts: number;
  /** From 0 to 1; null: there was no attempt. */
  successShare: number | null;
  /** Milliseconds. */
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

/** Summarizes attempts. p95 is the duration that 95 % of the attempts did not exceed. */
export function summarizeAttempts(attempts: readonly RecentAttempt[]): AttemptSummary {
  const durations = attempts.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b);
  const percentile = (share: number) =>
    durations[Math.min(durations.length - 1, Math.ceil(durations.length * share) - 1)] ?? null;
  const delivered = attempts.filter(({ outcome }) => outcome === 'delivered').length;
  return {
    attempts: attempts.length,
    successShare: attempts.length === 0 ? null : delivered / attempts.length,
    p50: percentile(0.5),
    p95: percentile(0.95),
    p99: percentile(0.99),
  };
}
