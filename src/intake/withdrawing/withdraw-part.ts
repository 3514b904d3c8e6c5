import type { DataSource } from 'typeorm';
import { checkRowsAgain } from '../../customers/accounts.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import type { RemovedMovement } from '../../delivery/filters.ts';
import {
  endWithdrawn,
  findHearing,
  findLiveWebhooks,
  type LiveWebhook,
} from '../../delivery/withdrawn-movements.ts';
import { type ImportLock, lockCustomers, NEWEST_BALANCE } from '../../ledger/append.ts';
import { advanceBacklogs, type Matcher } from '../../ledger/matching.ts';
import { handOverConflicts, withdrawOwnConflicts } from '../../ledger/withdrawn-conflicts.ts';
import { deleteMovements } from '../../movements/delete-movements.ts';
import { BEGINNING, type Candidates, type Position, readCandidates, type Subject } from './candidates.ts';
import { findConfirmed, findUnlisted } from './confirmed.ts';
import { moveStatements } from './move-statements.ts';

/** Withdraws a part of an import or a statement, in one transaction. */

/** A withdrawal that goes on. */
export interface OpenWithdrawal extends Subject {
  id: string;
  /** As it is stored: a `Position` as JSON; empty: its statements still count. */
  checkpoint: string;
}

/** Another worker has moved the checkpoint: this worker has lost the lock on its job, and must stop. */
export class WithdrawalTakenOverError extends Error {
  override name = 'WithdrawalTakenOverError';
}

/** The outcome of a part. */
export interface Part {
  isDone: boolean;
  /** The webhooks to wake after the commit. `reread`: they must read themselves again. */
  wake: readonly string[];
  reread: readonly string[];
}

/** The most movements of a part, so that others hardly wait for its commit. Fewer with many webhooks, because each is looked up for each movement. */
const MOST_MOVEMENTS = 200;
const LEAST_MOVEMENTS = 20;
const MOST_LOOKUPS = 20_000;

const MOVE_CHECKPOINT = `
  UPDATE withdrawals SET checkpoint = ?, withdrawn = withdrawn + ?, kept = kept + ?, crash_count = 0,
    status = IF(?, 'done', 'running'), finished_at = IF(?, NOW(6), NULL)
  WHERE id = ? AND checkpoint = ? AND status IN ('queued', 'running')`;

/** A failed import that is withdrawn is not tried again. Index: the primary key. */
const DROP_PARTS = 'DELETE FROM import_parts WHERE import_id = ?';

/**
 * Withdraws the next part. Repeating a part after a crash is harmless: either the checkpoint has moved, or nothing has changed.
 * @throws {WithdrawalTakenOverError} when the checkpoint is not where this part begins.
 */
export const withdrawPart = (
  database: DataSource,
  matcher: Matcher,
  withdrawal: OpenWithdrawal,
): Promise<Part> =>
  inTransaction(database, async (sql) => {
    const { id, customerId, importId, statementId, checkpoint } = withdrawal;
    const locks = await lockCustomers(sql, [customerId]);
    const lock = locks.get(customerId);
    if (lock === undefined) throw new WithdrawalTakenOverError(`customer ${customerId} is being deleted`);
    if (checkpoint === '') {
      if (statementId === null) {
        await sql.query(DROP_PARTS, [importId]);
        await withdrawOwnConflicts(sql, customerId, importId);
      }
      const isWhole = await moveStatements(sql, id, withdrawal);
      await checkRowsAgain(sql, customerId);
      const next = isWhole ? JSON.stringify(BEGINNING) : '';
      await moveCheckpoint(sql, withdrawal, { next, withdrawn: 0, kept: 0 });
      return { isDone: false, wake: [], reread: [] };
    }
    const webhooks = await findLiveWebhooks(sql, customerId);
    const most = Math.min(MOST_MOVEMENTS, Math.floor(MOST_LOOKUPS / Math.max(1, webhooks.length)));
    const position = JSON.parse(checkpoint) as Position;
    const candidates = await readCandidates(sql, withdrawal, position, Math.max(LEAST_MOVEMENTS, most));
    const { gone, kept } = await decide(sql, withdrawal, candidates);
    await deleteRepeated(sql, candidates);
    const woken =
      gone.length === 0
        ? { wake: [], reread: [] }
        : await takeBack(sql, { matcher, locks, lock }, withdrawal, webhooks, gone);
    const next = candidates.next === null ? null : JSON.stringify(candidates.next);
    await moveCheckpoint(sql, withdrawal, { next, withdrawn: gone.length, kept });
    return { isDone: next === null, ...woken };
  });

/** @param to.next null: the withdrawal is done. */
async function moveCheckpoint(
  sql: Sql,
  { id, checkpoint }: OpenWithdrawal,
  { next, withdrawn, kept }: { next: string | null; withdrawn: number; kept: number },
): Promise<void> {
  const isDone = next === null;
  const values = [next ?? '', withdrawn, kept, isDone, isDone, id, checkpoint];
  const { affectedRows } = await sql.query<WriteResult>(MOVE_CHECKPOINT, values);
  if (affectedRows !== 1) throw new WithdrawalTakenOverError(`withdrawal ${id} is being worked on elsewhere`);
}

/** Index: the primary key. */
const DELETE_REPEATED = 'DELETE FROM repeated_entries WHERE (statement_id, transaction_id) IN (?)';

