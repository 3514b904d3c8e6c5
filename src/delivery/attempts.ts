import * as v from 'valibot';
import type { Sql } from '../database/transaction.ts';
import { Count, Timestamp, withExample } from '../platform/validation.ts';
import { formatBatchId } from './delivery-id.ts';

/** Reads the attempts of deliveries. `deliveries` holds the last attempt. `attempts` holds the earlier ones, and the last one if it failed. */

export interface AttemptRow {
  webhook_id: string;
  transaction_id: string;
  number: number;
  outcome: string;
  status_code: number | null;
  started_at: Date;
  duration_ms: number;
  posts: number;
  error: string | null;
  response: string | null;
  /** The first delivery of the batch. null: the delivery was sent alone. */
  batch_first: string | null;
}

const COLUMNS = 'outcome, status_code, started_at, duration_ms, posts, error, response, batch_first';

/** Index of both parts: the primary key. */
const READ_ATTEMPTS = `
  SELECT webhook_id, transaction_id, number, ${COLUMNS} FROM attempts WHERE webhook_id IN (?) AND transaction_id IN (?)
  UNION ALL
  SELECT webhook_id, transaction_id, attempts, ${COLUMNS} FROM deliveries WHERE webhook_id IN (?) AND transaction_id IN (?)`;

interface AttemptsOf {
  webhookIds: readonly string[];
  subjectIds: readonly string[];
}

/**
 * Reads all attempts of these webhooks to deliver these movements or events. The attempts of each delivery come in order. Each attempt in a
 * batch has the response to the batch.
 */
export async function readAttempts(sql: Sql, deliveries: AttemptsOf): Promise<AttemptRow[]> {
  const attempts = await readRows(sql, deliveries);
  const others = attempts.filter(
    ({ batch_first, transaction_id }) => batch_first !== null && batch_first !== transaction_id,
  );
  const firsts = await readRows(sql, {
    webhookIds: [...new Set(others.map(({ webhook_id }) => webhook_id))],
    subjectIds: [...new Set(others.flatMap(({ batch_first }) => batch_first ?? []))],
  });
  const responses = new Map(firsts.map((it) => [postOf(it), it.response]));
  return attempts.map((it) => ({ ...it, response: it.response ?? responses.get(postOf(it)) ?? null }));
}

/** Names the POST of an attempt. The attempts in one batch have the same name. */
export const postOf = (
  it: Pick<AttemptRow, 'webhook_id' | 'transaction_id' | 'batch_first' | 'started_at'>,
) => `${it.webhook_id}-${it.batch_first ?? it.transaction_id} ${it.started_at.getTime()}`;

async function readRows(sql: Sql, { webhookIds, subjectIds }: AttemptsOf): Promise<AttemptRow[]> {
  if (webhookIds.length === 0 || subjectIds.length === 0) return [];
  const rows = await sql.query<AttemptRow[]>(READ_ATTEMPTS, [webhookIds, subjectIds, webhookIds, subjectIds]);
  const attempts = new Map(rows.map((it) => [`${it.webhook_id}-${it.transaction_id} ${it.number}`, it]));
  return [...attempts.values()].sort((a, b) => a.number - b.number);
}

/** Sorts attempts of several deliveries by time, the oldest first. */
export const byTime = (a: AttemptRow, b: AttemptRow): number =>
  a.started_at.getTime() - b.started_at.getTime();

export const AttemptView = v.object({
  number: Count,
  outcome: v.picklist(['delivered', 'failed', 'throttled', 'gone', 'refused']),
  status_code: v.nullable(Count),
  started_at: Timestamp,
  duration_ms: Count,
  posts: v.pipe(
    Count,
    v.description(
      'How often the attempt sent its POST. 2: once more on a new connection, because the first was closed just as it was used, or because its answer could not be read. 0: there was no connection.',
    ),
  ),
  error: withExample(v.nullable(v.string()), 'The endpoint answered 503.'),
  response: v.nullable(v.string()),
  batch: v.pipe(
    withExample(v.nullable(v.string()), 'msg_1-4-1764525600000'),
    v.description(
      'The webhook-id of the batch that the event was sent in. response is then the answer to the batch. null: the event was sent alone.',
    ),
  ),
});

/** The id of the batch of an attempt. null: the delivery was sent alone. */
export const batchOf = ({
  webhook_id,
  batch_first,
  started_at,
}: Pick<AttemptRow, 'webhook_id' | 'batch_first' | 'started_at'>): string | null =>
  batch_first === null
    ? null
    : formatBatchId({ webhookId: webhook_id, first: batch_first, startedAt: started_at.getTime() });

export const viewAttempt = ({ number, outcome, status_code, started_at, ...row }: AttemptRow) => ({
  number,
  outcome,
  status_code,
  started_at: started_at.toISOString(),
  duration_ms: row.duration_ms,
  posts: row.posts,
  error: row.error,
  response: row.response,
  batch: batchOf({ ...row, started_at }),
});
