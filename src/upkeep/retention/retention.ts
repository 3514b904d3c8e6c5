import type { DataSource } from 'typeorm';
import type { Sql, WriteResult } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import type { Retention } from '../../platform/config.ts';
import { KEY_HOURS } from '../../platform/idempotency-key.ts';
import type { RemovedKind, RetentionMetrics } from '../../platform/metrics.ts';
import { createAgeFinder, dateOf, daysBefore, readNow } from './age.ts';
import { removeAttempts, removeDeliveries, removeRejectedBatches } from './remove-deliveries.ts';
import { removeEvents } from './remove-events.ts';
import { removeImports } from './remove-imports.ts';
import { removeMovements } from './remove-movements.ts';
import { removeSources } from './remove-sources.ts';
import { removeStatements } from './remove-statements.ts';
import { removeDeletedWebhook, removeFilters, removeReplays } from './remove-webhooks.ts';
import { removeWithdrawals, removeWithdrawn } from './remove-withdrawn.ts';
import { repeatInOrder, repeatWhileFull, type Steps } from './steps.ts';

/** Removes data that is older than the settings allow. */

/** How many of each kind were removed. `webhooks` and `sources` are deleted ones of which nothing is left. */
export type Removed = Record<RemovedKind, number>;

/** Counts what was removed. */
type Count = (kind: RemovedKind, count: number) => void;

/** How many customers or webhooks are read in one query. */
const PAGE = 1_000;

interface WebhookPage {
  id: string;
  customer_id: string;
  status: string;
  oldest_delivery: string | null;
  oldest_attempt: string | null;
  has_old_replays: number | string;
}

/**
 * Reads one entry of each index per webhook, however many rows the webhook has. Deliveries of operational events are left out, because
 * they are removed with their events. Indexes: the primary keys, and replays_open. The order of the join is fixed, because otherwise MySQL
 * would read and sort all cursors for each page.
 */
const READ_OLDEST_OF_WEBHOOKS = `
  SELECT w.id, w.customer_id, w.status,
    IF(w.event IN ${EVENTS_WITHOUT_MOVEMENTS}, NULL, (SELECT d.transaction_id FROM deliveries d FORCE INDEX (PRIMARY) WHERE d.webhook_id = w.id
      ORDER BY d.webhook_id, d.transaction_id LIMIT 1)) AS oldest_delivery,
    IF(w.event IN ${EVENTS_WITHOUT_MOVEMENTS}, NULL, (SELECT a.transaction_id FROM attempts a FORCE INDEX (PRIMARY) WHERE a.webhook_id = w.id
      ORDER BY a.webhook_id, a.transaction_id, a.number LIMIT 1)) AS oldest_attempt,
    EXISTS (SELECT 1 FROM replays p FORCE INDEX (replays_open) WHERE p.webhook_id = w.id AND p.finished_at < ?) AS has_old_replays
  FROM webhooks w WHERE w.id > ? ORDER BY w.id LIMIT ${PAGE}`;

/** Index: transactions_customer_page, one entry for each customer. */
const READ_OLDEST_MOVEMENTS = `
  SELECT l.customer_id AS id, (SELECT t.id FROM transactions t FORCE INDEX (transactions_customer_page)
    WHERE t.customer_id = l.customer_id ORDER BY t.customer_id, t.id LIMIT 1) AS oldest
  FROM import_locks l WHERE l.customer_id > ? ORDER BY l.customer_id LIMIT ${PAGE}`;

interface RetentionRun {
  database: DataSource;
  retention: Retention;
  steps: Steps;
  metrics?: RetentionMetrics;
  /** Default: the time of MySQL's clock. */
  now?: Date;
}

/**
 * Removes all old data in small steps. May be stopped at any time, and may run in several processes at once. The next run removes the
 * rest.
 * @throws what MySQL throws.
 */
export async function removeOld(run: RetentionRun): Promise<Removed> {
  const { database, steps, metrics } = run;
  const now = run.now ?? (await readNow(database));
  const removed: Removed = {
    deliveries: 0,
    attempts: 0,
    imports: 0,
    movements: 0,
    replays: 0,
    filters: 0,
    webhooks: 0,
    sources: 0,
    events: 0,
    statements: 0,
  };
  const count: Count = (kind, number) => {
    removed[kind] += number;
    metrics?.removed(kind, number);
  };
  const { deliveries, attempts, imports, movements } = run.retention;
  if (deliveries !== null) {
    // Before webhooks, because a deleted webhook is removed when none of its deliveries is left.
    count('events', await removeEvents(database, steps, daysBefore(now, deliveries)));
    await removeOfDeliveries(database, steps, daysBefore(now, deliveries), count);
  }
  if (attempts !== null) {
    await removeOfAttempts(database, steps, daysBefore(now, attempts), count);
    await removeRejectedBatches(database, steps, daysBefore(now, attempts));
  }
  if (imports !== null) {
    const before = daysBefore(now, imports);
    count('imports', await removeImports(database, steps, before));
    count('sources', await removeSources(database, steps, before));
  }
  if (movements !== null) await removeOfMovements(database, steps, daysBefore(now, movements), count);
  return removed;
}

