import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { withInstallation } from '../open-service.ts';

/** `ledgerbell migrate` */
export const defineMigrate = (command: Command, context: CommandContext) =>
  command.option('--json', 'print { "migrated": [names] }').action(({ json }: { json?: boolean }) =>
    withInstallation(
      context,
      async ({ migrated }) => {
        const text =
          migrated.length === 0 ? 'The schema is up to date.' : `Migrated: ${migrated.join(', ')}.`;
        context.terminal.answer(json, { migrated }, text);
      },
      { migrations: 'run' },
    ),
  );
