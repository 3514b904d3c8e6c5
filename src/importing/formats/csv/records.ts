import type { Row } from '../profiles/row.ts';
import { splitFields } from './fields.ts';
import { MAX_LINE_LENGTH } from './lines.ts';

/** How a file separates and quotes its fields. */
export interface Dialect {
  delimiter: string;
  quote: string | null;
}

/** A quoted field may contain line breaks. A record of more lines is taken for a quotation mark that is not closed. */
const MAX_LINES = 20;

export interface RecordReader {
  read(lines: readonly (string | null)[]): Row[];
  end(): Row[];
}

/**
 * Creates a reader of the records in the lines of a CSV file. A record that is broken costs one line: reading goes on with the next
 * one. Blank lines are skipped.
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

  /** Takes the first open line as a record of its own, and reads the others again. */
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
