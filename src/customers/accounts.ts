import { And, type DataSource, In, MoreThan } from 'typeorm';
import { Account } from '../database/entities.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { invalid, notFound, Problem } from '../platform/problem.ts';
import type { AccountChange } from './account-view.ts';
import { recordChange } from './audit.ts';
import { type Caller, maySee } from './caller.ts';

export interface NewAccount {
  customerId: string;
  /** One of the customer's banks by id, or a bank by name. A new name is added to the customer's banks. */
  bank: { id: string } | { name: string };
  title: string;
  currency: string;
  iban: string | null;
  /** The account number as the bank writes it. Statements without an IBAN find the account by this number. */
  number?: string | null;
  /** The type of account as OFX names it, such as SAVINGS. One number may have several. */
  type?: string | null;
  on_conflict?: 'hold' | 'store';
  late_after_days?: number | null;
  check_balances?: boolean;
  statement_numbers?: 'use' | 'ignore';
  /** Of text that is not UTF-8; null: the letters decide. */
  encoding?: string | null;
}

const DEFAULTS = {
  number: null,
  on_conflict: 'hold',
  late_after_days: null,
  check_balances: false,
  statement_numbers: 'use',
  encoding: null,
} as const;

/** @param columns fields of NewAccount. */
const INSERT = (columns: readonly string[]) => `INSERT INTO accounts (${columns.join(', ')}) VALUES (?)`;

/**
 * Creates an account.
 * @param caller who creates the account, for the audit log. Imports record nothing there.
 * @throws {Problem} 422 when the customer has no bank with that id; 409 when it has reached the limit of accounts.
 */
export async function createAccount(
  database: DataSource,
  account: NewAccount,
  caller?: Caller,
): Promise<Account> {
  const id = await inTransaction(database, (sql) => addAccount(sql, account, caller));
  return database.getRepository(Account).findOneOrFail({ where: { id }, relations: { bank: true } });
}

/** Creates an account as `createAccount` does. @param sql the transaction. @returns its id. */
export async function addAccount(
  sql: Sql,
  { customerId, bank, ...fields }: NewAccount,
  caller?: Caller,
): Promise<string> {
  await requireRoom(sql, customerId);
  const bankId =
    'id' in bank
      ? await existingBank(sql, customerId, bank.id)
      : await bankOfName(sql, customerId, bank.name);
  const columns = { customer_id: customerId, bank_id: bankId, ...DEFAULTS, ...fields };
  const { insertId } = await sql.query<WriteResult>(INSERT(Object.keys(columns)), [Object.values(columns)]);
  if (caller !== undefined)
    await recordChange(sql, caller, {
      action: 'create',
      subject: `account ${insertId}`,
      detail: `${fields.title}, ${fields.currency}`,
    });
  return String(insertId);
}

const MOST_ACCOUNTS = 100_000;

/** Index: accounts_customer. */
const COUNT = 'SELECT COUNT(*) AS number FROM accounts WHERE customer_id = ?';

/** If accounts are created at the same moment, the limit may be exceeded by a few. */
async function requireRoom(sql: Sql, customerId: string): Promise<void> {
  const [count] = await sql.query<{ number: string | number }[]>(COUNT, [customerId]);
  if (Number(count?.number) >= MOST_ACCOUNTS)
    throw new Problem(
      'account-limit-reached',
      `You have ${MOST_ACCOUNTS} accounts, which is the limit. Delete one that you no longer need.`,
    );
}

const BANK_OF_ID = 'SELECT id FROM banks WHERE id = ? AND customer_id = ?';
/** Index: banks_name. */
const BANK_OF_NAME = 'SELECT id FROM banks WHERE customer_id = ? AND name = ?';
const ADD_BANK = 'INSERT INTO banks (customer_id, name) VALUES (?, ?) ON DUPLICATE KEY UPDATE id = id';

async function existingBank(sql: Sql, customerId: string, id: string): Promise<string> {
  const [bank] = await sql.query<{ id: string }[]>(BANK_OF_ID, [id, customerId]);
  if (bank === undefined)
    throw invalid([
      { path: 'bank_id', message: 'must be the id of one of your banks, as GET /v1/banks lists them' },
    ]);
  return bank.id;
}

async function bankOfName(sql: Sql, customerId: string, name: string): Promise<string | null> {
  await sql.query(ADD_BANK, [customerId, name]);
  const [bank] = await sql.query<{ id: string }[]>(BANK_OF_NAME, [customerId, name]);
  return bank?.id ?? null;
}

/** The customer's banks. Index: the primary key. A customer has few banks. */
const BANKS = 'SELECT id, name FROM banks WHERE customer_id = ? AND id > ? ORDER BY id LIMIT ?';

export function findBanks(
  sql: Sql,
  customerId: string,
  { after, limit }: { after: string; limit: number },
): Promise<{ id: string; name: string }[]> {
  return sql.query(BANKS, [customerId, after, limit]);
}

const ACCOUNT = "SELECT 1 FROM accounts WHERE id = ? AND customer_id = ? AND status <> 'deleting'";

