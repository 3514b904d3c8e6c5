import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../cli/failure.ts';
import { formatCount } from '../cli/terminal.ts';
import type { Sql } from '../database/transaction.ts';
import type { Screen } from './screen.ts';

const SECOND = 1_000;
const LOOK_EVERY = SECOND / 10;
/** The first retry comes after some 5 s; whoever is not done after so long will not be. */
const PATIENCE = 120 * SECOND;

/** What MySQL knows of the deliveries of one webhook. */
export interface Progress {
  owed: number;
  delivered: number;
  /** Delivered by another than their first attempt. */
  retried: number;
  pending: number;
}

const NOTHING: Progress = { owed: 0, delivered: 0, retried: 0, pending: 0 };

const PROGRESS = `
  SELECT webhook_id, COUNT(*) AS owed, SUM(status = 'delivered') AS delivered,
    SUM(status = 'delivered' AND attempts > 1) AS retried, SUM(status = 'pending') AS pending
  FROM deliveries WHERE webhook_id IN (?) GROUP BY webhook_id`;

/** In the order of the ids. */
export async function readProgress(sql: Sql, webhookIds: readonly string[]): Promise<Progress[]> {
  const rows = await sql.query<Record<'webhook_id' | keyof Progress, string>[]>(PROGRESS, [webhookIds]);
  return webhookIds.map((id) => {
    const row = rows.find(({ webhook_id }) => webhook_id === id);
    if (row === undefined) return NOTHING;
    const { owed, delivered, retried, pending } = row;
    return {
      owed: Number(owed),
      delivered: Number(delivered),
      retried: Number(retried),
      pending: Number(pending),
    };
  });
}

/** Shows how the deliveries get on, and waits until none is pending, or until patience is at its end. */
export async function watchDeliveries(
  sql: Sql,
  webhookIds: readonly string[],
  { screen, signal }: { screen: Screen; signal: AbortSignal },
): Promise<Progress[]> {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const progress = await readProgress(sql, webhookIds);
    const [owed, delivered, pending] = (['owed', 'delivered', 'pending'] as const).map((key) =>
      progress.reduce((sum, of) => sum + of[key], 0),
    ) as [number, number, number];
    if (pending === 0 || performance.now() > deadline) return progress;
    const waiting = 'waiting for the retries of the failing receiver (the first come after about 5 s)';
    screen.live(`${formatCount(delivered)} of ${formatCount(owed)} delivered, ${waiting}`, waiting);
    await sleep(LOOK_EVERY, undefined, { signal }).catch(() => {
      throw new Failure('Interrupted.');
    });
  }
}
