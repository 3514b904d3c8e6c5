import type { Sql } from '../database/transaction.ts';
import { readStates, waitOf } from './webhook-state.ts';

/** Webhooks looked at in one query. */
const PAGE = 1_000;

/** All active webhooks, by the primary key. What is due for each is then read as its run would. */
const ACTIVE = `SELECT id FROM webhooks WHERE id > ? AND status = 'active' ORDER BY id LIMIT ${PAGE}`;

/**
 * Finds the webhooks that have something due and that no run is at, and adds their jobs. That makes up for whatever Redis forgot or
 * never heard of. A webhook that has a job already keeps it; a deduplication key whose job was removed by hand is replaced by
 * BullMQ (6.7).
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
      return state != null && waitOf(state) === 0;
    });
    if (due.length > 0) await addJobs(due);
    added += due.length;
    const last = ids.at(-1);
    if (last === undefined || ids.length < PAGE) return added;
    after = last;
  }
}