/** Says whether the account exists, the caller may see it, and it is not being deleted. Index: the primary key. */
export async function hasAccount(sql: Sql, caller: Caller, accountId: string): Promise<boolean> {
  if (!maySee(caller, accountId)) return false;
  return (await sql.query<unknown[]>(ACCOUNT, [accountId, caller.customerId])).length > 0;
}

/**
 * Locks all accounts of the customer that are not being deleted, so that no two of them get the same IBAN at once. Index: the foreign
 * key's.
 */
const LOCK = `
  SELECT id, currency, iban FROM accounts WHERE customer_id = ? AND status <> 'deleting' ORDER BY id FOR UPDATE`;

/** Makes the next check decide again whether a statement is late. Index: the primary key. */
const CHECK_STATEMENTS = 'UPDATE statement_checks SET due_at = NOW(6) WHERE account_id = ?';

/** Imports take this lock before they lock accounts. Index: the primary key. */
const READ_AGAIN = 'UPDATE import_locks SET removals = removals + 1 WHERE customer_id = ?';

/** Makes imports check their rows again, and read the customer's accounts again, before they store movements. @param sql a transaction. */
export const checkRowsAgain = (sql: Sql, customerId: string): Promise<unknown> =>
  sql.query(READ_AGAIN, [customerId]);

/** @param columns fields of AccountChange. */
const UPDATE = (columns: readonly string[]) =>
  `UPDATE accounts SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;

/**
 * Changes an account.
 * @throws {Problem} 404, also for an account that is being deleted. 422 when another account of the customer in the same currency has the
 * IBAN, because statements would find only one of them.
 */
export async function changeAccount(
  database: DataSource,
  caller: Caller,
  id: string,
  { bank, ...change }: AccountChange,
): Promise<Account> {
  await inTransaction(database, async (sql) => {
    if (change.check_balances !== undefined) await checkRowsAgain(sql, caller.customerId);
    const accounts = await sql.query<{ id: string; currency: string; iban: string | null }[]>(LOCK, [
      caller.customerId,
    ]);
    const account = accounts.find((it) => it.id === id);
    if (account === undefined) throw notFound('account');
    const { iban = null } = change;
    const owner =
      iban === null || iban === account.iban
        ? undefined
        : accounts.find((it) => it.iban === iban && it.currency === account.currency);
    if (owner !== undefined)
      throw invalid([{ path: 'iban', message: `is that of account ${owner.id}, in the same currency` }]);
    const columns = {
      ...change,
      ...(bank !== undefined && { bank_id: await bankOfName(sql, caller.customerId, bank) }),
    };
    await sql.query(UPDATE(Object.keys(columns)), [...Object.values(columns), id]);
    if (change.late_after_days !== undefined) await sql.query(CHECK_STATEMENTS, [id]);
    await recordChange(sql, caller, {
      action: 'change',
      subject: `account ${id}`,
      detail: [...(bank === undefined ? [] : ['bank']), ...Object.keys(change)].join(', '),
    });
  });
  return findAccount(database, caller, id);
}

/** Columns that are set already stay as they are. */
const COMPLETE_ACCOUNT = `
  UPDATE accounts SET iban = COALESCE(iban, ?), type = COALESCE(type, ?), bank_id = COALESCE(?, bank_id)
  WHERE id = ? AND customer_id = ?`;

/** What an import has learned about an account: an IBAN, a type, or the name or code of its bank. */
export type ToldColumns = Partial<{ iban: string; type: string; bank: string }>;

/** Stores what an import has learned about an account. */
export async function completeAccount(
  database: DataSource,
  { customerId, importId }: { customerId: string; importId: string },
  id: string,
  told: ToldColumns,
): Promise<void> {
  const { iban = null, type = null, bank } = told;
  await inTransaction(database, async (sql) => {
    const bankId = bank === undefined ? null : await bankOfName(sql, customerId, bank);
    await sql.query(COMPLETE_ACCOUNT, [iban, type, bankId, id, customerId]);
    await recordChange(
      sql,
      { actor: { importId }, customerId },
      {
        action: 'complete',
        subject: `account ${id}`,
        detail: Object.entries(told)
          .map(([name, value]) => `${name} ${value}`)
          .join(', '),
      },
    );
  });
}

/** Lists the accounts that the caller may see, oldest first. */
export function findAccounts(
  database: DataSource,
  { customerId, accountIds }: Caller,
  { after, limit }: { after: string; limit: number },
): Promise<Account[]> {
  const behind = MoreThan(after);
  return database.getRepository(Account).find({
    where: { customerId, id: accountIds === 'all' ? behind : And(behind, In([...accountIds])) },
    relations: { bank: true },
    order: { id: 'ASC' },
    take: limit,
  });
}

/** @throws {Problem} 404. */
export async function findAccount(database: DataSource, caller: Caller, id: string): Promise<Account> {
  const account = maySee(caller, id)
    ? await database
        .getRepository(Account)
        .findOne({ where: { id, customerId: caller.customerId }, relations: { bank: true } })
    : null;
  if (account === null) throw notFound('account');
  return account;
}
