import { keepKnown } from '../shared/payment-references.ts';
import { joinTexts, quote } from '../shared/text.ts';
import {
  type AccountReference,
  type Balance,
  type Entry,
  type EntryDetails,
  NO_IDENTITY,
  type StatementEvent,
  type StatementIdentity,
} from '../statement.ts';
import { type IsOwn, joinWrapped, LINE_WIDTH, readDetails, tidy } from './details.ts';
import { type EntryLine, readEntryLine } from './entry-line.ts';
import type { Field } from './fields.ts';
import { NO_ACCOUNT, readAccount, readAmount, readBalance, readIban } from './values.ts';

/** SWIFT allows 35 characters in :25:. A longer one among entries is text with a wrong tag. */
const MAX_ACCOUNT = 40;
/** Most fields :86: of one entry. Rabobank writes a field for each line. */
const MAX_FIELDS = 64;

type Kind = 'final' | 'interim';

/** A message, from :20: to "-". It names the account. */
interface Message {
  account: AccountReference | null;
  /** Whether a text is its account. */
  isOwn: IsOwn;
  kind: Kind;
  identity: StatementIdentity;
  isEmpty: boolean;
  hasEnded: boolean;
}

/** A statement, from the opening to the closing balance. */
interface Statement {
  line: number;
  opening: Balance | null;
  currency: string | null;
  /** The opening balance has two decimals. */
  hasCents: boolean;
  /** Whether the event has been yielded. */
  hasBegun: boolean;
  closing: Balance | null;
  isClosed: boolean;
}

/** An entry whose text may follow. Without `entryLine`, the entry could not be read, and its text is skipped. */
interface OpenEntry {
  line: number;
  entryLine: EntryLine | null;
  fields: Field[];
  isCut: boolean;
}

/**
 * Turns fields into events. A statement begins when its first entry or its closing balance comes, because only then is its header
 * complete. Within a message, a second opening balance begins a new statement of the same account. After the end of a message, the
 * account is unknown until the next message names it.
 */
