import type { Sql } from '../../database/transaction.ts';
import type { Delivery, LoggedEvent, LoggedMovement } from '../run/types.ts';
import { retryDueAt } from '../webhook-state.ts';
import { extend, MOVEMENT_COLUMNS } from './logged-movement.ts';
import { findWithdrawn, readWithdrawalsById } from './withdrawals.ts';

/** Reads the retries of a webhook that are due, with their movements or operational events. */

/**
 * Movements or events are joined after the limit has been applied, because in a direct join the optimiser may read and sort all retries
 * of the webhook. Index: retries_due.
 */
const DUE_RETRIES = (order: 'due_at' | 'transaction_id') => `
  SELECT transaction_id, attempts, failures, TIMESTAMPDIFF(MICROSECOND, NOW(6), ${retryDueAt('d')}) / 1000 AS due_in
  FROM retries d FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NOT NULL ORDER BY ${order} LIMIT ?`;

const READ_RETRIES_OF_MOVEMENTS = (due: string) => `
  /* READ_RETRIES_OF_MOVEMENTS */ SELECT STRAIGHT_JOIN r.transaction_id AS id, r.attempts, r.failures, r.due_in, ${MOVEMENT_COLUMNS}
  FROM (${due}) r
  LEFT JOIN transactions t ON t.id = r.transaction_id
  LEFT JOIN accounts a ON a.id = t.account_id
  LEFT JOIN banks b ON b.id = a.bank_id`;

const READ_RETRIES_OF_EVENTS = (due: string) => `
  /* READ_RETRIES_OF_EVENTS */ SELECT STRAIGHT_JOIN r.transaction_id AS id, r.attempts, r.failures, r.due_in, e.type, e.account_id, e.data,
    DATE_FORMAT(e.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS timestamp,
    TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.created_at) AS stored_at
  FROM (${due}) r
  LEFT JOIN operational_events e ON e.id = r.transaction_id`;

interface Due {
  id: string;
  attempts: number;
  failures: number;
  due_in: string;
  isWithdrawn?: boolean;
}

type DueMovement = Due & LoggedMovement;
type DueRow = DueMovement | (Due & LoggedEvent);

/** Retries of one webhook that are due. */
export interface RetriesRead {
  deliveries: Delivery[];
  /** Milliseconds until the next retry that is not in `deliveries`. 0: more are due. null: there is none. */
  nextIn: number | null;
}

/**
 * Reads the retries of a webhook that are due, the longest due first. For an ordered webhook, reads those with the lowest transaction ids,
 * in their order, up to the first that is not due yet.
 * @param options.ofEvents the webhook is sent events in place of movements.
 * @param options.isExtended the bodies are extended.
 */
export async function readRetries(
  sql: Sql,
  webhookId: string,
  {
    ordered,
    limit,
    ofEvents = false,
    isExtended = false,
  }: { ordered: boolean; limit: number; ofEvents?: boolean; isExtended?: boolean },
): Promise<RetriesRead> {
  const due = DUE_RETRIES(ordered ? 'transaction_id' : 'due_at');
  const rows = await sql.query<DueRow[]>(
    (ofEvents ? READ_RETRIES_OF_EVENTS : READ_RETRIES_OF_MOVEMENTS)(due),
    [webhookId, limit],
  );
  rows.sort((one, other) =>
    ordered ? Number(one.id) - Number(other.id) : Number(one.due_in) - Number(other.due_in),
  );
  const firstLater = rows.findIndex(({ due_in }) => Number(due_in) > 0);
  const later = rows[firstLater];
  const dueNow = later === undefined ? rows : rows.slice(0, firstLater);
  const nextIn = later === undefined ? (dueNow.length === limit ? 0 : null) : Number(later.due_in);
  const complete = ofEvents ? dueNow : await addGone(sql, dueNow as DueMovement[]);
  const found = isExtended && !ofEvents ? await extend(sql, complete as DueMovement[]) : complete;
  return { deliveries: found.map(toDelivery), nextIn: found.length < dueNow.length ? 0 : nextIn };
}

/** Completes what is no stored movement: the withdrawal of a movement, or a movement that was withdrawn. */
async function addGone(sql: Sql, due: readonly DueMovement[]): Promise<DueRow[]> {
  const gone = due.filter(({ stored_at }) => stored_at === null).map(({ id }) => id);
  if (gone.length === 0) return [...due];
  const withdrawals = new Map(
    (await readWithdrawalsById(sql, gone)).map((it) => [it.transaction_id, it] as const),
  );
  const withdrawn = await findWithdrawn(sql, gone);
  return due.map((it) => ({ ...it, ...withdrawals.get(it.id), isWithdrawn: withdrawn.has(it.id) }));
}

const toDelivery = ({ id, attempts, failures, due_in: _, isWithdrawn, ...content }: DueRow): Delivery => ({
  subjectId: Number(id),
  source: 'retries',
  attempts,
  failures,
  content: content.stored_at === null ? null : content,
  ...(isWithdrawn ? { isWithdrawn } : {}),
});
