import type { Balance, Entry, MinorUnits } from './statement.ts';

/** Amounts of money: how many decimals a currency has, and how amounts are read and shown. */

const THREE = 'BHD IQD JOD KWD LYD OMR TND'.split(' ');

/**
 * Decimals of the currencies that do not have two (ISO 4217, list one). The BAI2 specification of 2005 has its own list, in which
 * the euro has no decimals in some countries. Banks follow ISO 4217. `Intl` of Node.js 20 says 0 for IQD.
 */
const OF_CURRENCIES = new Map<string, number>([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'
    .split(' ')
    .map((currency): [string, number] => [currency, 0]),
  ...THREE.map((currency): [string, number] => [currency, 3]),
  ['CLF', 4],
  ['UYW', 4],
]);

/** How many decimals a currency has. */
export const decimalsOf = (currency: string): number => OF_CURRENCIES.get(currency) ?? 2;

const WITH_THREE = new Set<string | null>(THREE);

/** Whether amounts in a currency are shown with three decimals. All others are shown with two, also those of currencies without decimals. */
export const hasThreeDecimals = (currency: string | null): boolean => WITH_THREE.has(currency);

/** The largest amount that DECIMAL(21,3) holds, in thousandths. */
export const LARGEST_AMOUNT = 10n ** 21n - 1n;

const AMOUNT = { ',': /^(\d*)(?:,(\d*))?$/, '.': /^(\d*)(?:\.(\d*))?$/ };

/** Longer texts are no amounts, and BigInt would read them slowly. */
const MOST_LENGTH = 100;

/** The digits after the decimal point that are kept. */
const DECIMALS = 3;

/** Whole numbers of up to 15 digits are exact as JavaScript numbers, which are several times as fast as BigInt. */
const EXACT_DIGITS = 15;
const ZERO = 0x30;

/**
 * Parses an amount without a sign and without thousands separators, such as "1234", "1234,5" or "1234.567".
 * @param decimalSign "," or ".". An amount may end with it, as in MT940 ("1234,").
 * @returns thousandths; null if the text is no such amount, is too large, or has a fourth fraction digit other than 0.
 */
export function parseAmount(text: string, decimalSign: ',' | '.'): MinorUnits | null {
  const thousandths = parseShortAmount(text, decimalSign);
  if (thousandths !== -1) return BigInt(thousandths);
  if (text.length > MOST_LENGTH) return null;
  const match = AMOUNT[decimalSign].exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = ''] = match;
  if (whole + fraction === '') return null;
  if (fraction.length > DECIMALS && /[^0]/.test(fraction.slice(DECIMALS))) return null;
  const amount = BigInt(whole + fraction.slice(0, DECIMALS).padEnd(DECIMALS, '0'));
  return amount > LARGEST_AMOUNT ? null : amount;
}

/**
 * Reads an amount of up to 12 characters, with at most three digits after the decimal sign, as whole thousandths. @returns -1 for any
 * other text.
 */
export function parseShortAmount(text: string, decimalSign: ',' | '.'): number {
  const { length } = text;
  if (length === 0 || length > EXACT_DIGITS - DECIMALS) return -1;
  let number = 0;
  let signAt = length;
  for (let at = 0; at < length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit >= 0 && digit <= 9) number = number * 10 + digit;
    else if (text[at] === decimalSign && signAt === length && at > 0) signAt = at;
    else return -1;
  }
  const decimals = length - signAt - 1;
  if (decimals === 2) return number * 10;
  if (decimals === 3) return number;
  if (decimals === 1) return number * 100;
  return decimals <= 0 ? number * 1_000 : -1;
}

/**
 * Formats thousandths with three fraction digits for a currency that has three, and with two for all others, also for those that have
 * none: -50n is "-0.05" in EUR and "-0.050" in KWD. Never drops a digit: 1n is "0.001" in any currency.
 * @param currency ISO 4217; null: it does not matter, and the text is the shortest, as in ids.
 */
export function formatAmount(amount: MinorUnits, currency: string | null): string {
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(DECIMALS + 1, '0');
  const point = digits.length - DECIMALS;
  const end = digits.endsWith('0') && !hasThreeDecimals(currency) ? -1 : undefined;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point, end)}`;
}

/** Reads a decimal number of at most three fraction digits other than 0, such as a text of `formatAmount` or of a DECIMAL column. */
export function parseThousandths(amount: string): MinorUnits {
  const point = amount.indexOf('.');
  if (point === -1) return BigInt(amount) * 1_000n;
  return BigInt(amount.slice(0, point) + amount.slice(point + 1, point + 1 + DECIMALS).padEnd(DECIMALS, '0'));
}

/** Formats a decimal number, such as the text of a DECIMAL(21,3) column, like `formatAmount`. */
export function showAmount(amount: string, currency: string | null): string {
  if (amount.at(-1 - DECIMALS) !== '.') return formatAmount(parseThousandths(amount), currency);
  return amount.endsWith('0') && !hasThreeDecimals(currency) ? amount.slice(0, -1) : amount;
}

/** An amount as a file has it. */
interface WrittenAmount {
  amount: MinorUnits;
  /** See `Entry`. */
  mayBeThousands?: true | undefined;
}

/**
 * Says why an amount is none of a currency: it has more decimals than the currency, not counting zeros at the end, or three digits that
 * may be thousands.
 * @param currency ISO 4217; null: it is not known, so that any decimals are right.
 * @returns null if it is one.
 */
export function findDecimalsFault(
  { amount, mayBeThousands }: WrittenAmount,
  currency: string | null,
): string | null {
  if (!mayBeThousands && amount % 10n === 0n) return null;
  if (hasThreeDecimals(currency) || (currency === null && !mayBeThousands)) return null;
  const rule =
    currency === null ? 'the currency is not known' : `amounts in ${currency} have at most two decimals`;
  return mayBeThousands
    ? `has three digits after the decimal sign, which may be thousands: ${rule}. Check the decimal sign of the profile and the currency of the account`
    : `has a third decimal other than 0: ${rule}. Check the currency of the account`;
}

export const UNFIT_BALANCE =
  'The balance after this entry has more decimals than the currency. The entry is read without it.';

/** Whether the balance after an entry is one of its currency. An entry without a balance is right. */
export const isBalanceFit = (
  { balance, mayBalanceBeThousands }: Pick<Entry, 'balance' | 'mayBalanceBeThousands'>,
  currency: string | null,
): boolean =>
  balance === null ||
  findDecimalsFault({ amount: balance, mayBeThousands: mayBalanceBeThousands }, currency) === null;

/**
 * Leaves out a balance that is none of the account's currency.
 * @param currency like that of `findDecimalsFault`.
 */
export function fitBalance(
  name: 'opening' | 'closing',
  balance: Balance | null,
  currency: string | null,
): { balance: Balance | null; warning: string | null } {
  const fault = balance === null ? null : findDecimalsFault(balance, currency);
  return fault === null
    ? { balance, warning: null }
    : { balance: null, warning: `The ${name} balance ${fault}. The statement is read without it.` };
}
