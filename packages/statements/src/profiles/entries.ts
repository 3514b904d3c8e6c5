import { type Column, decidingColumns, type Layout } from '../profile.ts';
import { keepKnown, readCreditorReference, readPaymentReference } from '../shared/payment-references.ts';
import { countOf } from '../shared/text.ts';
import {
  type AccountReference,
  type Balance,
  type Entry,
  type EntryDetails,
  NO_IDENTITY,
  type StatementEvent,
} from '../statement.ts';
import { createMovementReader, type Fault, readCurrency, splitAccount } from './cells.ts';
import { findColumn, foldHeading } from './headings.ts';
import { type Cell, cellAt, quote, textOf } from './row.ts';
import { createAmountReader, createDateReader, createThousandsTest, hasNoAmount } from './values.ts';

/** The content of a row of the table. */
export type Reading =
  | { kind: 'entry'; entry: Entry; warning: string | null }
  | { kind: 'fault'; fault: Fault }
  /** The continuation of the previous row's description. */
  | { kind: 'continuation'; description: string }
  /** A pending row that does not have all of a movement yet, such as its date. */
  | { kind: 'incomplete' }
  /** A row that is not a movement according to the profile: declined, or a part of another row. */
  | { kind: 'ignored' };

/**
 * Deciding columns that a short row may lack. A row with neither debit nor credit is refused in any case. A row without a currency
 * has that of its statement.
 */
const MAY_BE_MISSING = new Set(['columns.debit', 'columns.credit', 'account.currency.column']);

/**
 * Creates a reader of the table's rows.
 * @param heading null if the table has none.
 * @param mayBeCut whether a row must reach up to the columns that decide its account, date and amount. In a sheet, empty cells at
 * the end are left out.
 */
