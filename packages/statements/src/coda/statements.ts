import { describeColumn, type FixedLine } from '../shared/fixed-columns.ts';
import { quote } from '../shared/text.ts';
import { type Balance, NO_IDENTITY, type StatementEvent } from '../statement.ts';
import { type CodaAccount, readAccount, signedAmount } from './accounts.ts';
import { addDetail, type Booking, countLine, createBooking, mapBooking } from './bookings.ts';
import { addInformation, readMovement } from './movements.ts';
import { cut, NEW_BALANCE, OLD_BALANCE, RECORD_LENGTH } from './records.ts';
import { createTotals } from './totals.ts';

interface Statement {
  account: CodaAccount;
  structure: string;
}

/** A header to trailer. */
interface Block {
  bank: string | null;
  /** Its version is not read, and its records are skipped. */
  isRefused: boolean;
}

/** Turns lines into the events of statements: one for each old balance (1) up to its new balance (8). */
export function createStatementReader() {
  const totals = createTotals();
  let block: Block | null = null;
  let statement: Statement | null = null;
  let booking: Booking | null = null;
  /** The movement before could not be read, so the records that follow belong to nothing. */
  let isSkipping = false;
  let isCutWithin = false;
  let fileFollows = false;
  let accounts = 0;
  let lastLine = 1;
  let events: StatementEvent[] = [];

  const warn = (line: number, message: string) => events.push({ type: 'warning', line, message });
  const issue = (line: number, path: string, message: string) =>
    events.push({ type: 'issue', line, path, message });

  const endBooking = (isBroken: boolean) => {
    if (booking === null) return;
    for (const event of mapBooking(booking, statement?.account.currency ?? null, isBroken))
      events.push(event);
    booking = null;
  };
  const endStatement = (line: number, closing: Balance | null) => {
    statement = null;
    events.push({ type: 'end', line, closing });
  };
  const breakStatement = (line: number, isFileEnd: boolean) => {
    endBooking(isFileEnd && statement !== null);
    isSkipping = false;
    if (statement === null) return;
    warn(line, 'The statement ends without a new balance (8): it may have broken off.');
    endStatement(line, null);
  };
  const breakBlock = (line: number, isFileEnd: boolean) => {
    breakStatement(line, isFileEnd);
    if (block !== null) warn(line, 'The file has no trailer (9). It may be incomplete.');
    block = null;
  };

  const beginBlock = ({ line, text }: FixedLine) => {
    breakBlock(line, false);
    fileFollows = false;
    totals.begin();
    const { bic, bankCode, version } = cut.header(text);
    const isRefused = version === '1';
    if (isRefused)
      issue(line, 'version code', 'The version code of the header (0) is 1. Only version 2 of CODA is read.');
    else if (version !== '2')
      warn(
        line,
        `The version code of the header (0) is ${quote(version)}. The records are read as version 2.`,
      );
    block = { bank: bic || (/[1-9]/.test(bankCode) ? bankCode : null), isRefused };
  };

  const beginStatement = (line: FixedLine) => {
    breakStatement(line.line, false);
    const { structure, account: text, sign, amount, date, number, paperNumber } = cut.oldBalance(line.text);
    if (line.isLong || structure === null || !/^[0-3]$/.test(structure) || text.length < 37) {
      const why = line.isLong
        ? 'has more than 128 characters'
        : text.length < 37
          ? 'ends before its account is complete'
          : `has the account structure ${quote(line.text.slice(1, 2))}, which must be 0, 1, 2 or 3`;
      issue(line.line, 'account', `The old balance (1) ${why}, so the statement was not read.`);
      accounts += 1;
      return;
    }
    accounts += 1;
    const account = readAccount(structure, text);
    const opening = signedAmount(sign, amount);
    statement = { account, structure };
    events.push({
      type: 'statement',
      line: line.line,
      account: { ...account, bank: block?.bank ?? null },
      kind: 'final',
      opening: opening === null ? null : { amount: opening, date },
      identity: { ...NO_IDENTITY, number: numberOf(number) ?? numberOf(paperNumber) },
    });
    if (opening === null) warn(line.line, describeBalance(OLD_BALANCE, amount === null, sign, line));
    if (account.currency === null)
      warn(line.line, 'The account of the old balance (1) has no currency of three letters.');
  };

  const readNewBalance = (line: FixedLine) => {
    endBooking(false);
    isSkipping = false;
    if (statement === null) {
      warn(line.line, 'The new balance (8) stands outside of a statement, so it was not read.');
      return;
    }
    const { account: text, sign, amount, date } = cut.newBalance(line.text);
    const closing = line.isLong ? null : signedAmount(sign, amount);
    const { iban, number, currency } = readAccount(statement.structure, text);
    const isOther =
      iban !== statement.account.iban ||
      number !== statement.account.number ||
      currency !== statement.account.currency;
    if (closing === null) warn(line.line, describeBalance(NEW_BALANCE, amount === null, sign, line));
    else if (isOther)
      warn(
        line.line,
        'The new balance (8) is of another account or currency than the old balance (1), so it was not read.',
      );
    endStatement(line.line, closing === null || isOther ? null : { amount: closing, date });
  };

  const readTrailer = (line: FixedLine) => {
    breakStatement(line.line, false);
    const stated = cut.trailer(line.text);
    for (const difference of totals.compare(stated, line)) warn(line.line, difference);
    if (line.isUnended && line.text.length < RECORD_LENGTH)
      warn(line.line, 'The file ends inside the trailer (9). It may be incomplete.');
    totals.begin();
    block = null;
    fileFollows = stated.follows === '1';
  };

  const readFirst = (line: FixedLine) => {
    const movement = readMovement(line);
    const { sequence, detail } = movement.first;
    const sequenceBefore = booking?.total.first.sequence ?? null;
    const isKnown = sequence !== null && detail !== null && !line.isLong;
    // After 9999 details, their numbers begin with 0000 again.
    const isDetail =
      isKnown && (detail !== '0000' || (sequence === sequenceBefore && booking?.lastNumber === '9999'));
    if (!isDetail) totals.add(movement.amount);
    if (!isKnown && line.isUnended) {
      // The file may end inside a detail, so the booking stays open.
      issue(line.line, movement.fault?.path ?? 'record', movement.fault?.message ?? '');
      return;
    }
    if (statement === null) {
      isSkipping = true;
      issue(
        line.line,
        'account',
        'The movement (2.1) stands outside of a statement (1 to 8), so it was not read.',
      );
      return;
    }
    if (isDetail && booking !== null && sequence === sequenceBefore) {
      booking.lastNumber = detail;
      addDetail(booking, movement);
      countLine(booking);
      return;
    }
    endBooking(false);
    isSkipping = isDetail || !isKnown;
    if (isDetail)
      issue(
        line.line,
        'detail number',
        `The movement (2.1) is a detail (${sequence} ${detail}) without its total (${sequence} 0000), so it was not read.`,
      );
    else if (!isKnown) issue(line.line, movement.fault?.path ?? 'record', movement.fault?.message ?? '');
    else booking = createBooking(movement);
  };

  /** Reads a record that belongs to the movement before it: 2.2, 2.3, and 3.1 to 3.3. */
  const readFurther = (line: FixedLine) => {
    if (booking === null) {
      if (!isSkipping) warnStray(line);
      return;
    }
    const { total, last } = booking;
    const isInformation = line.text.startsWith('3');
    const article = line.text[1];
    const isOwn =
      line.text.slice(2, 6) === total.first.sequence &&
      (isInformation || line.text.slice(6, 10) === last.first.detail);
    const isRepeated = !isInformation && (article === '2' ? last.second : last.third) !== null;
    if (!isOwn || isRepeated) {
      warnStray(line);
      return;
    }
    if (isInformation && /^\d{4}$/.test(line.text.slice(6, 10))) booking.lastNumber = line.text.slice(6, 10);
    countLine(booking);
    if (line.isLong) warn(line.line, 'The record has more than 128 characters, so its text was not read.');
    else if (!isInformation && article === '2') last.second = cut.movement2(line.text);
    else if (!isInformation) last.third = cut.movement3(line.text);
    else if (!addInformation(last, line))
      warn(line.line, 'The movement has too much information (3). Some of its text was left out.');
  };
  const warnStray = (line: FixedLine) =>
    warn(line.line, `The record ${quote(line.text.slice(0, 10))} belongs to no movement before it.`);

  const read = (line: FixedLine) => {
    lastLine = line.line;
    isCutWithin = line.isUnended && line.text.length < RECORD_LENGTH;
    const kind = line.text[0] ?? '';
    if (kind === '0') return beginBlock(line);
    if (block?.isRefused) {
      if (kind === '9') block = null;
      return;
    }
    if (kind === '4') return;
    if (kind === '9') return readTrailer(line);
    const isRecord = kind === '1' || kind === '8' || /^[23][123]/.test(line.text);
    if (!isRecord) {
      issue(
        line.line,
        'record',
        `The line ${quote(line.text.trim())} is not a record. It must begin with 0, 1, 21, 22, 23, 31, 32, 33, 4, 8 or 9.`,
      );
      return;
    }
    totals.count();
    if (kind === '1') beginStatement(line);
    else if (kind === '8') readNewBalance(line);
    else if (line.text.startsWith('21')) readFirst(line);
    else readFurther(line);
  };

  return {
    read(lines: readonly FixedLine[]): StatementEvent[] {
      events = [];
      for (const line of lines) read(line);
      return events;
    },
    end(): StatementEvent[] {
      events = [];
      if (isCutWithin && statement !== null)
        warn(lastLine, 'The file ends inside a record. Its text may be incomplete.');
      breakBlock(lastLine, true);
      if (fileFollows)
        warn(
          lastLine,
          'The trailer (9) says that another file follows, and there is none. The file may be incomplete.',
        );
      if (accounts === 0) issue(lastLine, 'account', 'There is no account (1) in this file.');
      return events;
    },
  };
}

/** Three digits, which are 000 if the bank gives no number. */
const numberOf = (text: string): string | null => (/^\d{3}$/.test(text) && text !== '000' ? text : null);

const describeBalance = (
  table: typeof OLD_BALANCE | typeof NEW_BALANCE,
  isAmount: boolean,
  sign: string,
  line: FixedLine,
): string =>
  line.isLong
    ? `The record of ${table.name} has more than 128 characters, so its columns are not certain.`
    : isAmount
      ? describeColumn(table, 'amount', line)
      : `The sign of ${table.name} is ${quote(sign)}, column ${table.columns.sign.from} of line ${line.line}. It must be 0 (credit) or 1 (debit).`;
