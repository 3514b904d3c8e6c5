import { type BenchDay, type BenchEntry, closingOf, type FileAccount, short } from './statement-entries.ts';

/** Renders the days of an account in the formats of fixed columns: CODA, CFONB 120 and Norma 43. */

const dayFirst = (date: string): string => short(date).replace(/(..)(..)(..)/, '$3$2$1');
/** A sign, and 15 digits with three decimals. */
const thousandths = (amount: string): string =>
  (amount.startsWith('-') ? '1' : '0') + `${amount.replace(/[-.]/g, '')}0`.padStart(15, '0');

/** The records 2.1 to 2.3 of a movement. */
const codaEntry = (entry: BenchEntry, at: number): string => {
  const { date, isCredit, amount, reference, text, name, iban } = entry;
  const number = `${String((at + 1) % 10_000).padStart(4, '0')}0000`;
  const day = dayFirst(date);
  const first = `21${number}${reference.padEnd(21)}${thousandths(`${isCredit ? '' : '-'}${amount}`)}${day}00150000`;
  const more = `22${number}${text.slice(53, 106).padEnd(115)}1 0`;
  const party = `23${number}${iban.padEnd(37)}${name.slice(0, 35).padEnd(78)}0 0`;
  return `${first}0${text.slice(0, 53).padEnd(53)}${day}00001 0\r\n${more}\r\n${party}\r\n`;
};

/** A file of one day, with its sums. */
export const codaDay = (day: BenchDay, { iban, currency }: FileAccount): string => {
  const account = `${iban.padEnd(34)}${currency}`;
  const date = dayFirst(day.date);
  const total = (isCredit: boolean) => `${sumOf(amountsOf(day, isCredit))}0`.padStart(15, '0');
  const records = String(3 * day.entries.length + 2).padStart(6, '0');
  return [
    `00000${date}00105${' '.repeat(44)}GARANTRI   ${' '.repeat(56)}2`,
    `13000${account}${thousandths(day.opening)}${date}${' '.repeat(61)}000`,
    `${day.entries.map(codaEntry).join('')}8000${account}${thousandths(closingOf(day))}${date}${' '.repeat(64)}0`,
    `9${' '.repeat(15)}${records}${total(false)}${total(true)}${' '.repeat(75)}2\r\n`,
  ].join('\r\n');
};

/** The last character of an amount is its last digit and its sign. */
const overpunched = (amount: string): string => {
  const isNegative = amount.startsWith('-');
  const digits = amount.replace(/[-.]/g, '').padStart(14, '0');
  return digits.slice(0, -1) + (isNegative ? '}JKLMNOPQR' : '{ABCDEFGHI')[Number(digits.at(-1))];
};

/** A statement of one day. Bank, counter and account number are cut from the IBAN, as in one of France. */
export function cfonbDay(day: BenchDay, { iban, currency }: FileAccount): string {
  const [bank, counter, account] = [iban.slice(4, 9), iban.slice(9, 14), iban.slice(14, 25).padEnd(11, '0')];
  const record = (type: string, date: string, rest: string, code = '', internalCode = '') => {
    const before = `${type}${bank}${internalCode.padEnd(4)}${counter}${currency}2 ${account}${code.padEnd(2)}${date}`;
    return `${(before + rest).padEnd(120)}\r\n`;
  };
  const balance = (type: string, amount: string) =>
    record(type, dayFirst(day.date), ' '.repeat(50) + overpunched(amount));
  const entryOf = ({ date, isCredit, amount, reference, text, name, iban: other }: BenchEntry) => {
    const booked = dayFirst(date);
    const detail = (qualifier: string, value: string) =>
      record('05', booked, `${' '.repeat(5)}${qualifier}${value}`, '18', 'B2A');
    const signed = overpunched(isCredit ? amount : `-${amount}`);
    const middle = `  ${booked}${text.slice(0, 31).padEnd(31)}${' '.repeat(11)}${signed}${reference}`;
    return (
      record('04', booked, middle, '18', 'B2A') +
      detail(isCredit ? 'NPY' : 'NBE', name) +
      detail(isCredit ? 'IPY' : 'IBE', other) +
      detail('LCC', text)
    );
  };
  return balance('01', day.opening) + day.entries.map(entryOf).join('') + balance('07', closingOf(day));
}

/** Of ISO 4217. */
const CURRENCY_NUMBERS: Record<string, string> = { EUR: '978', TRY: '949' };

/** 14 digits with two decimals. */
const hundredths = (amount: string): string => amount.replace(/[-.]/g, '').padStart(14, '0');

/** Norma 43: an account for each day, and a last record with the number of records. Bank, office and number are cut from the IBAN, as in one of Spain. */
export function norma43({ iban, currency }: FileAccount) {
  const account = `${iban.slice(4, 12)}${iban.slice(14, 24)}`;
  const number = CURRENCY_NUMBERS[currency];
  const balance = (amount: string) => `${amount.startsWith('-') ? 1 : 2}${hundredths(amount)}${number}`;
  let records = 0;
  return {
    day(day: BenchDay): string {
      const date = short(day.date);
      const entryOf = ({ isCredit, amount, reference, text, name }: BenchEntry) => [
        `22    ${iban.slice(8, 12)}${date}${date}02${isCredit ? '012' : '017'}${isCredit ? 2 : 1}${hundredths(amount)}${'0'.repeat(10)}${reference.slice(1).padStart(12, '0')}${' '.repeat(16)}`,
        `2301${name.padEnd(38)}${text.slice(0, 38).padEnd(38)}`,
        `2302${text.slice(38, 114).padEnd(76)}`,
      ];
      const totalOf = (isCredit: boolean) => {
        const amounts = amountsOf(day, isCredit);
        return String(amounts.length).padStart(5, '0') + sumOf(amounts).padStart(14, '0');
      };
      const lines = [
        `11${account}${date}${date}${balance(day.opening)}3${' '.repeat(29)}`,
        ...day.entries.flatMap(entryOf),
        `33${account}${totalOf(false)}${totalOf(true)}${balance(closingOf(day))}${' '.repeat(4)}`,
      ];
      records += lines.length;
      return lines.map((line) => `${line}\r\n`).join('');
    },
    end: () => `88${'9'.repeat(18)}${String(records).padStart(6, '0')}${' '.repeat(54)}\r\n`,
  };
}

const amountsOf = ({ entries }: BenchDay, isCredit: boolean): string[] =>
  entries.filter((it) => it.isCredit === isCredit).map(({ amount }) => amount);

/** In hundredths. */
const sumOf = (amounts: readonly string[]): string =>
  String(amounts.reduce((sum, amount) => sum + BigInt(amount.replace('.', '')), 0n));
