import type { DataSource } from 'typeorm';
import type { Sql } from '../database/transaction.ts';
import { concernedAt, matchesFilter } from '../webhook-record/filter.ts';
import { LEASE_IS_FREE, takeLeases } from '../webhook-record/lease.ts';
import { settingsIdOf } from '../webhook-record/record.ts';
import { recordResults } from './engine/record-results.ts';
import { failInFeeds } from './feed/position.ts';
import type { RemovedMovement } from './filters.ts';
import { failedWithoutMovement } from './run/attempt.ts';
import type { Delivery } from './run/types.ts';
import { accountOf } from './subject.ts';
import { readStates, type WebhookState } from './webhook-state.ts';

export { failInFeeds, type RemovedMovement };

/** Stops sending for an account or a customer that is to be deleted: deletes webhooks, and ends pending deliveries. */

/** Index of this and the following statements: webhooks_customer. */
const MATCH_NOTHING = `
  INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event, account_id)
  SELECT w.id, ?, w.customer_id, NULL, NULL FROM webhooks w
  WHERE w.customer_id = ? AND w.status <> 'deleted' AND (? IS NULL OR w.account_id = ?)
  ON DUPLICATE KEY UPDATE event = NULL, account_id = NULL, withdrawals = 0`;

const DELETE_WEBHOOKS = `
  UPDATE webhooks SET status = 'deleted', revision = revision + 1
  WHERE customer_id = ? AND status <> 'deleted' AND (? IS NULL OR account_id = ?)`;

/** Ends active runs, so that their webhooks are read again. New runs send nothing of an account that is being deleted. */
const END_RUNS = "UPDATE webhooks SET revision = revision + 1 WHERE customer_id = ? AND status <> 'deleted'";

/** Makes imports check their rows again, and read which webhooks match nothing any more. */
const CHANGE_VERSIONS = `
  UPDATE import_locks SET filters_version = filters_version + 1, removals = removals + 1 WHERE customer_id = ?`;

const FIND_WEBHOOKS_WITH_RUNS = `
  SELECT k.webhook_id AS id FROM webhooks w JOIN webhook_cursors k ON k.webhook_id = w.id
  WHERE w.customer_id = ? AND NOT ${LEASE_IS_FREE}`;

/**
 * Deletes the webhooks of an account, or all webhooks of the customer, and ends the customer's delivery runs.
 * @param sql a transaction that has locked the customer's imports.
 * @param options.accountId null: the customer is to be deleted.
 * @param options.newest the customer's newest movement.
 * @returns the webhooks to wake after the commit, with `reread`.
 */
export async function stopWebhooks(
  sql: Sql,
  { customerId, accountId, newest }: { customerId: string; accountId: string | null; newest: string },
): Promise<string[]> {
  await sql.query(MATCH_NOTHING, [newest, customerId, accountId, accountId]);
  await sql.query(DELETE_WEBHOOKS, [customerId, accountId, accountId]);
  await sql.query(END_RUNS, [customerId]);
  await sql.query(CHANGE_VERSIONS, [customerId]);
  const running = await sql.query<{ id: string }[]>(FIND_WEBHOOKS_WITH_RUNS, [customerId]);
  return running.map(({ id }) => id);
}

/** How many deliveries are ended in one transaction. */
const PAGE = 200;

/** How often a lease is requested while a delivery run keeps it. After that, the deletion is continued later. */
const MOST_REFUSALS = 200;

/** The pending deliveries of a page, and where the next page begins; null: there is no next page. */
interface Page {
  pending: Delivery[];
  next: string | null;
}

type ReadPage = (sql: Sql, state: WebhookState, accountId: string, after: string) => Promise<Page>;

/**
 * Ends a webhook's pending deliveries of an account that is being deleted. They fail for good, as if a delivery run had found that the
 * movement is gone. Delivery runs do the same, but a webhook that is paused or whose endpoint is down may have no run for days. Holds
 * the webhook's lease meanwhile, so no delivery run sends or records.
 * @param steps repeats a step with pauses, until it returns false. Returns false if the work was stopped.
 * @returns false if a delivery run kept the lease, or the work was stopped. Then more may be pending.
 */
export async function endPending(
  database: DataSource,
  steps: { repeat(step: () => Promise<boolean>): Promise<boolean> },
  { webhookId, accountId }: { webhookId: string; accountId: string },
): Promise<boolean> {
  for (const readPage of [readRetriesPage, readLogPage, readWithdrawalsPage]) {
    let after: string | null = '0';
    let refusals = 0;
    const isWhole = await steps.repeat(async () => {
      const [state] = await readStates(database, [webhookId]);
      // A feed has no deliveries to end. Its movements fail when they are deleted.
      const isFeed = state?.settings.delivery === 'pull';
      if (state == null || state.settings.status === 'deleted' || isFeed || after === null) return false;
      const { pending, next } = await readPage(database, state, accountId, after);
      if (pending.length > 0 && !(await failAll(database, state, pending))) {
        refusals += 1;
        return refusals < MOST_REFUSALS;
      }
      after = next;
      return after !== null;
    });
    if (!isWhole || refusals === MOST_REFUSALS) return false;
  }
  return true;
}

