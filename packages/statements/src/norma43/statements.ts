import { describeColumn, type FixedLine } from '../shared/fixed-columns.ts';
import { countOf, quote } from '../shared/text.ts';
import { type Balance, NO_IDENTITY, type StatementEvent } from '../statement.ts';
import { type Account, describeSign, keyOf, readAccount, toBalance } from './account.ts';
import { type Movement, readMovement } from './map.ts';
import { CLOSING, cutClosing, LENGTH } from './records.ts';
import { compareRecords, createTotals } from './totals.ts';

/** Turns records into the events of statements: one for each account (11). */
export function createStatementReader() {
  let account: Account | null = null;
  let totals = createTotals();
  let movement: Movement | null = null;
  let outsidePeriod = 0;
  /** A line of text outside of a movement has been reported. */
  let hasStrayText = false;
  let accounts = 0;
  let records = 0;
  let hasEnd = true;
  let lastLine = 1;
  let events: StatementEvent[] = [];

  const warn = (line: number, message: string) => events.push({ type: 'warning', line, message });
  const issue = (line: number, path: string, message: string) =>
    events.push({ type: 'issue', line, path, message });

  const endMovement = () => {
    if (movement === null || account === null) return;
    const { line, fault, warnings } = movement;
    if (fault !== null) issue(line, fault.path, fault.message);
    else if (account.problem !== null) issue(line, account.problem.path, account.problem.message);
    else events.push({ type: 'entry', entry: movement.toEntry() });
    for (const warning of warnings) warn(warning.line, warning.message);
    movement = null;
  };
  const endAccount = (line: number, closing: Balance | null) => {
    if (account === null) return;
    if (outsidePeriod > 0)
      warn(
        line,
        `${countOf(outsidePeriod, 'movement')} ${outsidePeriod === 1 ? 'has an operation date' : 'have operation dates'} outside of the period from ${account.from} to ${account.to}.`,
      );
    events.push({ type: 'end', line, closing });
    account = null;
  };
  const breakOff = () => {
    endMovement();
    if (account === null) return;
    warn(lastLine, 'The account (11) has no end (33). Its movements may be incomplete.');
    endAccount(lastLine, null);
  };

  const readHeader = (line: FixedLine) => {
    breakOff();
    accounts += 1;
    hasStrayText = false;
    if (line.isLong) {
      issue(
        line.line,
        'account',
        `The account (11) has more than ${LENGTH} characters, so its columns may be shifted, and it was not read.`,
      );
      return;
    }
    account = readAccount(line);
    totals = createTotals();
    outsidePeriod = 0;
    const { reference, opening, from, to, warnings } = account;
    events.push({
      type: 'statement',
      line: line.line,
      account: reference,
      kind: 'final',
      opening,
      identity: { ...NO_IDENTITY, from, to },
    });
    for (const message of warnings) warn(line.line, message);
  };
  const beginMovement = (line: FixedLine) => {
    endMovement();
    if (account === null) {
      issue(line.line, 'account', 'The movement (22) stands outside of an account (11), so it was not read.');
      return;
    }
    movement = readMovement(line);
    const { dc, amount, date, fault } = movement;
    totals.add(dc, amount);
    if (fault === null && isOutside(date, account)) outsidePeriod += 1;
  };
  const addToMovement = (line: FixedLine, add: (to: Movement) => void) => {
    if (movement !== null) return add(movement);
    // Texts of a movement outside of an account follow its own issue.
    if (account === null || hasStrayText) return;
    hasStrayText = true;
    warn(line.line, `The record ${line.text.slice(0, 2)} stands before any movement (22), and was left out.`);
  };
  const readClosing = (line: FixedLine) => {
    endMovement();
    if (account === null) {
      if (!line.isLong) warn(line.line, 'The end of an account (33) stands outside of an account (11).');
      return;
    }
    if (line.isLong) {
      warn(line.line, `The end of the account (33) has more than ${LENGTH} characters. It was not read.`);
      return endAccount(line.line, null);
    }
    const { sign, balance, currency } = cutClosing(line.text);
    const closing = sign === null ? null : toBalance(sign, balance);
    const isOther = keyOf(line) !== account.key;
    if (isOther)
      warn(
        line.line,
        `The end of the account (33) is of ${quote(keyOf(line))}, and the account (11) is ${quote(account.key)}. Its closing balance was not used, and movements may belong to another account.`,
      );
    if (currency !== account.currencyNumber)
      warn(
        line.line,
        `The currency of the end of the account (33) is ${quote(currency)}, and that of the account (11) ${quote(account.currencyNumber)}.`,
      );
    if (!isOther) for (const message of totals.compare(line)) warn(line.line, message);
    if (sign === null) warn(line.line, describeColumn(CLOSING, 'sign', line));
    else if (balance === null) warn(line.line, describeColumn(CLOSING, 'balance', line));
    else if (closing === null) warn(line.line, describeSign(CLOSING.columns.sign.name, sign, line));
    endAccount(line.line, isOther || closing === null ? null : { amount: closing, date: account.to });
  };
  const endFile = (line: FixedLine) => {
    breakOff();
    const difference = compareRecords(line, records);
    if (difference !== null) warn(line.line, difference);
    records = 0;
    hasEnd = true;
  };

  const read = (line: FixedLine) => {
    const code = line.text.slice(0, 2);
    if (code === '88') endFile(line);
    else if (!FILLER.test(line.text)) {
      records += 1;
      hasEnd = false;
      if (code === '22') beginMovement(line);
      else if (code === '23') addToMovement(line, (it) => it.addText(line));
      else if (code === '24') addToMovement(line, (it) => it.addEquivalent(line));
      else if (code === '11') readHeader(line);
      else if (code === '33') readClosing(line);
      else {
        endMovement();
        issue(
          line.line,
          'record',
          `The line ${quote(line.text.trim())} is not a record. It must begin with 11, 22, 23, 24, 33 or 88.`,
        );
      }
    }
    lastLine = line.line;
  };

  return {
    read(lines: readonly FixedLine[]): StatementEvent[] {
      events = [];
      for (const line of lines) read(line);
      return events;
    },
    end(): StatementEvent[] {
      events = [];
      breakOff();
      if (!hasEnd) warn(lastLine, 'The file has no end (88). It may be incomplete.');
      if (accounts === 0) issue(lastLine, 'account', 'There is no account (11) in this file.');
      return events;
    },
  };
}

/** Some files are filled up with nines. */
const FILLER = /^9+\s*$/;

const isOutside = (date: string | null, { from, to }: Account): boolean =>
  date !== null && from !== null && to !== null && from <= to && (date < from || date > to);
