import type { DataSource } from 'typeorm';
import { SEALED } from '../src/database/secret-box.ts';
import { derivedRows } from '../src/database/transaction.ts';
import { wakeWebhooks } from '../src/delivery/wake.ts';
import { findWaiting } from '../src/movements/segments.ts';
import { type Owner, storeHistory } from './history.ts';
import { type Installation, pause } from './installation.ts';
import type { Subscribed } from './load.ts';

/** Rows of one INSERT, and movements of one INSERT … SELECT. */
const ROWS = 1_000;
const PAGE = 100_000;

/** A webhook's settings that a copy inherits. */
const SETTINGS = 'title, endpoint, event, encoding, hash_encoding, max_in_flight';

/** Makes the importer and delivery runs read the customers' filters again. */
const FILTERS_CHANGED = `
  UPDATE import_locks SET filters_version = filters_version + 1
  WHERE customer_id IN (SELECT customer_id FROM webhooks WHERE id IN (?))`;

/** Adds the other rows that each webhook needs. It matches movements that are stored from now on. */
const COMPLETE = [
  `INSERT INTO webhook_backlogs (webhook_id, customer_id, matched_through)
   SELECT w.id, w.customer_id, l.last_transaction_id
   FROM webhooks w JOIN import_locks l ON l.customer_id = w.customer_id WHERE w.id IN (?)`,
  `INSERT INTO webhook_cursors (webhook_id, customer_id, sent_through, highest_recorded_id)
   SELECT w.id, w.customer_id, l.last_transaction_id, l.last_transaction_id
   FROM webhooks w JOIN import_locks l ON l.customer_id = w.customer_id WHERE w.id IN (?)`,
  `INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event, account_id)
   SELECT w.id, l.last_transaction_id, w.customer_id, w.event, w.account_id
   FROM webhooks w JOIN import_locks l ON l.customer_id = w.customer_id WHERE w.id IN (?)`,
  FILTERS_CHANGED,
];

/**
 * Copies a webhook that the API created, with its secret, directly in the tables, once for each entry of `to`. Nothing may be imported meanwhile.
 * @param to the customer of each copy, and the account whose movements it matches.
 * @returns their ids.
 */
export async function copyWebhook(
  { database, secrets }: Installation['runtime'],
  { id, secret }: Subscribed,
  to: readonly { customerId: string; accountId: string }[],
): Promise<string[]> {
  const [settings] = await database.query<object[]>(`SELECT ${SETTINGS} FROM webhooks WHERE id = ?`, [id]);
  const ids: string[] = [];
  for (let from = 0; from < to.length; from += ROWS) {
    const rows = to
      .slice(from, from + ROWS)
      .map(({ customerId, accountId }) => [customerId, accountId, '', ...Object.values(settings ?? {})]);
    const [newest] = await database.query<{ id: string }[]>('SELECT MAX(id) AS id FROM webhooks');
    await database.query(`INSERT INTO webhooks (customer_id, account_id, secret, ${SETTINGS}) VALUES ?`, [
      rows,
    ]);
    const made = await database.query<{ id: string }[]>('SELECT id FROM webhooks WHERE id > ?', [newest?.id]);
    const madeIds = made.map((webhook) => webhook.id);
    await database.query(
      `UPDATE webhooks w JOIN (${derivedRows(['id', 'secret'], madeIds.length)}) n ON n.id = w.id SET w.secret = n.secret`,
      madeIds.flatMap((made) => [Number(made), secrets.seal(secret, SEALED.webhookSecret(made))]),
    );
    for (const statement of COMPLETE) await database.query(statement, [madeIds]);
    ids.push(...madeIds);
  }
  return ids;
}

/**
 * Makes movements that were inserted directly count as stored. Imports, new webhooks and segments begin after them.
 * @param customerIds default: all customers.
 */
