import { Command } from 'commander';
import * as v from 'valibot';
import { ImportView } from '../../intake/import-view.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { countOf, formatCount } from '../../platform/text.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import {
  addListOptions,
  type Column,
  formatTime,
  type ListOptions,
  printList,
  renderColumns,
  renderFacts,
} from '../output.ts';
import { parseId } from '../values.ts';

/** An import as the API shows it. */
export const Import = v.looseObject(ImportView.entries);
export type Import = v.InferOutput<typeof Import>;
export const ImportAnswer = v.object({ import: Import });

/** `auto` until the first statement is read. */
const formatOf = ({ format, detected_format }: Import): string => detected_format ?? format;

const count = (number: number | null) => (number === null ? null : formatCount(number));

export const importColumns = (zone: ZoneOffset): readonly Column<Import>[] => [
  ['id', ({ id }) => id, 'right'],
  ['status', ({ status }) => status],
  ['format', formatOf],
  ['received at', ({ received_at }) => formatTime(received_at, zone)],
  ['rows', ({ received }) => count(received), 'right'],
  ['new', ({ inserted }) => count(inserted), 'right'],
  ['known', ({ duplicates }) => count(duplicates), 'right'],
  ['conflicts', ({ conflicts }) => count(conflicts), 'right'],
  ['rejected', ({ rejected }) => count(rejected), 'right'],
  ['error', ({ error }) => error],
];

const describeImport = (it: Import, zone: ZoneOffset): string =>
  renderFacts([
    ['import', it.id],
    ['status', it.status],
    ['format', formatOf(it)],
    ['rows', count(it.received)],
    ['new', count(it.inserted)],
    ['known already', count(it.duplicates)],
    ['of these, changed', count(it.changed)],
    ['of these, assumed', count(it.assumed_duplicates)],
    ['stored, assumed to be new', count(it.assumed_new)],
    ['conflicts', count(it.conflicts)],
    ['rejected', count(it.rejected)],
    ['deliveries', count(it.deliveries)],
    ['received', formatTime(it.received_at, zone)],
    ['started', formatTime(it.started_at, zone)],
    ['finished', formatTime(it.finished_at, zone)],
    ['error', it.error],
  ]);

/** `ledgerbell imports list` */
const listImportsCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show imports, the newest first')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/imports',
        name: 'imports',
        row: Import,
        columns: importColumns(context.readConfig().zone),
      }),
  );

/** `ledgerbell imports show` */
const showImportCommand = (context: CommandContext) =>
  addAccessOptions(new Command('show').description('show how far an import is'))
    .argument('<id>', 'of the import', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'import', id } }, (api) =>
        api.get(`/v1/imports/${id}`, ImportAnswer),
      );
      const text = describeImport(answer.import, context.readConfig().zone);
      context.terminal.answer(options.json, answer, text);
    });

const ErrorsAnswer = v.looseObject({
  import: Import,
  errors: v.array(v.looseObject({ line: v.number(), path: v.string(), message: v.string() })),
  warnings: v.array(v.looseObject({ line: v.number(), message: v.string() })),
});

type ErrorsAnswer = v.InferOutput<typeof ErrorsAnswer>;

/** `ledgerbell imports errors` */
const importErrorsCommand = (context: CommandContext) =>
  addAccessOptions(new Command('errors').description('show why rows of an import were rejected'))
    .argument('<id>', 'of the import', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'import', id } }, (api) =>
        api.get(`/v1/imports/${id}/errors`, ErrorsAnswer),
      );
      context.terminal.answer(options.json, answer, describe(answer));
    });

const ERRORS: readonly Column<ErrorsAnswer['errors'][number]>[] = [
  ['line', ({ line }) => line, 'right'],
  ['field', ({ path }) => path],
  ['what is wrong', ({ message }) => message, 'whole'],
];

const WARNINGS: readonly Column<ErrorsAnswer['warnings'][number]>[] = [
  ['line', ({ line }) => line, 'right'],
  ['warning', ({ message }) => message, 'whole'],
];

/** The lists may be shorter than the counts, because rows of a statement that are rejected for the same reason are listed once. */
function describe({ errors, warnings, import: { rejected, warnings: warned } }: ErrorsAnswer): string {
  if (rejected + warned === 0) return 'None.';
  const counts = `${countOf(rejected, 'row was', 'rows were')} rejected; ${countOf(warned, 'warning')}.`;
  const tables = [
    ...(errors.length === 0 ? [] : [renderColumns(ERRORS, errors)]),
    ...(warnings.length === 0 ? [] : [renderColumns(WARNINGS, warnings)]),
  ];
  return [...tables, counts].join('\n\n');
}

const DuplicatesAnswer = v.looseObject({
  duplicates: v.array(v.looseObject({ line: v.number(), reason: v.string(), transaction_id: v.number() })),
});

const DUPLICATES: readonly Column<v.InferOutput<typeof DuplicatesAnswer>['duplicates'][number]>[] = [
  ['line', ({ line }) => line, 'right'],
  ['reason', ({ reason }) => reason],
  ['movement', ({ transaction_id }) => transaction_id, 'right'],
];

/** `ledgerbell imports duplicates` */
const importDuplicatesCommand = (context: CommandContext) =>
  addAccessOptions(
    new Command('duplicates').description('show which stored movements rows of an import were taken for'),
  )
    .argument('<id>', 'of the import', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'import', id } }, (api) =>
        api.get(`/v1/imports/${id}/duplicates`, DuplicatesAnswer),
      );
      const { duplicates } = answer;
      const text = duplicates.length === 0 ? 'None.' : renderColumns(DUPLICATES, duplicates);
      context.terminal.answer(options.json, answer, text);
    });

/** `ledgerbell imports retry` */
const retryImportCommand = (context: CommandContext) =>
  addAccessOptions(
    new Command('retry').description('continue a failed import after the rows that are stored'),
  )
    .argument('<id>', 'of the import', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const subject = { kind: 'import', id } as const;
      const answer = await withAccess(context, options, { subject, wakes: true }, (api) =>
        api.post(`/v1/imports/${id}/retry`, {}, ImportAnswer),
      );
      const { inserted, duplicates, rejected } = answer.import;
      const rows = formatCount(inserted + duplicates + rejected);
      context.terminal.answer(
        options.json,
        answer,
        `Import ${id} is queued again. It continues after row ${rows}.`,
      );
    });

/** `ledgerbell imports` */
export const imports = [
  listImportsCommand,
  showImportCommand,
  importErrorsCommand,
  importDuplicatesCommand,
  retryImportCommand,
];