async function removeOfDeliveries(database: DataSource, steps: Steps, before: Date, count: Count) {
  const newestBefore = createAgeFinder(database, before);
  await forEachWebhook(database, steps, before, async (webhook) => {
    const { id, customer_id, status, oldest_delivery, has_old_replays } = webhook;
    const through = await newestBefore(customer_id);
    if (oldest_delivery !== null && BigInt(oldest_delivery) <= through) {
      count('deliveries', await removeDeliveries(database, steps, { webhookId: id, through, before }));
    }
    if (Number(has_old_replays) === 1) count('replays', await removeReplays(database, steps, id, before));
    if (status === 'deleted' && (await removeDeletedWebhook(database, id, through))) count('webhooks', 1);
  });
}

const OLDEST_MOVEMENT = `(SELECT LEAST(t.id, COALESCE((
    SELECT x.id FROM withdrawn_transactions x FORCE INDEX (withdrawn_transactions_movement)
    WHERE x.customer_id = w.customer_id ORDER BY x.customer_id, x.id LIMIT 1), t.id))
  FROM transactions t FORCE INDEX (transactions_customer_page)
  WHERE t.customer_id = w.customer_id ORDER BY t.customer_id, t.id LIMIT 1)`;
/**
 * The webhooks that had another filter before the oldest movement of their customer, and this movement. Filters stay as long as movements,
 * because a feed may be read again from its oldest cursor, a replay begins anywhere, and the withdrawal of a movement is told to who matched
 * the movement. Indexes: webhooks_customer, the primary key, transactions_customer_page and withdrawn_transactions_movement.
 */
const UNUSED_FILTERS = `
  SELECT w.id, ${OLDEST_MOVEMENT} AS oldest FROM webhooks w FORCE INDEX (webhooks_customer)
  WHERE w.customer_id = ? AND ${OLDEST_MOVEMENT} > (SELECT f.from_id FROM webhook_filters f FORCE INDEX (PRIMARY)
    WHERE f.webhook_id = w.id ORDER BY f.webhook_id, f.from_id LIMIT 1 OFFSET 1)`;

async function removeOfAttempts(database: DataSource, steps: Steps, before: Date, count: Count) {
  const newestBefore = createAgeFinder(database, before);
  await forEachWebhook(database, steps, before, async ({ id, customer_id, oldest_attempt }) => {
    if (oldest_attempt === null) return;
    const through = await newestBefore(customer_id);
    if (BigInt(oldest_attempt) > through) return;
    count('attempts', await removeAttempts(database, steps, { webhookId: id, through, before }));
  });
}

async function removeOfMovements(database: DataSource, steps: Steps, before: Date, count: Count) {
  const newestBefore = createAgeFinder(database, before);
  await repeatInOrder(steps, async (after) => {
    const customers = await database.query<{ id: string; oldest: string | null }[]>(READ_OLDEST_MOVEMENTS, [
      after,
    ]);
    for (const { id: customerId, oldest } of customers) {
      const through = await newestBefore(customerId);
      if (oldest !== null && BigInt(oldest) <= through) {
        const issuedBefore = dateOf(before);
        count('movements', await removeMovements(database, steps, { customerId, through, issuedBefore }));
        const unused = await database.query<{ id: string; oldest: string }[]>(UNUSED_FILTERS, [customerId]);
        for (const { id, oldest: kept } of unused)
          count('filters', await removeFilters(database, steps, id, BigInt(kept) - 1n));
      }
      count('movements', await removeWithdrawn(database, steps, { customerId, before }));
      count('statements', await removeStatements(database, steps, { customerId, before }));
    }
    return { count: 0, last: customers[PAGE - 1]?.id ?? null };
  });
  await removeWithdrawals(database, steps, before);
}

async function forEachWebhook(
  database: DataSource,
  steps: Steps,
  before: Date,
  work: (webhook: WebhookPage) => Promise<void>,
): Promise<void> {
  await repeatInOrder(steps, async (after) => {
    const webhooks = await database.query<WebhookPage[]>(READ_OLDEST_OF_WEBHOOKS, [before, after]);
    for (const webhook of webhooks) await work(webhook);
    return { count: 0, last: webhooks[PAGE - 1]?.id ?? null };
  });
}

/** Index: idempotency_keys_created. */
const DELETE_IDEMPOTENCY_KEYS = `DELETE FROM idempotency_keys WHERE created_at < NOW(6) - INTERVAL ${KEY_HOURS} HOUR LIMIT ?`;

/** Deletes the stored responses whose keys no longer count, in steps. @returns how many. */
export const pruneIdempotencyKeys = async (sql: Sql, steps: Steps): Promise<number> =>
  (
    await repeatWhileFull(
      steps,
      async (rows) => (await sql.query<WriteResult>(DELETE_IDEMPOTENCY_KEYS, [rows])).affectedRows,
    )
  ).count;
