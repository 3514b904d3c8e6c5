import { formatAmount } from '../packages/statements/src/amounts.ts';

/** The content of a rendered statement's entries. They are the same in each format, as far as the format can say it. */
export interface BenchEntry {
  /** YYYY-MM-DD */
  date: string;
  isCredit: boolean;
  /** With two decimals, without a sign. */
  amount: string;
  /** After the entry, with two decimals. It never falls below zero. */
  balance: string;
  reference: string;
  text: string;
  name: string;
  iban: string;
}

/** The entries of one day, and the balance before them. */
export interface BenchDay {
  date: string;
  opening: string;
  entries: BenchEntry[];
}

export interface FileAccount {
  iban: string;
  currency: string;
}

/** The balance after the last entry. */
export const closingOf = ({ opening, entries }: BenchDay): string => entries.at(-1)?.balance ?? opening;

/** YYMMDD */
export const short = (date: string): string => date.replaceAll('-', '').slice(2);

const FIRST_DAY = Date.UTC(2010, 0, 1);
const DAY = 86_400_000;
const OPENING = 1_000_000_000n;
const A_PRIME = 7_919;

/**
 * Makes the days of an account one after the other, so that a file of any size never is in memory.
 * @param perDay entries of a day.
 */
export function* makeDays(count: number, perDay: number): Generator<BenchDay> {
  let balance = OPENING;
  for (let first = 0; first < count; first += perDay) {
    const date = new Date(FIRST_DAY + (first / perDay) * DAY).toISOString().slice(0, 10);
    const opening = formatAmount(balance, null);
    const entries = Array.from({ length: Math.min(perDay, count - first) }, (_, i) => {
      const number = first + i;
      // A debit takes back what the credit before it brought.
      const thousandths = 10n * BigInt(100 + ((Math.floor(number / 2) * A_PRIME) % 900_000));
      const isCredit = number % 2 === 0;
      balance += isCredit ? thousandths : -thousandths;
      return {
        date,
        isCredit,
        amount: formatAmount(thousandths, null),
        balance: formatAmount(balance, null),
        reference: `B${String(number).padStart(12, '0')}`,
        text: `EFT GÖNDEREN ŞÜKRÜ ÖZGÜR İNCE AÇIKLAMA KİRA ÖDEMESİ ${number}`,
        name: 'ŞÜKRÜ ÖZGÜR İNCE',
        iban: 'TR330006100519786457841326',
      };
    });
    yield { date, opening, entries };
  }
}
