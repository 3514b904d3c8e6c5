import { type Layout, layoutsOf, type Profile } from '../profile.ts';
import {
  chooseLayout,
  findHeading,
  fits,
  foldRows,
  MAX_ROWS_ABOVE,
  type ReadTable,
} from '../profiles/headings.ts';
import { type Row, textOf } from '../profiles/row.ts';
import { createTableReader } from '../profiles/table.ts';
import type { StatementEvent, StatementParser } from '../statement.ts';
import { createLineSplitter, createRecordReader, type Dialect } from './records.ts';

const DELIMITERS = [';', ',', '\t', '|'];

/** Most characters of a file in which a heading is sought. */
const START_LENGTH = 8 * 1024;

/** Creates a function that reads the start of a file as a table in some dialect. Each dialect is read once. */
function createTableStart(start: string): (dialect: Dialect) => readonly Row[] {
  const lines = createLineSplitter();
  const texts = [...lines.split(start.slice(0, START_LENGTH)), ...lines.end()];
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

/** Whether the start of a file looks like a bank's table: two rows have the same number of columns. */
export const looksLikeTable = (start: string): boolean =>
  !NO_TABLE.test(start) && findHeading(readTables(start)) !== null;

/** Creates the parser of the CSV files that `layout` describes. A row that cannot be read is an issue; the others are read. */
export const createCsvParser = (layout: Layout): StatementParser =>
  async function* parseCsv(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
    const lines = createLineSplitter();
    const records = createRecordReader(layout);
    const table = createTableReader(layout, { mayBeCut: true });
    let isFirst = true;
    /** The last two rows that have a line end, the last one first. */
    let before: (Row | undefined)[] = [];
    for await (const part of text) {
      const rows = records.read(lines.split(isFirst ? withoutMark(part) : part));
      // Without slice or a spread, which would make the parsing slower by a tenth.
      if (rows.length > 0) before = [rows.at(-1), rows.at(-2) ?? before[0]];
      const events = table.read(rows);
      isFirst &&= part === '';
      if (events.length > 0) yield events;
    }
    // The last line, if it has no end.
    const rest = [...records.read(lines.end()), ...records.end()].map((row) =>
      checkCut(row, before[0], layout.decimalSign),
    );
    yield [...table.read(rest), ...warnOfCut(rest.at(-1), before)];
    yield* table.end();
  };

const NUMBER = /^[-+]?[\d.,' ]*\d[.,]?$/;

/**
 * Counts the digits after the decimal sign. The other sign separates thousands: "-1.234" has no decimals, and "-1.234,56" has two.
 */
const decimalsOf = (cell: string, decimalSign: string): number => {
  const at = cell.lastIndexOf(decimalSign);
  return at === -1 ? 0 : cell.length - at - 1;
};

/**
 * Refuses a line without a line end that has fewer cells than the previous row, or whose last number has fewer decimals: "-50,2" was
 * "-50,25".
 */
function checkCut(row: Row, before: Row | undefined, decimalSign: string): Row {
  if (!('cells' in row) || before === undefined || !('cells' in before)) return row;
  if (row.cells.length < before.cells.length) {
    const [found, expected] = [row.cells.length, before.cells.length];
    const issue = `the file ends within this row: it has ${found} of ${expected} cells. Send the whole file`;
    return { line: row.line, issue };
  }
  const [last, same] = [row, before].map(({ cells }) => textOf(cells[row.cells.length - 1]));
  if (last === undefined || same === undefined || !NUMBER.test(last) || !NUMBER.test(same)) return row;
  if (decimalsOf(last, decimalSign) >= decimalsOf(same, decimalSign)) return row;
  const issue = `the file ends within this row, after "${last.slice(0, 40)}": send the whole file`;
  return { line: row.line, issue };
}

/** If references with digits have this many characters or more, an equal length in each row is not by chance. */
const SHORTEST_REFERENCE = 4;

/**
 * Warns of a line without a line end whose last cell may be cut off. The cell is empty where the previous row has a number, or it
 * is shorter than the references of the two previous rows, which have the same length.
 */
function warnOfCut(row: Row | undefined, before: readonly (Row | undefined)[]): StatementEvent[] {
  if (row === undefined || !('cells' in row)) return [];
  const cellOf = (it: Row | undefined) =>
    it !== undefined && 'cells' in it ? textOf(it.cells[row.cells.length - 1]) : '';
  const [last, same, one] = [cellOf(row), cellOf(before[0]), cellOf(before[1])];
  const isReference = (cell: string) =>
    cell.length >= SHORTEST_REFERENCE && cell.length === same.length && /\d/.test(cell) && !NUMBER.test(cell);
  const isCut = NUMBER.test(same)
    ? last === ''
    : isReference(same) && isReference(one) && last.length < same.length;
  if (!isCut) return [];
  const message = `the file ends within this row or before its last cell: in the row before, that cell is "${same.slice(0, 40)}". Send the whole file`;
  return [{ type: 'warning', line: row.line, message }];
}

/** A byte order mark that was decoded with the text. */
const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');

/**
 * Finds the layout whose heading is in the start of a file.
 * @param start the first 4 KiB of decoded text. It may have been decoded with another encoding than the layout names.
 * @returns null if no profile fits, or several do.
 */
export function detectProfile(start: string, profiles: readonly Profile[]): Layout | null {
  const rowsIn = createTableStart(start);
  const folded = new Map<readonly Row[], readonly ReadonlySet<string>[]>();
  const matches = layoutsOf(profiles).filter((layout) => {
    const rows = rowsIn(layout);
    const known = folded.get(rows) ?? foldRows(rows);
    folded.set(rows, known);
    return fits(known, layout);
  });
  return chooseLayout(matches);
}

/** Whether the start of a file has the heading of exactly one profile. */
export const looksLikeCsv = (start: string, profiles: readonly Profile[]): boolean =>
  detectProfile(start, profiles) !== null;
