import { findDecimalsFault, fitBalance, formatAmount, isBalanceFit, UNFIT_BALANCE } from './amounts.ts';
import { isEncoding } from './encodings.ts';
import { isStatementFormat, STATEMENT_FORMATS, type StatementFormat } from './format-names.ts';
import { createStatementFormats } from './formats.ts';
import { readBuiltInProfiles } from './parse-profile.ts';
import type { Profile } from './profile.ts';
import { nameOf } from './read-files.ts';
import { DEFAULT_SETTINGS, type Limits } from './settings.ts';
import { readStream } from './shared/bytes.ts';
import type { Balance as EventBalance, Entry as EventEntry, StatementEvent } from './statement.ts';
import { createSums, type Sums } from './sums.ts';
import { UnreadableFileError } from './unreadable.ts';

/** What can be read: bytes that are there, a Blob or File, or a stream. A readable stream of Node.js is an async iterable. */
export type Source = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export interface ReadOptions {
  /** `auto`, the default: the content decides. */
  format?: StatementFormat | 'auto';
  /** The name of the profile of a CSV or XLSX file. By default, the profile whose heading the file has. */
  profile?: string;
  /** The encoding of text that is not UTF-8, such as `windows-1250` or `ibm852`. By default, the file or its letters say it. */
  encoding?: string;
  /** The profiles of CSV and XLSX files. By default, those that come with the package. */
  profiles?: readonly Profile[];
  /** How much a file may need. The default is `DEFAULT_LIMITS`. */
  limits?: Partial<Limits>;
}

/** Amounts and balances are decimal numbers with two digits after the point, such as `-1234.50`. Dates are YYYY-MM-DD. */
export interface Statement {
  /** The file's name within a zip; null: it did not come in a zip. */
  file: string | null;
  format: StatementFormat;
  /** The line of the file at which the statement begins, from 1. */
  line: number;
  /** `interim`: a report of the day so far (MT942, camt.052), or of single entries (camt.054). */
  kind: 'final' | 'interim';
  account: Account;
  /** ISO 4217. null: the file does not say. */
  currency: string | null;
  /** The bank's number of the statement, or its id. */
  number: string | null;
  /** The page of a statement that comes in several. */
  sequence: string | null;
  /** The first and the last day that the statement covers. null: the file does not say, as in MT940 and CSV. */
  from: string | null;
  to: string | null;
  opening: Balance | null;
  closing: Balance | null;
  /** The closing balance minus the opening balance and the booked entries. null: the file has not both balances. */
  difference: string | null;
  /** In the order of the file. */
  entries: Entry[];
  /** What may be wrong, and costs no entry. */
  warnings: Warning[];
  /** Rows that could not be read, and are no entries. */
  rejected: Rejected[];
}

export interface Account {
  /** Without spaces, in upper case. Not validated. */
  iban: string | null;
  /** The account number as the bank writes it. */
  number: string | null;
  /** The bank's BIC, code or name. */
  bank: string | null;
  /** The file does not say the currency, and the format's standard does. */
  isCurrencyAssumed: boolean;
}

export interface Balance {
  /** Negative for an overdrawn account. */
  amount: string;
  date: string | null;
}

export interface Entry {
  line: number;
  /** A pending entry is not booked yet, and is no part of the balances. */
  status: 'booked' | 'pending';
  /** The booking date. */
  date: string;
  valueDate: string | null;
  /** Negative for a debit. */
  amount: string;
  /** ISO 4217. null: that of the statement. */
  currency: string | null;
  /** The balance after the entry: that of the file, or counted from the opening balance. null: neither is known. */
  balance: string | null;
  /** The bank's code for the kind of transaction. */
  code: string | null;
  description: string | null;
  counterpartyName: string | null;
  /** As it stands in the file, without spaces, valid or not. */
  counterpartyIban: string | null;
  /** The counterparty's account number if it is not an IBAN, or another identifier. */
  counterpartyAccount: string | null;
  /** The bank's name for the entry. It may not be unique. */
  reference: string | null;
  /** The reference is the account owner's, because the bank gives none. */
  isOwnReference: boolean;
  endToEndId: string | null;
  /** Valid, without spaces (ISO 11649). */
  creditorReference: string | null;
  mandateReference: string | null;
  /** The entry takes back an earlier one. */
  isReversal: boolean;
  /** In the currency in which the payment was made. Never negative. */
  originalAmount: string | null;
  originalCurrency: string | null;
  exchangeRate: string | null;
  /** The entry of the bank of which this is one of the details. Its amount is negative for a debit. */
  batch: { reference: string | null; amount: string } | null;
}

