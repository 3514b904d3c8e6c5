import type { Sql } from '../database/transaction.ts';
import { circuitOpenUntil } from '../webhook-record/circuit.ts';
import { type Backlog, readFirstNotSent, type WaitingWebhook } from '../webhook-record/first-not-sent.ts';
import { joinSettings, statusOf } from '../webhook-record/record.ts';

/** Finds the active webhooks that have had something to send for the longest time. */

/** How many webhooks are looked at: those with the lowest cursors. Ids grow with time, so they have the oldest movements. */
const LOOKED_AT = 100;

export const STALLED_AFTER_MINUTES = 10;

/** The circuit is not open, but no delivery of the webhook has ended for ten minutes. */
const IS_STALLED = `AND ${circuitOpenUntil('h')} IS NULL
    AND (c.progressed_at IS NULL OR c.progressed_at < NOW(6) - INTERVAL ${STALLED_AFTER_MINUTES} MINUTE)`;

interface WaitingFilter {
  /** Whether the last attempts of the webhooks failed. */
  failing: boolean;
  /** Only webhooks without progress: no delivery has ended for ten minutes although the circuit is not open. Default: false. */
  stalled?: boolean;
  /** Only these webhooks, which must not be empty. Default: all, of which those that have waited the longest are looked at. */
  ids?: readonly string[];
}

/**
 * One row per active webhook. Ignores movements that the webhook matched only before its event or account was changed. due_at is NULL
 * if nothing is pending. Indexes: webhook_backlogs_due unless there are `ids`, and the primary keys.
 */
const READ_BACKLOGS = ({ failing, stalled = false, ids }: WaitingFilter) => `
  SELECT w.id AS webhook_id, s.id AS settings_id, w.customer_id, w.account_id, w.event, w.withdrawals, b.matched_through, c.sent_through AS after_id
  FROM webhook_backlogs b FORCE INDEX (${ids === undefined ? 'webhook_backlogs_due' : 'PRIMARY'}) JOIN webhook_cursors c ON c.webhook_id = b.webhook_id
    JOIN webhooks w ON w.id = b.webhook_id ${joinSettings('w', 's')} JOIN webhook_cursors h ON h.webhook_id = s.id
  WHERE b.due_at IS NOT NULL AND ${statusOf('w', 's')} = 'active' AND h.failing_since IS ${failing ? 'NOT NULL' : 'NULL'} AND b.matched_through > c.sent_through
    ${stalled ? IS_STALLED : ''} ${ids === undefined ? '' : 'AND b.webhook_id IN (?)'}
  ORDER BY after_id LIMIT ${LOOKED_AT}`;

/** A feed whose oldest event has waited for longer, while its reader has acknowledged nothing, is not read. */
export const UNREAD_AFTER_HOURS = 24;

/**
 * Active feeds of which nothing was acknowledged for long, and of which something is pending. Indexes: webhooks_delivery unless there are
 * ids, and the primary keys.
 */
const READ_UNREAD = (isOfIds: boolean) => `
  SELECT w.id AS webhook_id, s.id AS settings_id, w.customer_id, w.account_id, w.event, w.withdrawals, b.matched_through, c.sent_through AS after_id
  FROM webhooks w FORCE INDEX (${isOfIds ? 'PRIMARY' : 'webhooks_delivery'}) JOIN webhook_cursors c ON c.webhook_id = w.id
    JOIN webhook_backlogs b ON b.webhook_id = w.id ${joinSettings('w', 's')}
  WHERE w.delivery = 'pull' AND w.status = 'active' AND w.is_template = 0 AND s.status = 'active' AND b.matched_through > c.sent_through
    AND COALESCE(c.progressed_at, w.created_at) < NOW(6) - INTERVAL ${UNREAD_AFTER_HOURS} HOUR ${isOfIds ? 'AND w.id IN (?)' : ''}
  ORDER BY after_id LIMIT ${LOOKED_AT}`;

/** A backlog, with the webhook that has its settings: a template, or itself. */
type OwnedBacklog = Backlog & { settings_id: string };

/**
 * Reads the feeds that are not read, the longest waiting first. Without `ids`, a template stands for its webhooks.
 * @param ids only these webhooks, which must not be empty. Default: all.
 */
export async function readUnreadFeeds(sql: Sql, ids?: readonly string[]): Promise<WaitingWebhook[]> {
  const backlogs = await sql.query<OwnedBacklog[]>(
    READ_UNREAD(ids !== undefined),
    ids === undefined ? [] : [ids],
  );
  const waiting = await readFirstNotSent(sql, backlogs);
  const unread = waiting.filter(({ seconds }) => seconds >= UNREAD_AFTER_HOURS * 3_600);
  return ids === undefined ? byTemplate(unread, backlogs) : unread;
}

/** Names the template in place of its webhooks, once, with the one that waits the longest. */
function byTemplate(waiting: readonly WaitingWebhook[], backlogs: readonly OwnedBacklog[]): WaitingWebhook[] {
  const templateOf = new Map(backlogs.map((it) => [String(it.webhook_id), it.settings_id]));
  const found = new Map<string, WaitingWebhook>();
  for (const it of waiting) {
    const id = templateOf.get(it.id) ?? it.id;
    if (!found.has(id)) found.set(id, { ...it, id });
  }
  return [...found.values()];
}

/**
 * Reads the webhooks with movements that were never attempted, the longest waiting first. Ignores deliveries that wait for a retry,
 * because they wait for their endpoint or their schedule. Without `ids`, a template stands for its webhooks.
 */
export async function readWaitingWebhooks(sql: Sql, filter: WaitingFilter): Promise<WaitingWebhook[]> {
  const backlogs = await sql.query<OwnedBacklog[]>(
    READ_BACKLOGS(filter),
    filter.ids === undefined ? [] : [filter.ids],
  );
  const waiting = await readFirstNotSent(sql, backlogs);
  return filter.ids === undefined ? byTemplate(waiting, backlogs) : waiting;
}
