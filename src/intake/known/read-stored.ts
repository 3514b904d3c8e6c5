import { hash } from 'node:crypto';
import type { Candidate, Stored, StoredStatement } from '../../../packages/reconcile/src/statement.ts';
import { append } from '../../../packages/reconcile/src/walk.ts';
import { parseThousandths } from '../../../packages/statements/src/amounts.ts';
import type { Sql } from '../../database/transaction.ts';
import type { Movement } from '../../ledger/movement.ts';
import { inParts } from '../../platform/batcher.ts';
import type { StatementRecord } from '../statements.ts';
import { parseStatementId } from './statement-id.ts';

/** Reads the stored movements and statements of the days of a file. */

/** Days from the first to the last, YYYY-MM-DD. */
export interface Days {
  from: string;
  to: string;
}

/** The stored movements and statements, with their unique ids, and the imports and rows that they came from. */
export interface ReadBooks extends Stored {
  /** The origin of each movement. */
  origins: readonly { importId: string; position: number | null; uniqueId: string; number: number }[];
}

const COLUMNS = `
  t.id, t.import_id, t.dc, t.amount, t.balance, t.date_issue, CONVERT(t.unique_id USING utf8mb4) AS unique_id, t.name, t.code, t.description,
  t.opponent_id, t.opponent_iban, d.statement_id, d.position, d.batch_reference, d.batch_amount, d.is_reversal`;
/** Index: transactions_account_date. */
const MOVEMENTS = `
  SELECT ${COLUMNS} FROM transactions t FORCE INDEX (transactions_account_date)
  LEFT JOIN transaction_details d ON d.transaction_id = t.id
  WHERE t.account_id = ? AND t.date_issue BETWEEN ? AND ?`;
/** A repeated entry may be of another day than its movement. Indexes: the primary keys. */
const MOVEMENTS_BY_ID = `
  SELECT ${COLUMNS} FROM transactions t LEFT JOIN transaction_details d ON d.transaction_id = t.id WHERE t.id IN (?)`;
/** Index: repeated_entries_day. */
const REPEATED = `
  SELECT statement_id, transaction_id, position, date_issue, balance, reference FROM repeated_entries
  WHERE account_id = ? AND date_issue BETWEEN ? AND ?`;
/** Index: the primary key. */
const STATEMENTS = `
  SELECT id, import_id, format, kind, number, sequence, from_date, to_date, opening_balance, closing_balance, difference, fingerprint
  FROM statements WHERE id IN (?)`;
const ACCOUNT = 'SELECT statement_numbers, currency FROM accounts WHERE id = ?';

/** Values of one IN. */
const IDS_AT_ONCE = 1_000;

interface MovementRow extends Omit<Movement, 'account_id' | 'unique_id'> {
  id: string;
  import_id: string;
  unique_id: string;
  statement_id: string | null;
  position: number | null;
  batch_reference: string | null;
  batch_amount: string | null;
  /** null: the movement came without a statement. */
  is_reversal: number | null;
}

interface RepeatedRow {
  statement_id: string;
  transaction_id: string;
  position: number;
  date_issue: string;
  balance: string | null;
  reference: string | null;
}

type HeaderRow = Pick<
  StatementRecord,
  | 'id'
  | 'import_id'
  | 'kind'
  | 'number'
  | 'sequence'
  | 'from_date'
  | 'to_date'
  | 'opening_balance'
  | 'closing_balance'
  | 'difference'
> & { format: string; fingerprint: Uint8Array };

const money = (text: string | null): bigint | null => (text === null ? null : parseThousandths(text));

/** The amount of a movement in thousandths, negative for a debit. */
export const signedAmount = ({ dc, amount }: Pick<Movement, 'dc' | 'amount'>): bigint =>
  dc === 'Credit' ? parseThousandths(amount) : -parseThousandths(amount);

type Texts = Pick<Movement, 'name' | 'code' | 'description' | 'opponent_id' | 'opponent_iban'>;

/** A digest of all texts of a row, because the texts of a large file would not fit into memory. */
export const textOf = ({ name, code, description, opponent_id, opponent_iban }: Texts): string =>
  hash('md5', JSON.stringify([name, code, description, opponent_id, opponent_iban]), 'base64');

/** Whether letters of a row could not be read. */
export const isBroken = ({ name, description, opponent_id }: Texts): boolean =>
  [name, description, opponent_id].some((it) => it?.includes('\uFFFD'));

/** The rows of the database about the days of a file, for one account. */
export interface StoredRows {
  movements: MovementRow[];
  repeated: RepeatedRow[];
  headers: HeaderRow[];
  /** Whether the account's statement numbers may be believed. */
  useNumbers: boolean;
  /** Of the account. */
  currency: string | null;
}

