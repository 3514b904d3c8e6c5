import type { Command } from 'commander';
import { byOperator, recordChange } from '../../customers/audit.ts';
import type { CommandContext } from '../context.ts';
import { withInstallation } from '../open-service.ts';
import { currentOperator } from '../owner.ts';

/** `ledgerbell skip-ids` */
export const defineSkipIds = (command: Command, context: CommandContext) =>
  command.option('--json', 'print { "next_ids": { table: id } }').action(({ json }: { json?: boolean }) =>
    withInstallation(context, async ({ database }) => {
      const { skipIds } = await import('../../database/skip-ids.ts');
      const tables = await skipIds(database);
      await recordChange(database, byOperator(currentOperator(), null), {
        action: 'skip ids',
        subject: 'all tables',
      });
      const next = tables.find(({ table }) => table === 'transactions')?.next;
      context.terminal.answer(
        json,
        { next_ids: Object.fromEntries(tables.map((it) => [it.table, it.next])) },
        `Every table has skipped a billion ids. The next movement gets ${next} or more.`,
      );
    }),
  );