export interface Warning {
  line: number;
  message: string;
}

export interface Rejected extends Warning {
  /** The field that could not be read. */
  path: string;
}

/**
 * Reads the statements of a file, which may be packed in gzip or zip. Yields a statement when it is complete, or when it breaks off,
 * which is a warning. Holds one statement in memory at a time.
 * @throws {UnreadableFileError} when the file is broken, is in no known format, or has a part that belongs to no statement. Statements
 * before that part have been yielded by then.
 * @throws {TypeError} when the source or an option is of no allowed kind.
 * @throws errors of the source.
 */
export async function* readStatements(source: Source, options: ReadOptions = {}): AsyncGenerator<Statement> {
  const { format = 'auto', profile = null, encoding = null, profiles = readBuiltInProfiles() } = options;
  if (format !== 'auto' && !isStatementFormat(format))
    throw new TypeError(`The option format must be auto, ${STATEMENT_FORMATS.join(', ')}.`);
  if (encoding !== null && !isEncoding(encoding))
    throw new TypeError('The option encoding must be an encoding, such as windows-1250 or ibm852.');
  const limits = { ...DEFAULT_SETTINGS.limits, ...options.limits };
  const formats = createStatementFormats(profiles, { ...DEFAULT_SETTINGS, limits });
  const parts = partsOf(source);
  let collected = createCollector({ file: null, format: 'mt940' });
  let failed: string | null = null;
  try {
    for await (const it of formats.read(parts, { format, profile, encoding })) {
      if ('format' in it) {
        yield* collected.end();
        collected = createCollector(it);
      } else if ('events' in it) for (const event of it.events) yield* collected.add(event);
      else if (it.member.outcome === 'failed') failed ??= it.member.message;
    }
    yield* collected.end();
    if (failed !== null) throw new UnreadableFileError(failed);
  } finally {
    // Closes the source. A part that is still awaited is not waited for.
    parts.return(undefined).catch(() => {});
  }
}

async function* partsOf(source: Source): AsyncGenerator<Uint8Array> {
  if (source instanceof Uint8Array) yield source;
  else if (source instanceof ArrayBuffer) yield new Uint8Array(source);
  else if (typeof source !== 'object' || source === null)
    throw new TypeError(
      `The source is a ${typeof source}: bytes, a Blob or a stream are allowed. For a file, pass createReadStream(path).`,
    );
  else if ('stream' in source) yield* readStream(source.stream());
  else if ('getReader' in source) yield* readStream(source);
  else if (!(Symbol.asyncIterator in source))
    throw new TypeError('The source has no bytes: a Uint8Array, a Blob or a stream is allowed.');
  else {
    for await (const part of source) {
      if (!(part instanceof Uint8Array))
        throw new TypeError('The source must give bytes, and gives texts: open it without an encoding.');
      yield part;
    }
  }
}

/** Makes statements of the events of one file. */
function createCollector(origin: Pick<Statement, 'file' | 'format'>) {
  let current: OpenStatement | null = null;
  /** What came before the first statement. */
  let before: Pick<Statement, 'warnings' | 'rejected'> = { warnings: [], rejected: [] };
  const place = () => current?.statement ?? before;
  function* take(): Generator<Statement> {
    if (current !== null) yield current.statement;
    current = null;
  }
  return {
    *add(event: StatementEvent): Generator<Statement> {
      switch (event.type) {
        case 'statement':
          yield* take();
          current = open(origin, event, before);
          before = { warnings: [], rejected: [] };
          break;
        case 'entry':
          if (current === null) {
            before.rejected.push({
              line: event.entry.line,
              path: 'account',
              message: 'the entry belongs to no statement',
            });
          } else addEntry(current, event.entry);
          break;
        case 'issue':
          place().rejected.push({ line: event.line, path: event.path, message: event.message });
          break;
        case 'warning':
          place().warnings.push({ line: event.line, message: event.message });
          break;
        case 'end':
          if (current === null) break;
          end(current, event);
      }
    },
    /** @throws {UnreadableFileError} when the file has rows, and no statement to which they belong. */
    *end(): Generator<Statement> {
      yield* take();
      const [rejected] = before.rejected;
      if (rejected === undefined) return;
      const { line, path, message } = rejected;
      throw new UnreadableFileError(
        `${nameOf(origin.file)} contains no statement. Line ${line}, ${path}: ${message}`,
      );
    },
  };
}

