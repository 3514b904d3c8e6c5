import type { Command } from 'commander';
import { parseRoles } from '../../platform/roles.ts';

/** `ledgerbell start`: the service, as `npm start` runs it. */
export const defineStart = (command: Command) =>
  command
    .option('--roles <names>', 'run only these roles, separated by commas (default: all of them)')
    .action(async ({ roles }: { roles?: string }) => {
      const chosen = roles === undefined ? undefined : parseRoles(roles);
      const { runProcess } = await import('../../service.ts');
      await runProcess(chosen);
    });
