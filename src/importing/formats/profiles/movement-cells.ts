import type { Entry, MinorUnits } from '../statement.ts';
import { createAmountReader } from './amounts.ts';
import { findColumn, foldHeading } from './headings.ts';
import type { Profile } from './profile.ts';
import { type Cell, cellAt, quote, textOf } from './row.ts';

export type Movement = Pick<Entry, 'dc' | 'amount'>;

/** What is wrong with a row. */
export interface Fault {
  path: string;
  message: string;
}

/** Creates a reader of the direction and the amount of a row. */
export function createMovementReader(
  profile: Profile,
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
    return positive === 'credit' ? amount : -amount;
  };

  const readIndicated = (row: readonly Cell[]): MinorUnits | Fault => {
    const amount = readAmount(row[at.amount]);
    if (amount === null) return notAnAmount('amount', row[at.amount]);
    const indicator = row[at.indicator];
    const text = foldHeading(textOf(indicator));
    const size = amount < 0n ? -amount : amount;
    if (debitTexts.has(text)) return -size;
    if (!creditTexts.has(text)) {
      const allowed = [...(columns.indicator?.debit ?? []), ...(columns.indicator?.credit ?? [])];
      return { path: 'indicator', message: `${quote(indicator)} is not one of ${allowed.join(', ')}` };
    }
    // A bank that writes both a sign and an indicator means the same by them.
    return amount < 0n
      ? {
          path: 'amount',
          message: `${quote(row[at.amount])} is negative, but ${quote(indicator)} is a credit`,
        }
      : amount;
  };

  const readPair = (row: readonly Cell[]): MinorUnits | Fault => {
    const [debitCell, creditCell] = [row[at.debit], row[at.credit]];
    const debit = textOf(debitCell) === '' ? null : readAmount(debitCell);
    const credit = textOf(creditCell) === '' ? null : readAmount(creditCell);
    if (debit === null && textOf(debitCell) !== '') return notAnAmount('debit', debitCell);
    if (credit === null && textOf(creditCell) !== '') return notAnAmount('credit', creditCell);
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
    const fee = textOf(feeCell) === '' ? 0n : readAmount(feeCell);
    if (fee === null) return notAnAmount('fee', feeCell);
    const net = fee === 0n ? signed : signed - fee;
    return { dc: net < 0n ? 'Debit' : 'Credit', amount: net < 0n ? -net : net };
  };
}
