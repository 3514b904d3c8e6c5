import type { DataSource } from 'typeorm';
import type { Runtime } from '../database/runtime.ts';
import { derivedRows, inTransaction, type Sql } from '../database/transaction.ts';
import { addDeliveryJobs } from '../platform/queues.ts';
import { circuitOpenUntil, PROBE_SECONDS } from '../webhook-record/circuit.ts';
import { waitBeforeSending } from '../webhook-record/waiting.ts';
import { lockCursor } from './filters.ts';
import { readStates, type WebhookState } from './webhook-state.ts';

/** Finds webhooks whose wake-up was lost, and makes webhooks due that it is to find. */

/** Webhooks read in one query. */
const PAGE = 1_000;

/** A webhook with pending deliveries is looked at again after at most this time. */
const LOOK_AGAIN_MINUTES = 60;

/** Of a webhook of a template: the service has paused it, or it is deleted. It stays due, for when it is active again. */
const IS_STOPPED = `w.status IN ('paused', 'deleted')`;

/** Whether a webhook's template lets it send: the template is active, and its circuit is closed. For webhooks without a template too. */
const MAY_SEND = `(w.template_id IS NULL
    OR NOT ${IS_STOPPED} AND s.status = 'active' AND COALESCE(h.recovery_successes, 1) > 0 AND ${circuitOpenUntil('h')} IS NULL)`;

const IS_DUE = `(b.due_at <= NOW(6) OR b.due_at > NOW(6) + INTERVAL ${LOOK_AGAIN_MINUTES + 1} MINUTE)`;

/**
 * Webhooks to look at, the longest waiting first. Leaves out those that their templates hold, however many they are: they are due when they are
 * held no more. A `due_at` further ahead than LOOK_AGAIN_MINUTES was written before the clock was set
 * back, so it counts as due. `due_at` is read as a string, because a Date has no microseconds. Indexes: webhook_backlogs_due, and the primary keys.
 */
const READ_DUE_PAGE = `
  SELECT b.webhook_id, CAST(b.due_at AS CHAR) AS due_at, b.matched_count
  FROM webhook_backlogs b FORCE INDEX (webhook_backlogs_due) STRAIGHT_JOIN webhooks w ON w.id = b.webhook_id
    LEFT JOIN webhooks s ON s.id = w.template_id LEFT JOIN webhook_cursors h ON h.webhook_id = s.id
  WHERE ${IS_DUE} AND b.due_at >= ? AND (b.due_at > ? OR b.webhook_id > ?) AND ${MAY_SEND}
  ORDER BY b.due_at, b.webhook_id LIMIT ${PAGE}`;

/** Active templates whose endpoints are to be probed. Index: webhooks_templates. */
const READ_HALF_OPEN = `
  SELECT s.id FROM webhooks s FORCE INDEX (webhooks_templates) STRAIGHT_JOIN webhook_cursors h ON h.webhook_id = s.id
  WHERE s.is_template = 1 AND s.status = 'active' AND s.delivery = 'push' AND h.recovery_successes = 0
    AND ${circuitOpenUntil('h')} IS NULL AND (h.probe_until IS NULL OR h.probe_until <= NOW(6)
      OR h.probe_until > NOW(6) + INTERVAL ${PROBE_SECONDS + 1} SECOND)`;

/** How many webhooks are looked at, at a time, to find one with something to send. */
const PROBE_CANDIDATES = 100;

/**
 * Webhooks of a template that may have something to send, the longest waiting first. Before them may be thousands that have just sent everything,
 * because a delivery run does not change `due_at`. Indexes: webhook_backlogs_due, and the primary key.
 */