export function createEntryReader(
  profile: Layout,
  heading: readonly Cell[] | null,
  mayBeCut: boolean,
): (line: number, row: readonly Cell[]) => Reading {
  const { columns } = profile;
  const find = (column: Column | undefined) => findColumn(column, heading);
  const at = {
    date: find(columns.date),
    description: listOf(columns.description)
      .map(find)
      .filter((column) => column !== -1),
    balance: find(columns.balance),
    currency: find(columns.currency),
    reference: find(columns.reference),
    counterparty: find(columns.counterparty),
    code: find(columns.code),
  };
  const readDate = createDateReader(profile.dateFormats, profile.country);
  const mayBeThousands = createThousandsTest(profile);
  const readBalance = createAmountReader({ ...profile, currencyTexts: profile.currencyTexts ?? [] });
  const readMovement = createMovementReader(profile, heading);
  const readDetails = createDetailsReader(profile, heading);
  const readStatus = createStatusReader(profile, heading);
  const readName = createNameReader(profile, heading);
  const pendingDates = new Set(profile.pendingDates?.map(foldHeading));
  const detailAt = find(columns.detail);
  const amountsAt = [columns.amount, columns.debit, columns.credit].map(find);
  const isDetail = (row: readonly Cell[]) =>
    detailAt !== -1 &&
    textOf(row[detailAt]) !== '' &&
    amountsAt.every((column) => textOf(row[column]) === '');
  /** Whether an amount may have been cut at its decimal sign: whole units in one cell, and two digits in the next. */
  const isSplit = (row: readonly Cell[]) =>
    amountsAt.some((column) => /\d$/.test(textOf(row[column])) && /^\d\d$/.test(textOf(row[column + 1])));
  const width = heading?.length ?? Number.POSITIVE_INFINITY;
  const least = decidingColumns(profile)
    .filter(([key]) => !MAY_BE_MISSING.has(key))
    .reduce((most, [, column]) => Math.max(most, find(column) + 1), 0);

  const describe = (row: readonly Cell[]): string | null => {
    let description = '';
    for (const column of at.description) {
      const text = textOf(row[column]);
      if (text !== '') description += description === '' ? text : ` ${text}`;
    }
    return orNull(description);
  };

  const readRow = (line: number, row: readonly Cell[], status: Entry['status']): Reading => {
    const dateCell = row[at.date];
    const hasAmount = amountsAt.some((column) => textOf(row[column]) !== '');
    if (profile.continuationRows && status === 'booked' && textOf(dateCell) === '' && !hasAmount)
      return { kind: 'continuation', description: describe(row) ?? '' };
    if (pendingDates.size > 0 && pendingDates.has(foldHeading(textOf(dateCell)))) return { kind: 'ignored' };
    if (isDetail(row)) return { kind: 'ignored' };
    const surplus = row.length > width ? row.slice(width).find((cell) => textOf(cell) !== '') : undefined;
    if (surplus !== undefined) {
      const message = `${quote(surplus)} is beyond the ${countOf(width, 'column')} of the heading: is a separator not in quotation marks?`;
      return { kind: 'fault', fault: { path: 'row', message } };
    }
    if (profile.delimiter === profile.decimalSign && row.length > width && isSplit(row)) {
      const message = `the row has ${countOf(row.length, 'cell')}, and the heading ${width}: is an amount with "${profile.decimalSign}" not in quotation marks?`;
      return { kind: 'fault', fault: { path: 'row', message } };
    }
    if (mayBeCut && row.length < least) {
      const message = `the row has ${countOf(row.length, 'cell')}, and needs ${least}: it may be cut off`;
      return { kind: 'fault', fault: { path: 'row', message } };
    }
    const date = readDate(dateCell);
    if (date === null) {
      const message = `${quote(dateCell)} is not a date. Allowed: ${profile.dateFormats.join(', ')}, from 1900 to 2099`;
      return { kind: 'fault', fault: { path: 'date', message } };
    }
    const movement = readMovement(row);
    if ('path' in movement) return { kind: 'fault', fault: movement };
    const currency = readCurrency(cellAt(row, at.currency));
    if (currency === undefined) {
      const message = `${quote(cellAt(row, at.currency))} is not a currency. Allowed: three letters, such as TRY`;
      return { kind: 'fault', fault: { path: 'currency', message } };
    }
    const balanceCell = cellAt(row, at.balance);
    const balance = hasNoAmount(balanceCell) ? null : readBalance(balanceCell);
    const isBalanceWrong = balance === null && !hasNoAmount(balanceCell);
    const { iban, number } = splitAccount(cellAt(row, at.counterparty));
    const details = readDetails(row);
    return {
      kind: 'entry',
      entry: {
        line,
        status,
        date,
        dc: movement.dc,
        amount: movement.amount,
        ...(movement.mayBeThousands && { mayBeThousands: true }),
        currency,
        balance,
        ...(mayBeThousands(balanceCell) && { mayBalanceBeThousands: true }),
        code: orNull(textOf(cellAt(row, at.code))),
        description: describe(row),
        name: orNull(readName(row, movement.dc)),
        opponentId: number,
        opponentIban: iban,
        reference: orNull(textOf(cellAt(row, at.reference))),
        ...(details === undefined ? undefined : { details }),
      },
      warning: isBalanceWrong ? `the balance ${quote(balanceCell)} cannot be read` : null,
    };
  };

  return (line, row) => {
    const status = readStatus(row);
    if (status === 'ignored') return { kind: 'ignored' };
    if (typeof status !== 'string') return { kind: 'fault', fault: status };
    const reading = readRow(line, row, status);
    return reading.kind === 'fault' && status === 'pending' ? { kind: 'incomplete' } : reading;
  };
}

/** Creates a reader of what a row says beyond the fields of a movement. */
function createDetailsReader(
  { columns, country, dateFormats }: Layout,
  heading: readonly Cell[] | null,
): (row: readonly Cell[]) => EntryDetails | undefined {
  const valueDate = findColumn(columns.valueDate, heading);
  const endToEndId = findColumn(columns.endToEndId, heading);
  const mandate = findColumn(columns.mandateReference, heading);
  const creditor = findColumn(columns.creditorReference, heading);
  if ([valueDate, endToEndId, mandate, creditor].every((at) => at === -1)) return () => undefined;
  const readDate = createDateReader(dateFormats, country);
  return (row) =>
    keepKnown<EntryDetails>({
      valueDate: readDate(cellAt(row, valueDate)) ?? undefined,
      endToEndId: readPaymentReference(textOf(cellAt(row, endToEndId))),
      mandateReference: readPaymentReference(textOf(cellAt(row, mandate))),
      creditorReference: readCreditorReference(textOf(cellAt(row, creditor))),
    });
}

