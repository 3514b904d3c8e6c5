import type { Extended } from './extended.ts';
import type { ListedTransaction } from './transactions.ts';

/** Writes movements as CSV (RFC 4180). */

type Cell = string | number | null | undefined;

/** A column. Its kind says whether a spreadsheet could execute it: a text of a bank, of a payer or of a sender, but no amount, day or number. */
interface Column {
  kind: 'text' | 'amount' | 'id' | 'other';
  read: (movement: ListedTransaction) => Cell;
}

const text = (read: Column['read']): Column => ({ kind: 'text', read });
const amount = (read: Column['read']): Column => ({ kind: 'amount', read });
/** An id that somebody else has given. */
const id = (read: Column['read']): Column => ({ kind: 'id', read });
const other = (read: Column['read']): Column => ({ kind: 'other', read });

/** The columns of every CSV, by their names. */
const COLUMNS = {
  id: other((it) => it.id),
  account_id: other((it) => it.account_id),
  account: text((it) => it.account.title),
  bank: text((it) => it.account.bank.name),
  currency: other((it) => it.account.currency),
  date_issue: other((it) => it.date_issue),
  date_readed: other((it) => it.date_readed),
  dc: other((it) => it.dc),
  amount: amount((it) => it.amount),
  balance: amount((it) => it.balance),
  name: text((it) => it.name),
  description: text((it) => it.description),
  code: text((it) => it.code),
  opponent_id: text((it) => it.opponent_id),
  opponent_iban: text((it) => it.opponent_iban),
  unique_id: id((it) => it.unique_id),
} satisfies Record<string, Column>;

const ofExtended = (make: (read: Column['read']) => Column, name: keyof Extended & string): Column =>
  make((it) => it.extended?.[name] as Cell);

/** The columns that `fields=extended` adds. */
const EXTENDED_COLUMNS = {
  value_date: ofExtended(other, 'value_date'),
  end_to_end_id: ofExtended(text, 'end_to_end_id'),
  creditor_reference: ofExtended(text, 'creditor_reference'),
  mandate_reference: ofExtended(text, 'mandate_reference'),
  bank_transaction_code: ofExtended(text, 'bank_transaction_code'),
  statement_id: ofExtended(other, 'statement_id'),
  line: ofExtended(other, 'line'),
  reverses: ofExtended(other, 'reverses'),
  original_amount: ofExtended(amount, 'original_amount'),
  original_currency: ofExtended(other, 'original_currency'),
  exchange_rate: ofExtended(amount, 'exchange_rate'),
} satisfies Record<string, Column>;

/** The columns that `withdrawn=only` adds. */
const WITHDRAWN_COLUMNS = {
  withdrawn_at: other((it) => it.withdrawn_at),
  withdrawn_reason: text((it) => it.withdrawn_reason),
} satisfies Record<string, Column>;

/** Columns that a CSV has only if they are named. */
const FURTHER_COLUMNS = {
  signed_amount: amount(signedAmount),
  bank_id: other((it) => it.account.bank_id),
} satisfies Record<string, Column>;

const ALL_COLUMNS: Record<string, Column> = {
  ...COLUMNS,
  ...FURTHER_COLUMNS,
  ...WITHDRAWN_COLUMNS,
  ...EXTENDED_COLUMNS,
};

/** The names of all columns. */
export const COLUMN_NAMES = Object.keys(ALL_COLUMNS);

/** Whether a column needs the movements' `extended`. */
export const isExtendedColumn = (name: string): boolean => Object.hasOwn(EXTENDED_COLUMNS, name);

/** The columns of a CSV for which none are named. */
export const defaultColumns = ({
  isExtended,
  isWithdrawn,
}: {
  isExtended: boolean;
  isWithdrawn: boolean;
}): string[] => [
  ...Object.keys(COLUMNS),
  ...(isWithdrawn ? Object.keys(WITHDRAWN_COLUMNS) : []),
  ...(isExtended ? Object.keys(EXTENDED_COLUMNS) : []),
];

/** The amount, negative if money went out. */
export function signedAmount({ dc, amount }: Pick<ListedTransaction, 'dc' | 'amount'>): string {
  if (dc === 'Credit') return amount;
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`;
}

/** How a CSV is written. */
export interface CsvOptions {
  /** Names of `COLUMN_NAMES`, in their order. */
  columns: readonly string[];
  /** The sign between two cells. */
  separator: 'comma' | 'semicolon';
  /** The decimal sign of amounts. */
  decimal: 'point' | 'comma';
  /** Begins with a byte order mark, by which spreadsheets recognise UTF-8. */
  bom: boolean;
  /** Leaves texts as they are that a spreadsheet would execute. */
  raw: boolean;
}

const BOM = '\uFEFF';
const LINE_END = '\r\n';

/** The first line, with the names of the columns. */
export const renderHeader = ({ columns, separator, bom }: CsvOptions): string =>
  (bom ? BOM : '') + columns.join(SEPARATORS[separator]) + LINE_END;

const SEPARATORS = { comma: ',', semicolon: ';' };

/** Creates a function that renders lines. */
export function createLineRenderer({ columns, separator, decimal, raw }: CsvOptions) {
  const between = SEPARATORS[separator];
  const cells = columns.map((name) => {
    const column = ALL_COLUMNS[name];
    if (column === undefined) throw new Error(`there is no column ${name}`);
    return (movement: ListedTransaction): string => {
      const value = String(column.read(movement) ?? '');
      if (column.kind === 'amount')
        return decimal === 'comma' ? quote(value.replace('.', ','), between) : value;
      const mayExecute = column.kind === 'text' || (column.kind === 'id' && !NUMBER.test(value));
      return quote(mayExecute && !raw ? disarm(value) : value, between);
    };
  });
  return (movements: readonly ListedTransaction[]): string =>
    movements.map((it) => cells.map((render) => render(it)).join(between) + LINE_END).join('');
}

/** How a text begins that a spreadsheet takes for a formula (OWASP, "CSV Injection"). */
const FORMULA = /^[=+\-@\t\r]/;

/** An id such as -123, which is no formula. */
const NUMBER = /^[+-]?\d+$/;

/** Puts an apostrophe in front of what a spreadsheet would execute. */
const disarm = (value: string): string => (FORMULA.test(value) ? `'${value}` : value);

/** RFC 4180, section 2: a cell with a quote, a separator or a line end is enclosed in quotes, and its quotes are doubled. */
const quote = (value: string, between: string): string =>
  /["\r\n]/.test(value) || value.includes(between) ? `"${value.replaceAll('"', '""')}"` : value;
