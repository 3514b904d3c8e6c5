import type { Sql } from '../platform/database/transaction.ts';
import { readStates, waitBeforeSending } from './webhook-state.ts';

/** Finds webhooks whose wake-up was lost. */

/** Webhooks read in one query. */
const PAGE = 1_000;

/** All active webhooks, by the primary key. Their states are then read as a run reads them. */
const ACTIVE = `SELECT id FROM webhooks WHERE id > ? AND status = 'active' ORDER BY id LIMIT ${PAGE}`;

/**
 * Adds the job of each webhook that has something due and no run. This makes up for whatever Redis lost or never received. A
 * webhook that already has a job keeps it. BullMQ (6.7) replaces a deduplication key whose job was removed by hand.
 * @returns how many jobs were added.
 */
export async function reconcileDeliveries(
  sql: Sql,
  addJobs: (webhookIds: readonly string[]) => Promise<void>,
): Promise<number> {
  let added = 0;
  for (let after = '0'; ; ) {
    const page = await sql.query<{ id: string }[]>(ACTIVE, [after]);
    const ids = page.map(({ id }) => id);
    const states = ids.length === 0 ? [] : await readStates(sql, ids);
    const due = ids.filter((_, index) => {
      const state = states[index];
      return state != null && waitBeforeSending(state) === 0;
    });
    if (due.length > 0) await addJobs(due);
    added += due.length;
    const last = ids.at(-1);
    if (last === undefined || ids.length < PAGE) return added;
    after = last;
  }
}

/** Finds the active webhooks that have had something to send for the longest time. */

/** So many webhooks are looked at: those whose cursors are furthest behind. Ids grow with time, so theirs are the oldest movements. */
const LOOKED_AT = 100;

interface Backlog {
  webhook_id: string;
  customer_id: string;
  account_id: string | null;
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT';
  after_id: string;
  matched_through: string;
}

export const STALLED_AFTER_MINUTES = 10;

/** The circuit does not hold the webhook back, and no delivery of it has ended for a while. */
const IS_STALLED = `AND (c.circuit_open_until IS NULL OR c.circuit_open_until < NOW(6))
    AND (c.progressed_at IS NULL OR c.progressed_at < NOW(6) - INTERVAL ${STALLED_AFTER_MINUTES} MINUTE)`;

export interface WaitingFilter {
  /** Whether the last attempts of the webhooks failed. */
  failing: boolean;
  /** Only webhooks that make no progress: no delivery has ended for ten minutes, although the circuit is not open. Default: false. */
  stalled?: boolean;
}

/**
 * One row per active webhook. `matched_after` skips a gap in which nothing matches. What a webhook matched before its event or account
 * were changed is not looked at. Indexes: the primary keys.
 */
const BACKLOGS = ({ failing, stalled = false }: WaitingFilter) => `
  SELECT w.id AS webhook_id, w.customer_id, w.account_id, w.event, b.matched_through,
    IF(c.sent_through >= b.previous_through, GREATEST(c.sent_through, b.matched_after), c.sent_through) AS after_id
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.status = 'active' AND c.failing_since IS ${failing ? 'NOT NULL' : 'NULL'} AND b.matched_through > c.sent_through
    ${stalled ? IS_STALLED : ''}
  ORDER BY after_id LIMIT ${LOOKED_AT}`;

/**
 * The first matching movement in the log that a webhook was not sent. A join, because MariaDB would answer NOT EXISTS by reading all
 * deliveries of the webhook first. Indexes: transactions_customer_page, and the primary key of deliveries.
 */
const FIRST = `
  (SELECT ? AS webhook_id, l.date_readed AS since, TIMESTAMPDIFF(MICROSECOND, l.date_readed, NOW(6)) / 1000000 AS seconds
   FROM transactions l FORCE INDEX (transactions_customer_page)
     LEFT JOIN deliveries d ON d.webhook_id = ? AND d.transaction_id = l.id
   WHERE d.webhook_id IS NULL AND l.customer_id = ? AND l.id > ? AND l.id <= ? AND (? IS NULL OR l.account_id = ?)
     AND (? = 'NEW_TRANSACTION' OR ? = CONCAT('NEW_', UPPER(l.dc)))
   ORDER BY l.customer_id, l.id LIMIT 1)`;

export interface WaitingWebhook {
  id: string;
  /** When the oldest movement that it was not sent was stored, and how many seconds ago that was by MySQL's clock. */
  since: Date;
  seconds: number;
}

/**
 * Reads which webhooks have waited for the longest time with a movement that was never attempted, those first. What waits for a retry is
 * not looked at: it waits for its endpoint or its schedule.
 */
export async function readWaitingWebhooks(sql: Sql, filter: WaitingFilter): Promise<WaitingWebhook[]> {
  const backlogs = await sql.query<Backlog[]>(BACKLOGS(filter));
  if (backlogs.length === 0) return [];
  const rows = await sql.query<{ webhook_id: string; since: Date; seconds: string }[]>(
    backlogs.map(() => FIRST).join(' UNION ALL '),
    backlogs.flatMap(({ webhook_id: id, customer_id, account_id, event, after_id, matched_through }) => [
      ...[id, id, customer_id, after_id, matched_through, account_id, account_id, event, event],
    ]),
  );
  return rows
    .map(({ webhook_id, since, seconds }) => ({ id: String(webhook_id), since, seconds: Number(seconds) }))
    .sort((a, b) => a.since.getTime() - b.since.getTime());
}