export async function advanceImportLocks(
  database: DataSource,
  customerIds?: readonly string[],
): Promise<void> {
  await database.query(
    `UPDATE import_locks l SET last_date_readed = NOW(6),
       last_transaction_id = (SELECT COALESCE(MAX(id), 0) FROM transactions t WHERE t.customer_id = l.customer_id),
       movements = (
         SELECT COUNT(*) FROM transactions t FORCE INDEX (transactions_customer_page) WHERE t.customer_id = l.customer_id)
     ${customerIds === undefined ? '' : 'WHERE l.customer_id IN (?)'}`,
    customerIds === undefined ? [] : [customerIds],
  );
}

/** Like storeHistory, but the movements count as stored. No webhook has matched them yet; see makePending. */
export async function storeReadHistory(
  database: DataSource,
  owners: readonly Owner[],
  rows: number,
): Promise<void> {
  await storeHistory(database, owners, rows);
  await advanceImportLocks(database, [...new Set(owners.map(({ customerId }) => customerId))]);
}

/** Waits until maintenance has made all segments that the stored movements fill, a hundred every 10 s. */
export async function segmentsMade(database: DataSource): Promise<void> {
  while ((await findWaiting(database)).length > 0) await pause(100);
}

/** Changes new webhooks as if they had been created before their customers' first movement, and had matched none so far. */
export async function rewind(database: DataSource, webhookIds: readonly string[]): Promise<void> {
  const statements = [
    'UPDATE webhook_filters SET from_id = 0 WHERE webhook_id IN (?)',
    `UPDATE webhook_backlogs b JOIN webhook_cursors c ON c.webhook_id = b.webhook_id
     SET b.matched_through = 0, c.sent_through = 0, c.highest_recorded_id = 0
     WHERE b.webhook_id IN (?)`,
    FILTERS_CHANGED,
  ];
  for (const statement of statements) await database.query(statement, [webhookIds]);
}

/**
 * Makes the movements that were inserted directly since the webhooks last matched one pending deliveries, as if one chunk of an
 * import had stored them. The webhooks must match all of them.
 * @returns the number of these deliveries.
 */
export async function makePending(database: DataSource, webhookIds: readonly string[]): Promise<number> {
  const found = await database.query<{ webhook_id: string; count: string; newest: string }[]>(
    `SELECT b.webhook_id, COUNT(*) AS count, MAX(t.id) AS newest
     FROM webhook_backlogs b
     JOIN transactions t FORCE INDEX (transactions_customer_page)
       ON t.customer_id = b.customer_id AND t.id > b.matched_through
     WHERE b.webhook_id IN (?) GROUP BY b.webhook_id`,
    [webhookIds],
  );
  for (const { webhook_id: id, count, newest } of found) {
    await database.query(
      `UPDATE webhook_backlogs SET matched_count = matched_count + ?, matched_through = ?, due_at = NOW(6) WHERE webhook_id = ?`,
      [Number(count), newest, id],
    );
  }
  return found.reduce((sum, { count }) => sum + Number(count), 0);
}

/** The result of the only attempt, as columns of `deliveries`. */
const RESULTS = {
  delivered: "'delivered', 1, 'delivered', 200, NOW(6), 3, NULL",
  'delivered when stored': "'delivered', 1, 'delivered', 200, date_readed, 3, NULL",
  failed: "'pending', 1, 'failed', 500, NOW(6), 3, 'HTTP 500'",
};

/**
 * Stores that each movement of the customer matched the webhook and has had one attempt. The cursor and the backlog move in one
 * statement, at the end, so that no delivery run finds something to send.
 */
