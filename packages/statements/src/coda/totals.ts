import { formatAmount } from '../amounts.ts';
import { describeColumn, type FixedLine, type Values } from '../shared/fixed-columns.ts';
import { countOf } from '../shared/text.ts';
import type { MinorUnits } from '../statement.ts';
import { TRAILER } from './records.ts';

/**
 * Adds up what the trailer (9) states: the records 1, 2.1 to 2.3, 3.1 to 3.3 and 8, and the movements with the detail number 0000 (Febelfin,
 * CODA 2.6, record 9).
 */
export function createTotals() {
  let records = 0;
  /** Null: an amount could not be read, so the sums are not compared. */
  let sums: { debits: MinorUnits; credits: MinorUnits } | null = { debits: 0n, credits: 0n };

  return {
    begin() {
      records = 0;
      sums = { debits: 0n, credits: 0n };
    },
    count() {
      records += 1;
    },
    /** @param amount negative for a debit; null: it cannot be read */
    add(amount: MinorUnits | null) {
      if (amount === null) sums = null;
      else if (sums !== null && amount < 0n) sums.debits -= amount;
      else if (sums !== null) sums.credits += amount;
    },
    /** @returns what differs, as sentences */
    compare(stated: Values<typeof TRAILER>, line: FixedLine): string[] {
      const differences: string[] = [];
      if (stated.records === null) differences.push(describeColumn(TRAILER, 'records', line));
      else if (Number(stated.records) !== records)
        differences.push(
          `The trailer (9) counts ${countOf(Number(stated.records), 'record')}, but there are ${records}.`,
        );
      for (const side of ['debits', 'credits'] as const) {
        const amount = stated[side];
        if (amount === null) differences.push(describeColumn(TRAILER, side, line));
        else if (sums !== null && amount !== sums[side])
          differences.push(
            `The trailer (9) has ${side} of ${formatAmount(amount, null)}, but the movements (2.1) add up to ${formatAmount(sums[side], null)}: a difference of ${formatAmount(amount - sums[side], null)}.`,
          );
      }
      return differences;
    },
  };
}
