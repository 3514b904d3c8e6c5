import type { Caller } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import { isOfEvents } from '../database/webhook-enums.ts';
import type { Replayable } from './delivery-view.ts';

/** Reads how far replays are. */

/**
 * One statement, so that the numbers are of one moment. Indexes: replays_open or the primary key, and retries_due, of which all pending
 * retries of the webhook are read.
 */
const READ = (which: string) => `
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
  const rows = await sql.query<Row[]>(READ(which), [webhookId, webhookId, before ?? '0', limit]);
  return rows.map(toProgress);
}

/** Reads one replay of a webhook. */
export async function readReplay(
  sql: Sql,
  webhookId: string,
  replayId: string,
): Promise<ReplayProgress | undefined> {
  const [row] = await sql.query<Row[]>(READ('= ?'), [webhookId, webhookId, replayId, 1]);
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