export function createStatementReader() {
  let message = newMessage('final');
  let statement: Statement | null = null;
  let entry: OpenEntry | null = null;
  let events: StatementEvent[] = [];
  let line = 1;
  let lineBefore = 1;

  const warn = (text: string, at = line) => events.push({ type: 'warning', line: at, message: text });

  const open = (): Statement => {
    statement ??= {
      ...{ line, opening: null, currency: null, hasCents: false },
      ...{ hasBegun: false, closing: null, isClosed: false },
    };
    return statement;
  };
  const begin = (): Statement => {
    const begun = open();
    if (begun.hasBegun) return begun;
    begun.hasBegun = true;
    const account = message.account ?? NO_ACCOUNT;
    events.push({
      type: 'statement',
      line: begun.line,
      account: { ...account, currency: begun.currency ?? account.currency },
      kind: message.kind,
      opening: begun.opening,
      identity: message.identity,
    });
    return begun;
  };
  const endEntry = () => {
    if (entry?.entryLine)
      events.push({
        type: 'entry',
        entry: mapEntry(entry.line, entry.entryLine, entry.fields, message.isOwn),
      });
    entry = null;
  };
  const endStatement = () => {
    if (statement === null) return;
    const { closing, isClosed } = begin();
    if (!isClosed && message.kind === 'final') warn(BROKE_OFF, lineBefore);
    events.push({ type: 'end', line: lineBefore, closing });
    statement = null;
  };
  const startMessage = (kind: Kind = 'final') => {
    endStatement();
    message = newMessage(kind);
  };

  const readAccountField = (field: Field) => {
    const [text = ''] = field.lines;
    if (statement?.hasBegun && text.length > MAX_ACCOUNT) {
      warn(
        `:25: among the entries is ${quote(text)} and was skipped: an account of up to 35 characters is allowed`,
      );
      return;
    }
    if (message.account !== null || statement?.hasBegun) startMessage();
    message.account = readAccount(field.lines);
    message.isOwn = ownAccount(message.account);
    open();
  };
  const readOpening = (field: Field) => {
    if (message.hasEnded) startMessage();
    if (statement?.hasBegun || statement?.opening) endStatement();
    const into = open();
    const { balance, currency, warning } = readBalance(field.lines[0] ?? '', `:${field.tag}:`);
    into.opening = balance;
    into.hasCents = CENTS.test(field.lines[0] ?? '');
    into.currency = currency ?? into.currency;
    if (warning) warn(warning);
  };
  const readClosing = (field: Field) => {
    if (statement?.isClosed) endStatement();
    const { balance, currency, warning } = readBalance(field.lines[0] ?? '', `:${field.tag}:`);
    const into = open();
    if (!into.hasBegun) into.currency ??= currency;
    begin();
    into.isClosed = true;
    const isBrokenOff = field.isUnended === true && into.hasCents && !CENTS.test(field.lines[0] ?? '');
    into.closing = isBrokenOff ? null : balance;
    if (isBrokenOff) warn(`the file ends within :${field.tag}:, which is not used: send the whole file`);
    else if (warning) warn(warning);
    if (currency !== null && into.currency !== null && currency !== into.currency)
      warn(
        `:${field.tag}: is in ${currency}, and the statement in ${into.currency}: one currency is allowed`,
      );
  };
  const readEntry = (field: Field) => {
    if (statement?.isClosed) {
      if (message.hasEnded) startMessage();
      else endStatement();
    }
    begin();
    const result = readEntryLine(field.lines, field.isUnended);
    const entryLine = 'entryLine' in result ? result.entryLine : null;
    entry = { line, entryLine, fields: [], isCut: field.cut };
    if ('issue' in result) events.push({ type: 'issue', line, ...result.issue });
    if (entryLine?.warning) warn(entryLine.warning);
    if (field.cut) warn(TOO_LONG);
  };
  const readText = (field: Field) => {
    if (entry === null) return;
    const isFull = entry.fields.length >= MAX_FIELDS;
    if (!isFull) entry.fields.push(field);
    if ((!isFull && !field.cut) || entry.isCut) return;
    entry.isCut = true;
    warn(TOO_LONG);
  };
  const readFloorLimit = (field: Field) => {
    message.kind = 'interim';
    open().currency ??= /^[A-Z]{3}/.exec(field.lines[0] ?? '')?.[0] ?? null;
  };

  const readField = (field: Field) => {
    switch (field.tag) {
      case 'envelope':
        return startMessage(/2:[IO]942/.test(field.lines[0] ?? '') ? 'interim' : 'final');
      case 'end':
        message.hasEnded = true;
        return;
      case '20':
        return message.isEmpty ? undefined : startMessage();
      case '25':
      case '25P':
        return readAccountField(field);
      case '34F':
        return readFloorLimit(field);
      case '13':
      case '13D':
        if (!statement?.opening) message.kind = 'interim';
        return;
      case '28':
      case '28C':
        message.identity = readNumber(field.lines[0] ?? '');
        return;
      case '60F':
      case '60M':
        return readOpening(field);
      case '61':
        return readEntry(field);
      case '62F':
      case '62M':
        return readClosing(field);
    }
  };
  const read = (field: Field) => {
    lineBefore = line;
    line = field.line;
    if (field.tag === '86' || field.tag === 'NS') return readText(field);
    endEntry();
    readField(field);
    if (field.tag !== 'envelope') message.isEmpty = false;
  };
  const take = (): StatementEvent[] => {
    const taken = events;
    events = [];
    return taken;
  };
  return {
    /** @returns the events that these fields complete */
    read(fields: readonly Field[]): StatementEvent[] {
      for (const field of fields) read(field);
      return take();
    },
    /** @returns the events that the end of the file completes */
    end(): StatementEvent[] {
      lineBefore = line;
      endEntry();
      endStatement();
      return take();
    },
  };
}

const BROKE_OFF = 'the statement ends without a closing balance (:62F: or :62M:): it may have broken off';
const CENTS = /[.,]\d\d\s*(?:-[\s\S]*)?$/;
const TOO_LONG = 'the entry is too long: some of its text was dropped';

const newMessage = (kind: Kind): Message => ({
  account: null,
  isOwn: NO_OWN_ACCOUNT,
  kind,
  identity: NO_IDENTITY,
  isEmpty: true,
  hasEnded: false,
});

/** Reads :28C:, such as "00012/001": the number of the statement and of its page. */
function readNumber(text: string): StatementIdentity {
  const [, number = null, sequence = null] = /^\s*(\w{1,35})(?:\/(\w{1,35}))?/.exec(text) ?? [];
  return { ...NO_IDENTITY, number, sequence };
}

