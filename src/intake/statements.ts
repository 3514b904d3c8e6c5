import { createHash } from 'node:crypto';
import { formatAmount } from '../../packages/statements/src/amounts.ts';
import { cutTo } from '../database/text-columns.ts';
import type { Sql, WriteResult } from '../database/transaction.ts';
import type { EndedStatement, EntryStatement } from './importer/rows.ts';

/** Keeps the statements that files have brought. The same statement is kept once, however often it comes. */

/** A row of `statements`. */
export interface StatementRecord {
  id: string;
  import_id: string;
  line: number;
  kind: 'final' | 'interim';
  number: string | null;
  sequence: string | null;
  from_date: string | null;
  to_date: string | null;
  opening_balance: string | null;
  closing_balance: string | null;
  opening_balance_date: string | null;
  closing_balance_date: string | null;
  difference: string | null;
  entries: number;
  received_at: Date;
}

/** Index: statements_same. */
const ADD = `
  INSERT INTO statements (id, customer_id, account_id, import_id, line, format, kind, number, sequence, from_date, to_date,
    opening_balance, closing_balance, difference, opening_balance_date, closing_balance_date, credits, debits, entries, fingerprint) VALUES ?
  ON DUPLICATE KEY UPDATE fingerprint = VALUES(fingerprint)`;

/** Index: the primary key. */
const ACCOUNTS = 'SELECT id FROM accounts WHERE id IN (?)';

/** Index: statements_same. */
const STORED = 'SELECT id, account_id, fingerprint FROM statements WHERE (account_id, fingerprint) IN (?)';

/** Index of all: the primary key. */
const OPEN = 'SELECT open_statement_id AS id FROM imports WHERE id = ?';
const SET_OPEN = 'UPDATE imports SET open_statement_id = ? WHERE id = ?';

/** Reserves ids. MySQL does not give out an id again, even after its row is deleted. */
const RESERVE = `
  INSERT INTO statements (customer_id, account_id, import_id, line, format, kind, credits, debits, entries, fingerprint)
  VALUES (?, ?, ?, 0, '', 'interim', 0, 0, 0, UNHEX(REPLACE(UUID(), '-', '')))`;
const RELEASE = 'DELETE FROM statements WHERE id = ?';

/** Statements are checked when no more files have come for a while, because files may come in any order. */
const CHECK = `
  INSERT IGNORE INTO statement_checks (account_id, customer_id, due_at)
  SELECT id, customer_id, NOW(6) + INTERVAL 10 MINUTE FROM accounts WHERE id IN (?)
  ON DUPLICATE KEY UPDATE due_at = VALUES(due_at)`;

/** The balance is checked when the import has ended. */
const CHECK_BALANCE = `
  INSERT IGNORE INTO told_balances (account_id, customer_id, import_id)
  SELECT id, customer_id, ? FROM accounts WHERE id IN (?)
  ON DUPLICATE KEY UPDATE import_id = VALUES(import_id)`;

/**
 * From now on, rows without an id of these accounts may be entries of statements. Raises `removals`, so that the api reads the
 * accounts again before it stores movements. Indexes: the primary keys.
 */
const HAS_STATEMENTS = `
  UPDATE accounts a JOIN import_locks l ON l.customer_id = a.customer_id
  SET l.removals = l.removals + 1, a.has_statements = 1 WHERE a.id IN (?) AND a.has_statements = 0`;

const namesOf = ({ number, sequence }: EndedStatement) => [
  number === null ? null : cutTo('statements.number', number),
  sequence === null ? null : cutTo('statements.sequence', sequence),
];

/** A hash of a statement's header and sums. The same statement in another file has the same fingerprint. */
export function fingerprintOf(it: EndedStatement): Buffer {
  const { kind, from, to, opening, closing, difference, entries } = it;
  const balances = [opening, closing, difference === 0n ? null : difference].map(money);
  const sums = [it.credits, it.debits].map(money);
  const content = [kind, it.statement.format, ...namesOf(it), from, to, ...balances, ...sums, entries];
  return createHash('sha256').update(JSON.stringify(content)).digest().subarray(0, 16);
}

const money = (amount: bigint | null): string | null => (amount === null ? null : formatAmount(amount, null));

/** The statements of a chunk's entries, and the statements that end in the chunk. */
interface ChunkStatements {
  customerId: string;
  importId: string;
  /** Rows of the import that were stored before. */
  from: number;
  entries: readonly { movement: { account_id: string }; statement: EntryStatement }[];
  ended: readonly (EndedStatement & { line: number })[];
}