function createStatusReader({ columns: { status } }: Layout, heading: readonly Cell[] | null) {
  const at = findColumn(status?.column, heading);
  const meaning = new Map<string, Entry['status'] | 'ignored'>();
  for (const name of ['booked', 'pending', 'ignored'] as const)
    for (const text of status?.[name] ?? []) meaning.set(foldHeading(text), name);
  const hasBooked = status?.booked !== undefined;
  return (row: readonly Cell[]): Entry['status'] | 'ignored' | Fault => {
    if (at === -1) return 'booked';
    const found = meaning.get(foldHeading(textOf(row[at])));
    if (found !== undefined || !hasBooked) return found ?? 'booked';
    const allowed = [status?.booked, status?.pending, status?.ignored].flatMap((texts) => texts ?? []);
    return { path: 'status', message: `${quote(row[at])} is not one of ${allowed.join(', ')}` };
  };
}

function createNameReader({ columns: { name } }: Layout, heading: readonly Cell[] | null) {
  const isPair = typeof name === 'object';
  const debit = findColumn(isPair ? name.debit : name, heading);
  const credit = findColumn(isPair ? name.credit : name, heading);
  return (row: readonly Cell[], dc: Entry['dc']) => textOf(cellAt(row, dc === 'Debit' ? debit : credit));
}

const orNull = (text: string): string | null => (text === '' ? null : text);

const listOf = (columns: Column | Column[] | undefined): Column[] =>
  columns === undefined ? [] : Array.isArray(columns) ? columns : [columns];

/** Puts events in order. The beginning of a statement comes before its entries. */
export function createStatementWriter() {
  let events: StatementEvent[] = [];
  /** Issues and warnings of rows before the first statement. */
  const early: StatementEvent[] = [];
  let account: AccountReference | null = null;
  /** The last entry, which continuation rows may still lengthen. */
  let held: Entry | null = null;

  const releaseEntry = () => {
    if (held !== null) events.push({ type: 'entry', entry: held });
    held = null;
  };
  const add = (event: StatementEvent) => {
    if (account === null) early.push(event);
    else {
      releaseEntry();
      events.push(event);
    }
  };

  return {
    /** Begins a statement, and ends the open one. */
    begin(line: number, next: AccountReference, opening: Balance | null) {
      releaseEntry();
      if (account !== null) events.push({ type: 'end', line: line - 1, closing: null });
      account = next;
      const identity = NO_IDENTITY;
      events.push(
        { type: 'statement', line, account: next, kind: 'final', opening, identity },
        ...early.splice(0),
      );
    },
    entry(entry: Entry, warning: string | null) {
      releaseEntry();
      if (warning !== null) events.push({ type: 'warning', line: entry.line, message: warning });
      held = entry;
    },
    continueEntry(text: string) {
      if (held === null || text === '') return;
      held = { ...held, description: held.description === null ? text : `${held.description} ${text}` };
    },
    issue(line: number, { path, message }: Fault) {
      add({ type: 'issue', line, path, message });
    },
    warn(line: number, message: string) {
      add({ type: 'warning', line, message });
    },
    /** Ends the last statement. A table without rows is a statement too. It has the account above the table. */
    end(line: number, closing: Balance | null, empty: AccountReference, opening: Balance | null) {
      if (account === null) this.begin(line, empty, opening);
      releaseEntry();
      events.push({ type: 'end', line, closing });
      account = null;
    },
    /** Returns the events that cannot change any more. */
    flush(): StatementEvent[] {
      const flushed = events;
      events = [];
      return flushed;
    },
    flushAll(): StatementEvent[] {
      return [...this.flush(), ...early.splice(0)];
    },
  };
}
