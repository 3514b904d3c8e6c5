import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../../src/database/transaction.ts';

/** Stores movements and their matches as an import does, with SQL only and under the same lock. @returns the ids of the movements. */
export function storeMovements(
  database: DataSource,
  { customerId, accountId }: { customerId: string; accountId: string },
  movements: readonly { dc?: 'Debit' | 'Credit'; dateReaded?: string }[],
): Promise<string[]> {
  return inTransaction(database, async (sql) => {
    const [before] = await sql.query<{ id: string }[]>(
      'SELECT last_transaction_id AS id FROM import_locks WHERE customer_id = ? FOR UPDATE',
      [customerId],
    );
    await sql.query<WriteResult>(
      `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed) VALUES ?`,
      [
        movements.map(({ dc = 'Credit', dateReaded = '2026-01-31 12:00:00' }, at) => [
          customerId,
          accountId,
          1,
          `stored behind ${before?.id}, ${at}`,
          dc,
          '1.00',
          '2026-01-15',
          dateReaded,
        ]),
      ],
    );
    const rows = await sql.query<{ id: string }[]>(
      'SELECT id FROM transactions WHERE customer_id = ? AND id > ? ORDER BY id',
      [customerId, before?.id],
    );
    const ids = rows.map(({ id }) => id);
    await sql.query('UPDATE import_locks SET last_transaction_id = ? WHERE customer_id = ?', [
      ids.at(-1),
      customerId,
    ]);
    await sql.query(MATCH, [customerId, before?.id]);
    return ids;
  });
}

/** Adds to the backlogs what an import would add. The newest filter of each webhook decides. */
const MATCH = `
  UPDATE webhook_backlogs b JOIN (
    SELECT f.webhook_id, MAX(t.id) AS last, COUNT(*) AS movements
    FROM webhook_filters f JOIN transactions t ON t.customer_id = f.customer_id
      AND (f.account_id IS NULL OR f.account_id = t.account_id)
      AND (f.event = 'NEW_TRANSACTION' OR f.event = CONCAT('NEW_', UPPER(t.dc)))
    WHERE f.customer_id = ? AND t.id > ?
      AND f.from_id = (SELECT MAX(newest.from_id) FROM webhook_filters newest WHERE newest.webhook_id = f.webhook_id)
    GROUP BY f.webhook_id
  ) m ON m.webhook_id = b.webhook_id
  SET b.matched_through = m.last, b.matched_count = b.matched_count + m.movements, b.due_at = NOW(6)`;

/** The recorded state of one delivery. */
export interface Recorded {
  transactionId: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts?: number;
  statusCode?: number | null;
  error?: string | null;
  response?: string | null;
}

/** When recorded attempts began. Each took 250 ms. */
export const ATTEMPTED_AT = '2026-02-01 12:00:00';

/**
 * Writes what a delivery run would have recorded: the deliveries, their failed attempts, their retries (pending ones are due in
 * 2030), and the webhook's counts.
 * @param sentThrough where its cursor is afterwards. Default: at the newest of these deliveries.
 */
export async function recordDeliveries(
  sql: Sql,
  webhook: { id: string; customerId: string },
  deliveries: readonly Recorded[],
  { sentThrough }: { sentThrough?: string } = {},
): Promise<void> {
  const { id, customerId } = webhook;
  const newest = deliveries
    .map(({ transactionId }) => BigInt(transactionId))
    .reduce((a, b) => (a > b ? a : b), 0n);
  const rows = deliveries.map(({ transactionId, status, attempts = 1, statusCode, error, response }) => {
    const delivered = status === 'delivered';
    const facts = [
      delivered ? 'delivered' : 'failed',
      statusCode === undefined ? (delivered ? 200 : 503) : statusCode,
      ATTEMPTED_AT,
      250,
      error ?? null,
      response ?? '',
    ];
    return { transactionId, status, attempts, delivered, facts };
  });
  const insert = async (statement: string, values: unknown[][]) => {
    if (values.length > 0) await sql.query(statement, [values]);
  };
  await insert(
    `INSERT INTO deliveries (webhook_id, transaction_id, customer_id, status, attempts, outcome, status_code, started_at,
       duration_ms, error, response) VALUES ?`,
    rows.map(({ transactionId, status, attempts, facts }) => [
      id,
      transactionId,
      customerId,
      status,
      attempts,
      ...facts,
    ]),
  );
  const others = rows.filter(({ delivered }) => !delivered);
  await insert(
    `INSERT INTO attempts (webhook_id, transaction_id, number, customer_id, outcome, status_code, started_at, duration_ms,
       error, response) VALUES ?`,
    others.map(({ transactionId, attempts, facts }) => [id, transactionId, attempts, customerId, ...facts]),
  );
  await insert(
    'INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures) VALUES ?',
    others.map(({ transactionId, status, attempts }) => [
      id,
      transactionId,
      customerId,
      // Not due during a test.
      status === 'pending' ? new Date(Date.now() + 3_590_000) : null,
      attempts,
      attempts,
    ]),
  );
  const count = (status: string) => rows.filter((row) => row.status === status).length;
  await sql.query(
    `UPDATE webhook_cursors SET sent_through = GREATEST(sent_through, ?), highest_recorded_id = GREATEST(highest_recorded_id, ?),
       delivered_count = delivered_count + ?, failed_count = failed_count + ? WHERE webhook_id = ?`,
    [sentThrough ?? String(newest), String(newest), count('delivered'), count('failed'), id],
  );
}