/** Deletes the entries of the withdrawn statements that were looked at. */
async function deleteRepeated(sql: Sql, { repeated }: Candidates): Promise<void> {
  if (repeated.length === 0) return;
  const keys = repeated.map(({ statement_id, transaction_id }) => [statement_id, transaction_id]);
  await sql.query(DELETE_REPEATED, [keys]);
}

/** Decides which candidates are taken back. */
export async function decide(
  sql: Sql,
  subject: Subject,
  { ids }: Pick<Candidates, 'ids'>,
): Promise<{ gone: string[]; kept: number }> {
  if (ids.length === 0) return { gone: [], kept: 0 };
  if ((await findUnlisted(sql, subject)) !== null) return { gone: [], kept: ids.length };
  const confirmed = await findConfirmed(sql, subject, ids);
  const gone = [...new Set(ids)].filter((id) => !confirmed.has(id));
  return { gone, kept: new Set(ids).size - gone.length };
}

/** Index of this and the following statements: the primary key. */
const READ_MOVEMENTS = 'SELECT id, account_id, dc FROM transactions WHERE id IN (?) ORDER BY id';

/**
 * Takes an id of the movements' sequence for each movement. No unique id of a movement begins with the byte FF, because that is no UTF-8.
 * Rows are deleted in the same transaction.
 */
const TAKE_IDS = `
  INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
  SELECT customer_id, account_id, import_id, CONCAT(X'FF', id), dc, 0, date_issue, ? FROM transactions WHERE id IN (?) ORDER BY id`;

const COLUMNS = `customer_id, account_id, import_id, unique_id, name, dc, code, amount, balance, description, date_issue, date_readed,
  opponent_id, opponent_iban`;

/** Index: transactions_unique_id. */
const COPY = `
  INSERT INTO withdrawn_transactions (event_id, id, ${COLUMNS}, withdrawal_id, withdrawn_at)
  SELECT p.id, t.id, ${COLUMNS.split(/,\s*/)
    .map((column) => `t.${column}`)
    .join(', ')}, ?, ?
  FROM transactions t STRAIGHT_JOIN transactions p FORCE INDEX (transactions_unique_id)
    ON p.account_id = t.account_id AND p.unique_id = CONCAT(X'FF', t.id)
  WHERE t.id IN (?)`;

const RELEASE_IDS = `
  DELETE p FROM withdrawn_transactions w STRAIGHT_JOIN transactions p ON p.id = w.event_id WHERE w.id IN (?)`;

/** Index: withdrawn_transactions_id. */
const READ_EVENTS =
  'SELECT event_id, id, account_id, dc FROM withdrawn_transactions WHERE id IN (?) ORDER BY event_id';

const SET_BALANCES = `
  UPDATE accounts a FORCE INDEX (PRIMARY) SET a.balance = ${NEWEST_BALANCE} WHERE a.id IN (?) AND a.balance IS NOT NULL`;

/** Nothing that processes have cached of the customer is read any more, and imports compare their rows again. */
const FORGET = `
  UPDATE import_locks SET removals = removals + 1, accounts_deleted = accounts_deleted + 1, last_date_readed = GREATEST(last_date_readed, ?),
    last_transaction_id = GREATEST(last_transaction_id, ?) WHERE customer_id = ?`;
/** Moves movements to `withdrawn_transactions`, ends what is pending of them, and decides their conflicts. */
async function takeBack(
  sql: Sql,
  { matcher, locks, lock }: { matcher: Matcher; locks: ReadonlyMap<string, ImportLock>; lock: ImportLock },
  { id: withdrawalId, customerId }: OpenWithdrawal,
  webhooks: readonly LiveWebhook[],
  ids: readonly string[],
): Promise<Pick<Part, 'wake' | 'reread'>> {
  const movements = await sql.query<RemovedMovement[]>(READ_MOVEMENTS, [ids]);
  const found = movements.map(({ id }) => id);
  await sql.query(TAKE_IDS, [lock.dateReaded, found]);
  await sql.query(COPY, [withdrawalId, lock.dateReaded, found]);
  await sql.query(RELEASE_IDS, [found]);
  for (let left = found; left.length > 0; ) {
    const { through } = await deleteMovements(sql, customerId, left, { keepDetails: true });
    left = left.filter((id) => BigInt(id) > BigInt(through));
  }
  const events = await sql.query<(RemovedMovement & { event_id: string })[]>(READ_EVENTS, [found]);
  const newest = events.at(-1)?.event_id ?? '0';
  if (events.length !== found.length || BigInt(events[0]?.event_id ?? 0) <= BigInt(lock.newest))
    throw new Error(`the withdrawn movements of customer ${customerId} have got no new ids`);
  await sql.query(FORGET, [lock.dateReaded, newest, customerId]);
  // The cursors are locked before the backlogs, as in every transaction.
  const reread = await endWithdrawn(sql, customerId, webhooks, movements);
  const hearing = await findHearing(sql, webhooks, movements);
  await advanceBacklogs(sql, {
    deliveries: new Map(),
    webhooks: new Map(
      hearing.map(({ webhookId, isPull, withdrawals }) => [
        webhookId,
        { customerId, isPull, movements: withdrawals },
      ]),
    ),
  });
  const handedOver = await handOverConflicts(sql, { matcher, locks }, customerId, found);
  await sql.query(SET_BALANCES, [[...new Set(movements.map(({ account_id }) => account_id))]]);
  return { wake: [...new Set([...handedOver, ...hearing.map(({ webhookId }) => webhookId)])], reread };
}
