import type { Layout } from '../profile.ts';
import type { Balance, StatementEvent } from '../statement.ts';
import { createAccountReader, createBalanceReader, hasAccountColumn } from './cells.ts';
import { createDateOrder } from './date-order.ts';
import { createEntryReader, createStatementWriter } from './entries.ts';
import { findColumn, foldRow, isHeading, MAX_ROWS_ABOVE } from './headings.ts';
import { type Cell, type Row, textOf } from './row.ts';
import { createDateReader } from './values.ts';

export interface TableReader {
  /** Takes rows in the order of the file, and returns the events that cannot change any more. */
  read(rows: readonly Row[]): StatementEvent[];
  /** @param breakOff the reason why the rest of the file cannot be read. */
  end(breakOff?: string): StatementEvent[];
}

/**
 * Creates a reader of a table as `profile` describes it: rows above it, its heading, its rows, and rows below it.
 * @param options.mayBeCut whether a short row may be cut off. In a sheet, empty cells at the end are left out.
 */
export function createTableReader(profile: Layout, { mayBeCut }: { mayBeCut: boolean }): TableReader {
  const writer = createStatementWriter();
  const readBalance = createBalanceReader(profile);
  let readDate = createDateReader(profile.dateFormats);
  let dates = createDateOrder(profile.dateFormats);
  /** Rows whose dates cannot be read yet. */
  let held: Row[] = [];
  const hasBalanceRows = profile.openingBalance !== undefined || profile.closingBalance !== undefined;
  /** The last rows, which may be the trailer. */
  const last: Row[] = [];
  const above: Row[] = [];
  let table: ReturnType<typeof openTable> | null = null;
  let line = 1;
  /** Pending rows that are left out. */
  let incomplete = 0;
  let opening: Balance | null = null;
  let closing: Balance | null = null;

  const openTable = (heading: readonly Cell[] | null) => {
    const rows = above.flatMap((row) => ('cells' in row ? [row.cells] : []));
    for (const row of rows) noteBalances(row);
    return {
      readEntry: createEntryReader(profile, heading, mayBeCut),
      heading,
      readAccount: createAccountReader(profile, rows, heading),
      dateAt: findColumn(profile.columns.date, heading),
    };
  };

  const noteBalances = (row: readonly Cell[]): boolean => {
    let isBalance = false;
    for (const name of ['openingBalance', 'closingBalance'] as const) {
      const balance = readBalance(row, profile[name]);
      if (balance === null) continue;
      isBalance = true;
      if (balance === undefined) writer.warn(line, `the ${name} has no amount that can be read`);
      else if (name === 'openingBalance') opening = balance;
      else closing = balance;
    }
    return isBalance;
  };

  const readAbove = (row: Row) => {
    if (above.length === MAX_ROWS_ABOVE) return;
    if ('cells' in row && profile.heading !== undefined && isHeading(foldRow(row.cells), profile.heading)) {
      table = openTable(row.cells);
      if (!hasAccountColumn(profile)) writer.begin(row.line, table.readAccount([]), opening);
      return;
    }
    above.push(row);
  };

  const readRow = (row: Row, { readEntry, readAccount, dateAt }: ReturnType<typeof openTable>) => {
    if ('issue' in row) {
      writer.issue(row.line, { path: 'row', message: row.issue });
      return;
    }
    // A row with a date is a movement, even if one of its texts looks like a label.
    if (hasBalanceRows && readDate(row.cells[dateAt]) === null && noteBalances(row.cells)) return;
    const reading = readEntry(row.line, row.cells);
    if (reading.kind === 'ignored') return;
    if (reading.kind === 'incomplete') {
      incomplete += 1;
      return;
    }
    if (reading.kind === 'continuation') {
      writer.continueEntry(reading.description);
      return;
    }
    writer.begin(row.line, readAccount(row.cells), opening);
    if (reading.kind === 'fault') writer.issue(row.line, reading.fault);
    else writer.entry(reading.entry, reading.warning);
  };

  /** Reads a row, or holds it until the order of the dates is decided. */
  const admit = (row: Row, open: ReturnType<typeof openTable>) => {
    if (dates === null) {
      readRow(row, open);
      return;
    }
    held.push(row);
    const formats = 'cells' in row ? dates.note(row.line, row.cells[open.dateAt]) : null;
    if (formats !== null) release(formats, open);
  };

  const release = (dateFormats: Layout['dateFormats'], open: ReturnType<typeof openTable>) => {
    dates = null;
    readDate = createDateReader(dateFormats);
    open.readEntry = createEntryReader({ ...profile, dateFormats }, open.heading, mayBeCut);
    for (const row of held) readRow(row, open);
    held = [];
  };

  const take = (row: Row) => {
    line = row.line;
    if (table === null && profile.skipRows !== undefined && above.length >= profile.skipRows) {
      table = openTable(null);
      if (!hasAccountColumn(profile)) writer.begin(row.line, table.readAccount([]), opening);
    }
    if (table === null) {
      readAbove(row);
      return;
    }
    last.push(row);
    if (last.length > profile.trailerRows) admit(last.shift() as Row, table);
  };

  return {
    read(rows) {
      for (const row of rows) if ('issue' in row || row.cells.some((cell) => textOf(cell) !== '')) take(row);
      return writer.flush();
    },
    end(breakOff) {
      if (table === null) {
        const path = breakOff === undefined ? 'heading' : 'file';
        writer.issue(1, { path, message: breakOff ?? missingHeading(profile) });
        return writer.flushAll();
      }
      if (breakOff !== undefined) {
        // If the file breaks off, the last rows are probably not the trailer, so they are read.
        for (const row of last) admit(row, table);
        if (dates !== null) release(dates.end(), table);
        writer.warn(line, `the file breaks off after line ${line}: ${breakOff}`);
      } else {
        if (dates !== null) release(dates.end(), table);
        for (const row of last) if ('cells' in row) noteBalances(row.cells);
      }
      if (incomplete > 0)
        writer.warn(line, `pending rows without a date or an amount are left out: ${incomplete}`);
      writer.end(line, closing, table.readAccount([]), opening);
      return writer.flushAll();
    },
  };
}

const missingHeading = ({ name, heading }: Layout): string =>
  heading === undefined
    ? 'the file has no rows'
    : `the heading of the profile ${name} is not in the first ${MAX_ROWS_ABOVE} rows: ${heading.join(', ')}`;