async function storeResults(
  database: DataSource,
  webhookId: string,
  customerId: string,
  result: keyof typeof RESULTS,
): Promise<void> {
  let newest = '0';
  let stored = 0;
  for (;;) {
    const [page] = await database.query<{ last: string | null; count: string }[]>(
      `SELECT MAX(id) AS last, COUNT(*) AS count
       FROM (SELECT id FROM transactions WHERE customer_id = ? AND id > ? ORDER BY id LIMIT ${PAGE}) t`,
      [customerId, newest],
    );
    if (page?.last == null) break;
    await database.query(
      `INSERT INTO deliveries (webhook_id, transaction_id, customer_id, status, attempts, outcome, status_code, started_at,
         duration_ms, error)
       SELECT ?, id, customer_id, ${RESULTS[result]} FROM transactions
       WHERE customer_id = ? AND id > ? AND id <= ? ORDER BY id`,
      [webhookId, customerId, newest, page.last],
    );
    newest = page.last;
    stored += Number(page.count);
  }
  await database.query(
    `UPDATE webhook_backlogs b JOIN webhook_cursors c ON c.webhook_id = b.webhook_id
     SET b.matched_through = ?, b.matched_count = ?, c.sent_through = ?, c.highest_recorded_id = ?, c.delivered_count = ?
     WHERE b.webhook_id = ?`,
    [newest, stored, newest, newest, result === 'failed' ? 0 : stored, webhookId],
  );
}

/**
 * Stores that all movements of the customer matched this new webhook and were delivered. Its filter applies to later ones.
 * @param options.whenStored each was delivered when it was stored, and not now.
 */
export async function storeDelivered(
  database: DataSource,
  { id }: Pick<Subscribed, 'id'>,
  customerId: string,
  { whenStored = false } = {},
): Promise<void> {
  await database.query(
    `INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event) VALUES (?, 0, ?, 'NEW_TRANSACTION')
     ON DUPLICATE KEY UPDATE account_id = NULL`,
    [id, customerId],
  );
  await database.query(FILTERS_CHANGED, [[id]]);
  await storeResults(database, id, customerId, whenStored ? 'delivered when stored' : 'delivered');
}

/** Stores that the first attempt of each delivery has failed, and that the next one is due in 2 to 12 hours. */
const WAIT = [
  `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
   SELECT webhook_id, transaction_id, customer_id,
     NOW(6) + INTERVAL 2 HOUR + INTERVAL transaction_id % 36000 SECOND, 1, 1
   FROM deliveries WHERE webhook_id = ? ORDER BY transaction_id`,
  `INSERT INTO attempts (webhook_id, transaction_id, number, customer_id, outcome, status_code, started_at, duration_ms, error)
   SELECT webhook_id, transaction_id, 1, customer_id, outcome, status_code, started_at, duration_ms, error
   FROM deliveries WHERE webhook_id = ? ORDER BY transaction_id`,
];

/**
 * Makes all movements of the customer pending for each webhook, in a way that none can be sent for the next two hours. The first
 * third of the webhooks is paused, the circuit of the second third is open, and each delivery of the last third has failed once
 * and waits for its next attempt. Then the webhooks are woken, so that their jobs are in the queue.
 * @param webhooks created before the customer's first movement.
 */
export async function storeBacklog(
  { runtime }: Installation,
  webhooks: readonly Subscribed[],
  customerId: string,
): Promise<void> {
  const { database } = runtime;
  const ids = webhooks.map(({ id }) => id);
  const third = (at: number) =>
    ids.slice(Math.ceil((at * ids.length) / 3), Math.ceil(((at + 1) * ids.length) / 3));
  const [paused, failing, waiting] = [third(0), third(1), third(2)];
  await database.query("UPDATE webhooks SET status = 'paused' WHERE id IN (?)", [paused]);
  await database.query(
    `UPDATE webhook_cursors
     SET consecutive_failures = 10, circuit_openings = 10, recovery_successes = 0, failing_since = NOW(6), failing_days = 1,
       circuit_open_until = NOW(6) + INTERVAL 2 HOUR
     WHERE webhook_id IN (?)`,
    [failing],
  );
  await makePending(database, [...paused, ...failing]);
  for (const id of waiting) {
    await storeResults(database, id, customerId, 'failed');
    for (const statement of WAIT) await database.query(statement, [id]);
  }
  await wakeWebhooks(runtime, ids, { reread: true });
}
