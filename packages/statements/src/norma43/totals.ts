import { formatAmount } from '../amounts.ts';
import { describeColumn, type FixedLine } from '../shared/fixed-columns.ts';
import { countOf } from '../shared/text.ts';
import type { Entry, MinorUnits } from '../statement.ts';
import { CLOSING, cutClosing, cutEnd, END } from './records.ts';

interface Side {
  /** Null: an amount could not be read, so the sum is not compared. */
  sum: MinorUnits | null;
  count: number;
}

/** Columns for counts have five digits. */
const MOST_COUNTED = 99_999;

/** Adds up the movements of an account, and compares them with its end (Cuaderno 43, record 33). */
export function createTotals() {
  const sides: Record<Entry['dc'], Side> = { Debit: { sum: 0n, count: 0 }, Credit: { sum: 0n, count: 0 } };
  let zeros = 0;
  let isKnown = true;

  const compareSide = (name: string, side: Side, stated: MinorUnits | null): string[] =>
    side.sum === null || stated === null || stated === side.sum
      ? []
      : [
          `The end of the account (33) has ${name} of ${formatAmount(stated, null)}, but its movements (22) add up to ${formatAmount(side.sum, null)}, a difference of ${formatAmount(stated - side.sum, null)}.`,
        ];

  return {
    /** @param dc null: it cannot be read. @param amount likewise. */
    add(dc: Entry['dc'] | null, amount: MinorUnits | null) {
      if (dc === null) {
        isKnown = false;
        return;
      }
      const side = sides[dc];
      side.sum = side.sum === null || amount === null ? null : side.sum + amount;
      // Some banks count each zero amount as a debit, whatever its sign (OCA/l10n-spain, issue 1155).
      if (amount === 0n) zeros += 1;
      else side.count += 1;
    },
    /** @returns what differs, or cannot be read, as sentences */
    compare(line: FixedLine): string[] {
      const { debits, credits, debitCount, creditCount } = cutClosing(line.text);
      const unread = Object.entries({ debitCount, debits, creditCount, credits })
        .filter(([, value]) => value === null)
        .map(([key]) => describeColumn(CLOSING, key, line));
      if (!isKnown) return unread;
      const { Debit, Credit } = sides;
      const differences = [
        ...compareSide('debits', Debit, debits),
        ...compareSide('credits', Credit, credits),
      ];
      const found = Debit.count + Credit.count + zeros;
      if (debitCount === null || creditCount === null || found > MOST_COUNTED)
        return [...unread, ...differences];
      const moreDebits = Number(debitCount) - Debit.count;
      const moreCredits = Number(creditCount) - Credit.count;
      const isRight = moreDebits >= 0 && moreCredits >= 0 && moreDebits + moreCredits <= zeros;
      if (!isRight)
        differences.push(
          `The end of the account (33) counts ${countOf(Number(debitCount), 'debit')} and ${countOf(Number(creditCount), 'credit')}, but there are ${Debit.count} and ${Credit.count}${zeros === 0 ? '' : `, and ${countOf(zeros, 'amount')} of zero`}.`,
        );
      return [...unread, ...differences];
    },
  };
}

/**
 * Compares the number of records before the end of the file with what it says (Cuaderno 43, record 88). Some banks count the end of the file
 * too (OCA/l10n-spain).
 * @returns what differs, or cannot be read; null: nothing
 */
export function compareRecords(line: FixedLine, records: number): string | null {
  const { records: stated } = cutEnd(line.text);
  if (stated === null) return `${describeColumn(END, 'records', line)} The file may be incomplete.`;
  const found = Number(stated);
  return found === records || found === records + 1
    ? null
    : `The end of the file (88) counts ${countOf(found, 'record')}, but there are ${records}.`;
}
