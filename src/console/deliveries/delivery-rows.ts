import type { Caller } from '../../customers/caller.ts';
import type { Sql } from '../../database/transaction.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import { type AttemptRow, byTime, readAttempts } from '../../delivery/attempts.ts';
import { type DeliveryRow, type ListedStatus, statusOf } from '../../delivery/delivery.ts';
import { type DeliveryBounds, findIdBounds, readPage } from '../../delivery/list-deliveries.ts';
import { pendingOf } from '../../webhook-record/pending.ts';
import type { WebhookRecord } from '../../webhook-record/record.ts';

/** Lists deliveries of one or several webhooks, newest movement first. */

interface DeliveryFilters extends DeliveryBounds {
  /** Null: all. */
  accountId: string | null;
  status: ListedStatus | null;
}

export interface ListedDelivery {
  webhook: WebhookRecord;
  row: DeliveryRow;
}

interface DeliveryList {
  deliveries: ListedDelivery[];
  /** The next page has the movements below this id. null: there is no next page. */
  next: string | null;
}

/** The most webhooks that are looked at if the filters name none. */
export const MOST_WEBHOOKS = 12;

/** Chooses webhooks for a status, the most likely first. Reads one row per webhook. */
const CHOICES = {
  any: 'SELECT webhook_id AS id FROM webhook_cursors ORDER BY highest_recorded_id DESC, webhook_id LIMIT ?',
  delivered:
    'SELECT webhook_id AS id FROM webhook_cursors WHERE delivered_count > 0 ORDER BY highest_recorded_id DESC, webhook_id LIMIT ?',
  failed:
    'SELECT webhook_id AS id FROM webhook_cursors WHERE failed_count > 0 ORDER BY failed_count DESC, webhook_id LIMIT ?',
  pending: `
    SELECT c.webhook_id AS id FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id
    WHERE ${pendingOf('b', 'c')} > 0 ORDER BY ${pendingOf('b', 'c')} DESC, c.webhook_id LIMIT ?`,
};

/** Index: webhooks_customer. */
const OF_ACCOUNT = `
  SELECT w.id FROM accounts a JOIN webhooks w FORCE INDEX (webhooks_customer) ON w.customer_id = a.customer_id
  WHERE a.id = ? AND (w.account_id IS NULL OR w.account_id = a.id) ORDER BY w.id LIMIT ?`;

/** Chooses the webhooks to list if none is named. Returns one more than MOST_WEBHOOKS if there are more. */
export async function chooseWebhooks(
  sql: Sql,
  { accountId, status }: Pick<DeliveryFilters, 'accountId' | 'status'>,
): Promise<string[]> {
  const limit = MOST_WEBHOOKS + 1;
  const rows =
    accountId === null
      ? await sql.query<{ id: string }[]>(CHOICES[status ?? 'any'], [limit])
      : await sql.query<{ id: string }[]>(OF_ACCOUNT, [accountId, limit]);
  return rows.map(({ id }) => id);
}

/**
 * Reads a page of the deliveries of these webhooks. Reads a page of each webhook and merges the pages. If only a few of very many
 * deliveries match, a page may be shorter than `perPage` and still have a next page.
 * @param callerOf the caller that may see a customer's deliveries.
 */
export async function listAcross(
  sql: Sql,
  webhooks: readonly WebhookRecord[],
  { accountId, status, since, until, before }: DeliveryFilters,
  { perPage, callerOf }: { perPage: number; callerOf: (customerId: string) => Caller },
): Promise<DeliveryList> {
  const pages = await Promise.all(
    webhooks.map(async (webhook) => {
      const customerId = webhook.customer_id;
      const caller = callerOf(customerId);
      const ofEvents = isOfEvents(webhook.event);
      const range = await findIdBounds(sql, { customerId, ofEvents }, { since, until, before });
      const page = await readPage(
        sql,
        accountId === null ? caller : { ...caller, accountIds: [accountId] },
        { webhookId: webhook.id, perPage, ofEvents, ...range },
        status,
      );
      return { webhook, ...page };
    }),
  );
  return merge(pages, perPage);
}

interface Page {
  webhook: WebhookRecord;
  rows: DeliveryRow[];
  next: string | null;
}

function merge(pages: readonly Page[], perPage: number): DeliveryList {
  // A webhook's page ends at its `next`. Its deliveries below are not known yet, so the merged page must end there too.
  const floor = pages.reduce(
    (most, { next }) => (next !== null && BigInt(next) > most ? BigInt(next) : most),
    0n,
  );
  const all = pages
    .flatMap(({ webhook, rows }) => rows.map((row) => ({ webhook, row })))
    .filter(({ row }) => BigInt(row.transaction_id) >= floor)
    .sort((a, b) => Number(BigInt(b.row.transaction_id) - BigInt(a.row.transaction_id)));
  const last = all[perPage - 1]?.row.transaction_id;
  if (last === undefined) return { deliveries: all, next: floor > 0n ? String(floor) : null };
  // All deliveries of a movement stay on one page, because the next page begins below the movement.
  const deliveries = all.filter(({ row }) => BigInt(row.transaction_id) >= BigInt(last));
  const isAll = deliveries.length === all.length && floor === 0n;
  return { deliveries, next: isAll ? null : last };
}

/** The status of a listed delivery. A pending delivery of a deleted webhook is cancelled. */
export function shownStatus({ webhook, row }: ListedDelivery): ListedStatus | 'cancelled' {
  const status = statusOf(row);
  return status === 'pending' && webhook.status === 'deleted' ? 'cancelled' : status;
}

/** Reads the newest attempts of one webhook, whatever the status of their deliveries. */

/** Index: the primary key, read backwards. */
const NEWEST_DELIVERIES = `
  SELECT transaction_id AS id FROM deliveries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? ORDER BY webhook_id DESC, transaction_id DESC LIMIT ?`;

/** Index: retries_due. */
const NEXT_RETRIES = `
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
    sql.query<{ id: string }[]>(NEWEST_DELIVERIES, [webhookId, limit]),
    sql.query<{ id: string }[]>(NEXT_RETRIES, [webhookId, limit]),
  ]);
  const subjectIds = [...new Set([...newest, ...retried].map(({ id }) => id))];
  const attempts = await readAttempts(sql, { webhookIds: [webhookId], subjectIds });
  if (limit < MOST_IN_BATCHES && attempts.some(({ batch_first }) => batch_first !== null))
    return readNewestAttempts(sql, webhookId, MOST_IN_BATCHES);
  return attempts.sort(byTime).reverse().slice(0, limit);
}

/** The newest attempts of webhooks. The console takes latencies and success rates from them. */

interface RecentAttempt {
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
