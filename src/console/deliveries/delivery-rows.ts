import type { Caller } from '../../customers/caller.ts';
import type { Sql } from '../../database/transaction.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
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

/** A template has the sums of its webhooks, and no deliveries. */
const IS_NO_TEMPLATE = 'c.webhook_id NOT IN (SELECT t.webhook_id FROM webhook_templates t)';

/** Chooses webhooks for a status, the most likely first. Reads one row per webhook. Index: the primary keys. */
const CHOICES = {
  any: `
    SELECT c.webhook_id AS id FROM webhook_cursors c
    WHERE ${IS_NO_TEMPLATE} ORDER BY c.highest_recorded_id DESC, c.webhook_id LIMIT ?`,
  delivered: `
    SELECT c.webhook_id AS id FROM webhook_cursors c
    WHERE c.delivered_count > 0 AND ${IS_NO_TEMPLATE} ORDER BY c.highest_recorded_id DESC, c.webhook_id LIMIT ?`,
  failed: `
    SELECT c.webhook_id AS id FROM webhook_cursors c
    WHERE c.failed_count > 0 AND ${IS_NO_TEMPLATE} ORDER BY c.failed_count DESC, c.webhook_id LIMIT ?`,
  pending: `
    SELECT c.webhook_id AS id FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id
    WHERE ${pendingOf('b', 'c')} > 0 AND ${IS_NO_TEMPLATE} ORDER BY ${pendingOf('b', 'c')} DESC, c.webhook_id LIMIT ?`,
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
