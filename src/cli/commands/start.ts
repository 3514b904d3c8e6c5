import type { Command } from 'commander';
import { parseRoles } from '../../platform/config.ts';

/** `ledgerbell start`: the service, as `npm start` runs it. */
export const defineStart = (command: Command) =>
  command
    .option(
      '--roles <names>',
      'run only these roles, separated by commas, in one process (default: all of them)',
    )
    .option('--processes <count>', 'how many processes run all roles (default: one per core, at most 4)')
    .action(async ({ roles, processes }: { roles?: string; processes?: string }) => {
      const chosen = roles === undefined ? undefined : parseRoles(roles);
      const { runProcess } = await import('../../run.ts');
      await runProcess({ roles: chosen, processes });
    });
