import * as v from 'valibot';
import { Count, IdView, Timestamp } from '../platform/validation.ts';
import type { Replay } from './create-replay.ts';
import { REPLAYABLE } from './delivery-view.ts';
import type { ReplayProgress } from './replay-progress.ts';

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
    v.nullable(v.pipe(v.number(), v.minValue(0))),
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
