import type { Sql } from '../database/transaction.ts';
import { AT_ONCE, NEXT_DUE_AT, RATE_NEXT_AT } from './due.ts';
import { LEASE_IS_FREE } from './lease.ts';

/** `pumps` may hold sending back longer than the delivery itself. */
const WAITS = `
  SELECT w.id, TIMESTAMPDIFF(MICROSECOND, NOW(6), GREATEST(
      ${NEXT_DUE_AT('w.id')}, COALESCE(p.paused_until, ${AT_ONCE}), COALESCE(${RATE_NEXT_AT}, ${AT_ONCE}),
      IF(${LEASE_IS_FREE}, ${AT_ONCE}, p.lease_until))) / 1000 AS wait
  FROM webhooks w JOIN pumps p ON p.webhook_id = w.id
  WHERE w.id IN (?) AND w.status = 'active'`;

/**
 * How long each webhook has to wait until a run may send something.
 * @returns for each milliseconds (0: now), or null when it is owed nothing, or not active. One that another run drains waits until
 * its lease is over.
 */
export async function waitsUntilDue(sql: Sql, webhookIds: readonly string[]): Promise<(number | null)[]> {
  const rows = await sql.query<{ id: string; wait: string | null }[]>(WAITS, [webhookIds]);
  const waits = new Map(rows.map(({ id, wait }) => [id, wait]));
  return webhookIds.map((id) => {
    const wait = waits.get(id);
    return wait == null ? null : Math.max(0, Math.ceil(Number(wait)));
  });
}
