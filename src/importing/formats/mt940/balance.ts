import { quote } from '../quote.ts';
import type { Balance } from '../statement.ts';
import { ALLOWED_AMOUNT, readAmount } from './amount.ts';
import { readDate } from './dates.ts';

/** C or D, the date, the currency, the amount. An envelope may end on the same line. */
const BALANCE = /^([CD])(\d{6})([A-Z]{3})?\s*([\d.,]+)\s*(?:-.*)?$/s;

export interface ReadBalance {
  balance: Balance | null;
  /** ISO 4217; null if it is missing. */
  currency: string | null;
  /** What is wrong with it. */
  warning: string | null;
}

/**
 * Reads :60F:, :60M:, :62F: or :62M:.
 * @param name for the warning, such as ":62F:"
 */
export function readBalance(text: string, name: string): ReadBalance {
  const [, sign, day = '', currency = null, amountText = ''] = BALANCE.exec(text.trim()) ?? [];
  const amount = readAmount(amountText);
  if (sign === undefined || amount === null) {
    const allowed = 'C or D, YYMMDD, a currency and an amount such as 1234,56 are allowed';
    return {
      balance: null,
      currency: null,
      warning: `${name} is ${quote(text)}: ${sign ? ALLOWED_AMOUNT : allowed}`,
    };
  }
  const date = readDate(day);
  return {
    balance: { amount: sign === 'D' ? -amount : amount, date: date?.date ?? null },
    currency,
    warning: date?.exact
      ? null
      : `${name} has the date ${quote(day)}, which does not exist: a date of the calendar, YYMMDD, is allowed`,
  };
}
