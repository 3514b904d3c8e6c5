import type { Command } from 'commander';
import * as v from 'valibot';
import { BooksReportView } from '../../books/books-view.ts';
import type { AccountReport, BooksReport } from '../../books/verify-books.ts';
import { countOf } from '../../platform/text.ts';
import { CalendarDate } from '../../platform/validation.ts';
import type { Api } from '../api-client.ts';
import { type CommandContext, Failure, NegativeAnswer } from '../context.ts';
import { parseCustomer, parseId, readOptions } from '../values.ts';

/** The command `verify`. */

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
    .option(
      '--customer <id>',
      'whose books: its id, or external_id:<id>; not needed with --account',
      parseCustomer,
    )
    .option('--account <id>', 'only this account', parseId)
    .option('--from <date>', 'only statements that end on this day or later, YYYY-MM-DD')
    .option('--to <date>', 'only statements that begin on this day or earlier')
    .option('--json', 'print { "status", "deliveries", "accounts", "pending" }')
    .action(async ({ customer, account, json, ...between }: Options) => {
      if (customer === undefined && account === undefined)
        throw new Failure('Say whose books: give --customer <id> or --account <id>.');
      const { from, to } = readOptions(Between, between);
      const query = new URLSearchParams(Object.entries({ account, from, to }).filter(isGiven));
      const { withCustomer } = await import('../operator-client.ts');
      const subject = account === undefined ? undefined : ({ kind: 'account', id: account } as const);
      const answer = await withCustomer(context, { customer, subject }, (api) =>
        readBooks(api, `/v1/verify?${query}`, context.signal),
      );
      const isRight = answer.status === 'right';
      context.terminal.answer(json, answer, describeBooks(answer, isRight));
      if (!isRight) throw new NegativeAnswer();
    });

const isGiven = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined;

type Books = v.InferOutput<typeof BooksReportView>;

/** Reads all pages. Each has all pending deliveries, and the newest page says what is pending now. */
async function readBooks(api: Api, path: string, signal: AbortSignal): Promise<Books> {
  const pages: Books[] = [];
  for await (const page of api.pages(path, BooksReportView, signal)) pages.push(page);
  const { deliveries = 'done', pending = [] } = pages.at(-1) ?? {};
  return {
    status: pages.every(({ status }) => status === 'right') ? 'right' : 'wrong',
    deliveries,
    accounts: pages.flatMap(({ accounts }) => accounts),
    pending,
  };
}

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
