import type { Sql } from '../../database/transaction.ts';

/** Reads the newest attempts of one webhook, whatever became of their deliveries. */

export interface AttemptRow {
  transaction_id: string;
  number: number;
  outcome: string;
  status_code: number | null;
  started_at: Date;
  duration_ms: number;
  error: string | null;
  /** The first 300 characters. */
  response: string | null;
}

/** Index: the primary key, read backwards. */
const NEWEST_DELIVERIES = `
  SELECT transaction_id AS id FROM deliveries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? ORDER BY webhook_id DESC, transaction_id DESC LIMIT ?`;

/** Index: retries_due. */
const NEXT_RETRIES = `
  SELECT transaction_id AS id FROM retries FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NOT NULL ORDER BY webhook_id, due_at LIMIT ?`;

const COLUMNS = 'outcome, status_code, started_at, duration_ms, error, LEFT(response, 300) AS response';

/** Index of both: the primary key. */
const LAST_ATTEMPTS = `
  SELECT transaction_id, attempts AS number, ${COLUMNS} FROM deliveries
  WHERE webhook_id = ? AND transaction_id IN (?)`;

const EARLIER_ATTEMPTS = `
  SELECT transaction_id, number, ${COLUMNS} FROM attempts WHERE webhook_id = ? AND transaction_id IN (?)`;

/**
 * Reads the newest attempts of a webhook, the newest first. They are looked for in its newest deliveries and in those that are tried
 * again next, because no index has the attempts in the order of time.
 */
export async function readNewestAttempts(sql: Sql, webhookId: string, limit: number): Promise<AttemptRow[]> {
  const [newest, retried] = await Promise.all([
    sql.query<{ id: string }[]>(NEWEST_DELIVERIES, [webhookId, limit]),
    sql.query<{ id: string }[]>(NEXT_RETRIES, [webhookId, limit]),
  ]);
  const ids = [...new Set([...newest, ...retried].map(({ id }) => id))];
  if (ids.length === 0) return [];
  const [last, earlier] = await Promise.all([
    sql.query<AttemptRow[]>(LAST_ATTEMPTS, [webhookId, ids]),
    sql.query<AttemptRow[]>(EARLIER_ATTEMPTS, [webhookId, ids]),
  ]);
  // A failed last attempt is in both tables.
  const known = new Map([...earlier, ...last].map((it) => [`${it.transaction_id} ${it.number}`, it]));
  return [...known.values()].sort((a, b) => b.started_at.getTime() - a.started_at.getTime()).slice(0, limit);
}
