import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import type * as v from 'valibot';
import { DryRunView } from '../../intake/dry-run-view.ts';
import type { ImportWarning } from '../../intake/import-view.ts';
import { countOf, formatCount } from '../../platform/text.ts';
import type { Api, Upload } from '../api-client.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import { type CommandContext, Failure, NegativeAnswer, oneLine, type Terminal } from '../context.ts';
import {
  createProgress,
  describeRows,
  followImport,
  ImportAnswer,
  type ImportState,
  isAllRejected,
  rowsDone,
} from '../import-progress.ts';
import { type Column, renderColumns } from '../output.ts';
import { parseId } from '../values.ts';
import { describeGaps, describeWarnings, readWarnings } from './imports.ts';

/** The command `import`, which uploads a file and waits for the import. */

const LINE_FEED = 0x0a;

const FORMAT_OF_EXTENSION: Readonly<Record<string, string>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
};

const TYPE_OF_FORMAT: Readonly<Record<string, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
};

const STDIN = '-';

/** A file to be imported. */
export interface StatementFile {
  /** "-": standard input. */
  path: string;
  /** undefined for standard input. */
  bytes: number | undefined;
  /** From --format, otherwise from the extension of the file's name. `auto`: a statement file, whose content decides the format. */
  format: string;
}

/** How to read a statement file. */
export interface StatementParameters {
  /** The account, if the file does not name it. */
  account?: string;
  profile?: string;
  createAccounts?: boolean;
  /** Statements that name another account are stored for `account` all the same. */
  forceAccount?: boolean;
  /** Nothing is stored. */
  dryRun?: boolean;
}

/** @throws {Failure} when there is no such file. */
export async function findStatementFile(path: string, format: string | undefined): Promise<StatementFile> {
  if (path === STDIN) return { path, bytes: undefined, format: format ?? 'auto' };
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(
      error.code === 'ENOENT' ? `There is no file ${path}.` : `${path} cannot be read (${error.code}).`,
    );
  });
  if (!found.isFile()) throw new Failure(`${path} is not a file.`);
  const known = format ?? FORMAT_OF_EXTENSION[extname(path).toLowerCase()] ?? 'auto';
  return { path, bytes: found.size, format: known };
}

/** The path of the API that accepts such a file. */
export function importPath(
  { format }: StatementFile,
  { account, profile, createAccounts, forceAccount, dryRun }: StatementParameters,
): string {
  const query = new URLSearchParams({
    ...(format in TYPE_OF_FORMAT ? {} : { format }),
    ...(account === undefined ? {} : { account_id: account }),
    ...(profile === undefined ? {} : { profile }),
    ...(createAccounts === true ? { create_accounts: 'true' } : {}),
    ...(forceAccount === true ? { force_account: 'true' } : {}),
    ...(dryRun === true ? { dry_run: 'true' } : {}),
  });
  return query.size === 0 ? '/v1/imports' : `/v1/imports?${query}`;
}

/** Opens the file as a streamed upload, because it may be large. `onBytes` gets the size of each part that is read. */
export function openUpload(
  { path, bytes, format }: StatementFile,
  onBytes: (bytes: number) => void,
): { upload: Upload; countLines: () => number } {
  let lines = 0;
  async function* read(): AsyncGenerator<Buffer> {
    if (bytes === 0) return;
    for await (const part of openSource(path, bytes)) {
      for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1)) lines += 1;
      onBytes(part.length);
      yield part;
    }
  }
  const type = TYPE_OF_FORMAT[format] ?? 'application/octet-stream';
  return {
    upload: { type, bytes, body: Readable.from(read(), { objectMode: false }) },
    countLines: () => lines,
  };
}

/** Sends only the original length of a file that grows during the upload. */
const openSource = (path: string, bytes: number | undefined): AsyncIterable<Buffer> =>
  bytes === undefined ? process.stdin : createReadStream(path, { end: bytes - 1 });

type DryRun = v.InferOutput<typeof DryRunView>;
type Row = DryRun['transactions'][number];
type Statement = DryRun['statements'][number];

const ACCOUNT: Column<Row> = ['account', ({ account }) => account];

/** Labels of the rows that are more than known or new. */
const LABELS: Partial<Record<NonNullable<Row['reason']>, string>> = {
  conflict: 'conflict',
  assumed: 'assumed known',
  assumed_new: 'assumed new',
};

