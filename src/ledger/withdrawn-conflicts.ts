import type { Sql } from '../database/transaction.ts';
import { extendImport, type ImportLock, storeBatches } from './append.ts';
import type { Matcher } from './matching.ts';
import { isOfRemovedTime, type Movement } from './movement.ts';

/**
 * Decides the conflicts of movements that are withdrawn. Another version of such a movement takes over its unique id, so that the same row is
 * known when it comes again: the first version that was stored, or else the first that waits for a decision, which is stored and sent
 * as new. The other versions conflict with this one from then on.
 */

/** Indexes: movement_conflicts_page_status and movement_conflicts_stored. */
const WITHDRAW_OPEN = `
  UPDATE movement_conflicts SET status = 'ignored', is_withdrawn = TRUE, decided_at = NOW(6)
  WHERE customer_id = ? AND status = 'open' AND import_id = ?`;
const WITHDRAW_STORED = `
  UPDATE movement_conflicts SET status = 'ignored', is_withdrawn = TRUE, stored_id = NULL WHERE stored_id IN (?)`;

/** The conflicts that the withdrawn import itself has brought are not asked for any more. If their rows come again, they conflict anew. */
export const withdrawOwnConflicts = (sql: Sql, customerId: string, importId: string): Promise<unknown> =>
  sql.query(WITHDRAW_OPEN, [customerId, importId]);

/** Index: movement_conflicts_version. */
const READ_CONFLICTS = `
  SELECT c.id, c.transaction_id, c.account_id, c.received, c.import_id, c.line, c.status, c.stored_id, w.unique_id
  FROM movement_conflicts c FORCE INDEX (movement_conflicts_version)
    JOIN withdrawn_transactions w ON w.id = c.transaction_id
    JOIN accounts a ON a.id = c.account_id AND a.status <> 'deleting'
  WHERE c.transaction_id IN (?) AND c.is_withdrawn = FALSE ORDER BY c.id FOR UPDATE`;

interface Conflict {
  id: string;
  transaction_id: string;
  account_id: string;
  received: string;
  import_id: string;
  line: number;
  status: 'open' | 'stored' | 'ignored';
  stored_id: string | null;
  unique_id: Buffer | string;
}

const READ_REMOVED = 'SELECT removed_before AS removedBefore FROM import_locks WHERE customer_id = ?';

/** Index of this and the following statements: the primary key. */
const TAKE_OVER = 'UPDATE transactions SET unique_id = ? WHERE id = ?';
const MARK_STORED =
  "UPDATE movement_conflicts SET status = 'stored', stored_id = ?, decided_at = NOW(6) WHERE id = ?";
const MOVE_OTHERS = 'UPDATE movement_conflicts SET transaction_id = ? WHERE id IN (?)';
/** Index: transactions_unique_id. */
const FIND_STORED = 'SELECT id FROM transactions WHERE account_id = ? AND unique_id = ?';

/**
 * Decides the conflicts of movements that have just been moved to `withdrawn_transactions`.
 * @param sql the transaction that withdraws them, which holds the customer's import lock.
 * @returns the webhooks to wake after the commit.
 */
export async function handOverConflicts(
  sql: Sql,
  { matcher, locks }: { matcher: Matcher; locks: ReadonlyMap<string, ImportLock> },
  customerId: string,
  ids: readonly string[],
): Promise<string[]> {
  await sql.query(WITHDRAW_STORED, [ids]);
  const conflicts = await sql.query<Conflict[]>(READ_CONFLICTS, [ids]);
  if (conflicts.length === 0) return [];
  const [removed] = await sql.query<{ removedBefore: string | null }[]>(READ_REMOVED, [customerId]);
  const isStorable = ({ received }: Conflict) =>
    isOfRemovedTime(JSON.parse(received) as Movement, { removedBefore: removed?.removedBefore ?? null }) ===
    false;
  const woken: string[] = [];
  for (const id of new Set(conflicts.map((it) => it.transaction_id))) {
    const of = conflicts.filter((it) => it.transaction_id === id);
    const stored = of.find((it) => it.status === 'stored' && it.stored_id !== null);
    const heir = stored ?? of.find((it) => it.status === 'open' && isStorable(it));
    if (heir === undefined) continue;
    let heirId = stored?.stored_id ?? null;
    if (heirId !== null) await sql.query(TAKE_OVER, [heir.unique_id, heirId]);
    else {
      const movement = JSON.parse(heir.received) as Movement;
      const uniqueId = movement.unique_id ?? '';
      const { import_id: importId, line } = heir;
      const batch = { customerId, importId, movements: [{ line, movement, uniqueId }] };
      woken.push(...(await storeBatches(sql, matcher, locks, [batch])).webhookIds);
      const [found] = await sql.query<{ id: string }[]>(FIND_STORED, [heir.account_id, uniqueId]);
      if (found === undefined) throw new Error(`the row of conflict ${heir.id} was not stored`);
      heirId = found.id;
      await sql.query(MARK_STORED, [heirId, heir.id]);
      await extendImport(sql, importId, locks.get(customerId)?.dateReaded);
    }
    const others = of.filter((it) => it !== heir).map(({ id }) => id);
    if (others.length > 0) await sql.query(MOVE_OTHERS, [heirId, others]);
  }
  return woken;
}
