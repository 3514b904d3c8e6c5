import type { AccountReference, Balance, StatementEvent } from '../statement.ts';
import { isCurrency, readAmount, readDate, readDirection, type Scope, show } from './entry.ts';
import { type Holder, mapEntry, type RawEntry } from './map.ts';
import type { Fields, Stop } from './xml.ts';

export interface ScopeHandler {
  /** @param fields grow as the element is read. */
  begin(scope: Scope, fields: Fields, name: string, line: number): void;
  complete(scope: Scope, line: number): void;
}

/** The most characters that the details of one entry may take. Enough for about 60,000 payments. */
const MAX_DETAILS = 32 * 1024 * 1024;
/** The memory of a detail besides its texts. */
const DETAIL_OVERHEAD = 200;
/** Warnings that are kept until the event of their statement is emitted. */
const MAX_WARNINGS = 100;

interface OpenStatement {
  readonly line: number;
  readonly kind: 'final' | 'interim';
  readonly fields: Fields;
  readonly balances: Balances;
  readonly warnings: StatementEvent[];
  /** The account holder, as in the event of the statement. Null until that event is emitted. */
  holder: Holder | null;
}

interface OpenEntry extends RawEntry {
  detailsSize: number;
}

export interface Statements extends ScopeHandler {
  /**
   * No more elements follow.
   * @param stop why the document was not read to its end; null if it was.
   * @param root the name of the outermost element.
   */
  finish(stop: Stop | null, root: string | null): void;
}

/** Turns the scopes of a document into the events of its statements. */
export function createStatements(emit: (event: StatementEvent) => void): Statements {
  let hasMessage = false;
  let message: { name: string; line: number; isEmpty: boolean } | null = null;
  let statement: OpenStatement | null = null;
  let entry: OpenEntry | null = null;
  let part: { fields: Fields; line: number } = { fields: {}, line: 0 };

  return {
    begin(scope, fields, name, line) {
      switch (scope) {
        case 'message':
          hasMessage = true;
          message = { name, line, isEmpty: true };
          break;
        case 'statement':
          if (message !== null) message.isEmpty = false;
          statement = openStatement(fields, name, line);
          break;
        case 'entry':
          entry = { line, fields, details: [], detailsSize: 0 };
          break;
        case 'balance':
        case 'detail':
          part = { fields, line };
      }
    },
    complete(scope, line) {
      switch (scope) {
        case 'detail':
          if (entry !== null) addDetail(entry, part);
          break;
        case 'balance':
          if (statement !== null) addBalance(statement, part, emit);
          break;
        case 'entry':
          if (statement !== null && entry !== null) emitEntry(statement, entry, emit);
          entry = null;
          break;
        case 'statement':
          if (statement !== null) {
            emitStatement(statement, undefined, emit);
            emit({ type: 'end', line, closing: statement.balances.closing });
          }
          statement = null;
          break;
        case 'message':
          if (message?.isEmpty)
            emit(issue(message.line, message.name, 'holds no statement; allowed are Rpt, Stmt and Ntfctn'));
          message = null;
      }
    },
    finish(stop, root) {
      if (stop !== null)
        emit(issue(stop.line, 'Document', `not read from line ${stop.line} on: ${stop.reason}`));
      else if (!hasMessage)
        emit(
          issue(
            1,
            'Document',
            `found ${show(root ?? '')}; allowed are messages camt.052, camt.053, camt.054`,
          ),
        );
      if (statement === null) return;
      emitStatement(statement, undefined, emit);
      const line = stop?.line ?? statement.line;
      emit({ type: 'warning', line, message: 'The statement broke off. What was read before is kept.' });
      emit({ type: 'end', line, closing: null });
    },
  };
}

const issue = (line: number, path: string, message: string): StatementEvent => {
  return { type: 'issue', line, path, message };
};

function openStatement(fields: Fields, name: string, line: number): OpenStatement {
  const kind = name === 'Stmt' ? 'final' : 'interim';
  return {
    line,
    kind,
    fields,
    balances: createBalances(kind, () => readCurrency(fields.accountCurrency)),
    warnings: [],
    holder: null,
  };
}