const READ_CANDIDATES = `
  SELECT b.webhook_id, CAST(b.due_at AS CHAR) AS due_at, b.matched_count
  FROM webhook_backlogs b FORCE INDEX (webhook_backlogs_due) STRAIGHT_JOIN webhooks w FORCE INDEX (PRIMARY) ON w.id = b.webhook_id
  WHERE ${IS_DUE} AND w.template_id = ? AND NOT ${IS_STOPPED} AND b.due_at >= ? AND (b.due_at > ? OR b.webhook_id > ?)
  ORDER BY b.due_at, b.webhook_id LIMIT ${PROBE_CANDIDATES}`;

/** Leaves out rows that an import has locked. The next pass looks at them again. Index: the primary key. */
const LOCK_BACKLOGS = `
  SELECT webhook_id, CAST(due_at AS CHAR) AS due_at, matched_count FROM webhook_backlogs
  WHERE webhook_id IN (?) FOR UPDATE SKIP LOCKED`;

/** If microseconds is NULL, due_at becomes NULL. */
const POSTPONE = (webhooks: number) => `
  UPDATE webhook_backlogs b JOIN (${derivedRows(['webhook_id', 'microseconds'], webhooks)}) r ON r.webhook_id = b.webhook_id
  SET b.due_at = NOW(6) + INTERVAL r.microseconds MICROSECOND`;

const MARK_DUE = `
  UPDATE webhook_backlogs b JOIN webhooks w ON w.id = b.webhook_id SET b.due_at = NOW(6)
  WHERE b.webhook_id = ? AND w.delivery = 'push' AND w.is_template = 0`;

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
  /** Reads the templates whose endpoints are to be probed. */
  readHalfOpen(): Promise<string[]>;
  /** Reads webhooks of a template that may have something to send, the longest waiting first, after the last one of those before. */
  readCandidates(templateId: string, after: Due | null): Promise<Due[]>;
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
  for (const templateId of await port.readHalfOpen()) added += await findProbe(port, templateId);
  for (let last: Due | null = null; ; ) {
    const page: Due[] = await port.readPage(last);
    last = page.at(-1) ?? null;
    if (last === null) return added;
    added += await look(port, page, page.length);
    if (page.length < PAGE) return added;
  }
}

/** Adds a job for the first webhook of a template that has something due. @returns 0: none has. */
async function findProbe(port: ReconcilerPort, templateId: string): Promise<number> {
  for (let last: Due | null = null; ; ) {
    const page: Due[] = await port.readCandidates(templateId, last);
    last = page.at(-1) ?? null;
    if (last === null) return 0;
    const added = await look(port, page, 1);
    if (added > 0 || page.length < PROBE_CANDIDATES) return added;
  }
}

/** Adds jobs for the first webhooks that have something due, and postpones those that have not. @returns how many jobs were added. */
async function look(port: ReconcilerPort, page: readonly Due[], most: number): Promise<number> {
  const ids = page.map(({ webhook_id }) => webhook_id);
  const states = await port.readStates(ids);
  const stateOf = new Map(ids.map((id, index) => [id, states[index] ?? null]));
  const waits = new Map(
    [...stateOf].map(([id, state]) => [id, state === null ? null : waitBeforeSending(state)]),
  );
  const due = ids.filter((id) => waits.get(id) === 0).slice(0, most);
  if (due.length > 0) await port.addJobs(due);
  const later = page.filter(
    ({ webhook_id: id }) => waits.get(id) !== 0 && !isHeldByTemplate(stateOf.get(id) ?? null),
  );
  if (later.length > 0) await port.postpone(later, waits);
  return due.length;
}

/** Whether a webhook's template has begun to hold it since the page was read. Then it stays due. */
const isHeldByTemplate = (state: WebhookState | null): boolean =>
  state !== null &&
  state.settings.template_id !== null &&
  (state.settings.status !== 'active' || state.openFor !== null || state.probedFor !== null);

/** null: at the beginning. */
const placeAfter = (after: Due | null): string[] => {
  const { due_at, webhook_id } = after ?? { due_at: '1970-01-01', webhook_id: '0' };
  return [due_at, due_at, webhook_id];
};

/**
 * Reconciles the webhooks in MySQL. Reads only webhooks whose `due_at` has passed, and sets `due_at` to when something will be due.
 * @returns how many jobs were added.
 */
