import { formatAmount } from '../amounts.ts';
import { countOf, quote } from '../shared/text.ts';
import { type Entry, type MinorUnits, NO_IDENTITY, type StatementEvent } from '../statement.ts';
import type { Aggregate, AggregateEvent } from './aggregates.ts';
import { createBalanceRows } from './balance-rows.ts';
import { toAccount, toClosing, toEntry, toRange } from './map.ts';

const isStatement = ({ name }: Aggregate): boolean => name === 'STMTRS' || name === 'CCSTMTRS';
const isTransaction = (name: string): boolean => name === 'STMTTRN' || name === 'STMTTRNP';

/** Types of transactions that take money, and that bring money (OFX 2.2, 11.4.4.3). */
const TAKES = new Set(['DEBIT', 'CHECK', 'FEE', 'SRVCHG']);
const BRINGS = new Set(['CREDIT', 'DEP', 'DIRECTDEP']);

function isAgainstSign({ code, dc, amount }: Entry): boolean {
  const type = code?.toUpperCase() ?? '';
  return amount !== 0n && (dc === 'Credit' ? TAKES : BRINGS).has(type);
}

/** The most investment accounts of a file that are named. */
const MOST_INVESTMENTS = 100;

/** Turns aggregates into the events of statements. */
export function createStatementReader() {
  let organisation: string | null = null;
  let statement: Aggregate | null = null;
  /** The list of the statement's transactions, which also has the statement's days. */
  let list: Aggregate | null = null;
  let isBegun = false;
  let balanceRows = createBalanceRows();
  let againstSign = { count: 0, line: 0 };
  let statements = 0;
  /** Warnings of investment accounts, for a file that has other accounts too. */
  const investments: { line: number; message: string }[] = [];
  /** The transactions of an investment statement that move cash. */
  let cash = { count: 0, sum: 0n };
  let isInOfx = false;
  let events: StatementEvent[] = [];

  const warn = (line: number, message: string) => events.push({ type: 'warning', line, message });
  /** Begins the statement. Called at its first transaction or its end, because the account comes after the statement's tag. */
  const beginStatement = () => {
    if (statement === null || isBegun) return;
    isBegun = true;
    statements += 1;
    const account = toAccount(statement, organisation);
    events.push({
      type: 'statement',
      line: statement.line,
      account,
      kind: 'final',
      opening: null,
      identity: list === null ? NO_IDENTITY : { ...NO_IDENTITY, ...toRange(list) },
    });
  };

  const endBalanceRows = (ledger: MinorUnits | null) => {
    for (const { entry, isBalance } of balanceRows.decide(ledger)) {
      const { line, description } = entry;
      if (isBalance) {
        const message = `${quote(description ?? '')} without a FITID is a balance and no transaction, as the other rows show. The row is not stored.`;
        events.push({ type: 'issue', line, path: 'FITID', message });
        warn(line, message);
      } else {
        const what = `${quote(description ?? '')} without a FITID may be a balance`;
        warn(line, `${what}, but the other rows do not show it. The row is stored as a transaction.`);
        events.push({ type: 'entry', entry });
      }
    }
  };

  const endStatement = (line: number, isComplete: boolean) => {
    if (statement === null) return;
    beginStatement();
    const found = toClosing(statement);
    if (typeof found === 'string') warn(statement.line, found);
    const closing = typeof found === 'string' ? null : found;
    endBalanceRows(closing?.amount ?? null);
    if (againstSign.count > 0) {
      const transactions = countOf(againstSign.count, 'transaction');
      warn(
        againstSign.line,
        `The TRNTYPE of ${transactions} is against the sign of TRNAMT. The sign counts.`,
      );
    }
    if (!isComplete) warn(line, 'The file ends inside this statement.');
    events.push({ type: 'end', line, closing });
    statement = null;
  };

  const endTransaction = (transaction: Aggregate, inside: readonly Aggregate[], isComplete: boolean) => {
    // Cash movements in an investment statement do not belong to a bank account.
    if (inside.some(({ name }) => name === 'INVSTMTRS')) {
      const entry = toEntry(transaction, false);
      cash.count += 1;
      if (!('type' in entry)) cash.sum += entry.dc === 'Credit' ? entry.amount : -entry.amount;
      return;
    }
    const { line } = transaction;
    if (!isComplete) {
      events.push({
        type: 'issue',
        line,
        path: transaction.name,
        message: 'The file ends inside this transaction.',
      });
      return;
    }
    if (statement === null) {
      const message =
        'The transaction stands outside of a statement (STMTRS or CCSTMTRS), so its account is unknown.';
      events.push({ type: 'issue', line, path: transaction.name, message });
      return;
    }
    beginStatement();
    const entry = toEntry(
      transaction,
      inside.some(({ name }) => name === 'BANKTRANLISTP'),
    );
    for (const name of transaction.shortened)
      warn(line, `${name} is longer than 8 Ki characters. Its end was left out.`);
    if ('type' in entry) {
      events.push(entry);
      return;
    }
    if (isAgainstSign(entry)) againstSign = { count: againstSign.count + 1, line: againstSign.line || line };
    if (entry.status === 'booked' && balanceRows.take(entry)) return;
    events.push({ type: 'entry', entry });
  };

  const noteInvestments = ({ line, values }: Aggregate) => {
    const currency = values.get('CURDEF') ?? null;
    const sum = `${formatAmount(cash.sum, currency)} ${currency ?? ''}`.trim();
    const leftOut =
      cash.count === 0
        ? ''
        : ` Its cash is not stored either: ${countOf(cash.count, 'transaction')}, ${sum} altogether.`;
    const message = `The file has the investment account ${quote(values.get('ACCTID') ?? '')} (INVSTMTRS), which is not read.${leftOut}`;
    if (investments.length < MOST_INVESTMENTS) investments.push({ line, message });
  };

  /**
   * Checks the status of the sign-on or of a statement. Codes other than 0 are errors, except mere information (OFX 2.2, 3.1.5).
   */
  const checkStatus = ({ line, values }: Aggregate, response: string) => {
    const code = values.get('CODE') ?? '';
    const severity = values.get('SEVERITY')?.toUpperCase().slice(0, 10) ?? 'none';
    if (/^0*$/.test(code) || severity === 'INFO') return;
    const message = values.get('MESSAGE');
    const said = message === undefined || message === '' ? '' : `: ${quote(message)}`;
    warn(line, `The bank answered ${response} with status ${quote(code)} (${severity})${said}.`);
  };

  const read = (event: AggregateEvent) => {
    if (event.type === 'unopened') {
      if (isTransaction(event.name)) {
        const message = `The opening tag <${event.name}> is missing, so this transaction was not read.`;
        events.push({ type: 'issue', line: event.line, path: event.name, message });
      }
      return;
    }
    const { aggregate, inside } = event;
    if (aggregate.name === 'OFX') isInOfx = event.type === 'begin' || !event.complete;
    if (event.type === 'begin') {
      if (aggregate.name === 'INVSTMTRS') cash = { count: 0, sum: 0n };
      if (aggregate.name === 'BANKTRANLIST') list = aggregate;
      if (!isStatement(aggregate)) return;
      statement = aggregate;
      list = null;
      isBegun = false;
      balanceRows = createBalanceRows();
      againstSign = { count: 0, line: 0 };
      return;
    }
    if (isStatement(aggregate)) endStatement(event.line, event.complete);
    else if (aggregate.name === 'INVSTMTRS') noteInvestments(aggregate);
    else if (isTransaction(aggregate.name)) endTransaction(aggregate, inside, event.complete);
    else if (aggregate.name === 'SONRS') organisation = aggregate.values.get('FI.ORG') || null;
    else if (aggregate.name === 'STATUS' && event.complete)
      checkStatus(aggregate, inside.at(-1)?.name ?? 'OFX');
  };

  return {
    read(aggregates: readonly AggregateEvent[]): StatementEvent[] {
      events = [];
      for (const event of aggregates) read(event);
      return events;
    },
    /** @param line the last one of the file */
    end(line: number): StatementEvent[] {
      events = [];
      if (isInOfx) warn(line, 'The file ends without </OFX>. It may be incomplete.');
      if (statements > 0) for (const it of investments) warn(it.line, it.message);
      else {
        const what =
          investments.length > 0
            ? ' It has investment statements, which hold no movements of a bank account.'
            : '';
        const message = `There is no bank or credit card statement (STMTRS, CCSTMTRS) in this file.${what}`;
        events.push({ type: 'issue', line, path: 'OFX', message });
      }
      return events;
    },
  };
}
