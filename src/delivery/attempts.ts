import * as v from 'valibot';
import type { Sql } from '../database/transaction.ts';
import { Count, Timestamp } from '../platform/validation.ts';

/** Reads the attempts of deliveries. `deliveries` holds the last attempt. `attempts` holds the earlier ones, and the last one if it failed. */

export interface AttemptRow {
  webhook_id: string;
  transaction_id: string;
  number: number;
  outcome: string;
  status_code: number | null;
  started_at: Date;
  duration_ms: number;
  error: string | null;
  response: string | null;
}

const COLUMNS = 'outcome, status_code, started_at, duration_ms, error, response';

/** Index of both parts: the primary key. */
const ATTEMPTS = `
  SELECT webhook_id, transaction_id, number, ${COLUMNS} FROM attempts WHERE webhook_id IN (?) AND transaction_id IN (?)
  UNION ALL
  SELECT webhook_id, transaction_id, attempts, ${COLUMNS} FROM deliveries WHERE webhook_id IN (?) AND transaction_id IN (?)`;

/** Reads all attempts of these webhooks to deliver these movements or events. The attempts of each delivery come in order. */
export async function readAttempts(
  sql: Sql,
  { webhookIds, transactionIds }: { webhookIds: readonly string[]; transactionIds: readonly string[] },
): Promise<AttemptRow[]> {
  if (webhookIds.length === 0 || transactionIds.length === 0) return [];
  const rows = await sql.query<AttemptRow[]>(ATTEMPTS, [
    webhookIds,
    transactionIds,
    webhookIds,
    transactionIds,
  ]);
  const attempts = new Map(rows.map((it) => [`${it.webhook_id}-${it.transaction_id} ${it.number}`, it]));
  return [...attempts.values()].sort((a, b) => a.number - b.number);
}

/** Sorts attempts of several deliveries by time, the oldest first. */
export const byTime = (a: AttemptRow, b: AttemptRow): number =>
  a.started_at.getTime() - b.started_at.getTime();

export const AttemptView = v.object({
  number: Count,
  outcome: v.picklist(['delivered', 'failed', 'throttled', 'gone', 'refused']),
  status_code: v.nullable(Count),
  started_at: Timestamp,
  duration_ms: Count,
  error: v.nullable(v.string()),
  response: v.nullable(v.string()),
});

export const viewAttempt = ({ number, outcome, status_code, started_at, ...row }: AttemptRow) => ({
  number,
  outcome,
  status_code,
  started_at: started_at.toISOString(),
  duration_ms: row.duration_ms,
  error: row.error,
  response: row.response,
});