/** Texts of :61: that are codes, such as ING's "/TRCD/01016/" and SWIFT's "/OCMT/EUR4,5/". */
const CODES = /^\/(?:TRCD|OCMT|CHGS|EXCH|IACC)\//;
/** The amount in the currency of the payment (SWIFT MT 940, field 61, subfield 9: /OCMT/3!a15d). */
const ORIGINAL = /\/OCMT\/([A-Z]{3})([\d.,]{1,20})/;

/**
 * Makes an entry from :61: and the fields that follow it. docs/formats/mt940.md has the table.
 * @param isOwn whether an account is the statement's. It is never the counterparty's.
 */
export function mapEntry(line: number, from: EntryLine, fields: readonly Field[], isOwn: IsOwn): Entry {
  const details = readDetails(fields, isOwn);
  const supplement = tidy(joinWrapped(from.supplement, LINE_WIDTH));
  // Some banks write the counterparty's account where the reference or the supplementary details belong.
  const ownIban = readIban(from.ownReference ?? '');
  const isAccount = ownIban !== null || from.ownReference === details.opponentId;
  const ownReference = isAccount ? null : from.ownReference;
  const supplementIban = readIban(supplement ?? '');
  const name = details.name ?? from.name;
  const original = supplement === null ? null : readOriginal(supplement);
  const { references } = details;
  const more = keepKnown<EntryDetails>({
    valueDate: from.valueDate ?? undefined,
    isReversal: from.isReversal ? true : undefined,
    ...original,
    ...references,
  });
  return {
    line,
    status: from.status,
    date: from.date,
    dc: from.dc,
    amount: from.amount,
    currency: null,
    balance: null,
    code: from.code,
    description:
      describe(details.description, name, supplementIban === null ? supplement : null) ??
      ownReference ??
      from.bankReference,
    name,
    opponentId: otherThan(isOwn, details.opponentId),
    opponentIban:
      otherThan(isOwn, details.opponentIban) ?? otherThan(isOwn, supplementIban) ?? otherThan(isOwn, ownIban),
    reference: from.bankReference ?? ownReference,
    ...(from.bankReference === null && ownReference !== null && { isOwnReference: true }),
    ...(more === undefined ? {} : { details: more }),
  };
}

function readOriginal(supplement: string): Pick<EntryDetails, 'originalAmount' | 'originalCurrency'> | null {
  const [, originalCurrency, amount = ''] = ORIGINAL.exec(supplement) ?? [];
  const originalAmount = readAmount(amount);
  return originalAmount === null || originalCurrency === undefined
    ? null
    : { originalAmount, originalCurrency };
}

/** An account, unless it is the statement's. */
const otherThan = (isOwn: IsOwn, account: string | null): string | null =>
  account === null || isOwn(account) ? null : account;

/** The text of :86:, and what the next lines of :61: say beyond it. */
function describe(text: string | null, name: string | null, supplement: string | null): string | null {
  if (text === null || supplement === null) return text ?? supplement;
  const isText = !CODES.test(supplement) && /\p{L}{3}/u.test(supplement);
  return isText && joinTexts(name, supplement) !== name ? joinTexts(text, supplement) : text;
}

/** Digits and letters of an account, without the zeros before it. */
const accountId = (text: string): string =>
  text
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replace(/^0+/, '')
    .toUpperCase();

const NO_OWN_ACCOUNT: IsOwn = () => false;

/** Whether a text is the account, also if one is an IBAN and the other has the bank's code and the number, as in Germany. */
function ownAccount({ iban, number, bank }: AccountReference): IsOwn {
  if (iban !== null) return (text) => text === iban || (DIGITS.test(text) && iban.endsWith(numberOf(text)));
  const own = accountId(number ?? '');
  if (own === '') return NO_OWN_ACCOUNT;
  const inIban = bank === null ? null : bank + numberOf(own);
  return (text) => {
    const id = accountId(text);
    return id === own || (inIban !== null && id.slice(4) === inIban);
  };
}

const DIGITS = /^\d{5,}$/;

/** A number as it stands at the end of an IBAN. */
const numberOf = (text: string): string => text.replace(/^0+/, '').padStart(10, '0');