/** Records that deliveries have failed for good. @returns false if a delivery run has held the lease since the state was read. */
async function failAll(
  database: DataSource,
  state: WebhookState,
  pending: readonly Delivery[],
): Promise<boolean> {
  const { settings, sentThrough, highestRecordedId, lastToken, lastWrites } = state;
  const [lease] = await takeLeases(database, [
    { webhookId: settings.id, revision: settings.revision, lastToken, lastWrites },
  ]);
  if (lease == null) return false;
  const now = Date.now();
  const highest = Math.max(highestRecordedId, ...pending.map(({ subjectId }) => subjectId));
  await recordResults(database, [
    {
      lease,
      customerId: settings.customer_id,
      settings: { id: settingsIdOf(settings), revision: settings.settings_revision },
      now,
      record: {
        results: pending.map((delivery) => failedWithoutMovement(delivery, now)),
        rejectedBatches: [],
        cursor: { sentThrough, highestRecordedId: highest },
        health: null,
        healthChanges: [],
        rateWait: state.rateWait,
        lastError: settings.last_error,
        disable: null,
        revision: settings.revision,
        release: true,
      },
    },
  ]);
  return true;
}

/** Indexes: the primary keys. */
const READ_RETRIES_PAGE = `
  SELECT r.transaction_id AS id, r.attempts, r.failures, r.due_at, ${accountOf('r.transaction_id')} AS account_id
  FROM retries r FORCE INDEX (PRIMARY)
  WHERE r.webhook_id = ? AND r.transaction_id > ? ORDER BY r.transaction_id LIMIT ${PAGE}`;

const readRetriesPage: ReadPage = async (sql, { settings }, accountId, after) => {
  const rows = await sql.query<
    { id: string; attempts: number; failures: number; due_at: Date | null; account_id: string | null }[]
  >(READ_RETRIES_PAGE, [settings.id, after]);
  const own = rows.filter(({ account_id, due_at }) => account_id === accountId && due_at !== null);
  return {
    pending: own.map(({ id, attempts, failures }) => ({
      subjectId: Number(id),
      source: 'retries',
      attempts,
      failures,
      content: null,
    })),
    next: nextAfter(rows),
  };
};

/** Indexes: transactions_account_page, and the primary key of deliveries. */
const READ_LOG_PAGE = `
  SELECT t.id, t.account_id, t.dc,
    EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id = t.id) AS has_result
  FROM transactions t FORCE INDEX (transactions_account_page)
  WHERE t.account_id = ? AND t.id > ? AND t.id <= ? ORDER BY t.id LIMIT ${PAGE}`;

const readLogPage: ReadPage = async (sql, state, accountId, after) => {
  const rows = await sql.query<
    { id: string; account_id: string; dc: 'Debit' | 'Credit'; has_result: number | string }[]
  >(READ_LOG_PAGE, [
    state.settings.id,
    accountId,
    Math.max(Number(after), state.sentThrough),
    state.matchedThrough,
  ]);
  const own = rows.filter((row) => {
    const filter = state.filters.findLast(({ from }) => from < Number(row.id))?.filter ?? null;
    return Number(row.has_result) === 0 && filter !== null && matchesFilter(filter, row);
  });
  return { pending: own.map(toUnsent), next: nextAfter(rows) };
};

/** Indexes: withdrawn_transactions_account, and the primary keys of webhook_filters and deliveries. */
const READ_WITHDRAWALS_PAGE = `
  SELECT t.event_id AS id, ${concernedAt('t')} AS is_heard,
    EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id = t.event_id) AS has_result
  FROM withdrawn_transactions t FORCE INDEX (withdrawn_transactions_account)
  WHERE t.account_id = ? AND t.event_id > ? AND t.event_id <= ? ORDER BY t.event_id LIMIT ${PAGE}`;

const readWithdrawalsPage: ReadPage = async (sql, state, accountId, after) => {
  const { settings, sentThrough, matchedThrough, filters } = state;
  const rows = await sql.query<{ id: string; is_heard: number | string; has_result: number | string }[]>(
    READ_WITHDRAWALS_PAGE,
    [settings.id, settings.id, accountId, Math.max(Number(after), sentThrough), matchedThrough],
  );
  const own = rows.filter(
    ({ id, is_heard, has_result }) =>
      Number(is_heard) === 1 &&
      Number(has_result) === 0 &&
      filters.findLast(({ from }) => from < Number(id))?.filter?.withdrawals === true,
  );
  return { pending: own.map(toUnsent), next: nextAfter(rows) };
};

const toUnsent = ({ id }: { id: string }): Delivery => ({
  subjectId: Number(id),
  source: 'log',
  attempts: 0,
  failures: 0,
  content: null,
});

const nextAfter = (rows: readonly { id: string }[]): string | null =>
  rows.length < PAGE ? null : (rows.at(-1)?.id ?? null);