/**
 * Stores the statements that end in a chunk. A statement that continues in the next chunk gets its id now, for its movements.
 * @param sql the transaction of the chunk.
 * @returns the ids of the chunk's statements, and whether an account has its first statements.
 */
export async function storeStatements(
  sql: Sql,
  chunk: ChunkStatements,
): Promise<{ ids: ReadonlyMap<EntryStatement, string>; areFirst: boolean }> {
  const { customerId, importId, ended } = chunk;
  const entries = chunk.entries.filter(({ statement }) => statement.kind !== 'none');
  const ids = new Map<EntryStatement, string>();
  const first = ended[0]?.statement ?? entries[0]?.statement;
  if (first === undefined) return { ids, areFirst: false };
  const [open] = chunk.from === 0 ? [] : await sql.query<{ id: string | null }[]>(OPEN, [importId]);
  const openId = open?.id ?? null;
  if (openId !== null) ids.set(first, openId);
  const areFirst = ended.length > 0 && (await addStatements(sql, chunk, ids));

  const last = entries.at(-1);
  const goesOn = last !== undefined && ended.every(({ statement }) => statement !== last.statement);
  if (goesOn && !ids.has(last.statement)) {
    const account = last.movement.account_id;
    const { insertId } = await sql.query<WriteResult>(RESERVE, [customerId, account, importId]);
    await sql.query(RELEASE, [insertId]);
    ids.set(last.statement, String(insertId));
  }
  const nextOpenId = goesOn ? (ids.get(last.statement) ?? null) : null;
  if (nextOpenId !== openId) await sql.query(SET_OPEN, [nextOpenId, importId]);
  return { ids, areFirst };
}

/** Has the completeness and the closing balances of accounts checked, because the import has brought statements, or lost them. */
export async function checkStatementsAgain(
  sql: Sql,
  importId: string,
  accountIds: readonly string[],
): Promise<void> {
  await sql.query(CHECK, [accountIds]);
  await sql.query(CHECK_BALANCE, [importId, accountIds]);
}

/** @returns whether an account has its first statements. */
async function addStatements(
  sql: Sql,
  { customerId, importId, ended: all }: ChunkStatements,
  ids: Map<EntryStatement, string>,
): Promise<boolean> {
  // An account may just have been deleted.
  const accounts = await sql.query<{ id: string }[]>(ACCOUNTS, [all.map(({ accountId }) => accountId)]);
  const present = new Set(accounts.map(({ id }) => id));
  const ended = all.filter(({ accountId }) => present.has(accountId));
  if (ended.length === 0) return false;
  const rows = ended.map((it) => {
    const { accountId, line, kind, from, to, opening, closing, difference, entries } = it;
    const [number, sequence] = namesOf(it);
    const balances = [opening, closing, difference === 0n ? null : difference].map(money);
    const sums = [it.credits, it.debits].map(money);
    return [
      ids.get(it.statement) ?? null,
      customerId,
      accountId,
      importId,
      line,
      it.statement.format,
      kind,
      number,
      sequence,
      from,
      to,
      ...balances,
      it.openingDate,
      it.closingDate,
      ...sums,
      entries,
      fingerprintOf(it),
    ] as const;
  });
  await sql.query(ADD, [rows]);
  const accountIds = [...new Set(ended.map(({ accountId }) => accountId))];
  const { affectedRows } = await sql.query<WriteResult>(HAS_STATEMENTS, [accountIds]);
  await checkStatementsAgain(sql, importId, accountIds);
  const keys = rows.map((row) => [row[2], row.at(-1)] as const);
  const stored = await sql.query<{ id: string; account_id: string; fingerprint: Buffer }[]>(STORED, [keys]);
  const keyOf = (accountId: string, fingerprint: Buffer) => `${accountId} ${fingerprint.toString('hex')}`;
  const idOf = new Map(stored.map((it) => [keyOf(it.account_id, it.fingerprint), it.id]));
  for (const [index, [accountId, fingerprint]] of keys.entries()) {
    const id = idOf.get(keyOf(accountId, fingerprint as Buffer));
    const statement = ended[index]?.statement;
    if (id !== undefined && statement !== undefined) ids.set(statement, id);
  }
  return affectedRows > 0;
}
