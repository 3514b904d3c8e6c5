import type { Sql } from '../database/transaction.ts';
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
