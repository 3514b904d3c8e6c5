import * as v from 'valibot';
import type { Caller } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import { isOfEvents } from '../database/webhook-enums.ts';
import { Count, IdView, Timestamp, withExample } from '../platform/validation.ts';
import { REPLAYABLE, type Replayable } from './delivery.ts';
import type { Replay } from './replays.ts';

/** Reads how far replays are. */

/**
 * One statement, so that the numbers are of one moment. Indexes: replays_open or the primary key, and retries_due, of which all pending
 * retries of the webhook are read.
 */
const READ_PROGRESS = (which: string) => `
  SELECT p.id, p.statuses, p.account_ids, p.replayed, p.to_come, p.withdrawn, p.created_at, p.cancelled_at, p.finished_at,
    TIMESTAMPDIFF(MICROSECOND, p.started_at, NOW(6)) / 1000000 AS seconds, COALESCE(r.pending, 0) AS pending
  FROM replays p LEFT JOIN (
    SELECT replay_id, COUNT(*) AS pending FROM retries FORCE INDEX (retries_due)
    WHERE webhook_id = ? AND due_at IS NOT NULL AND replay_id IS NOT NULL GROUP BY replay_id) r ON r.replay_id = p.id
  WHERE p.webhook_id = ? AND p.id ${which} ORDER BY p.id DESC LIMIT ?`;

interface Row {
  id: string;
  statuses: string;
  account_ids: string | null;
  replayed: string;
  to_come: string | null;
  withdrawn: string;
  created_at: Date;
  cancelled_at: Date | null;
  finished_at: Date | null;
  seconds: string | null;
  pending: string | number;
}

/** How far a replay is. total = sent + left. */
export interface ReplayProgress {
  id: string;
  state: 'running' | 'done' | 'cancelled';
  statuses: Replayable[];
  /** The accounts that it is limited to; null: all. */
  accountIds: readonly string[] | null;
  /** null: not counted yet. */
  total: number | null;
  /** Delivered, or failed for good. */
  sent: number;
  /** null: not counted yet. Of a cancelled replay, how many were not sent. */
  left: number | null;
  /** On average since the first became pending. null: not running, or not for a second yet. */
  perSecond: number | null;
  createdAt: Date;
}

/** Reads replays of a webhook, the newest first. @param options.before only replays with lower ids; null: all. */
export async function readReplays(
  sql: Sql,
  webhookId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<ReplayProgress[]> {
  const which = before === null ? '> ?' : '< ?';
  const rows = await sql.query<Row[]>(READ_PROGRESS(which), [webhookId, webhookId, before ?? '0', limit]);
  return rows.map(toProgress);
}

/** Reads one replay of a webhook. */
export async function readReplay(
  sql: Sql,
  webhookId: string,
  replayId: string,
): Promise<ReplayProgress | undefined> {
  const [row] = await sql.query<Row[]>(READ_PROGRESS('= ?'), [webhookId, webhookId, replayId, 1]);
  return row === undefined ? undefined : toProgress(row);
}

/** Says whether a caller that can see the webhook can see its replay. A key that is limited to accounts sees replays of only these accounts. */
export const maySeeReplay = (
  { accountIds }: Pick<Caller, 'accountIds'>,
  { event }: { event: string },
  replay: ReplayProgress,
): boolean =>
  accountIds === 'all' ||
  isOfEvents(event) ||
  (replay.accountIds?.every((id) => accountIds.includes(id)) ?? false);

function toProgress(row: Row): ReplayProgress {
  const [replayed, pending, withdrawn] = [row.replayed, row.pending, row.withdrawn].map(Number) as [
    number,
    number,
    number,
  ];
  const toCome = row.to_come === null ? null : Number(row.to_come);
  const sent = replayed - pending - withdrawn;
  const isDone = row.finished_at !== null && pending === 0;
  const state = row.cancelled_at !== null ? 'cancelled' : isDone ? 'done' : 'running';
  const seconds = Number(row.seconds ?? 0);
  return {
    id: row.id,
    state,
    statuses: row.statuses.split(',') as Replayable[],
    accountIds: row.account_ids?.split(',') ?? null,
    total: toCome === null ? null : replayed + toCome,
    sent,
    left: toCome === null ? null : toCome + pending + withdrawn,
    perSecond: state === 'running' && seconds >= 1 ? Math.round((sent / seconds) * 10) / 10 : null,
    createdAt: row.created_at,
  };
}

export const ReplayView = v.object({
  id: v.pipe(v.nullable(IdView), v.description('null: a dry run.')),
  webhook_id: IdView,
  status: v.array(v.picklist(REPLAYABLE)),
  matched: v.pipe(
    v.nullable(Count),
    v.description(
      'How many deliveries match now. null: more than a thousand, or, in a dry run, more than a hundred thousand.',
    ),
  ),
  created_at: v.pipe(v.nullable(Timestamp), v.description('null: a dry run.')),
});

/** How far a replay is, as the API shows it. */
export const ReplayProgressView = v.object({
  id: IdView,
  webhook_id: IdView,
  state: v.pipe(
    v.picklist(['running', 'done', 'cancelled']),
    v.description('running: also while it waits, for example because the webhook is paused.'),
  ),
  status: v.array(v.picklist(REPLAYABLE)),
  total: v.pipe(
    v.nullable(Count),
    v.description('How many deliveries it sends in all: sent and left. null: not counted yet.'),
  ),
  sent: v.pipe(Count, v.description('How many were delivered, or have failed for good.')),
  left: v.pipe(
    v.nullable(Count),
    v.description(
      'How many are still to be sent; of a cancelled replay, how many were not sent. null: not counted yet.',
    ),
  ),
  per_second: v.pipe(
    withExample(v.nullable(v.pipe(v.number(), v.minValue(0))), 12.5),
    v.description('How many were sent per second since it began. null: it is not running.'),
  ),
  created_at: Timestamp,
});

/** Shows how far a replay is. */
export const viewProgress = (webhookId: string, it: ReplayProgress) => ({
  id: Number(it.id),
  webhook_id: Number(webhookId),
  state: it.state,
  status: it.statuses,
  total: it.total,
  sent: it.sent,
  left: it.left,
  per_second: it.perSecond,
  created_at: it.createdAt.toISOString(),
});

/** A dry run has no id and no time of creation. */
export const viewReplay = ({
  id,
  webhookId,
  statuses,
  matched,
  createdAt,
}: Omit<Replay, 'id' | 'createdAt'> & Partial<Replay>) => ({
  id: id === undefined ? null : Number(id),
  webhook_id: Number(webhookId),
  status: statuses,
  matched,
  created_at: createdAt?.toISOString() ?? null,
});
