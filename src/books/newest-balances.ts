import { parseThousandths } from '../../packages/statements/src/amounts.ts';
import type { NewestBalance } from '../customers/account-view.ts';
import type { Sql } from '../database/transaction.ts';
import { readNewestClosing } from './find-balances.ts';

/** Finds the balance that accounts have now: the newest that the bank has stated, with what was booked on later days. */

/** If more movements were booked since a statement, the statement says too little about the balance now. */
const MOST_BOOKED_SINCE = 100_000;

/** The newest movement of an account, and the newest that has a balance. Indexes: the primary key, transactions_account_date and statements_time, read backwards. */
const READ_NEWEST = `
  SELECT a.id, a.balance,
    (SELECT t.date_issue FROM transactions t FORCE INDEX (transactions_account_date) WHERE t.account_id = a.id
     ORDER BY t.account_id DESC, t.date_issue DESC, t.id DESC LIMIT 1) AS last_date,
    (SELECT t.balance FROM transactions t FORCE INDEX (transactions_account_date) WHERE t.account_id = a.id
     ORDER BY t.account_id DESC, t.date_issue DESC, t.id DESC LIMIT 1) AS last_balance,
    IF(a.balance IS NULL, NULL, (
      SELECT t.date_issue FROM transactions t FORCE INDEX (transactions_account_date)
      WHERE t.account_id = a.id AND t.balance IS NOT NULL
      ORDER BY t.account_id DESC, t.date_issue DESC, t.id DESC LIMIT 1)) AS balance_date,
    EXISTS (SELECT 1 FROM statements s FORCE INDEX (statements_time) WHERE s.account_id = a.id) AS has_statements
  FROM accounts a FORCE INDEX (PRIMARY) WHERE a.id IN (?)`;

/** Index: transactions_account_date. */
const SUM_BOOKED_SINCE = `
  SELECT COUNT(*) AS movements, COALESCE(SUM(IF(t.dc = 'Credit', t.amount, -t.amount)), 0) AS sum FROM (
    SELECT dc, amount FROM transactions FORCE INDEX (transactions_account_date) WHERE account_id = ? AND date_issue > ? LIMIT ?) t`;

interface Row {
  id: string;
  balance: string | null;
  last_date: string | null;
  last_balance: string | null;
  balance_date: string | null;
  has_statements: number | string;
}

/** @returns the balance by account. */
export async function readNewestBalances(
  sql: Sql,
  accountIds: readonly string[],
): Promise<Map<string, NewestBalance>> {
  const found = new Map<string, NewestBalance>();
  if (accountIds.length === 0) return found;
  for (const row of await sql.query<Row[]>(READ_NEWEST, [accountIds])) {
    const balance = row.balance === null ? null : parseThousandths(row.balance);
    found.set(
      row.id,
      (Number(row.has_statements) === 1 ? await readStated(sql, row) : null) ?? {
        balance,
        source: 'computed',
        date: row.balance_date,
        difference: null,
      },
    );
  }
  return found;
}

/** @returns null: no statement has a closing balance, or too much was booked since. */
async function readStated(
  sql: Sql,
  { id, last_date, last_balance }: Pick<Row, 'id' | 'last_date' | 'last_balance'>,
): Promise<NewestBalance | null> {
  const newest = await readNewestClosing(sql, id);
  if (newest === null) return null;
  const since =
    last_date !== null && last_date > newest.date ? await sumBookedSince(sql, id, newest.date) : 0n;
  if (since === null) return null;
  const balance = newest.closing + since;
  const computed = last_balance === null ? balance : parseThousandths(last_balance);
  const difference = balance - computed;
  return {
    balance,
    source: 'statement',
    date: newest.date,
    difference: difference === 0n ? null : difference,
  };
}

/** @returns the sum of what was booked after a day. null: more than `MOST_BOOKED_SINCE` movements were. */
async function sumBookedSince(sql: Sql, accountId: string, date: string): Promise<bigint | null> {
  const [since] = await sql.query<{ movements: number | string; sum: string }[]>(SUM_BOOKED_SINCE, [
    accountId,
    date,
    MOST_BOOKED_SINCE + 1,
  ]);
  return since === undefined || Number(since.movements) > MOST_BOOKED_SINCE
    ? null
    : parseThousandths(since.sum);
}
