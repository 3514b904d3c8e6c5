import type { Command } from 'commander';
import type { StatusReport } from '../../api/status-view.ts';
import { formatMoment, type ZoneOffset } from '../../platform/moment.ts';
import { formatCount } from '../../platform/text.ts';
import type { Deletion } from '../../upkeep/deletions.ts';
import { type CommandContext, NegativeAnswer } from '../context.ts';
import { type Column, renderColumns, renderFacts } from '../output.ts';

/** The command `status`. */

/** `ledgerbell status` */
export const defineStatus = (command: Command, context: CommandContext) =>
  command
    .option('--json', 'print { "status", "problems", "troubles", "mysql", "redis", … }')
    .action(async ({ json }: { json?: boolean }) => {
      const { viewStatus } = await import('../../api/status-view.ts');
      const { readStatus } = await import('../status-report.ts');
      const { headlineOf, problemsOf } = await import('../../verdict/trouble.ts');
      const { runningRoles } = await import('../../verdict/verdict.ts');
      const report = await readStatus(context);
      const { troubles } = report.verdict;
      const problems = problemsOf(troubles);
      const roles = runningRoles(report.verdict);
      const text = describe(report, { headline: headlineOf(troubles), roles }, context.readConfig().zone);
      context.terminal.answer(json, viewStatus(report), text);
      if (problems.length > 0) throw new NegativeAnswer();
    });

type Roles = Readonly<Record<string, number>> | null;

function describe(
  { verdict: { servers, work, troubles }, migrations, deletions: deleting }: StatusReport,
  { headline, roles }: { headline: string; roles: Roles },
  zone: ZoneOffset,
): string {
  const figures = work?.figures;
  const time = (moment: Date | null) => (moment === null ? null : formatMoment(moment, zone));
  const count = (number: number | undefined) => (number === undefined ? null : formatCount(number));
  const facts = renderFacts([
    ['MySQL', servers.mysql],
    ['Redis', servers.redis],
    ['migrations', migrations],
    [
      'processes',
      roles &&
        Object.entries(roles)
          .map(([role, n]) => `${role} ${n}`)
          .join(', '),
    ],
    ['pending deliveries', count(figures && figures.pending.healthy + figures.pending.failing)],
    ['of paused and disabled webhooks', count(figures?.pending.held)],
    ['in feeds', count(figures?.pending.pulled)],
    ['of replays, still to come', count(figures?.toCome)],
    ['oldest pending', time(figures?.oldestPending ?? null)],
    ['circuits open', count(figures?.circuits.open)],
    [
      'imports queued, running, failed',
      figures
        ? [figures.imports.queued, figures.imports.running, figures.imports.failed]
            .map((it) => formatCount(it))
            .join(', ')
        : null,
    ],
  ]);
  const deletions: readonly Column<Deletion>[] = [
    ['deleting', ({ accountId }) => (accountId === null ? 'customer' : `account ${accountId}`)],
    ['customer', ({ customerId }) => customerId, 'right'],
    ['requested', ({ requestedAt }) => time(requestedAt)],
    ['movements deleted', ({ movementsDeleted }) => formatCount(movementsDeleted), 'right'],
    ['of', ({ movements }) => (movements === null ? null : formatCount(movements)), 'right'],
  ];
  return [
    headline,
    facts,
    ...troubles.map(({ severity, sentence, help, since }) =>
      [`${severity}: ${sentence}`, ...(since === null ? [] : [`Since ${time(since)}.`]), help].join('\n  '),
    ),
    ...(deleting === null || deleting.length === 0 ? [] : [renderColumns(deletions, deleting)]),
  ].join('\n\n');
}
