import type { DataSource } from 'typeorm';
import { formatAmount, parseThousandths } from '../../../packages/statements/src/amounts.ts';
import { readNewestClosing } from '../../books/find-balances.ts';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { recordBalance } from '../../delivery/operational-event.ts';
import { eachAlone } from './check-accounts.ts';

/** Sends newer closing balances to BALANCE_UPDATED webhooks, each balance once. */

/** The most accounts in one pass. The others follow ten seconds later. */
const ACCOUNTS_AT_A_TIME = 10_000;

/**
 * Accounts whose statements came with an import that has ended or that retention has removed. A file may hold the statements of a
 * year, of which only the last counts. Index: told_balances_import.
 */
const FIND_DUE_BALANCES = `
  SELECT b.account_id FROM told_balances b LEFT JOIN imports i ON i.id = b.import_id
  WHERE b.import_id IS NOT NULL AND (i.id IS NULL OR i.status IN ('done', 'failed')) LIMIT ${ACCOUNTS_AT_A_TIME}`;

const LOCK_BALANCE = `
  SELECT customer_id, date, balance FROM told_balances WHERE account_id = ? AND import_id IS NOT NULL FOR UPDATE`;

/** Indexes: the primary keys, and webhooks_customer. */
const READ_TOLD_ACCOUNT = `
  SELECT a.title, a.currency, b.name AS bank, EXISTS (
    SELECT 1 FROM webhooks w WHERE w.customer_id = a.customer_id AND w.is_template = 0 AND w.status IN ('active', 'paused')
      AND w.event = 'BALANCE_UPDATED' AND (w.account_id IS NULL OR w.account_id = a.id)) AS is_awaited
  FROM accounts a JOIN banks b ON b.id = a.bank_id WHERE a.id = ?`;

const SET_TOLD_BALANCE =
  'UPDATE told_balances SET import_id = NULL, date = ?, balance = ? WHERE account_id = ?';

/** Tells newer balances, each account in its own transaction. @returns how many accounts were looked at. */
export async function tellBalances(database: DataSource): Promise<number> {
  const due = await database.query<{ account_id: string }[]>(FIND_DUE_BALANCES);
  await eachAlone(due, ({ account_id }) => inTransaction(database, (sql) => tellBalance(sql, account_id)));
  return due.length;
}

/** Does not tell a day that is older than the last told day, and tells the same balance of a day only once. */
async function tellBalance(sql: Sql, accountId: string): Promise<void> {
  const [told] = await sql.query<{ customer_id: string; date: string | null; balance: string | null }[]>(
    LOCK_BALANCE,
    [accountId],
  );
  if (told === undefined) return;
  const newest = await readNewestClosing(sql, accountId);
  const isOlder = newest === null || (told.date !== null && newest.date < told.date);
  const isKnown =
    newest?.date === told.date && told.balance !== null && newest.closing === parseThousandths(told.balance);
  if (isOlder || isKnown) {
    await sql.query(SET_TOLD_BALANCE, [told.date, told.balance, accountId]);
    return;
  }
  const [account] = await sql.query<
    { title: string; currency: string; bank: string; is_awaited: number | string }[]
  >(READ_TOLD_ACCOUNT, [accountId]);
  await sql.query(SET_TOLD_BALANCE, [newest.date, formatAmount(newest.closing, null), accountId]);
  if (account === undefined || Number(account.is_awaited) === 0) return;
  await recordBalance(sql, {
    customerId: told.customer_id,
    accountId,
    data: {
      account_id: Number(accountId),
      account: account.title,
      bank: account.bank,
      currency: account.currency,
      balance: formatAmount(newest.closing, account.currency),
      date: newest.date,
      source: newest.source,
      import_id: Number(newest.importId),
      statement_id: Number(newest.id),
    },
  });
}
