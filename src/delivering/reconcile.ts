import type { Sql } from '../database/transaction.ts';
import { AT_ONCE, NEXT_DUE_AT } from './due.ts';
import { LEASE_IS_FREE } from './lease.ts';

/** Webhooks looked at in one query: each costs one look into deliveries_due. */
const PAGE = 1_000;

/** Due, and nobody at it: a job is then missing, or about to run anyway. */
const UNATTENDED = `
  SELECT w.id FROM webhooks w JOIN pumps p ON p.webhook_id = w.id
  WHERE w.id > ? AND w.status = 'active'
    AND ${LEASE_IS_FREE}
    AND COALESCE(p.paused_until, ${AT_ONCE}) <= NOW(6)
    AND ${NEXT_DUE_AT('w.id')} <= NOW(6)
  ORDER BY w.id LIMIT ${PAGE}`;

/**
 * Finds the webhooks that are owed something now and that no run is draining, and wakes them. Covers whatever Redis forgot
 * or never heard of. Waking one that has a job already changes nothing, and a deduplication key whose job was removed by
 * hand is replaced by BullMQ (6.7) when the job is added.
 * @returns how many were woken.
 */
export async function reconcileDeliveries(
  sql: Sql,
  wake: (webhookIds: readonly string[]) => Promise<void>,
): Promise<number> {
  let woken = 0;
  for (let after = '0'; ; ) {
    const due = await sql.query<{ id: string }[]>(UNATTENDED, [after]);
    await wake(due.map(({ id }) => id));
    woken += due.length;
    const last = due.at(-1);
    if (last === undefined || due.length < PAGE) return woken;
    after = last.id;
  }
}
