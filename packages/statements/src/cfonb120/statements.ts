import { formatAmount } from '../amounts.ts';
import { describeColumn, type FixedLine } from '../shared/fixed-columns.ts';
import { joinTexts, quote } from '../shared/text.ts';
import { type Balance, type Entry, NO_IDENTITY, type StatementEvent } from '../statement.ts';
import { type Account, keyOf, readAccount, readBalance } from './account.ts';
import { type Complements, createComplements } from './details.ts';
import {
  AMOUNT_RULE,
  CLOSING,
  cutClosing,
  cutDetail,
  cutMovement,
  LENGTH,
  MOVEMENT,
  readAmount,
} from './records.ts';

/** Reads records: each 01 to 07 is a statement, usually of a day. */

/** The movement that is being read, with its complements; its entry is null if it cannot be read. */
interface Movement {
  entry: Entry | null;
  label: string;
  complements: Complements;
}

export function createStatementReader() {
  let events: StatementEvent[] = [];
  let account: Account | null = null;
  let movement: Movement | null = null;
  let statements = 0;
  let lastLine = 1;
  let hasStray = false;
  /** Opening balance and movements; null: one could not be read. */
  let sum: bigint | null = null;
  let isComplete = true;

  const warn = (line: number, message: string) => events.push({ type: 'warning', line, message });
  const issue = (line: number, path: string, message: string) =>
    events.push({ type: 'issue', line, path, message });

  const endMovement = () => {
    if (movement === null) return;
    const { entry, label, complements } = movement;
    movement = null;
    if (entry === null) return;
    const { description, details, ...party } = complements.toFields(entry.dc);
    const all = { ...entry.details, ...details };
    events.push({
      type: 'entry',
      entry: {
        ...entry,
        ...party,
        description: joinTexts(label === '' ? null : label, description),
        ...(Object.keys(all).length > 0 && { details: all }),
      },
    });
  };
  const endStatement = (line: number, closing: Balance | null) => {
    endMovement();
    if (account === null) return;
    events.push({ type: 'end', line, closing });
    account = null;
  };
  const breakOff = () => {
    endMovement();
    if (account === null) return;
    warn(lastLine, 'The statement (01) has no new balance (07). Its movements may be incomplete.');
    endStatement(lastLine, null);
  };

  const begin = (line: FixedLine) => {
    breakOff();
    statements += 1;
    hasStray = false;
    if (line.isLong) {
      issue(
        line.line,
        'account',
        `The old balance (01) has more than ${LENGTH} characters, so its columns may be shifted, and it was not read.`,
      );
      return;
    }
    account = readAccount(line);
    const { reference, opening, warnings } = account;
    sum = opening?.amount ?? null;
    isComplete = true;
    const identity = { ...NO_IDENTITY, from: opening?.date ?? null };
    events.push({
      type: 'statement',
      line: line.line,
      account: reference,
      kind: 'final',
      opening,
      identity,
    });
    for (const message of warnings) warn(line.line, message);
  };

  const readMovement = (line: FixedLine) => {
    endMovement();
    if (account === null) {
      issue(
        line.line,
        'account',
        'The movement (04) stands outside of a statement (01 to 07), so it was not read.',
      );
      return;
    }
    const values = cutMovement(line.text);
    const amount = line.isLong ? null : readAmount(values.amount, values.decimals);
    const fault = findFault(line, values, amount, account);
    if (amount === null || fault?.path === 'account') isComplete = false;
    else if (sum !== null) sum += amount;
    if (fault !== null) issue(line.line, fault.path, fault.message);
    const { internalCode, code, date, valueDate, label, reference, entryNumber, rejectReason } = values;
    const isReversal = rejectReason !== '' && rejectReason !== '00';
    const id = reference !== '' && !/^0+$/.test(reference) ? reference : null;
    movement = {
      label,
      complements: createComplements(),
      entry:
        fault !== null || amount === null
          ? null
          : {
              line: line.line,
              status: 'booked',
              date: date ?? '',
              dc: amount < 0n ? 'Debit' : 'Credit',
              amount: amount < 0n ? -amount : amount,
              currency: null,
              balance: null,
              code: code || internalCode || null,
              description: null,
              name: null,
              opponentId: null,
              opponentIban: null,
              reference: id,
              ...(id !== null && { isOwnReference: true as const }),
              details: {
                ...(valueDate === null ? {} : { valueDate }),
                ...(isReversal ? { isReversal: true as const } : {}),
              },
            },
    };
    if (!/^0*$/.test(entryNumber)) movement.complements.add('', entryNumber);
  };

  const addDetail = (line: FixedLine) => {
    if (movement !== null) {
      const { qualifier, value } = cutDetail(line.text);
      return movement.complements.add(qualifier, value);
    }
    if (account === null || hasStray) return;
    hasStray = true;
    warn(line.line, 'A complement (05) stands before any movement (04), and was left out.');
  };

  const readClosing = (line: FixedLine) => {
    endMovement();
    if (account === null) {
      warn(line.line, 'The new balance (07) stands outside of a statement (01).');
      return;
    }
    if (line.isLong) {
      warn(line.line, `The new balance (07) has more than ${LENGTH} characters. It was not read.`);
      return endStatement(line.line, null);
    }
    if (keyOf(line) !== account.key)
      warn(
        line.line,
        `The new balance (07) is of ${quote(keyOf(line))}, and the old one (01) of ${quote(account.key)}.`,
      );
    const { balance, warnings } = readBalance(CLOSING, cutClosing(line.text), line);
    for (const message of warnings) warn(line.line, message);
    if (balance !== null && sum !== null && isComplete && balance.amount !== sum)
      warn(
        line.line,
        `The new balance (07) is ${formatAmount(balance.amount, null)}, but the old one (01) and the movements (04) add up to ${formatAmount(sum, null)}, a difference of ${formatAmount(balance.amount - sum, null)}.`,
      );
    endStatement(line.line, balance);
  };

  const read = (line: FixedLine) => {
    const code = line.text.slice(0, 2);
    if (code === '04') readMovement(line);
    else if (code === '05') addDetail(line);
    else if (code === '01') begin(line);
    else if (code === '07') readClosing(line);
    else {
      endMovement();
      issue(
        line.line,
        'record',
        `The line ${quote(line.text.trim())} is not a record. It must begin with 01, 04, 05 or 07.`,
      );
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
      if (statements === 0) issue(lastLine, 'account', 'There is no old balance (01) in this file.');
      return events;
    },
  };
}

/** Why a movement is no entry; null: it is one. */
function findFault(
  line: FixedLine,
  { date, amount: found, decimals }: ReturnType<typeof cutMovement>,
  amount: bigint | null,
  account: Account,
): { path: string; message: string } | null {
  if (line.isLong)
    return {
      path: 'record',
      message: `The movement (04) has more than ${LENGTH} characters, so its columns may be shifted.`,
    };
  if (keyOf(line) !== account.key)
    return {
      path: 'account',
      message: `The movement (04) is of ${quote(keyOf(line))}, and the statement (01) of ${quote(account.key)}.`,
    };
  if (date === null) return { path: 'booking date', message: describeColumn(MOVEMENT, 'date', line) };
  if (amount === null)
    return {
      path: 'amount',
      message: `The amount of the movement (04) is ${quote(found)} with ${decimals ?? 'no'} decimals, in line ${line.line}. ${AMOUNT_RULE}`,
    };
  return null;
}
