import type { Balance } from '../statement.ts';
import type { Fields } from './element-paths.ts';
import { isCurrency, readAmount, readDate, readDirection, show } from './field-values.ts';

/** The booked balances at both ends of a statement, and what is wrong with them. */
export interface Balances {
  /** @returns a warning, if the balance cannot be used. */
  add(fields: Fields): string | null;
  readonly opening: Balance | null;
  readonly closing: Balance | null;
  /** The currency of the balances, if there are any. */
  readonly currency: string | null;
}

/**
 * Collects the booked balances of a statement: OPBD, the opening balance, or PRCD, the closing balance before it, and CLBD, the
 * closing balance. Interim balances (ITBD) and available ones (OPAV, CLAV …) are not read. A statement of several days may have
 * some of them for each day: the earliest opening and the latest closing balance count.
 * @param accountCurrency a balance in another currency is not used.
 */
export function createBalances(accountCurrency: () => string | null): Balances {
  let opening: (Balance & { type: string }) | null = null;
  let closing: Balance | null = null;
  let currency: string | null = null;

  return {
    add(fields) {
      const { balanceType: type = '', amount: text = '', dc, date: dateText = '' } = fields;
      if (type !== 'OPBD' && type !== 'PRCD' && type !== 'CLBD') return null;
      const amount = readAmount(text);
      const direction = readDirection(dc);
      if (amount === null) return `The balance ${type} is not used: its amount is ${show(text)}.`;
      if (direction === null)
        return `The balance ${type} is not used: CdtDbtInd is ${show(dc ?? '')}; allowed are CRDT and DBIT.`;
      const expected = accountCurrency() ?? currency;
      if (fields.currency !== undefined && isCurrency(fields.currency)) {
        if (expected !== null && expected !== fields.currency)
          return `The balance ${type} is not used: it is in ${fields.currency}, the account in ${expected}.`;
        currency = fields.currency;
      }
      const date = readDate(dateText);
      const balance = { amount: direction === 'Debit' ? -amount : amount, date };
      if (type === 'CLBD') {
        if (closing === null || isNotAfter(closing.date, date)) closing = balance;
      } else if (opening === null || replaces({ ...balance, type }, opening)) opening = { ...balance, type };
      return date === null ? `The balance ${type} has no readable date: found ${show(dateText)}.` : null;
    },
    get opening() {
      return opening === null ? null : { amount: opening.amount, date: opening.date };
    },
    get closing() {
      return closing;
    },
    get currency() {
      return currency;
    },
  };
}

function replaces(
  balance: { type: string; date: string | null },
  opening: { type: string; date: string | null },
) {
  if (balance.type !== opening.type) return balance.type === 'OPBD';
  return !isNotAfter(opening.date, balance.date);
}

const isNotAfter = (one: string | null, other: string | null): boolean =>
  one === null || other === null || one <= other;
