import { parseAmount } from '../../statements/src/amounts.ts';
import { calendarDate } from '../../statements/src/values.ts';
import type { ReceivedStatement, StatementRow } from './statement.ts';
import { layOut } from './walk.ts';

/**
 * Statements as plain data. The statements of @ledgerbell/statements are such statements. Amounts are decimal numbers with at most two
 * digits after the point, such as `-1234.50`. Dates are YYYY-MM-DD.
 */

type Text = string | null;

export interface Entry {
  /** The booking date. */
  date: string;
  /** Negative for a debit. */
  amount: string;
  /** A pending entry is not compared. */
  status?: 'booked' | 'pending';
  /** The balance after the entry. */
  balance?: Text;
  /** The bank's name for the entry. */
  reference?: Text;
  /** The reference is the account owner's. */
  isOwnReference?: boolean;
  /** The file calls the entry a reversal. It may be stored in the other direction. */
  isReversal?: boolean;
  /** The entry of the bank of which this is one of the details. Its amount is negative for a debit. */
  batch?: { reference: Text; amount: string } | null;
  code?: Text;
  description?: Text;
  counterpartyName?: Text;
  counterpartyIban?: Text;
  counterpartyAccount?: Text;
}

export interface Statement<E extends Entry = Entry> {
  /** The format of the file, such as `mt940` or `camt`: banks number the statements of each format on their own. */
  format: string;
  /** `interim`: a report of the day so far, or of single entries. */
  kind: 'final' | 'interim';
  /** The name of its file, if the statements come from several. */
  file?: Text;
  account?: { iban: Text; number?: Text };
  /** ISO 4217. */
  currency?: Text;
  number?: Text;
  /** The page of a statement that comes in several. */
  sequence?: Text;
  /** The first and the last day that the statement covers. */
  from?: Text;
  to?: Text;
  opening?: Balance | null;
  closing?: Balance | null;
  /** In the order of the file. */
  entries: readonly E[];
  /** Rows that could not be read. If there are some, the entries do not show the balances before and after them. */
  rejected?: readonly unknown[];
}

export interface Balance {
  amount: string;
  date?: Text;
}

/** A statement as it is compared. */
export interface PreparedStatement {
  received: ReceivedStatement;
  /** The position of each row among the entries of the statement. */
  positions: readonly number[];
  credits: bigint;
  debits: bigint;
  /** By how much the rows miss the closing balance; null: they match, or a balance is missing. */
  difference: bigint | null;
  /** The balances that it names, or that those of its rows show. */
  opening: bigint | null;
  closing: bigint | null;
}

/**
 * Prepares statements of one account.
 * @param name of the list, for errors.
 * @param first a statement of the same account.
 * @throws {TypeError} that names the first wrong value, or two statements that are not about one account.
 */
export function prepare(
  statements: readonly Statement[],
  name: string,
  first: Statement | undefined = statements[0],
): PreparedStatement[] {
  if (!Array.isArray(statements)) throw new TypeError(`${name} must be a list of statements.`);
  return statements.map((statement, index) => prepareStatement(statement, `${name}[${index}]`, first));
}

/** The currency of the statements of one account; null: none says. */
export const currencyOf = (statements: readonly Statement[]): string | null =>
  statements.find(({ currency }) => currency != null)?.currency ?? null;

/** @throws {TypeError} when two statements say that they are about two accounts. */
function checkAccount(statement: Statement, path: string, first: Statement): void {
  const haveIban = first.account?.iban != null || statement.account?.iban != null;
  // Each format writes the number of an account in its own way.
  const areNumbersAlike = !haveIban && first.format === statement.format;
  const claims = [
    ['account', first.account?.iban, statement.account?.iban],
    ['account', ...(areNumbersAlike ? [first.account?.number, statement.account?.number] : [])],
    ['currency', first.currency, statement.currency],
  ];
  for (const [what, one, other] of claims) {
    if (one != null && other != null && one !== other)
      throw new TypeError(
        `${path} has the ${what} ${other}, and another statement has ${one}: pass the statements of one account.`,
      );
  }
}

/** @throws {TypeError} when a value is not one of those that are allowed. */
function checkChoice(value: unknown, path: string, allowed: readonly unknown[]): void {
  if (allowed.includes(value)) return;
  const list = allowed.filter((it) => it !== undefined).map((it) => JSON.stringify(it));
  throw new TypeError(`${path} is ${JSON.stringify(value) ?? 'missing'}: ${list.join(' or ')} is allowed.`);
}

