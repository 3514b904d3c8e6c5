import * as v from 'valibot';
import { Count, IdView, Timestamp } from '../platform/validation.ts';
import type { Replay } from './create-replay.ts';
import { REPLAYABLE } from './delivery-view.ts';

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
