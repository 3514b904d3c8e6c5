import { LARGEST_AMOUNT } from '../amounts.ts';
import type { MinorUnits } from '../statement.ts';
import { calendarDate } from '../values.ts';
import { quote, rememberLast, splitLines } from './text.ts';

/**
 * Records of fixed columns, as in CODA (128 characters), CFONB 120 and Norma 43 (80): a table says where each column stands and how it is
 * read, and one function cuts a line by it.
 */

export type DateOrder = 'YYMMDD' | 'DDMMYY';
export type Decimals = 0 | 1 | 2 | 3;

/**
 * How a column is read.
 *
 * - `text`: without the blanks at its ends.
 * - `raw`: as it stands.
 * - `digits`: all of its characters are digits. They are kept as a text.
 * - `amount`: the same, as an amount with implied decimals, at most three.
 * - `date`: six digits. The years 80 to 99 are 1980 to 1999, as in SWIFT.
 */
type Reading =
  | { is: 'text' | 'raw' | 'digits' }
  | { is: 'amount'; decimals: Decimals }
  | { is: 'date'; order: DateOrder };

/** A column, from its first to its last character. The first one of a line is 1, as in the standards. */
export type Column = Reading & { name: string; from: number; to: number };

export interface RecordTable {
  /** As in a sentence: `the movement (22)`. */
  name: string;
  columns: Readonly<Record<string, Column>>;
}

/** Null: the column cannot be read as what it should be. A text can always be read. */
type ValueOf<C extends Column> = C['is'] extends 'amount'
  ? MinorUnits | null
  : C['is'] extends 'text' | 'raw'
    ? string
    : string | null;

export type Values<T extends RecordTable> = { [K in keyof T['columns']]: ValueOf<T['columns'][K]> };

/** The characters of a column. Fewer, or none, if the line is shorter. */
const charactersOf = ({ from, to }: Column, text: string): string => text.slice(from - 1, to);

const isDigits = (text: string, length: number): boolean => text.length === length && /^\d+$/.test(text);

const readers: Record<DateOrder, (text: string) => string | null> = {
  YYMMDD: rememberLast((text) => toDate(text.slice(0, 2), text.slice(2, 4), text.slice(4, 6))),
  DDMMYY: rememberLast((text) => toDate(text.slice(4, 6), text.slice(2, 4), text.slice(0, 2))),
};

const toDate = (year: string, month: string, day: string): string | null =>
  calendarDate(Number(year) + (Number(year) >= 80 ? 1900 : 2000), Number(month), Number(day));

const THOUSANDTHS = [1_000, 100, 10, 1] as const;
/** Whole numbers of up to 15 digits are exact as JavaScript numbers. */
const EXACT_DIGITS = 15;

function toAmount(digits: string, decimals: Decimals): MinorUnits | null {
  const factor = THOUSANDTHS[decimals];
  if (digits.length + 3 - decimals <= EXACT_DIGITS) return BigInt(Number(digits) * factor);
  const amount = BigInt(digits) * BigInt(factor);
  return amount > LARGEST_AMOUNT ? null : amount;
}

function readColumn(column: Column, text: string): string | MinorUnits | null {
  const found = charactersOf(column, text);
  if (column.is === 'raw') return found;
  if (column.is === 'text') return found.trim();
  if (!isDigits(found, column.to - column.from + 1)) return null;
  if (column.is === 'amount') return toAmount(found, column.decimals);
  return column.is === 'date' ? readers[column.order](found) : found;
}

/** @returns a function that cuts a line by a table into the values of its columns. */
export function createCutter<T extends RecordTable>(table: T): (text: string) => Values<T> {
  const columns = Object.entries(table.columns);
  return (text) => {
    const values: Record<string, string | MinorUnits | null> = {};
    for (const [key, column] of columns) values[key] = readColumn(column, text);
    return values as Values<T>;
  };
}