/** Prepares a statement. @param first another statement of the same account. @throws {TypeError} like `prepare`. */
export function prepareStatement(
  statement: Statement,
  path: string,
  first: Statement = statement,
): PreparedStatement {
  if (!Array.isArray(statement?.entries)) throw new TypeError(`${path}.entries must be a list of entries.`);
  if (typeof statement.format !== 'string')
    throw new TypeError(`${path}.format is missing: the name of the format of its file, such as "mt940".`);
  checkChoice(statement.kind, `${path}.kind`, ['final', 'interim']);
  checkAccount(statement, path, first);
  const opening = readBalance(statement.opening, `${path}.opening`);
  const closing = readBalance(statement.closing, `${path}.closing`);
  readDate(statement.opening?.date, `${path}.opening.date`);
  let balance = opening;
  let [credits, debits] = [0n, 0n];
  const rows: StatementRow[] = [];
  const positions: number[] = [];
  for (const [position, entry] of statement.entries.entries()) {
    checkChoice(entry.status, `${path}.entries[${position}].status`, ['booked', 'pending', undefined]);
    if (entry.status === 'pending') continue;
    const row = toRow(entry, `${path}.entries[${position}]`);
    if (row.amount < 0n) debits -= row.amount;
    else credits += row.amount;
    if (balance !== null) balance += row.amount;
    rows.push({ ...row, balance: row.balance ?? balance });
    positions.push(position);
  }
  const missed = closing === null || balance === null ? 0n : closing - balance;
  const days = rows.map(({ day }) => day).toSorted();
  const closingDay = readDate(statement.closing?.date, `${path}.closing.date`);
  const from = earliest(readDate(statement.from, `${path}.from`), days[0] ?? null) ?? closingDay;
  const to = latest(readDate(statement.to, `${path}.to`) ?? closingDay, days.at(-1) ?? null);
  const { kind, format, number = null, sequence = null, file = null } = statement;
  const header = { kind, format, number, sequence, from, to };
  const content = [header, opening, closing, missed, credits, debits, rows.length];
  const fingerprint = JSON.stringify(content, (_, it) => (typeof it === 'bigint' ? `${it}` : it));
  // The balances of all rows show the balances before and after them, if they link.
  const { walk, opening: before, closing: after } = layOut({ ...header, opening, closing, rows }, null);
  const isLinked = walk.length === rows.length && (statement.rejected ?? []).length === 0;
  const ends = {
    opening: opening ?? (isLinked ? before : null),
    closing: closing ?? (isLinked ? after : null),
  };
  const isRight = missed === 0n;
  const known = isRight ? ends : { opening: null, closing: null };
  const received = { ...header, ...known, rows, file, fingerprint };
  return {
    received,
    positions,
    credits,
    debits,
    difference: isRight ? null : missed,
    ...ends,
  };
}

/** The most characters of a reference that are compared. */
const REFERENCE_LENGTH = 128;

const readReference = (reference: Text | undefined): Text =>
  (reference ?? '').trim().slice(0, REFERENCE_LENGTH) || null;

function toRow(entry: Entry, path: string): StatementRow {
  const { code, description, counterpartyName, counterpartyIban, counterpartyAccount } = entry;
  const texts = [counterpartyName, code, description, counterpartyAccount, counterpartyIban];
  const day = readDate(entry.date, `${path}.date`);
  if (day === null) throw new TypeError(`${path}.date is missing.`);
  return {
    day,
    amount: readAmount(entry.amount, `${path}.amount`),
    balance: entry.balance == null ? null : readAmount(entry.balance, `${path}.balance`),
    reference: readReference(entry.reference),
    text: JSON.stringify(texts.map((it) => it ?? null)),
    ...(entry.isOwnReference === true && { isOwnReference: true as const }),
    ...(entry.isReversal === true && { isReversal: true as const }),
    ...(entry.batch != null && {
      batch: {
        reference: readReference(entry.batch.reference),
        total: readAmount(entry.batch.amount, `${path}.batch.amount`),
      },
    }),
  };
}

const readBalance = (balance: Balance | null | undefined, path: string): bigint | null =>
  balance == null ? null : readAmount(balance.amount, `${path}.amount`);

function readAmount(text: string, path: string): bigint {
  const isDecimal = typeof text === 'string' && /^-?\d+(\.\d{1,3})?$/.test(text);
  const amount = isDecimal ? parseAmount(text.replace(/^-/, ''), '.') : null;
  if (amount === null)
    throw new TypeError(
      `${path} is ${JSON.stringify(text)}: a text with up to 18 digits, and at most three after the point, is allowed, such as "-1234.50".`,
    );
  return text.startsWith('-') ? -amount : amount;
}

function readDate(text: Text | undefined, path: string): Text {
  if (text == null) return null;
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.slice(1).map(Number);
  const date = parts === undefined ? null : calendarDate(...(parts as [number, number, number]));
  if (date === null)
    throw new TypeError(`${path} is ${JSON.stringify(text)}: a date of the calendar is allowed, YYYY-MM-DD.`);
  return date;
}

const earliest = (one: Text, other: Text): Text =>
  one === null || (other !== null && other < one) ? other : one;
const latest = (one: Text, other: Text): Text =>
  one === null || (other !== null && other > one) ? other : one;
