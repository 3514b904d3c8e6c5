import type { Layout } from '../profile.ts';
import type { AccountReference, Balance, StatementEvent } from '../statement.ts';
import {
  createAccountReader,
  createBalanceReader,
  type Fault,
  hasAccountColumn,
  hasCurrencyColumn,
} from './cells.ts';
import { createDateOrder } from './date-order.ts';
import { createDecimals } from './decimals.ts';
import { createEntryReader, createStatementWriter } from './entries.ts';
import { findColumn, foldRow, isHeading, MAX_ROWS_ABOVE } from './headings.ts';
import { createPackedRows, type PackedRows } from './packed-rows.ts';
import { type Cell, type Row, textOf } from './row.ts';
import { createDateReader } from './values.ts';

export interface TableReader {
  /** Takes rows in the order of the file, and returns the events that cannot change any more. */
  read(rows: readonly Row[]): StatementEvent[];
  /** @param breakOff the reason why the rest of the file cannot be read. @returns the rest of the events, some at a time. */
  end(breakOff?: string): Iterable<StatementEvent[]>;
}

/** The most accounts of a file whose rows alternate. */
const MOST_ACCOUNTS = 1_000;

/** The columns with amounts. */
const AMOUNTS = ['amount', 'debit', 'credit', 'fee', 'balance'] as const;

/** The rows of an account, with the reader of the accounts of their table. */
interface OtherAccount {
  rows: PackedRows;
  readAccount: (row: readonly Cell[]) => AccountReference;
}

/**
 * Creates a reader of a table as `profile` describes it: rows above it, its heading, its rows, and rows below it.
 * @param options.mayBeCut whether a short row may be cut off. In a sheet, empty cells at the end are left out.
 */
