import type { Sql } from '../../database/transaction.ts';
import type { AttemptRow } from './attempt-rows.ts';

/** Reads what became of one movement. */

export interface TracedMovement {
  id: string;
  customer_id: string;
  customer: string;
  account_id: string;
  account: string;
  bank: string;
  currency: string;
  import_id: string;
  unique_id: string;
  dc: string;
  amount: string;
  description: string | null;
  date_issue: string;
  date_readed: Date;
  import_received_at: Date | null;
  import_format: string | null;
  /** The source that has collected it; null: it was sent over the API, or the import was deleted. */
  source_id: string | null;
  /** The name of the API key that sent it; null: a source has collected it, or the key or the import was deleted. */
  api_key: string | null;
}

/** Indexes: the primary keys, a row of each. */
const MOVEMENT = `
  SELECT t.id, t.customer_id, u.name AS customer, t.account_id, a.title AS account, b.name AS bank, a.currency, t.import_id,
    CONVERT(t.unique_id USING utf8mb4) AS unique_id, t.dc, t.amount, t.description, t.date_issue, t.date_readed,
    i.received_at AS import_received_at, i.format AS import_format, i.source_id, CONCAT(k.prefix, '… ', k.title) AS api_key
  FROM transactions t JOIN customers u ON u.id = t.customer_id JOIN accounts a ON a.id = t.account_id
    JOIN banks b ON b.id = a.bank_id LEFT JOIN imports i ON i.id = t.import_id LEFT JOIN api_keys k ON k.id = i.api_key_id
  WHERE t.id = ?`;

export async function readMovement(sql: Sql, id: string): Promise<TracedMovement | undefined> {
  const [movement] = await sql.query<TracedMovement[]>(MOVEMENT, [id]);
  return movement;
}

const COLUMNS = 'outcome, status_code, started_at, duration_ms, error, LEFT(response, 300) AS response';

/** Indexes: the primary keys, an entry for each webhook and attempt. */
const ATTEMPTS = `
  SELECT webhook_id, transaction_id, number, ${COLUMNS} FROM attempts WHERE webhook_id IN (?) AND transaction_id = ?
  UNION ALL
  SELECT webhook_id, transaction_id, attempts, ${COLUMNS} FROM deliveries WHERE webhook_id IN (?) AND transaction_id = ?`;

export type TracedAttempt = AttemptRow & { webhook_id: string };

/** Reads every attempt to tell these webhooks of a movement, the oldest first. */
export async function readAttemptsOf(
  sql: Sql,
  movementId: string,
  webhookIds: readonly string[],
): Promise<TracedAttempt[]> {
  if (webhookIds.length === 0) return [];
  const rows = await sql.query<TracedAttempt[]>(ATTEMPTS, [webhookIds, movementId, webhookIds, movementId]);
  // A failed last attempt is in both tables.
  const known = new Map(rows.map((it) => [`${it.webhook_id} ${it.number}`, it]));
  return [...known.values()].sort((a, b) => a.started_at.getTime() - b.started_at.getTime());
}