const readCurrency = (text: string | undefined): string | null =>
  text !== undefined && isCurrency(text) ? text : null;

function addBalance(
  statement: OpenStatement,
  { fields, line }: { fields: Fields; line: number },
  emit: (event: StatementEvent) => void,
): void {
  const isLate = statement.holder !== null && /^(OPBD|PRCD)$/.test(fields.balanceType ?? '');
  const message = isLate
    ? `The balance ${fields.balanceType} is not used: it follows the first entry.`
    : statement.balances.add(fields);
  if (message === null) return;
  const warning: StatementEvent = { type: 'warning', line, message };
  if (statement.holder !== null) emit(warning);
  else if (statement.warnings.length < MAX_WARNINGS) statement.warnings.push(warning);
}

function addDetail(entry: OpenEntry, { fields, line }: { fields: Fields; line: number }): void {
  if (entry.detailsSize === 0) {
    entry.detailsSize = DETAIL_OVERHEAD;
    entry.details.push({ line, fields });
    return;
  }
  const text = JSON.stringify(fields);
  entry.detailsSize += text.length + DETAIL_OVERHEAD;
  if (entry.detailsSize > MAX_DETAILS) entry.details = [];
  // Makes a copy, because texts that are cut out of a part of the file would keep the whole part in memory.
  else entry.details.push({ line, fields: JSON.parse(text) });
}

function emitEntry(statement: OpenStatement, entry: OpenEntry, emit: (event: StatementEvent) => void): void {
  const holder = emitStatement(statement, entry.fields.currency, emit);
  if (entry.detailsSize > MAX_DETAILS) {
    const message = 'The entry has too many details (TxDtls). It is read as one movement.';
    emit({ type: 'warning', line: entry.line, message });
  }
  for (const event of mapEntry(entry, { kind: statement.kind, holder })) emit(event);
}

/**
 * Emits the event of a statement, unless it has been emitted.
 * @param entryCurrency the currency of the first entry, which is used if neither the account nor its balances have one.
 */
function emitStatement(
  statement: OpenStatement,
  entryCurrency: string | undefined,
  emit: (event: StatementEvent) => void,
): Holder {
  if (statement.holder !== null) return statement.holder;
  const { line, kind, balances, warnings, fields } = statement;
  const account = readAccount(statement, entryCurrency);
  const identity = {
    number: fields.statementNumber ?? fields.legalNumber ?? fields.statementId ?? null,
    sequence: fields.statementPage ?? null,
    from: readDate(fields.fromDate ?? '') ?? balances.firstDay,
    to: readDate(fields.toDate ?? ''),
  };
  emit({ type: 'statement', line, account, kind, opening: balances.opening, identity });
  for (const warning of warnings) emit(warning);
  statement.holder = { iban: account.iban, number: account.number, name: fields.owner ?? null };
  return statement.holder;
}

function readAccount(
  { fields, balances }: OpenStatement,
  entryCurrency: string | undefined,
): AccountReference {
  return {
    iban: fields.accountIban?.replace(/\s/g, '').toUpperCase() ?? null,
    number: fields.accountNumber ?? null,
    currency: readCurrency(fields.accountCurrency) ?? balances.currency ?? readCurrency(entryCurrency),
    bank: fields.bic ?? fields.bankCode ?? fields.bankName ?? null,
  };
}

/** The booked balances at both ends of a statement. */
export interface Balances {
  /** @returns a warning, if the balance cannot be used. */
  add(fields: Fields): string | null;
  readonly opening: Balance | null;
  readonly closing: Balance | null;
  /** The day of the opening balance (OPBD), which is the first day of the statement; null: there is none. */
  readonly firstDay: string | null;
  /** The currency of the balances, if there are any. */
  readonly currency: string | null;
}

/**
 * Collects the balances of a statement. Some banks write each twice: with the credit line of the account (`CdtLine/Incl`, ISO 20022) and
 * without it. Both ends are of one kind: without the line, unless only the other kind has both ends.
 */
