import { ibanLength } from '../iban-registry.ts';
import type { CellReference, Label, Layout } from '../profile.ts';
import type { AccountReference, Balance, Entry, MinorUnits } from '../statement.ts';
import { findColumn, foldHeading } from './headings.ts';
import { type Cell, cellAt, quote, textOf } from './row.ts';
import {
  createAmountReader,
  createDateReader,
  createThousandsTest,
  hasDirection,
  hasNoAmount,
} from './values.ts';

/** Two letters, two check digits and up to 30 characters (ISO 13616), perhaps in groups of four. */
const IBAN = /(?<![A-Z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Z0-9])/i;

const NO_ACCOUNT = { iban: null, number: null };

/** Tells an IBAN from another account number by its form. Quotation marks, which some banks leave in their files, are removed. */
export function splitAccount(cell: Cell | undefined): { iban: string | null; number: string | null } {
  const whole = textOf(cell);
  const text = whole === '' ? '' : whole.replaceAll(/^['"\s]+|(?<!['"\s])['"\s]+$/g, '');
  if (text === '') return NO_ACCOUNT;
  const [iban] = IBAN.exec(text) ?? [];
  if (iban !== undefined) {
    const whole = iban.replaceAll(' ', '').toUpperCase();
    // A word or a currency may follow.
    return { iban: whole.slice(0, ibanLength(whole.slice(0, 2))), number: null };
  }
  return { iban: null, number: text };
}

/** The currency as ISO 4217; null if the cell is empty; undefined if it is no currency. */
export function readCurrency(cell: Cell | undefined): string | null | undefined {
  const text = textOf(cell).toUpperCase();
  if (text === '') return null;
  // Turkish banks write TL for TRY.
  if (text === 'TL') return 'TRY';
  return /^[A-Z]{3}$/.test(text) ? text : undefined;
}

/**
 * Creates a reader of the account that a profile's `account` describes.
 * @param above the rows above the table.
 * @param heading null if the table has none.
 * @returns the account to which a row belongs.
 */
export function createAccountReader(
  { account, bank }: Layout,
  above: readonly (readonly Cell[])[],
  heading: readonly Cell[] | null,
): (row: readonly Cell[]) => AccountReference {
  const locate = (place: CellReference | undefined): ((row: readonly Cell[]) => Cell | undefined) => {
    if (place === undefined) return () => undefined;
    if ('value' in place) return () => place.value;
    if ('column' in place) {
      const at = findColumn(place.column, heading);
      return (row) => row[at];
    }
    const [value] = above.flatMap((cells) => besideLabel(cells, place)?.find((cell) => cell !== '') ?? []);
    return () => value;
  };
  const number = locate(account.number);
  const currency = locate(account.currency);
  const read = (row: readonly Cell[]) => ({
    ...splitAccount(number(row)),
    currency: readCurrency(currency(row)) ?? null,
    bank,
  });
  const isFixed = [account.number, account.currency].every(
    (place) => place === undefined || !('column' in place),
  );
  const fixed = isFixed ? read([]) : null;
  return (row) => fixed ?? read(row);
}

/** Whether the rows of one table can belong to several accounts. */
export const hasAccountColumn = ({ account: { number } }: Layout): boolean =>
  number !== undefined && 'column' in number;

/** Whether the rows of one account can have several currencies, of which each is an account. */
export const hasCurrencyColumn = ({ account: { currency } }: Layout): boolean =>
  currency !== undefined && 'column' in currency;

/**
 * Creates a reader of the rows with the opening and the closing balance.
 * @returns the balance; null if the row has no such label; undefined if it has the label but no amount.
 */
export function createBalanceReader(profile: Layout) {
  const readAmount = createAmountReader({ ...profile, currencyTexts: profile.currencyTexts ?? [] });
  const mayBeThousands = createThousandsTest(profile);
  const readDate = createDateReader(profile.dateFormats, profile.country);
  /** The amount stands in a cell behind that of the label, or in the same cell. A date is none. */
  const findAmount = ([first, ...behind]: readonly Cell[]): number => {
    const at = behind.findIndex((cell) => readAmount(cell) !== null && readDate(cell) === null);
    return at === -1 && readAmount(first) !== null ? 0 : at + 1;
  };
  return (row: readonly Cell[], label: Label | undefined): Balance | null | undefined => {
    const beside = label === undefined ? null : besideLabel(row, label);
    if (beside === null) return null;
    const at = findAmount(beside);
    const date = beside
      .map((cell) => readDate(typeof cell === 'string' ? cell.replace(/:$/, '') : cell))
      .find((value) => value !== null);
    const size = readAmount(beside[at]);
    if (size === null) return undefined;
    const amount = size > 0n && /^d[rb]?\.?$/i.test(textOf(beside[at + 1])) ? -size : size;
    return { amount, date: date ?? null, ...(mayBeThousands(beside[at]) && { mayBeThousands: true }) };
  };
}

/** The value after a label: the rest of its cell and the cells after it; null if the row does not have the label. */
function besideLabel(cells: readonly Cell[], { label }: Label): Cell[] | null {
  const labels = typeof label === 'string' ? [label] : label;
  for (const [at, cell] of cells.entries()) {
    if (typeof cell !== 'string') continue;
    const text = cell.trim();
    const found = labels.find((name) => hasLabel(text, name.replace(/:$/, '')));
    if (found === undefined) continue;
    const rest = text
      .slice(found.replace(/:$/, '').length)
      .replace(/^[\s:]+/, '')
      .trim();
    return [rest, ...cells.slice(at + 1).map((other) => (typeof other === 'string' ? other.trim() : other))];
  }
  return null;
}

