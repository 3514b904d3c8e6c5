import { recordChange } from '../customers/audit.ts';
import { type Caller, maySee, visibleAccounts } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { type WakeContext, wakeWebhooks } from '../delivery/wake.ts';
import { extendImport, lockCustomers, storeBatches } from '../ledger/append.ts';
import { conflictId, markStored } from '../ledger/conflicts.ts';
import { readStoredById, type StoredMovement } from '../ledger/known-movements.ts';
import { createMatcher } from '../ledger/matching.ts';
import { isOfRemovedTime, type Movement } from '../ledger/movement.ts';
import { cutPage } from '../platform/page.ts';
import { notFound, Problem } from '../platform/problem.ts';
import type { ConflictRow } from './conflict-view.ts';

/** Finds conflicts, and decides them. */

type ConflictStatus = ConflictRow['status'];
export const CONFLICT_STATUSES = ['open', 'stored', 'ignored'] as const;

/** A conflict, with the movement that was stored first. */
export interface FoundConflict {
  row: ConflictRow;
  stored: StoredMovement;
}

const COLUMNS = `
  id, account_id, (SELECT a.currency FROM accounts a WHERE a.id = account_id) AS currency, transaction_id, received, import_id, line, status, stored_id, received_at, decided_at`;
/** Indexes: movement_conflicts_page and movement_conflicts_account, or with a status the same indexes with the status. */
const FIND = (column: 'customer_id' | 'account_id', status?: ConflictStatus) => `
  SELECT ${COLUMNS} FROM movement_conflicts
  FORCE INDEX (movement_conflicts_${column === 'customer_id' ? 'page' : 'account'}${status === undefined ? '' : '_status'})
  WHERE ${column} = ? AND customer_id = ?${status === undefined ? '' : ` AND status = '${status}'`} AND (? OR account_id IN (?))
    AND id < ? ORDER BY id DESC LIMIT ?`;
/** Index: the primary key. */
const ONE = `SELECT ${COLUMNS} FROM movement_conflicts WHERE id = ? AND customer_id = ?`;

interface ConflictFilters {
  accountId?: string | undefined;
  status?: ConflictStatus | undefined;
  /** Only conflicts below this id. */
  before: string;
}

/**
 * Finds conflicts that the caller can see, the newest first. @returns the id below which the next page begins; null: there is no
 * next page.
 */
export async function findConflicts(
  sql: Sql,
  { customerId, accountIds }: Pick<Caller, 'customerId' | 'accountIds'>,
  { accountId, status, before }: ConflictFilters,
  limit: number,
): Promise<{ conflicts: FoundConflict[]; next: string | null }> {
  const statement = FIND(accountId === undefined ? 'customer_id' : 'account_id', status);
  const seen = [accountIds === 'all', visibleAccounts({ accountIds }), before, limit + 1];
  const rows = await sql.query<ConflictRow[]>(statement, [accountId ?? customerId, customerId, ...seen]);
  return pageOf(sql, rows, limit);
}

/** Index: movement_conflicts_status. */
const FIND_OPEN = `
  SELECT ${COLUMNS} FROM movement_conflicts FORCE INDEX (movement_conflicts_status)
  WHERE status = 'open' AND id < ? ORDER BY id DESC LIMIT ?`;

/** Finds the open conflicts of all customers below an id, for operators. */
export async function findOpenConflicts(
  sql: Sql,
  before: string,
  limit: number,
): Promise<{ conflicts: FoundConflict[]; next: string | null }> {
  return pageOf(sql, await sql.query<ConflictRow[]>(FIND_OPEN, [before, limit + 1]), limit);
}

/** @param rows one more than the page, if there are more. */
async function pageOf(sql: Sql, rows: readonly ConflictRow[], limit: number) {
  const page = cutPage(rows, limit);
  return { conflicts: await addStored(sql, page.rows), next: page.next };
}

