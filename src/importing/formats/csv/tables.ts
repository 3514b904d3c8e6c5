import { MAX_ROWS_ABOVE } from '../profiles/headings.ts';
import { findHeading, type ReadTable } from '../profiles/nearest-profiles.ts';
import type { Row } from '../profiles/row.ts';
import { createLineSplitter } from './lines.ts';
import { createRecordReader, type Dialect } from './records.ts';

const DELIMITERS = [';', ',', '\t', '|'];

/** Creates a function that reads the start of a file as a table in some dialect. Each dialect is read once. */
export function createTableStart(start: string): (dialect: Dialect) => readonly Row[] {
  const lines = createLineSplitter();
  const texts = [...lines.split(start), ...lines.end()];
  const tables = new Map<string, readonly Row[]>();
  return ({ delimiter, quote }) => {
    const key = `${delimiter} ${quote}`;
    const known = tables.get(key);
    if (known !== undefined) return known;
    const records = createRecordReader({ delimiter, quote });
    const rows = [...records.read(texts), ...records.end()].slice(0, MAX_ROWS_ABOVE);
    tables.set(key, rows);
    return rows;
  };
}

/** Reads the start of a file with each delimiter. */
export function readTables(start: string): ReadTable[] {
  const rowsIn = createTableStart(start);
  return DELIMITERS.map((delimiter) => ({ delimiter, rows: rowsIn({ delimiter, quote: '"' }) }));
}

/** Control characters, and the beginnings of JSON, XML and PDF. Their lines may have commas too. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a table has none.
const NO_TABLE = /^\s*(?:[{[<]|%PDF)|[\u0000-\u0008\u000e-\u001f]/;

/** Whether the start of a file looks like a table of any bank: two rows with as many columns. */
export const looksLikeTable = (start: string): boolean =>
  !NO_TABLE.test(start) && findHeading(readTables(start)) !== null;