/** Reads the movements of these days and the statements that have brought them. */
export async function readStoredRows(
  sql: Sql,
  accountId: string,
  days: readonly Days[],
): Promise<StoredRows> {
  const movements: MovementRow[] = [];
  const repeated: RepeatedRow[] = [];
  for (const { from, to } of days) {
    for (const row of await sql.query<MovementRow[]>(MOVEMENTS, [accountId, from, to])) movements.push(row);
    for (const row of await sql.query<RepeatedRow[]>(REPEATED, [accountId, from, to])) repeated.push(row);
  }
  const known = new Set(movements.map(({ id }) => id));
  const others = repeated.map((it) => it.transaction_id).filter((id) => !known.has(id));
  for (const ids of inParts([...new Set(others)], IDS_AT_ONCE))
    for (const row of await sql.query<MovementRow[]>(MOVEMENTS_BY_ID, [ids])) movements.push(row);
  movements.sort((one, other) => Number(one.id) - Number(other.id));
  const statementIds = new Set([...movements, ...repeated].flatMap(({ statement_id }) => statement_id ?? []));
  const headers: HeaderRow[] = [];
  for (const ids of inParts([...statementIds], IDS_AT_ONCE))
    for (const row of await sql.query<HeaderRow[]>(STATEMENTS, [ids])) headers.push(row);
  const [account] = await sql.query<{ statement_numbers: string; currency: string }[]>(ACCOUNT, [accountId]);
  return {
    movements,
    repeated,
    headers,
    useNumbers: account?.statement_numbers !== 'ignore',
    currency: account?.currency ?? null,
  };
}

/** Makes books of stored rows. @param importId this import's own unfinished statements are left out. */
export function toBooks({ movements, repeated, headers }: StoredRows, importId: string): ReadBooks {
  const ids = movements.map((row) => parseStatementId(row.unique_id));
  const stored = movements.map(
    (row): Candidate => ({
      id: row.id,
      day: row.date_issue,
      amount: signedAmount(row),
      text: textOf(row),
    }),
  );
  const lines = movements.map((row, movement): Line => {
    const { day, amount, text } = stored[movement] as Candidate;
    const reference = ids[movement]?.reference ?? null;
    return {
      position: row.position ?? 0,
      movement,
      day,
      amount,
      balance: money(row.balance),
      reference,
      text,
      ...(isBroken(row) && { isBroken: true as const }),
      ...(row.is_reversal === 1 && { isReversal: true as const }),
      ...(row.batch_amount !== null && {
        batch: { reference: row.batch_reference, total: parseThousandths(row.batch_amount) },
      }),
    };
  });
  return {
    movements: stored,
    statements: toStatements(movements, lines, repeated, headers, importId),
    origins: movements.map((row, movement) => ({
      importId: row.import_id,
      position: row.position,
      uniqueId: row.unique_id,
      number: ids[movement]?.number ?? 0,
    })),
  };
}

type Line = StoredStatement['rows'][number] & { position: number; movement: number };

/** Makes statements of stored rows. Rows without a statement make a statement of kind `none`. */
function toStatements(
  movements: readonly MovementRow[],
  lines: readonly Line[],
  repeated: readonly RepeatedRow[],
  headers: readonly HeaderRow[],
  importId: string,
): StoredStatement[] {
  const byStatement = new Map<string | null, Line[]>();
  const byMovement = new Map<string, Line>();
  const own = new Set<string | null>();
  for (const [movement, row] of movements.entries()) {
    const line = lines[movement] as Line;
    byMovement.set(row.id, line);
    if (row.import_id === importId && row.statement_id !== null) own.add(row.statement_id);
    append(byStatement, row.statement_id, line);
  }
  for (const { statement_id, transaction_id, position, date_issue, balance, reference } of repeated) {
    const original = byMovement.get(transaction_id);
    if (original === undefined) continue;
    const { movement, amount } = original;
    // The text of a repeated entry is not kept.
    const line = {
      position,
      movement,
      day: date_issue,
      amount,
      balance: money(balance),
      reference,
      text: '',
    };
    append(byStatement, statement_id, line);
  }
  const headerOf = new Map(headers.map((it) => [it.id, it]));
  return [...byStatement]
    .filter(([id]) => !own.has(id) || headerOf.has(id ?? ''))
    .map(([id, ofStatement]) => {
      const header = headerOf.get(id ?? '');
      const rows = ofStatement.sort(
        (one, other) => one.position - other.position || one.movement - other.movement,
      );
      const isRight = header !== undefined && header.difference === null;
      return {
        id,
        kind: id === null ? ('none' as const) : (header?.kind ?? ('interim' as const)),
        format: id === null ? 'json' : (header?.format ?? ''),
        number: header?.number ?? null,
        sequence: header?.sequence ?? null,
        from: header?.from_date ?? null,
        to: header?.to_date ?? null,
        opening: isRight ? money(header.opening_balance) : null,
        closing: isRight ? money(header.closing_balance) : null,
        fingerprint: header === undefined ? null : Buffer.from(header.fingerprint).toString('hex'),
        rows,
        movements: rows.map(({ movement }) => movement),
      };
    });
}
