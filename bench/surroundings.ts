import type { DataSource } from 'typeorm';
import { findWaiting } from '../src/listing/segment-maker.ts';
import { addDeliveryJobs } from '../src/queues/jobs.ts';
import { type Installation, pause } from './installation.ts';
import type { Subscribed } from './load.ts';

const ROWS = 1_000;

/** A webhook's settings that a copy takes over; its sealed secret opens for the copy as well. */
const SETTINGS = 'title, endpoint, event, secret, encoding, hash_encoding, max_in_flight';

/**
 * Webhooks like one that the API made, straight into the tables: one for each entry.
 * @param to whose they are, and the account whose movements they are told of.
 */
export async function copyWebhook(
  database: DataSource,
  { id }: Subscribed,
  to: readonly { customerId: string; accountId: string }[],
): Promise<void> {
  const [settings] = await database.query<object[]>(`SELECT ${SETTINGS} FROM webhooks WHERE id = ?`, [id]);
  for (let from = 0; from < to.length; from += ROWS) {
    await database.query(`INSERT INTO webhooks (customer_id, account_id, ${SETTINGS}) VALUES ?`, [
      to
        .slice(from, from + ROWS)
        .map(({ customerId, accountId }) => [customerId, accountId, ...Object.values(settings ?? {})]),
    ]);
  }
  await database.query(
    'INSERT INTO pumps (webhook_id) SELECT w.id FROM webhooks w LEFT JOIN pumps p ON p.webhook_id = w.id WHERE p.webhook_id IS NULL',
  );
}

/** What was stored past the importer counts as read: imports, fan-outs and segments go on behind it. */
export async function advanceImportLocks(database: DataSource): Promise<void> {
  await database.query(
    `UPDATE import_locks l SET last_date_readed = NOW(6),
       last_transaction_id = (SELECT COALESCE(MAX(id), 0) FROM transactions t WHERE t.customer_id = l.customer_id),
       movements = (SELECT COUNT(*) FROM transactions t FORCE INDEX (transactions_customer_page) WHERE t.customer_id = l.customer_id)`,
  );
}

/** Until maintenance has made all segments that the stored movements fill: a hundred every 10 s. */
export async function segmentsMade(database: DataSource): Promise<void> {
  while ((await findWaiting(database)).length > 0) await pause(100);
}

/** All movements of the customer were delivered to this webhook, at the first attempt. */
export async function storeDelivered(
  database: DataSource,
  { id }: Subscribed,
  customerId: string,
): Promise<void> {
  for (let newest = '0'; ; ) {
    const [page] = await database.query<{ last: string | null }[]>(
      `SELECT MAX(id) AS last FROM (SELECT id FROM transactions WHERE customer_id = ? AND id > ? ORDER BY id LIMIT 100000) t`,
      [customerId, newest],
    );
    if (page?.last == null) return;
    await database.query(
      `INSERT INTO deliveries (webhook_id, transaction_id, status, attempts, due_at, finished_at)
       SELECT ?, id, 'delivered', 1, NULL, NOW(6) FROM transactions WHERE customer_id = ? AND id > ? AND id <= ? ORDER BY id`,
      [id, customerId, newest, page.last],
    );
    await database.query(
      `INSERT INTO attempts (delivery_id, number, outcome, status_code, started_at, duration_ms)
       SELECT id, 1, 'delivered', 200, NOW(6), 3 FROM deliveries WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ?`,
      [id, newest, page.last],
    );
    newest = page.last;
  }
}

/**
 * Each webhook owes all movements of the customer, and none of it can be sent for the next hours: the first third is
 * paused, the second fails and its endpoint is left alone, and of the last each delivery has failed and waits for its next
 * attempt. The queue has heard of it.
 */
export async function storeBacklog(
  { runtime }: Installation,
  webhooks: readonly Subscribed[],
  customerId: string,
): Promise<void> {
  const { database, queues } = runtime;
  for (const [at, { id }] of webhooks.entries()) {
    const kind = ['paused', 'failing', 'waiting'][Math.floor((at * 3) / webhooks.length)];
    const [attempts, due] =
      kind === 'waiting'
        ? [1, 'NOW(6) + INTERVAL 2 HOUR + INTERVAL id % 36000 SECOND']
        : [0, "'1970-01-01 00:00:00'"];
    if (kind === 'paused') await database.query("UPDATE webhooks SET status = 'paused' WHERE id = ?", [id]);
    if (kind === 'failing') {
      await database.query(
        'UPDATE pumps SET consecutive_failures = 10, pauses = 10, failing_since = NOW(6), paused_until = NOW(6) + INTERVAL 2 HOUR WHERE webhook_id = ?',
        [id],
      );
    }
    await database.query(
      `INSERT INTO deliveries (webhook_id, transaction_id, attempts, failures, due_at)
       SELECT ?, id, ?, ?, ${due} FROM transactions WHERE customer_id = ? ORDER BY id`,
      [id, attempts, attempts, customerId],
    );
  }
  await addDeliveryJobs(
    queues,
    webhooks.map(({ id }) => id),
  );
}
