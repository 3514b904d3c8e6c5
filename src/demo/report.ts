import { renderTable } from '../cli/terminal.ts';
import { formatCount } from '../counts.ts';
import type { Progress } from './progress.ts';
import type { Subscriber } from './subscriber.ts';

const LISTED = 5;

/** A movement as GET /v1/transactions shows it. */
export interface ListedMovement {
  id: string;
  account_id: string;
  dc: string;
  amount: string;
  date_issue: string;
}

/** What one webhook should have received, and what became of it. */
export interface Outcome {
  subscriber: Subscriber;
  accountTitle: string;
  /** Number of rows of the file that match it. */
  expected: number;
  /** The stored movements that match it. */
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

/** Describes what went wrong, one sentence each; empty when every expected delivery was received and verified. */
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
