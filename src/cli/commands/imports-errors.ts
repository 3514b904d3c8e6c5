import { Command } from 'commander';
import * as v from 'valibot';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../table-output.ts';
import { parseId } from '../values.ts';

const ErrorsAnswer = v.looseObject({
  errors: v.array(v.looseObject({ line: v.number(), path: v.string(), message: v.string() })),
});

/** `ledgerbell imports errors` */
export const importErrorsCommand = (context: CommandContext) =>
  addAccessOptions(new Command('errors').description('show why rows of an import were rejected'))
    .argument('<id>', 'of the import', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'import', id } }, (api) =>
        api.get(`/v1/imports/${id}/errors`, ErrorsAnswer),
      );
      const table = renderColumns(
        [
          ['line', ({ line }) => line, 'right'],
          ['field', ({ path }) => path],
          ['what is wrong', ({ message }) => message, 'whole'],
        ],
        answer.errors,
      );
      context.terminal.answer(options.json, answer, answer.errors.length === 0 ? 'None.' : table);
    });
