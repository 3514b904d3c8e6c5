import { Command } from 'commander';
import * as v from 'valibot';
import { countOf } from '../../counts.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { type Column, renderColumns } from '../table-output.ts';
import { parseId } from '../values.ts';
import { Import } from './imports-view.ts';

const ErrorsAnswer = v.looseObject({
  import: Import,
  errors: v.array(v.looseObject({ line: v.number(), path: v.string(), message: v.string() })),
  warnings: v.array(v.looseObject({ line: v.number(), message: v.string() })),
});

type ErrorsAnswer = v.InferOutput<typeof ErrorsAnswer>;

/** `ledgerbell imports errors` */
export const importErrorsCommand = (context: CommandContext) =>
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

/** The lists may be shorter than the counts: rows of a statement that are rejected for the same reason are listed once. */
function describe({ errors, warnings, import: { rejected, warnings: warned } }: ErrorsAnswer): string {
  if (rejected + warned === 0) return 'None.';
  const counts = `${countOf(rejected, 'row was', 'rows were')} rejected; ${countOf(warned, 'warning')}.`;
  const tables = [
    ...(errors.length === 0 ? [] : [renderColumns(ERRORS, errors)]),
    ...(warnings.length === 0 ? [] : [renderColumns(WARNINGS, warnings)]),
  ];
  return [...tables, counts].join('\n\n');
}
