import type { DataSource } from 'typeorm';
import { derivedRows, inTransaction, type Sql } from '../database/transaction.ts';
import { circuitOpenUntil } from '../webhook-record/circuit.ts';
import { type Backlog, readFirstNotSent, type WaitingWebhook } from '../webhook-record/first-not-sent.ts';
import { waitBeforeSending } from '../webhook-record/waiting.ts';
import { lockCursor } from './filters.ts';
import { readStates, type WebhookState } from './webhook-state.ts';

/** Finds webhooks whose wake-up was lost. */

/** Webhooks read in one query. */
const PAGE = 1_000;

/** A webhook with pending deliveries is looked at again after at most this time. */
const LOOK_AGAIN_MINUTES = 60;

/**
 * Webhooks to look at, the longest waiting first. A `due_at` further ahead than LOOK_AGAIN_MINUTES was written before the clock was set
 * back, so it counts as due. `due_at` is read as a string, because a Date has no microseconds. Index: webhook_backlogs_due.
 */
const DUE = `
  SELECT webhook_id, CAST(due_at AS CHAR) AS due_at, matched_count FROM webhook_backlogs FORCE INDEX (webhook_backlogs_due)
  WHERE (due_at <= NOW(6) OR due_at > NOW(6) + INTERVAL ${LOOK_AGAIN_MINUTES + 1} MINUTE)
    AND due_at >= ? AND (due_at > ? OR webhook_id > ?)
  ORDER BY due_at, webhook_id LIMIT ${PAGE}`;

/** Leaves out rows that an import has locked. The next pass looks at them again. Index: the primary key. */
const LOCK = `
  SELECT webhook_id, CAST(due_at AS CHAR) AS due_at, matched_count FROM webhook_backlogs
  WHERE webhook_id IN (?) FOR UPDATE SKIP LOCKED`;

/** If microseconds is NULL, due_at becomes NULL. */
const POSTPONE = (webhooks: number) => `
  UPDATE webhook_backlogs b JOIN (${derivedRows(['webhook_id', 'microseconds'], webhooks)}) r ON r.webhook_id = b.webhook_id
  SET b.due_at = NOW(6) + INTERVAL r.microseconds MICROSECOND`;

const MARK_DUE = `
  UPDATE webhook_backlogs b JOIN webhooks w ON w.id = b.webhook_id SET b.due_at = NOW(6)
  WHERE b.webhook_id = ? AND w.delivery = 'push'`;

export interface Due {
  webhook_id: string;
  due_at: string;
  matched_count: string;
}

/**
 * Makes the reconciler look at a webhook in its next pass. Call this in the transaction that makes deliveries due or allows a webhook to
 * send. Imports do the same for the webhooks that match their movements. Delivery runs need not, because the deliveries that they leave
 * are never due earlier than before.
 */
export async function markDue(sql: Sql, webhookId: string): Promise<void> {
  await sql.query(MARK_DUE, [webhookId]);
}

/** The reconciler reaches MySQL and the queue through this port. The model test implements the port in memory. */
export interface ReconcilerPort {
  /** Reads webhooks to look at, the longest waiting first, after the last one of the page before. */
  readPage(after: Due | null): Promise<Due[]>;
  readStates(webhookIds: readonly string[]): Promise<(WebhookState | null)[]>;
  addJobs(webhookIds: readonly string[]): Promise<void>;
  /** Looks at webhooks again when something will be due. @param waits milliseconds; null: nothing is pending, or the webhook is not active. */
  postpone(webhooks: readonly Due[], waits: ReadonlyMap<string, number | null>): Promise<void>;
}

/**
 * Adds a job for each webhook that has something due and no run, because Redis may have lost the job or never received it. A webhook
 * that already has a job keeps it. BullMQ (6.7) replaces a deduplication key whose job was removed by hand.
 * @returns how many jobs were added.
 */
export async function reconcile(port: ReconcilerPort): Promise<number> {
  let added = 0;
  for (let last: Due | null = null; ; ) {
    const page: Due[] = await port.readPage(last);
    last = page.at(-1) ?? null;
    if (last === null) return added;
    const ids = page.map(({ webhook_id }) => webhook_id);
    const states = await port.readStates(ids);
    const waits = new Map(
      ids.map((id, index) => [id, states[index] == null ? null : waitBeforeSending(states[index])]),
    );
    const due = ids.filter((id) => waits.get(id) === 0);
    if (due.length > 0) await port.addJobs(due);
    added += due.length;
    const later = page.filter(({ webhook_id }) => waits.get(webhook_id) !== 0);
    if (later.length > 0) await port.postpone(later, waits);
    if (page.length < PAGE) return added;
  }
}

/**
 * Reconciles the webhooks in MySQL. Reads only webhooks whose `due_at` has passed, and sets `due_at` to when something will be due.
 * @returns how many jobs were added.
 */
export const reconcileDeliveries = (
  database: DataSource,
  addJobs: ReconcilerPort['addJobs'],
): Promise<number> =>
  reconcile({
    readPage: (after) => {
      const { due_at, webhook_id } = after ?? { due_at: '1970-01-01', webhook_id: '0' };
      return database.query<Due[]>(DUE, [due_at, due_at, webhook_id]);
    },
    readStates: (ids) => readStates(database, ids),
    addJobs,
    postpone: (webhooks, waits) => postpone(database, webhooks, waits),
  });