function createBalances(kind: 'final' | 'interim', accountCurrency: () => string | null): Balances {
  const without = collectBalances(kind, accountCurrency);
  const including = collectBalances(kind, accountCurrency);
  const ends = ({ opening, closing }: Balances) => Number(opening !== null) + Number(closing !== null);
  /** Decided when the opening balance is asked for, because entries may come before the closing balance. */
  let chosen: Balances | null = null;
  const choose = () => (ends(including) > ends(without) ? including : without);
  return {
    add: (fields) => (/^(?:true|1)$/.test(fields.creditLine ?? '') ? including : without).add(fields),
    get opening() {
      chosen ??= choose();
      return chosen.opening;
    },
    get closing() {
      return (chosen ?? choose()).closing;
    },
    get firstDay() {
      return (chosen ?? choose()).firstDay;
    },
    get currency() {
      return without.currency ?? including.currency;
    },
  };
}

/** A balance of a statement as it is collected. */
interface TypedBalance extends Balance {
  type: string;
}

/**
 * Collects booked balances of one kind: the opening balance (OPBD), or the previous closing balance (PRCD), and the closing
 * balance (CLBD). A page of a statement begins or ends with an interim balance (ITBD) instead. Does not read available balances (OPAV,
 * CLAV …). A statement of several days may have balances for each day. The earliest opening and the latest closing balance count.
 * @param accountCurrency a balance in another currency is not used.
 */
function collectBalances(kind: 'final' | 'interim', accountCurrency: () => string | null): Balances {
  let opening: TypedBalance | null = null;
  let closing: Balance | null = null;
  /** The balances between pages, in their order. A report of the day has none. */
  const interim: Balance[] = [];
  let currency: string | null = null;

  return {
    add(fields) {
      const { balanceType: type = '', amount: text = '', dc, date: dateText = '' } = fields;
      const isInterim = type === 'ITBD' && kind === 'final';
      if (!isInterim && type !== 'OPBD' && type !== 'PRCD' && type !== 'CLBD') return null;
      const read = readAmount(text);
      const direction = readDirection(dc);
      if (read === null) return `The balance ${type} is not used: its amount is ${show(text)}.`;
      if (direction === null)
        return `The balance ${type} is not used: CdtDbtInd is ${show(dc ?? '')}; allowed are CRDT and DBIT.`;
      const expected = accountCurrency() ?? currency;
      if (fields.currency !== undefined && isCurrency(fields.currency)) {
        if (expected !== null && expected !== fields.currency)
          return `The balance ${type} is not used: it is in ${fields.currency}, the account in ${expected}.`;
        currency = fields.currency;
      }
      const date = readDate(dateText);
      const isNegative = direction === 'Debit' || read.isNegative;
      const balance = { amount: isNegative ? -read.amount : read.amount, date };
      if (isInterim) {
        if (interim.length < 2) interim.push(balance);
        else interim[1] = balance;
      } else if (type === 'CLBD') {
        if (closing === null || isNotAfter(closing.date, date)) closing = balance;
      } else if (opening === null || replaces({ ...balance, type }, opening)) opening = { ...balance, type };
      return date === null ? `The balance ${type} has no readable date: found ${show(dateText)}.` : null;
    },
    get opening() {
      if (opening !== null) return { amount: opening.amount, date: opening.date };
      // The first of two, or the only one of a page that has the closing balance.
      return interim.length > 1 || closing !== null ? (interim[0] ?? null) : null;
    },
    get closing() {
      if (closing !== null) return closing;
      return interim.length > 1 || opening !== null ? (interim.at(-1) ?? null) : null;
    },
    get firstDay() {
      return opening?.type === 'OPBD' ? opening.date : null;
    },
    get currency() {
      return currency;
    },
  };
}

function replaces(balance: TypedBalance, opening: TypedBalance) {
  if (balance.type !== opening.type) return balance.type === 'OPBD';
  return !isNotAfter(opening.date, balance.date);
}

const isNotAfter = (one: string | null, other: string | null): boolean =>
  one === null || other === null || one <= other;
