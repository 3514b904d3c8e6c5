import type { Sql } from '../../database/transaction.ts';
import { readPage } from '../../deliveries/page.ts';
import { type Contents, newestBefore } from '../../deliveries/range.ts';
import { type DeliveryRow, type ListedStatus, statusOf } from '../../deliveries/view.ts';
import type { Caller } from '../../http/environment.ts';
import type { WebhookRow } from './webhook-rows.ts';

/** Lists deliveries of one or several webhooks, newest movement first. */

export interface DeliveryFilters {
  /** Null: all. */
  accountId: string | null;
  status: ListedStatus | null;
  /** Both inclusive, in UTC as MySQL writes it, for the moment at which the movement was stored. Null: no bound. */
  since: string | null;
  until: string | null;
  /** Only movements below this id. */
  before: string;
}

export interface ListedDelivery {
  webhook: WebhookRow;
  row: DeliveryRow;
}

export interface DeliveryList {
  deliveries: ListedDelivery[];
  /** The next page has the movements below this one; null: there is none. */
  next: string | null;
}

/** Without a webhook, the console looks at so many of them. */
export const MOST_WEBHOOKS = 12;

/** One row per webhook is read. Which webhooks a person looking for deliveries of a status means first. */
const CHOICES = {
  any: 'SELECT webhook_id AS id FROM webhook_cursors ORDER BY highest_recorded_id DESC, webhook_id LIMIT ?',
  delivered:
    'SELECT webhook_id AS id FROM webhook_cursors WHERE delivered_count > 0 ORDER BY highest_recorded_id DESC, webhook_id LIMIT ?',
  failed:
    'SELECT webhook_id AS id FROM webhook_cursors WHERE failed_count > 0 ORDER BY failed_count DESC, webhook_id LIMIT ?',
  pending: `
    SELECT c.webhook_id AS id FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id
    WHERE CAST(b.matched_count AS SIGNED) > c.delivered_count + c.failed_count
    ORDER BY CAST(b.matched_count AS SIGNED) - c.delivered_count - c.failed_count DESC, c.webhook_id LIMIT ?`,
};

/** Index: webhooks_customer. */
const OF_ACCOUNT = `
  SELECT w.id FROM accounts a JOIN webhooks w FORCE INDEX (webhooks_customer) ON w.customer_id = a.customer_id
  WHERE a.id = ? AND (w.account_id IS NULL OR w.account_id = a.id) ORDER BY w.id LIMIT ?`;

/** The webhooks whose deliveries are listed when none is named, at most MOST_WEBHOOKS and one. */
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
 * Reads a page of the deliveries of these webhooks. Each webhook's own page is read, and they are merged. A page may be shorter than
 * `perPage` and still have a next one, where only a few of very many deliveries match.
 * @param callerOf the caller that may see a customer's deliveries.
 */
export async function listAcross(
  sql: Sql,
  webhooks: readonly WebhookRow[],
  { accountId, status, since, until, before }: DeliveryFilters,
  { perPage, callerOf }: { perPage: number; callerOf: (customerId: string) => Caller },
): Promise<DeliveryList> {
  const pages = await Promise.all(
    webhooks.map(async (webhook) => {
      const customerId = webhook.customer_id;
      const caller = callerOf(customerId);
      const ofEvents = webhook.event === 'OPERATIONAL';
      const range = await boundsOf(sql, { customerId, ofEvents }, { since, until, before });
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

async function boundsOf(
  sql: Sql,
  contents: Contents,
  { since, until, before }: Pick<DeliveryFilters, 'since' | 'until' | 'before'>,
): Promise<{ after: string; before: string }> {
  const after = since === null ? '0' : await newestBefore(sql, contents, since, { inclusive: false });
  if (until === null) return { after, before };
  const last = BigInt(await newestBefore(sql, contents, until, { inclusive: true })) + 1n;
  return { after, before: last < BigInt(before) ? String(last) : before };
}

interface Page {
  webhook: WebhookRow;
  rows: DeliveryRow[];
  next: string | null;
}

function merge(pages: readonly Page[], perPage: number): DeliveryList {
  // A webhook's page ends at its `next`. Below that, its deliveries are not known yet, so the merged page ends there too.
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
  // All deliveries of a movement stay on one page, since the next one begins below the movement.
  const deliveries = all.filter(({ row }) => BigInt(row.transaction_id) >= BigInt(last));
  const isAll = deliveries.length === all.length && floor === 0n;
  return { deliveries, next: isAll ? null : last };
}

/** The status of a listed delivery. What was pending when its webhook was deleted is cancelled. */
export function shownStatus({ webhook, row }: ListedDelivery): ListedStatus | 'cancelled' {
  const status = statusOf(row);
  return status === 'pending' && webhook.status === 'deleted' ? 'cancelled' : status;
}