const hasLabel = (text: string, label: string): boolean =>
  foldHeading(text.slice(0, label.length)) === foldHeading(label) &&
  /^(?:[\s:]|$)/.test(text.slice(label.length));

export type Movement = Pick<Entry, 'dc' | 'amount' | 'mayBeThousands'>;

/** The error of a row. */
export interface Fault {
  path: string;
  message: string;
}

/** Creates a reader of the direction and the amount of a row. */
export function createMovementReader(
  profile: Layout,
  heading: readonly Cell[] | null,
): (row: readonly Cell[]) => Movement | Fault {
  const { columns, positive, negativeDebits } = profile;
  const readAmount = createAmountReader({ ...profile, currencyTexts: profile.currencyTexts ?? [] });
  const at = {
    amount: findColumn(columns.amount, heading),
    debit: findColumn(columns.debit, heading),
    credit: findColumn(columns.credit, heading),
    fee: findColumn(columns.fee, heading),
    indicator: findColumn(columns.indicator?.column, heading),
  };
  const mayBeThousands = createThousandsTest(profile);
  const hasThousands = (row: readonly Cell[]) =>
    mayBeThousands(row[at.amount]) ||
    mayBeThousands(row[at.debit]) ||
    mayBeThousands(row[at.credit]) ||
    mayBeThousands(row[at.fee]);
  const debitTexts = new Set(columns.indicator?.debit.map(foldHeading));
  const creditTexts = new Set(columns.indicator?.credit.map(foldHeading));

  const notAnAmount = (path: string, cell: Cell | undefined): Fault => ({
    path,
    message: `${quote(cell)} is not an amount. Allowed: digits, "${profile.decimalSign}" before the cents, a sign`,
  });

  /** A signed amount of the account: negative for a debit. */
  const readSigned = (row: readonly Cell[]): MinorUnits | Fault => {
    const amount = readAmount(row[at.amount]);
    if (amount === null) return notAnAmount('amount', row[at.amount]);
    return positive === 'credit' || hasDirection(row[at.amount]) ? amount : -amount;
  };

  const readIndicated = (row: readonly Cell[]): MinorUnits | Fault => {
    const amount = readAmount(row[at.amount]);
    if (amount === null) return notAnAmount('amount', row[at.amount]);
    const indicator = row[at.indicator];
    const text = foldHeading(textOf(indicator));
    const size = amount < 0n ? -amount : amount;
    if (debitTexts.has(text) && !(amount > 0n && hasDirection(row[at.amount]))) return -size;
    if (!creditTexts.has(text) && !debitTexts.has(text)) {
      const allowed = [...(columns.indicator?.debit ?? []), ...(columns.indicator?.credit ?? [])];
      return { path: 'indicator', message: `${quote(indicator)} is not one of ${allowed.join(', ')}` };
    }
    // If a bank writes both a sign and an indicator, they mean the same.
    const isCredit = creditTexts.has(text);
    if (isCredit && amount >= 0n) return amount;
    const [one, other] = isCredit ? ['negative', 'credit'] : ['a credit', 'debit'];
    return {
      path: 'amount',
      message: `${quote(row[at.amount])} is ${one}, but ${quote(indicator)} is a ${other}`,
    };
  };

  /** "Dr" in the column of debits says the same again, and "Cr" contradicts it. */
  const readDebit = (cell: Cell | undefined): MinorUnits | null => {
    const amount = readAmount(cell);
    if (amount === null || !hasDirection(cell)) return amount;
    if (amount > 0n) return null;
    return negativeDebits ? amount : -amount;
  };

  const readPair = (row: readonly Cell[]): MinorUnits | Fault => {
    const [debitCell, creditCell] = [row[at.debit], row[at.credit]];
    const debit = hasNoAmount(debitCell) ? null : readDebit(debitCell);
    const credit = hasNoAmount(creditCell) ? null : readAmount(creditCell);
    if (debit === null && !hasNoAmount(debitCell)) return notAnAmount('debit', debitCell);
    if (credit === null && !hasNoAmount(creditCell)) return notAnAmount('credit', creditCell);
    if (debit === null && credit === null)
      return { path: 'amount', message: 'neither a debit nor a credit: one of the two must have an amount' };
    if (debit !== null && debit !== 0n && credit !== null && credit !== 0n)
      return { path: 'amount', message: 'both a debit and a credit: one of the two must be empty or zero' };
    if (credit !== null && credit < 0n)
      return { path: 'credit', message: `${quote(creditCell)} is negative: a credit must not be` };
    if (debit !== null && (negativeDebits ? debit > 0n : debit < 0n))
      return {
        path: 'debit',
        message: `${quote(debitCell)} is ${negativeDebits ? 'positive' : 'negative'}: the debits of this profile must not be`,
      };
    return (credit ?? 0n) - (negativeDebits ? -(debit ?? 0n) : (debit ?? 0n));
  };

  const read = at.debit !== -1 ? readPair : at.indicator !== -1 ? readIndicated : readSigned;
  return (row) => {
    const signed = read(row);
    if (typeof signed !== 'bigint') return signed;
    const feeCell = cellAt(row, at.fee);
    const feeAmount = hasNoAmount(feeCell) ? 0n : readAmount(feeCell);
    if (feeAmount === null) return notAnAmount('fee', feeCell);
    const fee = hasDirection(feeCell) ? -feeAmount : feeAmount;
    const net = fee === 0n ? signed : signed - fee;
    const movement: Movement = { dc: net < 0n ? 'Debit' : 'Credit', amount: net < 0n ? -net : net };
    if (hasThousands(row)) movement.mayBeThousands = true;
    return movement;
  };
}