/** Says why a column has no value, as a sentence that names the record, the column, its place and its line. */
export function describeColumn(table: RecordTable, key: string, { line, text }: FixedLine): string {
  const column = table.columns[key];
  if (column === undefined) throw new RangeError(`There is no column ${key}.`);
  const found = charactersOf(column, text);
  const place = `columns ${column.from} to ${column.to} of line ${line}`;
  const count = column.to - column.from + 1;
  const allowed =
    column.is === 'date'
      ? `a date of the calendar, ${column.order}`
      : `${count} digit${count === 1 ? '' : 's'}`;
  return found.length < count
    ? `The line ends before the end of the ${column.name} of ${table.name}, ${place}.`
    : `The ${column.name} of ${table.name} is ${quote(found)}, ${place}. It must be ${allowed}.`;
}

/** A line of a file of records of one length. */
export interface FixedLine {
  /** The line of the file, from 1. In a file without line ends, the number of the record. */
  line: number;
  /** At most as many characters as a record has. Fewer if the blanks at its end are missing. */
  text: string;
  /** The line has more characters than a record, and its columns may be shifted. */
  isLong: boolean;
  /** The file ends right after this line, without a line end. */
  isUnended: boolean;
}

/**
 * Splits a text that comes in any split into records of one length. Lines end with CRLF, LF or CR, and the blanks at their ends may be missing
 * or too many. A file whose first line has the characters of two records, or that has no line end at all, is cut after each `length`
 * characters. Blank lines and the character 26, with which DOS ends a file, are left out. Holds no more than two records in memory.
 */
export function createFixedLineReader(length: number) {
  let rest = '';
  let line = 1;
  let isLong = false;
  let endsWithReturn = false;
  /** Null until the first line has ended, or has the characters of two records. */
  let hasLineEnds: boolean | null = null;
  let lines: FixedLine[] = [];

  const add = (isUnended: boolean) => {
    if (rest !== '' && !isBlank(rest)) lines.push({ line, text: rest, isLong, isUnended });
    rest = '';
    isLong = false;
  };
  /** Adds the records of a text without line ends, but the last one. */
  const cut = (text: string) => {
    let at = 0;
    for (; text.length - at > length; at += length) {
      rest = text.slice(at, at + length);
      add(false);
      line += 1;
    }
    rest = text.slice(at);
  };
  const keep = (text: string) => {
    const room = length - rest.length;
    if (text.length > room && !isLong) isLong = !isBlank(text.slice(room));
    rest += text.slice(0, room);
  };
  /** Takes what was read before it was known whether the file has line ends. */
  const decide = (isLines: boolean) => {
    const first = rest;
    rest = '';
    hasLineEnds = isLines;
    if (isLines) keep(first);
    else cut(first);
  };
  const grow = (text: string) => {
    if (hasLineEnds === true) return keep(text);
    if (hasLineEnds === false) return cut(rest + text);
    const room = 2 * length - rest.length;
    rest += text.slice(0, room);
    if (rest.length < 2 * length) return;
    // All records begin with a character. Blanks after the first one are too many of them.
    decide(/\s/.test(rest.charAt(length)));
    if (text.length > room) grow(text.slice(room));
  };
  const endLine = () => {
    if (hasLineEnds === null && !isBlank(rest)) decide(true);
    add(false);
  };

  return {
    /** @returns the lines that this part completes */
    read(part: string): FixedLine[] {
      if (part === '') return [];
      lines = [];
      // Drops the LF of a CRLF that was cut in two.
      const text = endsWithReturn && part.startsWith('\n') ? part.slice(1) : part;
      endsWithReturn = part.endsWith('\r');
      const pieces = splitLines(text);
      for (const [index, piece] of pieces.entries()) {
        grow(line === 1 && rest === '' ? piece.replace(/^\uFEFF/, '') : piece);
        if (index === pieces.length - 1) break;
        endLine();
        line += 1;
      }
      return lines;
    },
    /** @returns the last line if the text ends without a line end */
    end(): FixedLine[] {
      lines = [];
      if (hasLineEnds === null) decide(false);
      add(true);
      return lines;
    },
  };
}

/** Whether a text is nothing but blanks and the character 26. Nearly all lines begin with a digit, which is enough to know. */
const isBlank = (text: string): boolean => !/^\d/.test(text) && text.replaceAll('\u001a', '').trim() === '';
