import type { Sql } from '../../database/transaction.ts';
import { checkStatementsAgain } from '../statements.ts';
import type { Subject } from './candidates.ts';

/** Moves the statements of a withdrawal to `withdrawn_statements`, so that nothing is compared with them any more. */

const COLUMNS = `id, customer_id, account_id, import_id, line, format, kind, number, sequence, from_date, to_date, opening_balance,
  closing_balance, opening_balance_date, closing_balance_date, difference, credits, debits, entries, received_at`;

/** The most statements that are moved in one part. */
const MOST = 500;

/** Indexes: the primary key, and statements_import. */
const READ = (column: 'id' | 'import_id') =>
  `SELECT id, account_id FROM statements WHERE ${column} = ? ORDER BY id LIMIT ${MOST}`;

/** Index of this and the following statements: the primary key. */
const COPY = `
  INSERT INTO withdrawn_statements (${COLUMNS}, withdrawal_id) SELECT ${COLUMNS}, ? FROM statements WHERE id IN (?)`;

/** The balance that was told last is one of a withdrawn statement, so the one before it is told again. */
const FORGET_TOLD = `
  UPDATE told_balances b JOIN statements s ON s.account_id = b.account_id
  SET b.date = NULL, b.balance = NULL
  WHERE s.id IN (?) AND b.date = COALESCE(s.closing_balance_date, s.to_date) AND b.balance = s.closing_balance`;

const DELETE = 'DELETE FROM statements WHERE id IN (?)';

/**
 * Moves some of the statements.
 * @param sql a transaction that holds the customer's import lock.
 * @returns whether all are moved.
 */
export async function moveStatements(
  sql: Sql,
  withdrawalId: string,
  { importId, statementId }: Subject,
): Promise<boolean> {
  const found = await sql.query<{ id: string; account_id: string }[]>(
    READ(statementId === null ? 'import_id' : 'id'),
    [statementId ?? importId],
  );
  if (found.length === 0) return true;
  const ids = found.map(({ id }) => id);
  await sql.query(COPY, [withdrawalId, ids]);
  await sql.query(FORGET_TOLD, [ids]);
  await sql.query(DELETE, [ids]);
  await checkStatementsAgain(sql, importId, [...new Set(found.map(({ account_id }) => account_id))]);
  return found.length < MOST;
}