/** Shows the account only if there are several. */
const columnsOf = (rows: readonly Row[]): readonly Column<Row>[] => [
  ['line', ({ line }) => line, 'right'],
  ['', ({ known, reason }) => LABELS[reason ?? 'same'] ?? (known ? 'known' : 'new')],
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

const describeConflict = ({ line, reason, stored }: Row): string[] =>
  reason === 'conflict' && stored !== null
    ? [
        `line ${line}, conflict: movement ${stored.id} of the same id is stored as ${stored.dc} ${stored.amount} of ${stored.date_issue}`,
      ]
    : [];

/**
 * Prints what an import would store: tables and a summary, or the API's answer with --json.
 * @throws {NegativeAnswer} after printing, when the import would fail or all of its rows would be rejected.
 */
export function printDryRun(terminal: Terminal, { json }: { json?: boolean | undefined }, run: DryRun): void {
  const { transactions, statements, errors, warnings } = run;
  const sections = [
    transactions.length === 0 ? [] : [renderColumns(columnsOf(transactions), transactions), ...moreRows(run)],
    statements.length === 0 ? [] : [renderColumns(STATEMENTS, statements)],
    transactions.flatMap(describeConflict),
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

interface Options extends StatementParameters, AccessOptions {
  format?: string;
}

/** `ledgerbell import` */
export const defineImport = (command: Command, context: CommandContext) =>
  addAccessOptions(
    command.argument('<file>', 'a statement file, .json or .ndjson; "-": standard input'),
    'print { "import": { "id", "status", "inserted", … } }, or with --dry-run what the API answers',
  )
    .option('--format <format>', 'the format, if neither the file name nor the content tells')
    .option('--account <id>', 'the account, if the file does not name it', parseId)
    .option('--profile <name>', 'the profile of a CSV or XLSX file, if its headings do not tell')
    .option('--create-accounts', 'create accounts that the customer does not have')
    .option('--force-account', 'store statements that name another account for --account all the same')
    .option('--dry-run', 'show what would be stored, and store nothing')
    .action(async (path: string, { format, ...options }: Options) => {
      const file = await findStatementFile(path, format);
      const { json, account, dryRun } = options;
      if (account !== undefined && file.format in TYPE_OF_FORMAT)
        throw new Failure(
          `The rows of ${file.format.toUpperCase()} name their accounts: leave --account out, and say for which customer with --customer or --key.`,
        );
      const subject = account === undefined ? {} : { subject: { kind: 'account', id: account } as const };
      await withAccess(context, options, { ...subject, fields: FIELDS_WITH_OPTION }, async (api) => {
        if (dryRun === true) {
          const { answer } = await send(api, file, options, DryRunView);
          return printDryRun(context.terminal, { json }, answer);
        }
        const { answer, lines } = await send(api, file, options, ImportAnswer);
        // Only NDJSON has one row per line.
        const rows = file.format === 'ndjson' ? lines : undefined;
        const ended = await follow(api, answer.import, rows, context.signal);
        const warnings = json === true ? [] : await readWarnings(api, ended);
        context.terminal.answer(json, { import: ended }, describe(ended, warnings));
        if (isAllRejected(ended)) throw new NegativeAnswer('every row was rejected');
      });
    });

/** Issues of other fields concern the file itself, and are shown as the API writes them. */
const FIELDS_WITH_OPTION = ['format', 'account_id', 'profile', 'create_accounts', 'force_account'];

/** Uploads the file. @returns the answer and the number of lines in the file. */
async function send<S extends v.GenericSchema>(
  api: Api,
  file: StatementFile,
  parameters: StatementParameters,
  schema: S,
): Promise<{ answer: v.InferOutput<S>; lines: number }> {
  const bar = createProgress(parameters.dryRun === true ? 'Reading' : 'Sending', 'bytes');
  let sent = 0;
  bar.start(file.bytes);
  try {
    const { upload, countLines } = openUpload(file, (bytes) => {
      sent += bytes;
      bar.update(sent);
    });
    const answer = await api.upload(importPath(file, parameters), upload, schema);
    return { answer, lines: countLines() };
  } finally {
    bar.stop();
  }
}

async function follow(
  api: Api,
  started: ImportState,
  lines: number | undefined,
  signal: AbortSignal,
): Promise<ImportState> {
  const bar = createProgress('Storing', 'rows');
  bar.start(started.received ?? lines);
  try {
    return await followImport(api, started, {
      signal,
      onState(state) {
        // `received` is null until the file has been read to the end.
        if (state.received !== null) bar.setTotal(state.received);
        bar.update(rowsDone(state));
      },
    });
  } finally {
    bar.stop();
  }
}

/** The number of warnings, and the first of them. */
function summariseWarnings(state: ImportState, warnings: readonly ImportWarning[]): string[] {
  if (state.warnings === 0) return [];
  const [first, ...others] = describeWarnings(state, warnings);
  return [`${countOf(state.warnings, 'warning')}: ${first}`, ...others.map((line) => `  ${line}`)];
}

function describe(state: ImportState, warnings: readonly ImportWarning[]): string {
  const summary = `Import ${state.id} is done: ${describeRows(state)}; ${countOf(state.deliveries, 'delivery', 'deliveries')}.`;
  const { id, rejected, assumed_duplicates: assumed, assumed_new: assumedNew, conflicts } = state;
  return [
    summary,
    ...summariseWarnings(state, warnings),
    ...describeGaps(state.gaps),
    ...(rejected === 0 ? [] : [`Why rows were rejected: ledgerbell imports errors ${id}`]),
    ...(assumed === 0
      ? []
      : [
          `${countOf(assumed, 'row')} without an id: taken for ${assumed === 1 ? 'an equal movement' : 'equal movements'}, see ledgerbell imports duplicates ${id}`,
        ]),
    ...(assumedNew === 0
      ? []
      : [
          `${countOf(assumedNew, 'row')} stored, although nothing proves that ${assumedNew === 1 ? 'it is' : 'they are'} new: see ledgerbell imports duplicates ${id}`,
        ]),
    ...(conflicts === 0 ? [] : ['Conflicts, with the same API key: ledgerbell conflicts list']),
  ].join('\n');
}
