import type { Entry, MinorUnits } from './statement.ts';

/** The sums of a statement's booked entries. */
export interface Sums {
  credits: MinorUnits;
  debits: MinorUnits;
  /** The balance after the entries so far, counted from the opening balance; null if that is not known. */
  readonly balance: MinorUnits | null;
  add(entry: Pick<Entry, 'dc' | 'amount'>): void;
  /** By how much a closing balance differs from `balance`; null if one of the two is not known. */
  differenceTo(closing: MinorUnits | null): MinorUnits | null;
}

export function createSums(opening: MinorUnits | null): Sums {
  return {
    credits: 0n,
    debits: 0n,
    get balance() {
      return opening === null ? null : opening + this.credits - this.debits;
    },
    add({ dc, amount }) {
      if (dc === 'Credit') this.credits += amount;
      else this.debits += amount;
    },
    differenceTo(closing) {
      return closing === null || this.balance === null ? null : closing - this.balance;
    },
  };
}
