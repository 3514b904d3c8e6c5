import * as v from 'valibot';
import type { GapView } from '../../books/books-view.ts';
import { ImportView, type ImportWarning } from '../../intake/import-view.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { countOf, formatCount } from '../../platform/text.ts';
import type { Api } from '../api-client.ts';
import { type CreateCommand, listCommand, subjectCommand } from '../api-command.ts';
import { oneLine } from '../context.ts';
import { type Column, formatTime, renderColumns, renderFacts } from '../output.ts';
import { withdrawCommand } from './withdrawals.ts';

/** The commands for imports. */

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

type Gap = v.InferOutput<typeof GapView>;

/** A sentence for each gap before the statements of an import. */
export const describeGaps = (gaps: readonly Gap[]): string[] =>
  gaps.map(
    ({ account_id, from, to, difference, currency }) =>
      `A statement is missing before this one: ${difference} ${currency} of account ${account_id}, ${from === to ? from : `${from} to ${to}`}`,
  );

/** The most warnings that are shown with an import. */
const MOST_WARNINGS = 10;

/**
 * Reads the first warnings of an import. An import has three itself. They are enough if it has no more, or if the others cannot be
 * read.
 */
export async function readWarnings(
  api: Api,
  { id, warnings, first_warnings }: Pick<Import, 'id' | 'warnings' | 'first_warnings'>,
): Promise<readonly ImportWarning[]> {
  if (warnings <= first_warnings.length) return first_warnings;
  const more = await api.get(`/v1/imports/${id}/errors`, ErrorsAnswer).catch(() => null);
  return more?.warnings.slice(0, MOST_WARNINGS) ?? first_warnings;
}

/** A line for each warning that is shown, and one that says how many more there are. */
export function describeWarnings(
  { id, warnings }: Pick<Import, 'id' | 'warnings'>,
  shown: readonly ImportWarning[],
): string[] {
  const left = warnings - shown.length;
  return [
    ...shown.map(({ line, message }) => oneLine(`line ${line}: ${message}`)),
    ...(left > 0 ? [`${formatCount(left)} more: ledgerbell imports errors ${id}`] : []),
  ];
}

const describeImport = (
  it: Import & { gaps?: Gap[] },
  warnings: readonly ImportWarning[],
  zone: ZoneOffset,
): string =>
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
    ['statements', count(it.statements)],
    ['warnings', count(it.warnings)],
    ['received', formatTime(it.received_at, zone)],
    ['started', formatTime(it.started_at, zone)],
    ['finished', formatTime(it.finished_at, zone)],
    ['error', it.error],
    ...describeGaps(it.gaps ?? []).map((gap) => ['gap', gap] as const),
    ...describeWarnings(it, warnings).map((warning) => ['warning', warning] as const),
  ]);

const ErrorsAnswer = v.looseObject({
  import: Import,
  errors: v.array(v.looseObject({ line: v.number(), path: v.string(), message: v.string() })),
  warnings: v.array(v.looseObject({ line: v.number(), message: v.string() })),
});

type ErrorsAnswer = v.InferOutput<typeof ErrorsAnswer>;

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

const FilesAnswer = v.looseObject({
  files: v.array(
    v.looseObject({
      name: v.string(),
      outcome: v.string(),
      format: v.nullable(v.string()),
      statements: v.number(),
      entries: v.number(),
      message: v.nullable(v.string()),
    }),
  ),
});

const FILES: readonly Column<v.InferOutput<typeof FilesAnswer>['files'][number]>[] = [
  ['file', ({ name }) => name],
  ['outcome', ({ outcome }) => outcome],
  ['format', ({ format }) => format],
  ['statements', ({ statements }) => statements, 'right'],
  ['entries', ({ entries }) => entries, 'right'],
  ['why', ({ message }) => message, 'whole'],
];

/** `ledgerbell imports` */
export const imports: readonly CreateCommand[] = [
  listCommand({
    description: 'show imports, the newest first',
    path: '/v1/imports',
    name: 'imports',
    row: Import,
    columns: importColumns,
  }),
  subjectCommand('import', {
    name: 'show',
    description: 'show how far an import is',
    async request(api, id) {
      const answer = await api.get(`/v1/imports/${id}`, ImportAnswer);
      return { ...answer, warnings: await readWarnings(api, answer.import) };
    },
    text: (answer, _, zone) => describeImport(answer.import, answer.warnings, zone),
  }),
  subjectCommand('import', {
    name: 'errors',
    description: 'show why rows of an import were rejected',
    request: (api, id) => api.get(`/v1/imports/${id}/errors`, ErrorsAnswer),
    text: describe,
  }),
  subjectCommand('import', {
    name: 'files',
    description: 'show what came of the files of a zip',
    request: (api, id) => api.get(`/v1/imports/${id}/files`, FilesAnswer),
    text: ({ files }) => (files.length === 0 ? 'None.' : renderColumns(FILES, files)),
  }),
  subjectCommand('import', {
    name: 'duplicates',
    description: 'show which stored movements rows of an import were taken for',
    request: (api, id) => api.get(`/v1/imports/${id}/duplicates`, DuplicatesAnswer),
    text: ({ duplicates }) => (duplicates.length === 0 ? 'None.' : renderColumns(DUPLICATES, duplicates)),
  }),
  subjectCommand('import', {
    name: 'retry',
    description: 'continue a failed import after the rows that are stored',
    request: (api, id) => api.post(`/v1/imports/${id}/retry`, {}, ImportAnswer),
    text({ import: { inserted, duplicates, rejected } }, id) {
      const rows = formatCount(inserted + duplicates + rejected);
      return `Import ${id} is queued again. It continues after row ${rows}.`;
    },
  }),
  withdrawCommand('import', 'take back what an import has stored by mistake'),
];
