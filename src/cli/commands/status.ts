import type { Command } from 'commander';
import type { UnfinishedImport, WebhookNeedingAttention } from '../../console/totals.ts';
import { formatMoment, type ZoneOffset } from '../../platform/moment.ts';
import { formatCount } from '../../platform/text.ts';
import type { SourceSummary } from '../../sources/find-source.ts';
import type { Deletion } from '../../upkeep/deletions.ts';
import { type CommandContext, NegativeAnswer } from '../context.ts';
import { type Column, renderColumns, renderFacts } from '../output.ts';
import type { StatusReport, Work } from '../status-report.ts';

/** `ledgerbell status` */
export const defineStatus = (command: Command, context: CommandContext) =>
  command
    .option('--json', 'print { "status", "problems", "mysql", "redis", … }')
    .action(async ({ json }: { json?: boolean }) => {
      const { findProblems, readStatus } = await import('../status-report.ts');
      const report = await readStatus(context);
      const problems = findProblems(report);
      const text = describe(report, problems, context.readConfig().zone);
      context.terminal.answer(json, documentOf(report, problems), text);
      if (problems.length > 0) throw new NegativeAnswer();
    });

const documentOf = (
  { work, hostProblems: _, processProblems: __, ...report }: StatusReport,
  problems: readonly string[],
) => ({
  status: problems.length === 0 ? 'well' : 'not well',
  problems,
  ...report,
  pending: work?.totals.pending ?? null,
  held: work?.totals.held ?? null,
  replays_to_come: work?.totals.toCome ?? null,
  oldest_pending_at: work?.oldestPending?.toISOString() ?? null,
  circuits_open: work?.totals.circuitsOpen ?? null,
  webhooks_needing_attention: work === null ? null : countNeedingAttention(work),
  webhooks: work?.webhooks.map(viewWebhook) ?? null,
  imports: work === null ? null : { ...work.totals.imports, list: work.imports.map(viewImport) },
  sources_failing: work?.sourcesInTrouble.failing ?? null,
  sources_with_wrong_file: work?.sourcesInTrouble.withWrongFile ?? null,
  sources: work?.sources.map(viewSource) ?? null,
  deletions: work?.deletions.map(viewDeletion) ?? null,
});

const viewWebhook = (it: WebhookNeedingAttention) => ({
  id: Number(it.id),
  title: it.title,
  customer: it.customer,
  status: it.status,
  status_reason: it.status_reason,
  circuit_open: it.circuit_seconds !== null,
  failing_since: it.failing_since?.toISOString() ?? null,
  behind_since: it.behind_since?.toISOString() ?? null,
  last_error: it.last_error,
  pending: Number(it.pending),
});

const viewImport = (it: UnfinishedImport) => ({
  id: Number(it.id),
  customer: it.customer,
  status: it.status,
  rows_stored: it.checkpoint,
  received_at: it.received_at.toISOString(),
  error: it.error,
});

const viewSource = (it: SourceSummary) => ({
  id: Number(it.id),
  title: it.title,
  customer: it.customer,
  error: it.error,
  last_run_at: it.last_run_at?.toISOString() ?? null,
});

const viewDeletion = (it: Deletion) => ({
  customer_id: Number(it.customerId),
  account_id: it.accountId === null ? null : Number(it.accountId),
  requested_at: it.requestedAt.toISOString(),
  movements: it.movements,
  movements_deleted: it.movementsDeleted,
});

/** Failing, paused and disabled webhooks, and those that are behind. */
const countNeedingAttention = ({ totals, webhooksBehind }: Work): number =>
  totals.needingAttention + webhooksBehind;

const describeState = (it: WebhookNeedingAttention): string => {
  if (it.circuit_seconds !== null) return 'circuit open';
  return it.behind_since === null ? it.status : 'behind';
};

function describe(report: StatusReport, problems: readonly string[], zone: ZoneOffset): string {
  const { mysql, redis, migrations, processes, work } = report;
  const time = (moment: Date | null) => (moment === null ? null : formatMoment(moment, zone));
  const summary = problems.length === 0 ? 'All is well.' : `Not well: ${problems.join(' ')}`;
  const totals = work?.totals;
  const count = (number: number | undefined) => (number === undefined ? null : formatCount(number));
  const facts = renderFacts([
    ['MySQL', mysql],
    ['Redis', redis],
    ['migrations', migrations],
    [
      'processes',
      processes &&
        Object.entries(processes)
          .map(([role, n]) => `${role} ${n}`)
          .join(', '),
    ],
    ['pending deliveries', count(totals?.pending)],
    ['of paused and disabled webhooks', count(totals?.held)],
    ['of replays, still to come', count(totals?.toCome)],
    ['oldest pending', time(work?.oldestPending ?? null)],
    ['circuits open', count(totals?.circuitsOpen)],
    ['webhooks needing attention', count(work === null ? undefined : countNeedingAttention(work))],
    [
      'imports queued, running, failed',
      totals ? Object.values(totals.imports).map(formatCount).join(', ') : null,
    ],
    [
      'sources failing, with bad files',
      work
        ? `${formatCount(work.sourcesInTrouble.failing)}, ${formatCount(work.sourcesInTrouble.withWrongFile)}`
        : null,
    ],
  ]);
  const webhooks: readonly Column<WebhookNeedingAttention>[] = [
    ['webhook', ({ id }) => id, 'right'],
    ['title', ({ title }) => title],
    ['customer', ({ customer }) => customer],
    ['state', describeState],
    ['pending', ({ pending }) => formatCount(Number(pending)), 'right'],
    ['failing since', ({ failing_since }) => time(failing_since)],
    ['reason', ({ status_reason, last_error }) => status_reason ?? last_error],
  ];
  const imports: readonly Column<UnfinishedImport>[] = [
    ['import', ({ id }) => id, 'right'],
    ['customer', ({ customer }) => customer],
    ['status', ({ status }) => status],
    ['rows stored', ({ checkpoint }) => formatCount(checkpoint), 'right'],
    ['received', ({ received_at }) => time(received_at)],
    ['error', ({ error }) => error],
  ];
  const sources: readonly Column<SourceSummary>[] = [
    ['source', ({ id }) => id, 'right'],
    ['title', ({ title }) => title],
    ['customer', ({ customer }) => customer],
    ['last run', ({ last_run_at }) => time(last_run_at)],
    ['error', ({ error }) => error],
  ];
  const deletions: readonly Column<Deletion>[] = [
    ['deleting', ({ accountId }) => (accountId === null ? 'customer' : `account ${accountId}`)],
    ['customer', ({ customerId }) => customerId, 'right'],
    ['requested', ({ requestedAt }) => time(requestedAt)],
    ['movements deleted', ({ movementsDeleted }) => formatCount(movementsDeleted), 'right'],
    ['of', ({ movements }) => (movements === null ? null : formatCount(movements)), 'right'],
  ];
  return [
    summary,
    facts,
    ...(work && work.webhooks.length > 0 ? [renderColumns(webhooks, work.webhooks)] : []),
    ...(work && work.imports.length > 0 ? [renderColumns(imports, work.imports)] : []),
    ...(work && work.sources.length > 0 ? [renderColumns(sources, work.sources)] : []),
    ...(work && work.deletions.length > 0 ? [renderColumns(deletions, work.deletions)] : []),
  ].join('\n\n');
}
