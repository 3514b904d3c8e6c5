import type { Sql } from '../database/transaction.ts';
import { isOfNewMovements, type NewMovementEvent, type WebhookEvent } from '../database/webhook-enums.ts';
import { concernedAt, dcOf, indexOf, ownerIdOf, ownerOf } from './filter.ts';

/** Finds since when the deliveries of a webhook have waited for their first attempt. */

export interface Backlog {
  webhook_id: string;
  customer_id: string;
  account_id: string | null;
  event: WebhookEvent;
  /** 1: withdrawals of movements too. */
  withdrawals: number;
  after_id: string;
  matched_through: string;
}

/**
 * The first matching movement in the log that was not sent to a webhook. Uses a join, because for NOT EXISTS, MariaDB would first read
 * all deliveries of the webhook. Indexes: the webhook's index of the log, and the primary key of deliveries.
 */
function firstNotSent(backlog: Backlog & { event: NewMovementEvent }): { sql: string; values: unknown[] } {
  const { webhook_id: id, customer_id, account_id, event, after_id, matched_through } = backlog;
  const range = { customerId: customer_id, filter: { event, accountId: account_id } };
  const dc = dcOf(range.filter);
  const { name, columns } = indexOf(range, 'l');
  return {
    sql: `
  (SELECT ? AS webhook_id, l.date_readed AS since, TIMESTAMPDIFF(MICROSECOND, l.date_readed, NOW(6)) / 1000000 AS seconds
   FROM transactions l FORCE INDEX (${name}) LEFT JOIN deliveries d ON d.webhook_id = ? AND d.transaction_id = l.id
   WHERE d.webhook_id IS NULL AND l.${ownerOf(range)} = ? ${dc === null ? '' : 'AND l.dc = ?'} AND l.id > ? AND l.id <= ?
   ORDER BY ${columns} LIMIT 1)`,
    values: [id, id, ownerIdOf(range), ...(dc === null ? [] : [dc]), after_id, matched_through],
  };
}

/** The first withdrawal that a webhook hears of and was not sent. Indexes: withdrawn_transactions_customer, and the primary keys. */
const FIRST_WITHDRAWAL = `
  (SELECT ? AS webhook_id, l.withdrawn_at AS since, TIMESTAMPDIFF(MICROSECOND, l.withdrawn_at, NOW(6)) / 1000000 AS seconds
   FROM withdrawn_transactions l FORCE INDEX (withdrawn_transactions_customer)
   LEFT JOIN deliveries d ON d.webhook_id = ? AND d.transaction_id = l.event_id
   WHERE d.webhook_id IS NULL AND l.customer_id = ? AND l.event_id > ? AND l.event_id <= ? AND ${concernedAt('l')}
   ORDER BY l.customer_id, l.event_id LIMIT 1)`;

const firstWithdrawal = ({ webhook_id: id, customer_id, after_id, matched_through }: Backlog) => ({
  sql: FIRST_WITHDRAWAL,
  values: [id, id, customer_id, after_id, matched_through, id],
});

export interface WaitingWebhook {
  id: string;
  /** When the oldest unsent movement was stored or withdrawn, and how many seconds ago that was by MySQL's clock. */
  since: Date;
  seconds: number;
}

/** Reads the first of each backlog that was never attempted, the longest waiting first. Backlogs in which nothing waits are left out. */
export async function readFirstNotSent(sql: Sql, backlogs: readonly Backlog[]): Promise<WaitingWebhook[]> {
  const statements = backlogs.flatMap((it) => [
    ...(isOfNewMovements(it.event) ? [firstNotSent({ ...it, event: it.event })] : []),
    ...(it.withdrawals === 1 ? [firstWithdrawal(it)] : []),
  ]);
  if (statements.length === 0) return [];
  const rows = await sql.query<{ webhook_id: string; since: Date; seconds: string }[]>(
    statements.map(({ sql: statement }) => statement).join(' UNION ALL '),
    statements.flatMap(({ values }) => values),
  );
  const found = rows
    .map(({ webhook_id, since, seconds }) => ({ id: String(webhook_id), since, seconds: Number(seconds) }))
    .sort((a, b) => a.since.getTime() - b.since.getTime());
  return found.filter(({ id }, at) => found.findIndex((it) => it.id === id) === at);
}
