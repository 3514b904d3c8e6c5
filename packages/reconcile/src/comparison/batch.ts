import { type Books, groupOf } from '../books.ts';
import type { ReceivedStatement, StatementRow } from '../statement.ts';
import { balanceBefore, isId, rowKey } from '../walk.ts';
import { type Details, findBatches } from './details.ts';
import type { Lumps } from './lumps.ts';

/**
 * A batch and its details are one booking. One file lists the batch, and another one its details. What is stored first stays: the other is
 * compared as if its file listed it in the same way.
 */

/** A statement as it is compared. */
export interface Arranged {
  statement: ReceivedStatement;
  /** For each row that the statement itself has, the positions of the rows that are compared. Rows of one batch share theirs. */
  positions: readonly (readonly number[])[];
  /** For each row that is compared, the position of the row that the statement itself has. */
  origins: readonly number[];
  /** The rows of the statement that are compared as a batch or as details. */
  rearranged: readonly number[];
}

/**
 * Lists details as one row where their batch is stored, and a batch as details where these are stored.
 * @param asTheyAre rows that are compared as the statement has them.
 * @param lumps the same, where no file calls the rows a batch.
 */
export function arrange(
  books: Books,
  statement: ReceivedStatement,
  asTheyAre: ReadonlySet<number>,
  lumps: Lumps | null,
): Arranged {
  const { rows } = statement;
  if (lumps === null && !books.hasDetails() && rows.every(({ batch }) => batch === undefined))
    return asItIs(statement);
  const joins = new Map(lumps?.joined.map((it) => [Math.min(it[0] as number, it.at(-1) as number), it]));
  const arranged: StatementRow[] = [];
  const positions: number[][] = [];
  const origins: number[] = [];
  const rearranged: number[] = [];
  const batches = new Map(findBatches(rows).map((it) => [it[0], it]));
  const search: Search = {
    books,
    format: statement.format,
    before: books.countRows(statement.fingerprint),
    used: new Set(),
  };
  for (let position = 0; position < rows.length; position += 1) {
    const add = (row: StatementRow) => {
      origins.push(position);
      return arranged.push(row) - 1;
    };
    const row = rows[position] as StatementRow;
    const isAsItIs = asTheyAre.has(position);
    const joined = isAsItIs ? undefined : joins.get(position);
    const payments = isAsItIs ? undefined : lumps?.parted.get(position);
    const ofBatch = payments === undefined ? (batches.get(position) ?? []) : [];
    const together = joined ?? ofBatch.filter((it) => !asTheyAre.has(it));
    const ofTogether = together.map((it) => rows[it] as StatementRow);
    const whole = joined === undefined ? toBatch(search, ofTogether) : joinRows(ofTogether);
    if (whole !== null) {
      const at = add(whole);
      for (const _ of together) positions.push([at]);
      rearranged.push(...together);
      position += together.length - 1;
      continue;
    }
    const isReversed = payments !== undefined && rows.length > 1 && !isAscending(rows, position);
    const ofLump = payments?.map((it) => ({ ...it, reference: null }));
    const details = ofLump ?? (row.batch !== undefined || isAsItIs ? null : toDetails(search, row));
    if (details !== null) rearranged.push(position);
    const parts = details ?? [row];
    const added = (isReversed ? parts.toReversed() : parts).map(add);
    positions.push(isReversed ? added.toReversed() : added);
  }
  return { statement: { ...statement, rows: arranged }, positions, origins, rearranged };
}

/** The payments of a lump as one row. @param payments in the order of their balances. */
function joinRows(payments: readonly StatementRow[]): StatementRow {
  const last = payments.at(-1) as StatementRow;
  const amount = payments.reduce((sum, it) => sum + it.amount, 0n);
  return { day: last.day, amount, balance: last.balance, reference: null, text: '' };
}

/** Whether the row before or after a row shows that the file lists the oldest row first. */
function isAscending(rows: readonly StatementRow[], position: number): boolean {
  const [before, row, after] = [rows[position - 1], rows[position] as StatementRow, rows[position + 1]];
  return before === undefined
    ? after !== undefined && balanceBefore(after) === row.balance
    : before.balance === balanceBefore(row);
}

const asItIs = (statement: ReceivedStatement): Arranged => {
  const origins = [...statement.rows.keys()];
  return { statement, positions: origins.map((it) => [it]), origins, rearranged: [] };
};

interface Search {
  books: Books;
  format: string;
  /** The rows of the same statement, if it is stored. It is arranged in the same way again. */
  before: Map<string, number>;
  /** Movements that other rows of the statement are compared with. */
  used: Set<number>;
}

/** Takes rows from those of the same statement before, if it has all of them. */
function takeAll(before: Map<string, number>, rows: readonly StatementRow[]): boolean {
  const keys = rows.map(rowKey);
  if (!keys.every((key) => (before.get(key) ?? 0) > 0)) return false;
  for (const key of keys) before.set(key, (before.get(key) ?? 0) - 1);
  return true;
}

/** @returns the batch of details as one row, if it may be stored as one and its details are not stored. */
function toBatch(search: Search, details: readonly StatementRow[]): StatementRow | null {
  const { books, before } = search;
  const last = details.at(-1);
  if (last?.batch === undefined) return null;
  const { reference, total } = last.batch;
  const row = { day: last.day, amount: total, balance: last.balance, reference, text: '' };
  if (takeAll(before, details)) return null;
  if (takeAll(before, [row])) return row;
  const isStored = books.ofGroup(groupOf(row)).length > 0 && findDetails(search, row) === null;
  return isStored || isOneRow(books, row) ? row : null;
}

/** @returns a batch as the details that are stored, unless it is stored as one row. */
function toDetails(search: Search, row: StatementRow): StatementRow[] | null {
  if (takeAll(search.before, [row])) return null;
  const details = findDetails(search, row);
  if (details === null || isOneRow(search.books, row)) return null;
  for (const { movement } of details.rows) search.used.add(movement);
  // Without the bank's reference of the batch, those of its details prove nothing.
  const isProved = isId(row.reference) && details.batch.reference === row.reference;
  let balance = balanceBefore(row);
  return details.rows.map(({ row: { amount, reference, text } }) => {
    if (balance !== null) balance += amount;
    return { day: row.day, amount, balance, reference: isProved ? reference : null, text };
  });
}

/** Whether a movement of the day and amount that is no detail has the reference or the balance of a row. */
const isOneRow = (books: Books, row: StatementRow): boolean =>
  [...books.equalTo(row, 'balance'), ...(isId(row.reference) ? books.equalTo(row, 'reference') : [])].some(
    (it) => it.row.batch === undefined,
  );

/**
 * Finds the details of a batch with the day and amount of a row: those with its reference first, then those with its balance. In one format,
 * another reference is that of another batch.
 */
function findDetails({ books, format, used }: Search, row: StatementRow): Details | null {
  const isFree = ({ rows }: Details) => !rows.some(({ movement }) => used.has(movement));
  const mayBe = (it: Details) =>
    it.format !== format ||
    it.batch.reference === null ||
    row.reference === null ||
    it.batch.reference === row.reference;
  for (const by of ['reference', 'balance', null] as const) {
    if (by === 'reference' && !isId(row.reference)) continue;
    const found = books.detailsOf(row, by).find((it) => mayBe(it) && isFree(it));
    if (found !== undefined) return found;
  }
  return null;
}