function addEntry({ statement, sums }: OpenStatement, entry: EventEntry): void {
  const currency = entry.currency ?? statement.currency;
  const fault = findDecimalsFault(entry, currency);
  if (fault !== null) {
    statement.rejected.push({ line: entry.line, path: 'amount', message: fault });
    return;
  }
  if (entry.status === 'booked') sums.add(entry);
  const isFit = isBalanceFit(entry, currency);
  if (!isFit) statement.warnings.push({ line: entry.line, message: UNFIT_BALANCE });
  statement.entries.push(toEntry(isFit ? entry : { ...entry, balance: null }, currency, sums.balance));
}

function end(
  { statement, sums }: OpenStatement,
  { line, closing }: Extract<StatementEvent, { type: 'end' }>,
): void {
  const { currency, warnings } = statement;
  const fit = fitBalance('closing', closing, currency);
  if (fit.warning !== null) warnings.push({ line, message: fit.warning });
  statement.closing = toBalance(fit.balance, currency);
  statement.difference = formatNullable(sums.differenceTo(fit.balance?.amount ?? null), currency);
}

interface OpenStatement {
  statement: Statement;
  sums: Sums;
}

function open(
  { file, format }: Pick<Statement, 'file' | 'format'>,
  { line, kind, account, opening, identity }: Extract<StatementEvent, { type: 'statement' }>,
  { warnings, rejected }: Pick<Statement, 'warnings' | 'rejected'>,
): OpenStatement {
  const { currency, isCurrencyAssumed = false, iban, number, bank } = account;
  const fit = fitBalance('opening', opening, currency);
  if (fit.warning !== null) warnings.push({ line, message: fit.warning });
  const statement: Statement = {
    file,
    format,
    line,
    kind,
    account: { iban, number, bank, isCurrencyAssumed },
    currency,
    ...identity,
    opening: toBalance(fit.balance, currency),
    closing: null,
    difference: null,
    entries: [],
    warnings,
    rejected,
  };
  return { statement, sums: createSums(fit.balance?.amount ?? null) };
}

const toBalance = (balance: EventBalance | null, currency: string | null): Balance | null =>
  balance === null ? null : { amount: formatAmount(balance.amount, currency), date: balance.date };

const formatNullable = (amount: bigint | null | undefined, currency: string | null): string | null =>
  amount === null || amount === undefined ? null : formatAmount(amount, currency);

function toEntry(entry: EventEntry, currency: string | null, counted: bigint | null): Entry {
  const { details = {}, status } = entry;
  return {
    line: entry.line,
    status,
    date: entry.date,
    valueDate: details.valueDate ?? null,
    amount: formatAmount(entry.dc === 'Debit' ? -entry.amount : entry.amount, currency),
    currency: entry.currency,
    balance: formatNullable(entry.balance ?? (status === 'booked' ? counted : null), currency),
    code: entry.code,
    description: entry.description,
    counterpartyName: entry.name,
    counterpartyIban: entry.opponentIban,
    counterpartyAccount: entry.opponentId,
    reference: entry.reference,
    isOwnReference: entry.isOwnReference ?? false,
    endToEndId: details.endToEndId ?? null,
    creditorReference: details.creditorReference ?? null,
    mandateReference: details.mandateReference ?? null,
    isReversal: details.isReversal ?? false,
    originalAmount: formatNullable(details.originalAmount, details.originalCurrency ?? null),
    originalCurrency: details.originalCurrency ?? null,
    exchangeRate: details.exchangeRate ?? null,
    batch:
      details.batch === undefined
        ? null
        : { reference: details.batch.reference, amount: formatAmount(details.batch.amount, currency) },
  };
}
