import { recordChange } from '../customers/audit.ts';
import { type Caller, maySee, visibleAccounts } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { cutPage, type Page } from '../platform/page.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { queueImports } from '../platform/queues.ts';
import { findImport } from './imports.ts';
import type { WithdrawalRow } from './withdrawal-view.ts';
import { readBounds, type Subject } from './withdrawing/candidates.ts';

/** Accepts withdrawals of imports and of statements, and finds them. The importer carries them out. */

export type { Subject };

/** Index of this and the following statements: the primary key. */
const READ_STATEMENT = `
  SELECT import_id, account_id FROM statements WHERE id = ? AND customer_id = ?
  UNION ALL SELECT import_id, account_id FROM withdrawn_statements WHERE id = ? AND customer_id = ?`;

const READ_IMPORT = 'SELECT status FROM imports WHERE id = ?';

/** Finds an import that a caller wants to withdraw. @throws {Problem} 404; 403 when it has movements of accounts that the caller cannot see. */
export async function findImportToWithdraw(sql: Sql, caller: Caller, importId: string): Promise<Subject> {
  const { id, customer_id: customerId } = await findImport(sql, caller, importId);
  const subject = { customerId, importId: id, statementId: null };
  if (await hasOtherAccounts(sql, caller, subject))
    throw new Problem(
      'limited-api-key',
      'This import has movements of accounts that this API key cannot see. Withdraw it with a key for all accounts.',
    );
  return subject;
}

/** Finds a statement that a caller wants to withdraw. @throws {Problem} 404. */
export async function findStatementToWithdraw(
  sql: Sql,
  caller: Caller,
  statementId: string,
): Promise<Subject> {
  const { customerId } = caller;
  const [found] = await sql.query<{ import_id: string; account_id: string }[]>(READ_STATEMENT, [
    statementId,
    customerId,
    statementId,
    customerId,
  ]);
  if (found === undefined || !maySee(caller, found.account_id)) throw notFound('statement');
  return { customerId, importId: found.import_id, statementId };
}

/** Indexes: transactions_customer_page, and the primary key. */
const FIND_OTHER_MOVEMENT = `
  SELECT 1 FROM transactions t FORCE INDEX (transactions_customer_page)
  WHERE t.customer_id = ? AND t.id BETWEEN ? AND ? AND t.account_id NOT IN (?) AND t.import_id = ? LIMIT 1`;
/** Index: statements_import. */
const FIND_OTHER_STATEMENT = 'SELECT 1 FROM statements WHERE import_id = ? AND account_id NOT IN (?) LIMIT 1';

async function hasOtherAccounts(sql: Sql, { accountIds }: Caller, subject: Subject): Promise<boolean> {
  if (accountIds === 'all') return false;
  const seen = [...visibleAccounts({ accountIds }), '0'];
  const { customerId, importId } = subject;
  const statement = await sql.query<unknown[]>(FIND_OTHER_STATEMENT, [importId, seen]);
  if (statement.length > 0) return true;
  const bounds = await readBounds(sql, subject);
  if (bounds === null) return false;
  const { first, last } = bounds;
  const movement = await sql.query<unknown[]>(FIND_OTHER_MOVEMENT, [customerId, first, last, seen, importId]);
  return movement.length > 0;
}

/** The statement was withdrawn before, perhaps with its import. Indexes: the primary keys, and withdrawals_subject. */
const FIND_BEFORE = `
  SELECT o.id, o.status FROM withdrawals o WHERE o.import_id = ? AND o.statement_id IN (0, ?)
  ORDER BY o.statement_id LIMIT 1`;

const ADD = `
  INSERT INTO withdrawals (customer_id, import_id, statement_id, reason) VALUES (?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)`;

/** The withdrawal goes on at its checkpoint. */
const TRY_AGAIN =
  "UPDATE withdrawals SET status = 'queued', crash_count = 0, finished_at = NULL WHERE id = ?";

/**
 * @param lock FOR UPDATE: the import stays as it is until the transaction ends.
 * @throws {Problem} 409 for an import that is queued or running.
 */
