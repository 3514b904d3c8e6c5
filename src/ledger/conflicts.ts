import { hash } from 'node:crypto';
import type { Sql, WriteResult } from '../database/transaction.ts';
import { recordEvent } from '../delivery/operational-event.ts';
import type { IdentifiedRow, StoredMovement } from './known-movements.ts';
import { canonical, type Movement } from './movement.ts';
import { createConflictDecisions, type KeptConflict, type OnConflict, versionOf } from './row-fate.ts';

/**
 * Conflicts: rows with the unique id of a stored movement but another direction, amount or date. Both versions are kept. A setting
 * of the source that collected the row, or else of the account, says whether somebody decides (`hold`) or the row is stored under
 * its own id (`store`).
 */

/** A row that conflicts with a stored movement. */
export interface ConflictingRow extends IdentifiedRow {
  customerId: string;
  importId: string;
  stored: StoredMovement;
}

/**
 * The decision about a conflicting row. `held`: nobody has decided yet. `new`: the row is to be stored. `known`: it was decided
 * before, and the row counts as a duplicate of this movement.
 */
type ConflictDecision =
  | { outcome: 'held' }
  | { outcome: 'new' }
  | { outcome: 'known'; transactionId: string };

/**
 * The customer's import lock keeps other transactions from these rows. Whether a row's import was withdrawn is asked before it is set,
 * because the assignments run in this order.
 */
const ADD = `
  INSERT INTO movement_conflicts
    (customer_id, account_id, transaction_id, dc, amount, date_issue, received, import_id, line)
  VALUES ? ON DUPLICATE KEY UPDATE status = IF(is_withdrawn, 'open', status), decided_at = IF(is_withdrawn, NULL, decided_at),
    import_id = IF(is_withdrawn, VALUES(import_id), import_id), line = IF(is_withdrawn, VALUES(line), line), is_withdrawn = FALSE`;

/** Index: movement_conflicts_version. */
const READ = `
  SELECT c.transaction_id, c.dc, c.amount, c.date_issue, c.status, c.stored_id
  FROM movement_conflicts c FORCE INDEX (movement_conflicts_version) WHERE c.transaction_id IN (?) AND c.is_withdrawn = FALSE`;

/** The source's setting comes before the account's. Indexes: the primary keys. */
const POLICIES = `
  SELECT i.id AS import_id, a.id AS account_id, COALESCE(s.on_conflict, a.on_conflict) AS on_conflict
  FROM imports i JOIN accounts a ON a.id IN (?) LEFT JOIN sources s ON s.id = i.source_id WHERE i.id IN (?)`;

/** The unique id under which the other version of a movement is stored. */
export const conflictId = (uniqueId: string, { dc, amount, date_issue }: Movement): string =>
  `conflict:${hash('sha256', JSON.stringify([uniqueId, dc, canonical(amount), date_issue]))}`;

/**
 * Keeps conflicting rows, each version once.
 * @param sql a transaction that holds the import locks of their customers.
 * @returns the decision about each row.
 */
export async function keepConflicts(sql: Sql, rows: readonly ConflictingRow[]): Promise<ConflictDecision[]> {
  await sql.query(ADD, [
    rows.map(({ customerId, importId, line, movement, uniqueId, stored }) => [
      customerId,
      movement.account_id,
      stored.id,
      movement.dc,
      movement.amount,
      movement.date_issue,
      JSON.stringify({ ...movement, unique_id: uniqueId }),
      importId,
      line,
    ]),
  ]);
  const findKept = await readConflicts(sql, [...new Set(rows.map(({ stored }) => stored.id))]);
  const policyOf = await readPolicies(sql, rows);
  const decide = createConflictDecisions();
  return rows.map((row): ConflictDecision => {
    const { id } = row.stored;
    const version = versionOf(row.movement);
    const decision = decide(`${id} ${version}`, findKept(id, version), policyOf(row));
    return decision.outcome === 'known'
      ? { outcome: 'known', transactionId: decision.storedId ?? id }
      : decision;
  });
}

/** Reads the kept conflicts of movements. @returns a function that finds one by its movement and version. */
export async function readConflicts(
  sql: Sql,
  transactionIds: readonly string[],
): Promise<(transactionId: string, version: string) => KeptConflict | undefined> {
  if (transactionIds.length === 0) return () => undefined;
  const kept = await sql.query<ConflictVersion[]>(READ, [transactionIds]);
  const found = new Map(kept.map((it) => [`${it.transaction_id} ${versionOf(it)}`, it]));
  return (transactionId, version) => found.get(`${transactionId} ${version}`);
}

type ConflictVersion = KeptConflict &
  Pick<Movement, 'dc' | 'amount' | 'date_issue'> & { transaction_id: string };

async function readPolicies(
  sql: Sql,
  rows: readonly ConflictingRow[],
): Promise<(row: ConflictingRow) => OnConflict> {
  const found = await sql.query<{ import_id: string; account_id: string; on_conflict: OnConflict }[]>(
    POLICIES,
    [
      [...new Set(rows.map(({ movement }) => movement.account_id))],
      [...new Set(rows.map(({ importId }) => importId))],
    ],
  );
  const policies = new Map(found.map((it) => [`${it.import_id} ${it.account_id}`, it.on_conflict]));
  return ({ importId, movement }) => policies.get(`${importId} ${movement.account_id}`) ?? 'hold';
}

/** Indexes: the primary key of conflicts' movements, and transactions_unique_id. */
const SET_STORED = `
  UPDATE movement_conflicts c
  JOIN transactions t ON t.account_id = c.account_id AND t.unique_id = ?
  SET c.status = 'stored', c.stored_id = t.id, c.decided_at = NOW(6)
  WHERE c.transaction_id = ? AND c.dc = ? AND c.amount = ? AND c.date_issue = ? AND c.status = 'open'`;

/** Marks a conflict as stored. Called after its row was stored. */
export async function markStored(
  sql: Sql,
  { uniqueId, movement, stored }: Pick<ConflictingRow, 'uniqueId' | 'movement'> & { stored: { id: string } },
): Promise<void> {
  const { dc, amount, date_issue } = movement;
  const values = [conflictId(uniqueId, movement), stored.id, dc, amount, date_issue];
  await sql.query<WriteResult>(SET_STORED, values);
}

/**
 * Reports once that an import has conflicts that wait for a decision. Called at the end of the transaction.
 * @param known rows of this import and of others.
 */
export async function reportConflicts(
  sql: Sql,
  { customerId, importId }: { customerId: string; importId: string },
  known: readonly { importId: string; isHeld: boolean }[],
): Promise<void> {
  const conflicts = known.filter((it) => it.isHeld && it.importId === importId).length;
  if (conflicts === 0) return;
  await recordEvent(sql, {
    type: 'movement.conflict',
    customerId,
    occasion: `movement.conflict ${importId}`,
    data: { customer_id: Number(customerId), import: { id: Number(importId) }, conflicts },
  });
}