async function postpone(
  database: DataSource,
  webhooks: readonly Due[],
  waits: ReadonlyMap<string, number | null>,
): Promise<void> {
  const read = new Map(webhooks.map((it) => [it.webhook_id, it]));
  await inTransaction(database, async (sql) => {
    const locked = await sql.query<Due[]>(LOCK, [[...read.keys()]]);
    // If a row has changed, something may have become due since its state was read.
    const unchanged = locked.filter(({ webhook_id, due_at, matched_count }) => {
      const before = read.get(webhook_id);
      return before?.due_at === due_at && before.matched_count === matched_count;
    });
    if (unchanged.length === 0) return;
    const rows = unchanged.map(({ webhook_id }) => [webhook_id, toMicroseconds(waits.get(webhook_id))]);
    await sql.query(POSTPONE(rows.length), rows.flat());
  });
}

const toMicroseconds = (wait: number | null | undefined): number | null =>
  wait == null ? null : Math.min(wait, LOOK_AGAIN_MINUTES * 60_000) * 1_000;

/** Finds the active webhooks that have had something to send for the longest time. */

/** How many webhooks are looked at: those with the lowest cursors. Ids grow with time, so they have the oldest movements. */
const LOOKED_AT = 100;

export const STALLED_AFTER_MINUTES = 10;

/** The circuit is not open, but no delivery of the webhook has ended for ten minutes. */
const IS_STALLED = `AND ${circuitOpenUntil('c')} IS NULL
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
const BACKLOGS = ({ failing, stalled = false, ids }: WaitingFilter) => `
  SELECT w.id AS webhook_id, w.customer_id, w.account_id, w.event, b.matched_through, c.sent_through AS after_id
  FROM webhook_backlogs b FORCE INDEX (${ids === undefined ? 'webhook_backlogs_due' : 'PRIMARY'}) JOIN webhook_cursors c ON c.webhook_id = b.webhook_id
    JOIN webhooks w ON w.id = b.webhook_id
  WHERE b.due_at IS NOT NULL AND w.status = 'active' AND c.failing_since IS ${failing ? 'NOT NULL' : 'NULL'} AND b.matched_through > c.sent_through
    ${stalled ? IS_STALLED : ''} ${ids === undefined ? '' : 'AND b.webhook_id IN (?)'}
  ORDER BY after_id LIMIT ${LOOKED_AT}`;

/** A feed whose oldest event has waited for longer, while its reader has acknowledged nothing, is not read. */
export const UNREAD_AFTER_HOURS = 24;

/**
 * Active feeds of which nothing was acknowledged for long, and of which something is pending. Indexes: webhooks_delivery unless there are
 * ids, and the primary keys.
 */
const UNREAD = (isOfIds: boolean) => `
  SELECT w.id AS webhook_id, w.customer_id, w.account_id, w.event, b.matched_through, c.sent_through AS after_id
  FROM webhooks w FORCE INDEX (${isOfIds ? 'PRIMARY' : 'webhooks_delivery'}) JOIN webhook_cursors c ON c.webhook_id = w.id
    JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.delivery = 'pull' AND w.status = 'active' AND b.matched_through > c.sent_through
    AND COALESCE(c.progressed_at, w.created_at) < NOW(6) - INTERVAL ${UNREAD_AFTER_HOURS} HOUR ${isOfIds ? 'AND w.id IN (?)' : ''}
  ORDER BY after_id LIMIT ${LOOKED_AT}`;

/** Reads the feeds that are not read, the longest waiting first. @param ids only these webhooks, which must not be empty. Default: all. */
export async function readUnreadFeeds(sql: Sql, ids?: readonly string[]): Promise<WaitingWebhook[]> {
  const backlogs = await sql.query<Backlog[]>(UNREAD(ids !== undefined), ids === undefined ? [] : [ids]);
  const waiting = await readFirstNotSent(sql, backlogs);
  return waiting.filter(({ seconds }) => seconds >= UNREAD_AFTER_HOURS * 3_600);
}

/**
 * Reads the webhooks with movements that were never attempted, the longest waiting first. Ignores deliveries that wait for a retry,
 * because they wait for their endpoint or their schedule.
 */
export async function readWaitingWebhooks(sql: Sql, filter: WaitingFilter): Promise<WaitingWebhook[]> {
  const backlogs = await sql.query<Backlog[]>(BACKLOGS(filter), filter.ids === undefined ? [] : [filter.ids]);
  return readFirstNotSent(sql, backlogs);
}

/** Indexes: the primary key here, and retries_due in BRING_FORWARD. */
const END_OPENING = `
  UPDATE webhook_cursors SET circuit_open_until = NOW(6) WHERE webhook_id = ? AND circuit_open_until > NOW(6)`;

/** Makes a delivery due, because the probe needs one. */
const BRING_FORWARD = `
  UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND due_at > NOW(6) ORDER BY due_at LIMIT 1`;

/**
 * Makes an open circuit half-open now, and the next retry due, so that the webhook's next run sends one probe. After that, the circuit
 * works as usual. The caller must wake the webhook.
 * @param record runs in the same transaction.
 */
export function probeNow(
  database: DataSource,
  webhookId: string,
  record: (sql: Sql) => Promise<void>,
): Promise<void> {
  return inTransaction(database, async (sql) => {
    await lockCursor(sql, webhookId);
    await sql.query(END_OPENING, [webhookId]);
    await sql.query(BRING_FORWARD, [webhookId]);
    await markDue(sql, webhookId);
    await record(sql);
  });
}