export async function requireEnded(
  sql: Sql,
  { importId }: Pick<Subject, 'importId'>,
  lock: 'FOR UPDATE' | '' = '',
): Promise<void> {
  const [found] = await sql.query<{ status: string }[]>(`${READ_IMPORT} ${lock}`, [importId]);
  const status = found?.status;
  if (status === 'queued' || status === 'running' || status === 'receiving')
    throw new Problem(
      'unfinished-import',
      `Import ${importId} is ${status}. It can be withdrawn when it is done or has failed.`,
    );
}

/**
 * Accepts a withdrawal. The same withdrawal is accepted once. One that has failed is queued again.
 * @param reason at most 200 characters.
 * @throws {Problem} 409 for an import that is queued or running.
 */
export async function withdraw(
  { database, queues, log }: Pick<Runtime, 'database' | 'queues' | 'log'>,
  caller: Caller,
  { customerId, importId, statementId }: Subject,
  reason: string,
): Promise<WithdrawalRow> {
  const id = await inTransaction(database, async (sql) => {
    await requireEnded(sql, { importId }, 'FOR UPDATE');
    const values = [importId, statementId ?? '0'];
    const [before] = await sql.query<{ id: string; status: string }[]>(FIND_BEFORE, values);
    if (before !== undefined && before.status !== 'failed') return before.id;
    const subject = statementId === null ? `import ${importId}` : `statement ${statementId}`;
    await recordChange(sql, caller, { action: 'withdraw', subject, detail: reason });
    if (before !== undefined) {
      await sql.query(TRY_AGAIN, [before.id]);
      return before.id;
    }
    const { insertId } = await sql.query<WriteResult>(ADD, [customerId, ...values, reason]);
    return String(insertId);
  });
  // Redis may be unreachable. The reconciler then queues the customer within 10 s.
  await queueImports(queues, [customerId]).catch((err: unknown) =>
    log.warn({ err, withdrawalId: id }, 'withdrawal not queued yet'),
  );
  return findWithdrawal(database, caller, id);
}

const COLUMNS =
  'id, import_id, statement_id, reason, status, withdrawn, kept, created_at, finished_at, customer_id';

/** A limited key sees the withdrawals of statements of its accounts, and of imports that it sees. */
const ONE = `SELECT ${COLUMNS} FROM withdrawals WHERE id = ? AND customer_id = ?`;
/** Index: withdrawals_page. */
const LIST = `
  SELECT ${COLUMNS} FROM withdrawals WHERE customer_id = ? AND id < ? ORDER BY id DESC LIMIT ?`;
/** Index: withdrawals_subject. */
const OF_IMPORT = `SELECT ${COLUMNS} FROM withdrawals WHERE import_id = ? AND statement_id = 0`;

/** @throws {Problem} 404 for a withdrawal that does not exist, or whose import or statement the caller cannot see. */
export async function findWithdrawal(sql: Sql, caller: Caller, id: string): Promise<WithdrawalRow> {
  const [found] = await sql.query<WithdrawalRow[]>(ONE, [id, caller.customerId]);
  if (found === undefined || !(await isVisible(sql, caller, found))) throw notFound('withdrawal');
  return found;
}

/** Lists the withdrawals of a customer that a caller with all accounts sees, the newest first. */
export async function listWithdrawals(
  sql: Sql,
  customerId: string,
  before: string,
  limit: number,
): Promise<Page<WithdrawalRow>> {
  return cutPage(await sql.query<WithdrawalRow[]>(LIST, [customerId, before, limit + 1]), limit);
}

/** The withdrawal of a whole import; null: it was not withdrawn. */
export async function findWithdrawalOf(sql: Sql, importId: string): Promise<WithdrawalRow | null> {
  return (await sql.query<WithdrawalRow[]>(OF_IMPORT, [importId]))[0] ?? null;
}

async function isVisible(
  sql: Sql,
  caller: Caller,
  { import_id, statement_id }: WithdrawalRow,
): Promise<boolean> {
  if (caller.accountIds === 'all') return true;
  try {
    if (statement_id === '0') await findImport(sql, caller, import_id);
    else await findStatementToWithdraw(sql, caller, statement_id);
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}
