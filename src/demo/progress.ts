import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../cli/failure.ts';
import { formatCount } from '../counts.ts';
import type { Sql } from '../database/transaction.ts';
import type { Screen } from './screen.ts';

const SECOND = 1_000;
const POLL_INTERVAL = SECOND / 10;
/** How long the demo waits for its deliveries. The first retry comes after about 5 s. */
const TIME_LIMIT = 120 * SECOND;

/** The deliveries of one webhook, counted by MySQL. */
export interface Progress {
  matched: number;
  delivered: number;
  /** Delivered, but not by their first attempt. */
  retried: number;
  pending: number;
}

export const NO_PROGRESS: Progress = { matched: 0, delivered: 0, retried: 0, pending: 0 };

/** Indexes: the primary keys. `attempts` holds only failed attempts, of which the demo has few. */
const PROGRESS = `
  SELECT c.webhook_id, b.matched_count AS matched, c.delivered_count AS delivered, c.failed_count AS failed,
    (SELECT COUNT(*) FROM attempts a JOIN deliveries d ON d.webhook_id = a.webhook_id AND d.transaction_id = a.transaction_id
     WHERE a.webhook_id = c.webhook_id AND a.number = 1 AND d.status = 'delivered') AS retried
  FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id WHERE c.webhook_id IN (?)`;

/** Reads the progress of these webhooks, in the order of `webhookIds`. */
export async function readProgress(sql: Sql, webhookIds: readonly string[]): Promise<Progress[]> {
  const rows = await sql.query<
    Record<'webhook_id' | 'matched' | 'delivered' | 'failed' | 'retried', string>[]
  >(PROGRESS, [webhookIds]);
  return webhookIds.map((id) => {
    const row = rows.find(({ webhook_id }) => webhook_id === id);
    if (row === undefined) return NO_PROGRESS;
    const [matched, delivered, failed, retried] = [row.matched, row.delivered, row.failed, row.retried].map(
      Number,
    ) as [number, number, number, number];
    return { matched, delivered, retried, pending: Math.max(0, matched - delivered - failed) };
  });
}

/** Shows the progress of the deliveries, and waits until none is pending, for at most two minutes. */
export async function watchDeliveries(
  sql: Sql,
  webhookIds: readonly string[],
  { screen, signal }: { screen: Screen; signal: AbortSignal },
): Promise<Progress[]> {
  const deadline = performance.now() + TIME_LIMIT;
  for (;;) {
    const progress = await readProgress(sql, webhookIds);
    const [matched, delivered, pending] = (['matched', 'delivered', 'pending'] as const).map((key) =>
      progress.reduce((sum, of) => sum + of[key], 0),
    ) as [number, number, number];
    if (pending === 0 || performance.now() > deadline) return progress;
    const waiting = 'waiting for the retries of the failing receiver (the first come after about 5 s)';
    screen.live(`${formatCount(delivered)} of ${formatCount(matched)} delivered, ${waiting}`, waiting);
    await sleep(POLL_INTERVAL, undefined, { signal }).catch(() => {
      throw new Failure('Interrupted.');
    });
  }
}
