import type * as v from 'valibot';
import type { Deletion } from '../upkeep/deletions.ts';
import { problemsOf, type Trouble } from '../verdict/trouble.ts';
import { runningRoles, type Verdict } from '../verdict/verdict.ts';
import type { DeletionView, StatusView, TroubleView } from './status-document.ts';

/** Makes the document of the state of an installation. */

/** The state of an installation, as far as the one who looks can see it. */
export interface StatusReport {
  verdict: Verdict;
  migrations: 'ok' | 'not run' | 'unknown';
  /** null while MySQL cannot be read, or migrations have not been run. */
  deletions: Deletion[] | null;
}

/** Shows the state of an installation. Figures are null while MySQL cannot be read. */
export function viewStatus({ verdict, migrations, deletions }: StatusReport): StatusView {
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
