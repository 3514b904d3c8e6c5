import { rememberLast } from '../remember-last.ts';
import { type Cell, textOf } from './row.ts';

/** The date formats that a profile can name. One or two digits are read for DD and MM if something separates them. */
export const DATE_FORMATS = [
  'DD.MM.YYYY',
  'DD.MM.YY',
  'DD/MM/YYYY',
  'DD/MM/YY',
  'DD-MM-YYYY',
  'DD-MM-YY',
  'DD MMM YYYY',
  'DD MMM YY',
  'DD-MMM-YYYY',
  'DDMMYYYY',
  'MM/DD/YYYY',
  'MM/DD/YY',
  'MM-DD-YYYY',
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'YYYY.MM.DD',
  'YYYYMMDD',
] as const;

export type DateFormat = (typeof DATE_FORMATS)[number];

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const FIRST_YEAR = 1900;
const LAST_YEAR = 2099;

/** A time after the date, with or without a zone. It is cut off: the bank's day counts, and is not shifted. */
const TIME =
  /^[.,]?(?:[\sT-]+\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?\s*(?:[AP]M|UTC|Z|[+-]\d{2}:?\d{2})?)?$/i;

const MILLISECONDS_PER_DAY = 86_400_000;

/**
 * Creates a reader of dates.
 * @returns YYYY-MM-DD; null if the cell is no date of these formats, or none from 1900 to 2099.
 */
export function createDateReader(formats: readonly DateFormat[]): (cell: Cell | undefined) => string | null {
  const readers = formats.map(createTextReader);
  const readText = rememberLast((text) =>
    readers.reduce<string | null>((date, read) => date ?? read(text), null),
  );
  return (cell) =>
    cell !== undefined && typeof cell !== 'string'
      ? (readDayNumber(Number(cell.number), cell.epoch) ?? readText(textOf(cell)))
      : readText(textOf(cell));
}

function createTextReader(format: DateFormat): (text: string) => string | null {
  const [separator = ''] = /[^DMY]/.exec(format) ?? [];
  const order = separator === '' ? (format.match(/D+|M+|Y+/g) ?? []) : format.split(separator);
  const groups = order.map((part) => {
    if (part === 'MMM') return '([A-Za-z]{3,9})';
    if (part.startsWith('Y')) return `(\\d{${part.length}})`;
    return separator === '' ? '(\\d{2})' : '(\\d{1,2})';
  });
  const pattern = new RegExp(`^${groups.join(separator === '.' ? '\\.' : separator)}(?!\\d)`);
  const at = (letter: string) => 1 + order.findIndex((part) => part.startsWith(letter));
  const [day, month, year] = [at('D'), at('M'), at('Y')];
  return (text) => {
    const match = pattern.exec(text);
    if (match === null || !TIME.test(text.slice(match[0].length))) return null;
    return toDate(readYear(match[year] ?? ''), readMonth(match[month] ?? ''), Number(match[day]));
  };
}

/** Two digits are a year from 1980 to 2079. */
function readYear(text: string): number {
  const year = Number(text);
  if (text.length !== 2) return year;
  return year < 80 ? 2000 + year : 1900 + year;
}

const readMonth = (text: string): number =>
  /^\d/.test(text) ? Number(text) : MONTHS.indexOf(text.slice(0, 3).toLowerCase()) + 1;

function toDate(year: number, month: number, day: number): string | null {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal && year >= FIRST_YEAR && year <= LAST_YEAR ? date.toISOString().slice(0, 10) : null;
}

/**
 * A date in XLSX is the number of days since 1899-12-30, or since 1904-01-01 (ECMA-376, part 1, section 18.17.4.1).
 * @returns null if the number is no date from 1950 to 2099, such as 20260131.
 */
function readDayNumber(days: number, epoch: 1900 | 1904): string | null {
  const start = epoch === 1900 ? Date.UTC(1899, 11, 30) : Date.UTC(1904, 0, 1);
  const time = start + Math.floor(days) * MILLISECONDS_PER_DAY;
  if (!(time >= Date.UTC(1950, 0, 1) && time < Date.UTC(LAST_YEAR + 1, 0, 1))) return null;
  return new Date(time).toISOString().slice(0, 10);
}
