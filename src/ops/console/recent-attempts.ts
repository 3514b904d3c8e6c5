import type { Sql } from '../../database/transaction.ts';

/** The newest attempts of webhooks, from which the console takes latencies and success rates. */

export interface RecentAttempt {
  webhook_id: string;
  outcome: string;
  started_at: Date;
  duration_ms: number;
}

/** The last attempt of the newest deliveries. Index: the primary key, read backwards. */
const NEWEST = `
  (SELECT webhook_id, outcome, started_at, duration_ms FROM deliveries FORCE INDEX (PRIMARY)
   WHERE webhook_id = ? ORDER BY webhook_id DESC, transaction_id DESC LIMIT ?)`;

/** Reads the last attempts of the newest deliveries of each webhook. @param each how many per webhook. */
export async function readRecentAttempts(
  sql: Sql,
  webhookIds: readonly string[],
  each: number,
): Promise<RecentAttempt[]> {
  if (webhookIds.length === 0) return [];
  const statement = webhookIds.map(() => NEWEST).join(' UNION ALL ');
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

/** Sums attempts up. A percentile is the duration that so many of the attempts did not exceed. */
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
