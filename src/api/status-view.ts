import * as v from 'valibot';
import { Count, Timestamp } from '../platform/validation.ts';
import type { Deletion } from '../upkeep/deletions.ts';
import { problemsOf, type Trouble } from '../verdict/trouble.ts';
import { runningRoles, type Verdict } from '../verdict/verdict.ts';

/** What GET /v1/verdict answers and `ledgerbell status --json` prints. */

/** The state of an installation, as far as the one who looks can see it. */
export interface StatusReport {
  verdict: Verdict;
  migrations: 'ok' | 'not run' | 'unknown';
  /** null while MySQL cannot be read, or migrations have not been run. */
  deletions: Deletion[] | null;
}

export const TroubleView = v.object({
  kind: v.string(),
  scope: v.pipe(
    v.string(),
    v.description(
      'installation: its own. endpoint: of a subscriber, a sender or a bank, and the service itself works.',
    ),
  ),
  severity: v.string(),
  count: Count,
  subject: v.nullable(
    v.object({
      type: v.picklist(['webhook', 'source', 'import', 'account']),
      id: Count,
      title: v.string(),
      customer: v.string(),
    }),
  ),
  since: v.nullable(Timestamp),
  pending: v.nullable(Count),
  oldest: v.nullable(Timestamp),
  money: v.array(v.object({ currency: v.string(), amount: v.string() })),
  sentence: v.string(),
  help: v.string(),
  page: v.pipe(v.string(), v.description('The path of the page of the console that shows it.')),
});

const DeletionView = v.object({
  customer_id: Count,
  account_id: v.nullable(Count),
  requested_at: Timestamp,
  movements: v.nullable(Count),
  movements_deleted: Count,
});

export const StatusView = v.object({
  status: v.picklist(['well', 'not well']),
  problems: v.pipe(
    v.array(v.string()),
    v.description('What is wrong with the installation itself, in one sentence for each.'),
  ),
  troubles: v.pipe(v.array(TroubleView), v.description('The worst first.')),
  mysql: v.string(),
  redis: v.string(),
  migrations: v.picklist(['ok', 'not run', 'unknown']),
  processes: v.pipe(v.nullable(v.record(v.string(), Count)), v.description('How many run, by role.')),
  pending: v.nullable(Count),
  held: v.nullable(Count),
  pulled: v.nullable(Count),
  replays_to_come: v.nullable(Count),
  oldest_pending_at: v.nullable(Timestamp),
  circuits_open: v.nullable(Count),
  imports: v.nullable(v.record(v.string(), Count)),
  deletions: v.nullable(v.array(DeletionView)),
});

/** Shows the state of an installation. Figures are null while MySQL cannot be read. */
export function viewStatus({
  verdict,
  migrations,
  deletions,
}: StatusReport): v.InferOutput<typeof StatusView> {
  const { servers, work, troubles } = verdict;
  const figures = work?.figures;
  const problems = problemsOf(troubles);
  return {
    status: problems.length === 0 ? 'well' : 'not well',
    problems,
    troubles: troubles.map(viewTrouble),
    mysql: servers.mysql,
    redis: servers.redis,
    migrations,
    processes: runningRoles(verdict),
    pending: figures ? figures.pending.healthy + figures.pending.failing : null,
    held: figures?.pending.held ?? null,
    pulled: figures?.pending.pulled ?? null,
    replays_to_come: figures?.toCome ?? null,
    oldest_pending_at: figures?.oldestPending?.toISOString() ?? null,
    circuits_open: figures?.circuits.open ?? null,
    imports: figures ? { ...figures.imports } : null,
    deletions: deletions?.map(viewDeletion) ?? null,
  };
}

export const viewTrouble = ({
  subject,
  since,
  oldest,
  page,
  ...it
}: Trouble): v.InferOutput<typeof TroubleView> => ({
  kind: it.kind,
  scope: it.scope,
  severity: it.severity,
  count: it.count,
  subject: subject && { ...subject, id: Number(subject.id) },
  since: since?.toISOString() ?? null,
  pending: it.pending ?? null,
  oldest: oldest?.toISOString() ?? null,
  money: [...(it.money ?? [])],
  sentence: it.sentence,
  help: it.help,
  page: page.href,
});

const viewDeletion = (it: Deletion): v.InferOutput<typeof DeletionView> => ({
  customer_id: Number(it.customerId),
  account_id: it.accountId === null ? null : Number(it.accountId),
  requested_at: it.requestedAt.toISOString(),
  movements: it.movements,
  movements_deleted: it.movementsDeleted,
});
