import type { Command } from 'commander';
import * as v from 'valibot';
import type { AccountReport, BooksReport } from '../../books/verify-books.ts';
import { countOf } from '../../platform/text.ts';
import { CalendarDate } from '../../platform/validation.ts';
import { type CommandContext, Failure, NegativeAnswer } from '../context.ts';
import { withInstallation } from '../open-service.ts';
import { findCustomerId } from '../owner.ts';
import { parseId, readOptions } from '../values.ts';

const Between = v.object({ from: v.optional(CalendarDate), to: v.optional(CalendarDate) });

interface Options {
  customer?: string;
  account?: string;
  from?: string;
  to?: string;
  json?: boolean;
}

/** `ledgerbell verify` */
export const defineVerify = (command: Command, context: CommandContext) =>
  command
    .option('--customer <id>', 'whose books; not needed with --account', parseId)
    .option('--account <id>', 'only this account', parseId)
    .option('--from <date>', 'only statements that end on this day or later, YYYY-MM-DD')
    .option('--to <date>', 'only statements that begin on this day or earlier')
    .option('--json', 'print { "status", "deliveries", "accounts", "pending" }')
    .action((options: Options) => {
      if (options.customer === undefined && options.account === undefined)
        throw new Failure('Say whose books: give --customer <id> or --account <id>.');
      const { from = null, to = null } = readOptions(Between, { from: options.from, to: options.to });
      return withInstallation(context, async ({ database }) => {
        const { areBooksRight, verifyBooks } = await import('../../books/verify-books.ts');
        const { customer, account } = options;
        const subject = account === undefined ? undefined : ({ kind: 'account', id: account } as const);
        const customerId = await findCustomerId(database, customer, subject);
        const report = await verifyBooks(database, customerId, { from, to }, { accountId: account ?? null });
        const isRight = areBooksRight(report);
        const deliveries = report.pending.length === 0 ? 'done' : 'pending';
        const answer = { status: isRight ? 'right' : 'wrong', deliveries, ...report };
        context.terminal.answer(options.json, answer, describeBooks(report, isRight));
        if (!isRight) throw new NegativeAnswer();
      });
    });

/** Describes the findings for each account. */
export function describeBooks({ accounts, pending }: BooksReport, isRight: boolean): string {
  const waiting = pending.map(
    (it) => `Webhook ${it.webhook_id}, ${it.title}: ${countOf(it.pending, 'delivery', 'deliveries')} pending`,
  );
  const books = isRight ? 'The books are right: statements and movements agree.' : 'The books are not right.';
  const deliveries = pending.length === 0 ? 'All deliveries are done.' : 'Not all deliveries are done.';
  return [...accounts.flatMap(describeAccount), books, ...waiting, deliveries].join('\n');
}

const COMPLETENESS = {
  complete: 'its statements are complete, and its movements give their balances',
  incomplete: 'statements are missing',
  contradictory: 'its statements contradict each other',
  unknown: 'no statements with balances, so nothing to compare its movements with',
} as const;

function describeAccount(it: AccountReport): string[] {
  const { id, title, currency, completeness, periods, wrong_sums, missing, surplus, open_conflicts } = it;
  const isWrong = periods.length === 0 && wrong_sums.length + missing.length + surplus.length > 0;
  return [
    `Account ${id}, ${title}: ${isWrong ? 'its movements do not give the balances of its statements' : COMPLETENESS[completeness]}`,
    ...periods.map(
      ({ status, from, to, difference, opening_balance, closing_balance }) =>
        `  ${status}, ${from} to ${to}: ${difference} ${currency} between ${opening_balance} and ${closing_balance}`,
    ),
    ...wrong_sums.map(
      ({ from, to, statements, movements, difference }) =>
        `  ${from} to ${to}: the statements say ${statements} ${currency}, the movements give ${movements}: ${difference}`,
    ),
    ...missing.map(
      ({ dc, amount, import_id }) =>
        `  missing: ${dc} ${amount} ${currency}, which import ${import_id} took for another movement`,
    ),
    ...surplus.map(
      ({ dc, amount, transaction_id }) =>
        `  too much: ${dc} ${amount} ${currency}, transaction ${transaction_id}`,
    ),
    ...(open_conflicts === 0 ? [] : [`  ${countOf(open_conflicts, 'open conflict')}`]),
  ];
}