export const reconcileDeliveries = (
  database: DataSource,
  addJobs: ReconcilerPort['addJobs'],
): Promise<number> =>
  reconcile({
    readPage: (after) => database.query<Due[]>(READ_DUE_PAGE, placeAfter(after)),
    readHalfOpen: async () => (await database.query<{ id: string }[]>(READ_HALF_OPEN)).map(({ id }) => id),
    readCandidates: (templateId, after) =>
      database.query<Due[]>(READ_CANDIDATES, [templateId, ...placeAfter(after)]),
    readStates: (ids) => readStates(database, ids),
    addJobs,
    postpone: (webhooks, waits) => postpone(database, webhooks, waits),
  });

/**
 * Reconciles now, in the background, because many webhooks of a template may send again. A failure is only logged, because the maintenance role
 * does the same within 10 s.
 */
export function wakeDue({ database, queues, log }: Pick<Runtime, 'database' | 'queues' | 'log'>): void {
  reconcileDeliveries(database, (ids) => addDeliveryJobs(queues, ids)).catch((err: unknown) =>
    log.warn({ err }, 'due webhooks not woken yet'),
  );
}

async function postpone(
  database: DataSource,
  webhooks: readonly Due[],
  waits: ReadonlyMap<string, number | null>,
): Promise<void> {
  const read = new Map(webhooks.map((it) => [it.webhook_id, it]));
  await inTransaction(database, async (sql) => {
    const locked = await sql.query<Due[]>(LOCK_BACKLOGS, [[...read.keys()]]);
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

/** Indexes: the primary key here, and retries_due in MAKE_NEXT_RETRY_DUE. */
const MAKE_HALF_OPEN = `
  UPDATE webhook_cursors SET circuit_open_until = NOW(6) WHERE webhook_id = ? AND circuit_open_until > NOW(6)`;

/** Makes a delivery due, because the probe needs one. */
const MAKE_NEXT_RETRY_DUE = `
  UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND due_at > NOW(6) ORDER BY due_at LIMIT 1`;

/** Index: the primary key. */
const IS_TEMPLATE = 'SELECT 1 FROM webhooks WHERE id = ? AND is_template = 1';

/** The webhook of a template that has something due first. Indexes: webhook_backlogs_due, and the primary key. */
const FIND_NEXT_OF_TEMPLATE = `
  SELECT b.webhook_id AS id FROM webhook_backlogs b FORCE INDEX (webhook_backlogs_due) STRAIGHT_JOIN webhooks w FORCE INDEX (PRIMARY) ON w.id = b.webhook_id
  WHERE b.due_at IS NOT NULL AND w.template_id = ? ORDER BY b.due_at, b.webhook_id LIMIT 1`;

/**
 * Makes an open circuit half-open now, and the next retry due, of a template that of one of its webhooks, so that the webhook's next run sends one probe. After that, the circuit
 * works as usual. The caller must wake the webhook.
 * @param record runs in the same transaction.
 */
export function probeNow(
  database: DataSource,
  webhookId: string,
  record: (sql: Sql) => Promise<void>,
): Promise<void> {
  return inTransaction(database, async (sql) => {
    const isTemplate = (await sql.query<unknown[]>(IS_TEMPLATE, [webhookId])).length > 0;
    const [next] = isTemplate ? await sql.query<{ id: string }[]>(FIND_NEXT_OF_TEMPLATE, [webhookId]) : [];
    const probing = next?.id ?? webhookId;
    // The cursor of a template comes after those of its webhooks, as where results are recorded.
    if (probing !== webhookId) await lockCursor(sql, probing);
    await lockCursor(sql, webhookId);
    await sql.query(MAKE_HALF_OPEN, [webhookId]);
    await sql.query(MAKE_NEXT_RETRY_DUE, [probing]);
    await markDue(sql, probing);
    await record(sql);
  });
}
