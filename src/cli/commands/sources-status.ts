import { Command } from 'commander';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { SourceAnswer } from './sources-view.ts';

/** `ledgerbell sources pause` */
export const pauseSourceCommand = (context: CommandContext) =>
  statusCommand(context, 'paused', new Command('pause')).description('collect nothing from a source for now');

/** `ledgerbell sources enable` */
export const enableSourceCommand = (context: CommandContext) =>
  statusCommand(context, 'active', new Command('enable')).description('make a paused source active again');

const statusCommand = (context: CommandContext, status: 'active' | 'paused', command: Command) =>
  addAccessOptions(command)
    .argument('<id>', 'of the source', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const subject = { kind: 'source', id } as const;
      const answer = await withAccess(context, options, { subject, wakes: true }, (api) =>
        api.patch(`/v1/sources/${id}`, { status }, SourceAnswer),
      );
      context.terminal.answer(options.json, answer, `Source ${id} is ${status}.`);
    });
