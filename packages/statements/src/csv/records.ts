import type { Row } from '../profiles/row.ts';

/** How a file separates and quotes its fields. */
export interface Dialect {
  delimiter: string;
  quote: string | null;
}

/** A quoted field may contain line breaks. If a record has more lines than this, its quotation mark is taken as not closed. */
const MAX_LINES = 20;

interface RecordReader {
  read(lines: readonly (string | null)[]): Row[];
  end(): Row[];
}

/**
 * Creates a reader of the records in the lines of a CSV file. A broken record costs only one line, because reading continues with
 * the next line. Blank lines are skipped.
 */
export function createRecordReader({ delimiter, quote }: Dialect): RecordReader {
  /** The lines of a record whose quotation marks are not all closed yet. */
  let open: string[] = [];
  let openLength = 0;
  let openQuotes = 0;
  let line = 0;
  let rows: Row[] = [];

  const close = () => {
    open = [];
    openLength = 0;
    openQuotes = 0;
  };

  /** Takes the first open line as a record of its own, and reads the other lines again. */
  const giveUp = () => {
    const [first = '', ...others] = open;
    line -= others.length;
    close();
    const cells = quote === null ? null : splitFields(first, { delimiter, quote, isStrict: false });
    rows.push(
      cells === null ? { line, issue: 'a quotation mark is opened and not closed' } : { line, cells },
    );
    for (const other of others) take(other);
  };

  const take = (text: string) => {
    line += 1;
    if (open.length === 0 && (quote === null || !text.includes(quote))) {
      if (text.trim() !== '') rows.push({ line, cells: text.split(delimiter) });
      return;
    }
    if (quote === null) return;
    open.push(text);
    openLength += text.length + 1;
    if (open.length > MAX_LINES || openLength > MAX_LINE_LENGTH) {
      giveUp();
      return;
    }
    openQuotes += count(text, quote);
    if (openQuotes % 2 === 1) return;
    const cells = splitFields(open.join('\n'), { delimiter, quote, isStrict: true });
    if (cells === null) {
      giveUp();
      return;
    }
    rows.push({ line: line - open.length + 1, cells });
    close();
  };

  const flush = () => {
    const flushed = rows;
    rows = [];
    return flushed;
  };

  return {
    read(lines) {
      for (const text of lines) {
        if (text !== null) {
          take(text);
          continue;
        }
        while (open.length > 0) giveUp();
        line += 1;
        rows.push({ line, issue: `the line is longer than ${MAX_LINE_LENGTH / 1024} KiB` });
      }
      return flush();
    },
    end() {
      while (open.length > 0) giveUp();
      return flush();
    },
  };
}

function count(text: string, quote: string): number {
  let found = 0;
  for (let at = text.indexOf(quote); at !== -1; at = text.indexOf(quote, at + 1)) found += 1;
  return found;
}

/**
 * Splits a record into its fields (RFC 4180). Spaces around a quoted field are ignored.
 * @param isStrict whether a quotation mark may only stand around a field, or doubled within one. Otherwise, other quotation marks
 * are part of the text.
 * @returns null if a quotation mark is not closed or, with `isStrict`, is where it may not be.
 */
function splitFields(
  text: string,
  { delimiter, quote, isStrict }: { delimiter: string; quote: string; isStrict: boolean },
): string[] | null {
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    const start = skipSpaces(text, at);
    let end: number;
    if (text[start] === quote) {
      const close = findClose(text, start + 1, { delimiter, quote, isStrict });
      if (close === -1) return null;
      fields.push(text.slice(start + 1, close).replaceAll(quote + quote, quote));
      end = skipSpaces(text, close + 1);
    } else {
      end = text.indexOf(delimiter, at);
      if (end === -1) end = text.length;
      const field = text.slice(at, end);
      if (isStrict && field.includes(quote)) return null;
      fields.push(field);
    }
    if (end === text.length) return fields;
    at = end + 1;
  }
}

/**
 * The position of the quotation mark that closes a field. -1 if there is none or, with `isStrict`, if another quotation mark comes
 * first.
 */
function findClose(
  text: string,
  from: number,
  { delimiter, quote, isStrict }: { delimiter: string; quote: string; isStrict: boolean },
): number {
  let at = from;
  for (;;) {
    const close = text.indexOf(quote, at);
    if (close === -1) return -1;
    const next = skipSpaces(text, close + 1);
    if (text[close + 1] === quote) at = close + 2;
    else if (next === text.length || text[next] === delimiter) return close;
    else if (isStrict) return -1;
    else at = close + 1;
  }
}

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ') at += 1;
  return at;
}

/** Longer lines are refused. A movement takes a few hundred characters. */
const MAX_LINE_LENGTH = 64 * 1024;

interface LineSplitter {
  /** The lines that `text` completes, without their ends; null for a line that is too long. */
  split(text: string): (string | null)[];
  /** The last line, if it has no end. */
  end(): (string | null)[];
}

/** Some banks end their lines with CR CR LF. */
const LINE_END = /\r\r\n|\r\n|\r|\n/;

/** Splits text that arrives in any parts at CR LF, LF or CR. */
export function createLineSplitter(): LineSplitter {
  let carried = '';
  let isTooLong = false;
  /** CRs at the end of a part may be the first half of a line end. */
  let heldCrs = '';

  const carry = (text: string) => {
    isTooLong ||= carried.length + text.length > MAX_LINE_LENGTH;
    carried = isTooLong ? '' : carried + text;
  };
  const endLine = (): string | null => {
    const line = isTooLong ? null : carried;
    carried = '';
    isTooLong = false;
    return line;
  };

  return {
    split(text) {
      if (text === '') return [];
      const all = heldCrs + text;
      heldCrs = all.endsWith('\r\r') ? '\r\r' : all.endsWith('\r') ? '\r' : '';
      const rest = all.slice(0, all.length - heldCrs.length);
      const parts: (string | null)[] = rest.split(LINE_END);
      const last = parts.pop() ?? '';
      if (parts.length > 0) {
        carry(parts[0] ?? '');
        parts[0] = endLine();
      }
      for (let i = 1; i < parts.length; i += 1)
        if ((parts[i]?.length ?? 0) > MAX_LINE_LENGTH) parts[i] = null;
      carry(last ?? '');
      return parts;
    },
    end() {
      const hasLast = heldCrs !== '' || isTooLong || carried !== '';
      heldCrs = '';
      return hasLast ? [endLine()] : [];
    },
  };
}
