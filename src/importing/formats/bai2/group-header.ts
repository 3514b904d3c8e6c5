import { calendarDate } from '../calendar-date.ts';
import { quote } from '../quote.ts';
import { readFields } from './record-fields.ts';
import type { BaiRecord } from './records.ts';

export interface Group {
  /** Update and correction are imported. */
  status: 'update' | 'deletion' | 'correction' | 'test';
  /** The as-of date, YYYY-MM-DD, which is the booking date of its transactions. Null: it cannot be read. */
  date: string | null;
  currency: string;
  kind: 'final' | 'interim';
  bank: string | null;
  warnings: string[];
}

const STATUSES: Record<string, Group['status']> = {
  '1': 'update',
  '2': 'deletion',
  '3': 'correction',
  '4': 'test',
};
const DEFAULT_CURRENCY = 'USD';

/** What holds for an account that stands outside of a group. */
export const NO_GROUP: Group = {
  status: 'update',
  date: null,
  currency: DEFAULT_CURRENCY,
  kind: 'final',
  bank: null,
  warnings: [],
};

/** Reads a group header (02). */
export function readGroup(record: BaiRecord): Group {
  const fields = readFields(record);
  const [, bank, status, asOf, , currency, modifier] = Array.from({ length: 7 }, () => fields.next() ?? '');
  const date = readDate(asOf ?? '');
  const warnings: string[] = [];
  if (date === null)
    warnings.push(`The as-of date of the group is ${quote(asOf ?? '')}. It must be YYMMDD, such as 260301.`);
  if (STATUSES[status ?? ''] === undefined)
    warnings.push(
      `The group status is ${quote(status ?? '')}. It must be 1, 2, 3 or 4. 1 (update) was taken.`,
    );
  if (currency !== '' && !/^[A-Z]{3}$/i.test(currency ?? ''))
    warnings.push(
      `The currency of the group is ${quote(currency ?? '')}. It must be three letters. USD was taken.`,
    );
  return {
    status: STATUSES[status ?? ''] ?? 'update',
    date,
    currency: /^[A-Z]{3}$/i.test(currency ?? '') ? (currency ?? '').toUpperCase() : DEFAULT_CURRENCY,
    // 1 and 3 are interim data of the previous and of the same day.
    kind: modifier === '1' || modifier === '3' ? 'interim' : 'final',
    bank: bank || null,
    warnings,
  };
}

/** YYMMDD, or YYYYMMDD as some banks write. The years 80 to 99 are 1980 to 1999, as in SWIFT. */
function readDate(text: string): string | null {
  const [, century, year, month, day] = /^(\d{2})?(\d{2})(\d{2})(\d{2})$/.exec(text) ?? [];
  if (day === undefined) return null;
  return calendarDate(
    Number((century ?? (Number(year) >= 80 ? '19' : '20')) + year),
    Number(month),
    Number(day),
  );
}