export function createTableReader(profile: Layout, { mayBeCut }: { mayBeCut: boolean }): TableReader {
  const writer = createStatementWriter();
  let readBalance = createBalanceReader(profile);
  let readDate = createDateReader(profile.dateFormats, profile.country);
  let dates = createDateOrder(profile.dateFormats);
  let { dateFormats } = profile;
  const decimals = createDecimals(profile.decimalSign);
  /** Rows whose dates or amounts cannot be read yet. */
  const held: Row[] = [];
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
  /** Balances with a label that has come before: of another table below this one, or else corrections. */
  let again: { openingBalance?: Balance; closingBalance?: Balance } = {};
  /** The rows after the last movement, which stand above the next table. */
  let between: (readonly Cell[])[] = [];
  /** The faults of rows without a date, which are none if the heading of another table follows. */
  let doubtful: { line: number; fault: Fault }[] = [];
  /** The line of a further table whose account is not known. */
  let unknownTable: number | null = null;
  /** The rows of accounts other than the first, which come as statements of their own when the first one has ended. */
  const others = new Map<string, OtherAccount>();
  let firstKey: string | null = null;
  let lastKey: string | null = null;
  /** The account of the open statement. undefined: none is open yet. */
  let openKey: string | null | undefined;
  /** A row has named an account by its number, so that a row without one belongs to the account of the row before. */
  let isNumbered = false;
  const isByRow = hasAccountColumn(profile) || hasCurrencyColumn(profile);

  const openTable = (heading: readonly Cell[] | null) => {
    const rows = above.flatMap((row) => ('cells' in row ? [row.cells] : []));
    for (const row of rows) noteBalances(row);
    return {
      readEntry: createEntryReader(profile, heading, mayBeCut),
      heading,
      readAccount: createAccountReader(profile, rows, heading),
      dateAt: findColumn(profile.columns.date, heading),
      amountsAt: AMOUNTS.map((name) => findColumn(profile.columns[name], heading)),
    };
  };

  const noteBalances = (row: readonly Cell[]): boolean => {
    let isBalance = false;
    for (const name of ['openingBalance', 'closingBalance'] as const) {
      const balance = readBalance(row, profile[name]);
      if (balance === null) continue;
      isBalance = true;
      if (balance === undefined) writer.warn(line, `the ${name} has no amount that can be read`);
      else if (table !== null && (name === 'openingBalance' ? opening : closing) !== null)
        again[name] = balance;
      else if (name === 'openingBalance') opening = balance;
      else closing = balance;
    }
    return isBalance;
  };

  const readAbove = (row: Row) => {
    if (above.length === MAX_ROWS_ABOVE) return;
    if ('cells' in row && profile.heading !== undefined && isHeading(foldRow(row.cells), profile.heading)) {
      table = openTable(row.cells);
      if (!isByRow) writer.begin(row.line, table.readAccount([]), opening);
      return;
    }
    above.push(row);
  };

  const readRow = (row: Row, { readEntry, readAccount, dateAt, amountsAt }: ReturnType<typeof openTable>) => {
    if ('issue' in row) {
      writer.issue(row.line, { path: 'row', message: row.issue });
      return;
    }
    if (isNextHeading(row.cells, dateAt)) {
      openNext(row.line, row.cells);
      return;
    }
    // A row with a date is a movement, even if one of its texts looks like a label.
    if (hasBalanceRows && readDate(row.cells[dateAt]) === null && noteBalances(row.cells)) {
      noteBetween(row.cells);
      return;
    }
    const reading = readEntry(row.line, row.cells);
    if (reading.kind === 'ignored') {
      noteBetween(row.cells);
      return;
    }
    const hasAmount = amountsAt.some((at) => /\d/.test(textOf(row.cells[at])));
    const mayStandAbove = reading.kind === 'fault' && readDate(row.cells[dateAt]) === null && !hasAmount;
    if (mayStandAbove && !hasAccountColumn(profile) && between.length < MAX_ROWS_ABOVE) {
      doubtful.push({ line: row.line, fault: reading.fault });
      noteBetween(row.cells);
      return;
    }
    between = [];
    reportDoubtful();
    if (unknownTable !== null) {
      const message = `belongs to another table, from line ${unknownTable} on, which has balances of its own and names no account: send it as a file of its own`;
      writer.issue(row.line, { path: 'account', message });
      return;
    }
    if (reading.kind === 'incomplete') {
      incomplete += 1;
      return;
    }
    if (reading.kind === 'continuation') {
      if (!isOfOther(row, lastKey)) writer.continueEntry(reading.description);
      return;
    }
    const account = readAccount(row.cells);
    const key = keyOf(account) ?? lastKey;
    if (isOfOther(row, key)) return;
    if (isByRow && key !== openKey) {
      writer.begin(row.line, account, opening);
      openKey = key;
    }
    if (reading.kind === 'fault') writer.issue(row.line, reading.fault);
    else writer.entry(reading.entry, reading.warning);
  };

  const reportDoubtful = () => {
    for (const { line: at, fault } of doubtful.splice(0)) writer.issue(at, fault);
  };

  const noteBetween = (cells: readonly Cell[]) => {
    if (between.length < MAX_ROWS_ABOVE) between.push(cells);
  };

  /** Whether a row is the heading of another table of this file. With an account in each row, there is one table. */
  const isNextHeading = (cells: readonly Cell[], dateAt: number): boolean =>
    table?.heading != null &&
    profile.heading !== undefined &&
    !hasAccountColumn(profile) &&
    // Folding each row would take long.
    cells[dateAt] === table.heading[dateAt] &&
    isHeading(foldRow(cells), profile.heading);

  /** Goes on with another table: a statement of the account that it names, or rows that nobody can attribute. */
  const openNext = (at: number, heading: readonly Cell[]) => {
    if (table === null) return;
    doubtful = [];
    const own = table.readAccount([]);
    const titles = between;
    const next = createAccountReader(profile, titles, heading)([]);
    between = [];
    const isNamed = next.iban !== null || next.number !== null;
    if (isNamed && (next.iban !== own.iban || next.number !== own.number)) {
      writer.end(at - 1, closing, own, opening);
      opening = again.openingBalance ?? null;
      closing = again.closingBalance ?? null;
      again = {};
      unknownTable = null;
      // The same table goes on, also for rows that were held until the order of their dates was known.
      table.readAccount = createAccountReader(profile, titles, heading);
      firstKey = null;
      lastKey = null;
      openKey = undefined;
      if (!isByRow) writer.begin(at, next, opening);
    } else if (!isNamed && (again.openingBalance ?? again.closingBalance) !== undefined) {
      again = {};
      unknownTable = at;
    }
  };

  /**
   * The account that a row names: by its number, or by its currency alone in a table without numbers. null: it names none, and belongs to
   * the account of the row before.
   */
  const keyOf = ({ iban, number, currency }: AccountReference): string | null => {
    if (!isByRow) return null;
    const stated = hasCurrencyColumn(profile) ? currency : null;
    if (iban === null && number === null) return isNumbered || stated === null ? null : `- - ${stated}`;
    isNumbered = hasAccountColumn(profile);
    // Above a table, the number is that of all rows, so that a row without a currency belongs to the row before.
    return !hasAccountColumn(profile) && stated === null ? null : `${iban} ${number} ${stated ?? ''}`;
  };

  /** Keeps a row of another account than the first one for later. @returns whether it is such a row. */
  const isOfOther = (row: Row, key: string | null): boolean => {
    lastKey = key;
    firstKey ??= key;
    if (key === null || key === firstKey) return false;
    const other = others.get(key) ?? (others.size < MOST_ACCOUNTS - 1 ? addOther(key) : null);
    if (other === null) {
      const message = `the file has more than ${MOST_ACCOUNTS} accounts: send it in parts`;
      writer.issue(row.line, { path: 'account', message });
      return true;
    }
    other.rows.add(row);
    return true;
  };

  const addOther = (key: string): OtherAccount | null => {
    if (table === null) return null;
    const other = { rows: createPackedRows(), readAccount: table.readAccount };
    others.set(key, other);
    return other;
  };

  /** Reads the rows that were kept, account by account. The balances beside the table are not theirs. */
  function* readOthers(open: ReturnType<typeof openTable>): Generator<StatementEvent[]> {
    opening = null;
    closing = null;
    unknownTable = null;
    for (const [key, { rows: kept, readAccount }] of others) {
      others.delete(key);
      firstKey = key;
      open.readAccount = readAccount;
      for (const rows of kept.read()) {
        for (const row of rows) readRow(row, open);
        yield writer.flush();
      }
    }
  }

  /** Reads a row, or holds it until the order of the dates and the decimals are decided. */
  const admit = (row: Row, open: ReturnType<typeof openTable>) => {
    if ('cells' in row) decide(row.line, row.cells, open);
    if (dates !== null || decimals.areOpen()) {
      held.push(row);
      return;
    }
    release(open);
    readRow(row, open);
  };

  /** Lets a row decide what is not decided yet. */
  const decide = (at: number, cells: readonly Cell[], open: ReturnType<typeof openTable>) => {
    const formats = dates?.note(at, cells[open.dateAt]) ?? null;
    if (formats !== null) applyDates(formats, open);
    if (decimals.areDecided()) return;
    decimals.note(open.amountsAt.map((column) => cells[column]));
    if (decimals.areProven()) applyForms(open);
  };

  const applyDates = (formats: Layout['dateFormats'], open: ReturnType<typeof openTable>) => {
    dates = null;
    dateFormats = formats;
    applyForms(open);
  };

  /** Reads dates and amounts from now on as the rows have decided. */
  const applyForms = (open: ReturnType<typeof openTable>) => {
    const decided = { ...profile, dateFormats, threeDecimals: decimals.areProven() };
    readDate = createDateReader(dateFormats, profile.country);
    readBalance = createBalanceReader(decided);
    open.readEntry = createEntryReader(decided, open.heading, mayBeCut);
  };

  const release = (open: ReturnType<typeof openTable>) => {
    if (held.length === 0) return;
    for (const row of held.splice(0)) readRow(row, open);
  };

  const end = (open: ReturnType<typeof openTable>) => {
    if (dates !== null) applyDates(dates.end(), open);
    release(open);
  };

  const take = (row: Row) => {
    line = row.line;
    if (table === null && profile.skipRows !== undefined && above.length >= profile.skipRows) {
      table = openTable(null);
      if (!isByRow) writer.begin(row.line, table.readAccount([]), opening);
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
    *end(breakOff) {
      if (table === null) {
        const path = breakOff === undefined ? 'heading' : 'file';
        writer.issue(1, { path, message: breakOff ?? missingHeading(profile) });
        yield writer.flushAll();
        return;
      }
      if (breakOff !== undefined) {
        // If the file breaks off, the last rows are probably not the trailer, so they are read.
        for (const row of last) admit(row, table);
        end(table);
        writer.warn(line, `the file breaks off after line ${line}: ${breakOff}`);
      } else {
        end(table);
        for (const row of last) if ('cells' in row) noteBalances(row.cells);
      }
      if (incomplete > 0)
        writer.warn(line, `pending rows without a date or an amount are left out: ${incomplete}`);
      reportDoubtful();
      if (unknownTable === null) {
        opening = again.openingBalance ?? opening;
        closing = again.closingBalance ?? closing;
      }
      if (others.size > 0) yield* readOthers(table);
      writer.end(line, closing, table.readAccount([]), opening);
      yield writer.flushAll();
    },
  };
}

const missingHeading = ({ name, heading }: Layout): string =>
  heading === undefined
    ? 'the file has no rows'
    : `the heading of the profile ${name} is not in the first ${MAX_ROWS_ABOVE} rows: ${heading.join(', ')}`;