/** Leaves out conflicts whose movement has been removed in the meantime, because its conflict is removed too. */
async function addStored(sql: Sql, rows: readonly ConflictRow[]): Promise<FoundConflict[]> {
  const movements = await readStoredById(
    sql,
    rows.map(({ transaction_id }) => transaction_id),
  );
  return rows.flatMap((row) => {
    const stored = movements.get(row.transaction_id);
    return stored === undefined ? [] : [{ row, stored }];
  });
}

/** @throws {Problem} 404 for a conflict that the caller cannot see. */
export async function findConflict(sql: Sql, caller: Caller, id: string): Promise<FoundConflict> {
  const rows = await sql.query<ConflictRow[]>(ONE, [id, caller.customerId]);
  const [found] = await addStored(
    sql,
    rows.filter(({ account_id }) => maySee(caller, account_id)),
  );
  if (found === undefined) throw notFound('conflict');
  return found;
}

const LOCK = `SELECT status FROM movement_conflicts WHERE id = ? FOR UPDATE`;
const ACCOUNT = "SELECT 1 FROM accounts WHERE id = ? AND status <> 'deleting' LOCK IN SHARE MODE";
const IGNORE = "UPDATE movement_conflicts SET status = 'ignored', decided_at = NOW(6) WHERE id = ?";

const REMOVED = 'SELECT removed_before FROM import_locks WHERE customer_id = ?';

/** @throws {Problem} 409 for a day whose movements retention has removed. Called while the customer is locked. */
async function requireKept(sql: Sql, customerId: string, movement: Movement): Promise<void> {
  const [lock] = await sql.query<{ removed_before: string | null }[]>(REMOVED, [customerId]);
  const removedBefore = lock?.removed_before ?? null;
  if (isOfRemovedTime(movement, { removedBefore }))
    throw new Problem(
      'removed-time',
      `Movements before ${removedBefore} have been removed, and none of that time is stored any more. Ignore the conflict.`,
    );
}

const matcher = createMatcher();

/**
 * Decides a conflict. Either ignores the row, or stores it as a movement of its own, which is sent to the webhooks that match it.
 * Repeating a decision changes nothing.
 * @param row as `findConflict` found it for the caller.
 * @throws {Problem} 404; 409 when the other decision was made before, or the row is of a time that retention has removed.
 */
export async function decideConflict(
  runtime: WakeContext & Pick<Runtime, 'database' | 'log'>,
  caller: Caller,
  row: ConflictRow,
  decision: 'store' | 'ignore',
): Promise<FoundConflict> {
  const { database, log } = runtime;
  const { id } = row;
  const decided = decision === 'store' ? 'stored' : 'ignored';
  const webhookIds = await inTransaction(database, async (sql) => {
    const locks = await lockCustomers(sql, [caller.customerId]);
    const [locked] = await sql.query<{ status: ConflictStatus }[]>(LOCK, [id]);
    const account = await sql.query<unknown[]>(ACCOUNT, [row.account_id]);
    if (locked === undefined || account.length === 0) throw notFound('conflict');
    if (locked.status === decided) return [];
    if (locked.status !== 'open')
      throw new Problem(
        'conflict-decided',
        `This conflict has been decided already: its row was ${locked.status}.`,
      );
    const movement = JSON.parse(row.received) as Movement;
    if (decision === 'store') await requireKept(sql, caller.customerId, movement);
    await recordChange(sql, caller, { action: decision, subject: `conflict ${id}` });
    if (decision === 'ignore') {
      await sql.query(IGNORE, [id]);
      return [];
    }
    const uniqueId = movement.unique_id ?? '';
    const { import_id: importId, line, transaction_id } = row;
    const stored = await storeBatches(sql, matcher, locks, [
      {
        customerId: caller.customerId,
        importId,
        movements: [{ line, movement, uniqueId: conflictId(uniqueId, movement) }],
      },
    ]);
    await extendImport(sql, importId, locks.get(caller.customerId)?.dateReaded);
    await markStored(sql, { uniqueId, movement, stored: { id: transaction_id } });
    return stored.webhookIds;
  });
  // The movement is committed, and is delivered even if the wake-up is lost.
  await wakeWebhooks(runtime, webhookIds).catch((err: unknown) => log.warn({ err }, 'webhooks not woken'));
  return findConflict(database, caller, id);
}
