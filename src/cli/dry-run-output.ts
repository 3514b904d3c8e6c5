import type * as v from 'valibot';
import type { DryRunView } from '../intake/dry-run-view.ts';
import { countOf, formatCount } from '../platform/text.ts';
import { NegativeAnswer } from './failure.ts';
import { describeRows, isAllRejected } from './import-progress.ts';
import { type Column, renderColumns } from './output.ts';
import type { Terminal } from './terminal.ts';
import { oneLine } from './text.ts';

type DryRun = v.InferOutput<typeof DryRunView>;
type Row = DryRun['transactions'][number];
type Statement = DryRun['statements'][number];

const ACCOUNT: Column<Row> = ['account', ({ account }) => account];

/** Shows the account only if there are several. */
const columnsOf = (rows: readonly Row[]): readonly Column<Row>[] => [
  ['line', ({ line }) => line, 'right'],
  ['', ({ known }) => (known ? 'known' : 'new')],
  ['date', ({ date_issue }) => date_issue],
  ['', ({ dc }) => dc],
  ['amount', ({ amount }) => amount, 'right'],
  ['balance', ({ balance }) => balance, 'right'],
  ...(new Set(rows.map(({ account }) => account)).size > 1 ? [ACCOUNT] : []),
  ['name and description', ({ name, description }) => [name, description].filter(Boolean).join(', ')],
];

const STATEMENTS: readonly Column<Statement>[] = [
  ['line', ({ line }) => line, 'right'],
  ['statement of', ({ account }) => account],
  ['opening', ({ opening }) => opening, 'right'],
  ['credits', ({ credits }) => credits, 'right'],
  ['debits', ({ debits }) => debits, 'right'],
  ['closing', ({ closing }) => closing, 'right'],
  ['difference', ({ difference }) => difference, 'right'],
  ['', ({ currency }) => currency],
];

/**
 * Prints what an import would store: tables and a summary, or the API's answer with --json.
 * @throws {NegativeAnswer} after printing, when the import would fail or all of its rows would be rejected.
 */
export function printDryRun(terminal: Terminal, { json }: { json?: boolean | undefined }, run: DryRun): void {
  const { transactions, statements, errors, warnings } = run;
  const sections = [
    transactions.length === 0 ? [] : [renderColumns(columnsOf(transactions), transactions), ...moreRows(run)],
    statements.length === 0 ? [] : [renderColumns(STATEMENTS, statements)],
    errors.map(({ line, path, message }) => oneLine(`line ${line}, rejected: ${path} ${message}`)),
    warnings.map(({ line, message }) => oneLine(`line ${line}, warning: ${message}`)),
    summarise(run),
  ];
  const text = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  terminal.answer(json, run, text.join('\n\n'));
  if (run.dry_run.status === 'failed') throw new NegativeAnswer('the import would fail');
  if (isAllRejected(run.dry_run)) throw new NegativeAnswer('every row would be rejected');
}

function moreRows({ transactions, dry_run: { inserted, duplicates, conflicts } }: DryRun): string[] {
  const left = inserted + duplicates + conflicts - transactions.length;
  return left === 0 ? [] : [`… and ${formatCount(left)} more`];
}

function summarise({ dry_run, accounts }: DryRun): string[] {
  const created = accounts.filter(({ id }) => id === null);
  const found = `${countOf(dry_run.statements, 'statement')}, ${countOf(dry_run.warnings, 'warning')}`;
  return [
    `Nothing was stored (${dry_run.format}): ${describeRows(dry_run)}; ${found}.`,
    ...created.map(({ title, bank, currency }) =>
      oneLine(`A new account would be created: ${title} at ${bank}, ${currency}.`),
    ),
    ...(dry_run.error === null ? [] : [oneLine(`The import would fail: ${dry_run.error}`)]),
  ];
}
