import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../database/transaction.ts';
import { formatCount } from '../../platform/text.ts';
import { Failure } from '../context.ts';
import { renderTable } from '../output.ts';
import type { Screen } from './screen.ts';
import type { Subscriber } from './subscriber.ts';

/** Writes what the demo has seen of each subscriber, and finds what is wrong. */

const LISTED = 5;

/** A movement as GET /v1/transactions shows it. */
export interface ListedMovement {
  id: string;
  account_id: string;
  dc: string;
  amount: string;
  date_issue: string;
}

/** The expected deliveries of one webhook, and the actual ones. */
export interface Outcome {
  subscriber: Subscriber;
  accountTitle: string;
  /** The number of rows in the file that match the webhook. */
  expected: number;
  /** The stored movements that match the webhook. */
  matched: readonly ListedMovement[];
  progress: Progress;
}

const HEADING = ['webhook', 'event', 'account', 'body', 'matched', 'delivered', 'retried', 'verified'];
const NUMBERS = [4, 5, 6, 7];

/** Renders the table, with a line of totals. */
export function renderOutcomes(outcomes: readonly Outcome[]): string[] {
  const counts = outcomes.map(({ expected, progress, subscriber }) => [
    expected,
    progress.delivered,
    progress.retried,
    subscriber.verified.size,
  ]);
  const rows = outcomes.map(({ subscriber: { subscription }, accountTitle }, at) => [
    subscription.title,
    subscription.event,
    accountTitle,
    subscription.encoding,
    ...(counts[at] ?? []).map(formatCount),
  ]);
  const totals = NUMBERS.map((_, column) => counts.reduce((sum, of) => sum + (of[column] ?? 0), 0));
  return renderTable([HEADING, ...rows, ['total', '', '', '', ...totals.map(formatCount)]], {
    right: NUMBERS,
  });
}

/** Describes the problems in one sentence each. Empty when every expected delivery was received and verified. */
export function findProblems(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ subscriber, expected, matched, progress }) => {
    const { title } = subscriber.subscription;
    const { verified } = subscriber;
    const missing = matched.filter(({ id }) => !verified.has(id));
    const ids = new Set(matched.map(({ id }) => id));
    const strangers = [...verified].filter((id) => !ids.has(id));
    return [
      ...(matched.length === expected
        ? []
        : [`${title}: ${expected} movements of the file match, ${matched.length} are stored.`]),
      ...(progress.delivered === expected
        ? []
        : [`${title}: ${progress.delivered} of ${expected} were delivered.`]),
      ...missing.slice(0, LISTED).map((movement) => `${title} lacks ${describe(movement)}.`),
      ...(missing.length > LISTED ? [`${title} lacks ${missing.length - LISTED} more.`] : []),
      ...(strangers.length === 0
        ? []
        : [`${title} received ${strangers.length} movements that do not match it.`]),
      ...[...new Set(subscriber.problems)].map((problem) => `${title} refused a notification. ${problem}`),
    ];
  });
}

const describe = ({ id, date_issue, dc, amount }: ListedMovement) =>
  `transaction ${id} (${date_issue}, ${dc} ${amount})`;

const SECOND = 1_000;
const POLL_INTERVAL = SECOND / 10;
/** How long the demo waits for its deliveries. The first retry comes after about 5 s. */
const TIME_LIMIT = 120 * SECOND;

/** The deliveries of one webhook, counted by MySQL. */
export interface Progress {
  matched: number;
  delivered: number;
  /** Delivered, but not at the first attempt. */
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
async function readProgress(sql: Sql, webhookIds: readonly string[]): Promise<Progress[]> {
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
