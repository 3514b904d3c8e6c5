import type { Statement, StatementRow } from './statement.ts';

/**
 * A walk: the rows of a statement whose balances link with a neighbour or with the statement's own balances, the oldest first. JSON has
 * none, and neither has a file that can be read in both orders. Their balances confirm, and never exclude.
 */

/** A statement with its walk, and the movement of each row. */
export interface Laid {
  statement: Statement;
  fingerprint: string | null;
  /** -1: not decided yet. */
  movements: number[];
  /** Positions of the rows on the walk. Empty: it has none. */
  walk: readonly number[];
  /** The same by day. */
  days: ReadonlyMap<string, readonly number[]>;
  isOnWalk: ReadonlySet<number>;
  /** The first day of its rows, and the last day of its rows or of the statement. */
  from: string;
  to: string;
  /** The balances before and after its rows. null: unknown. */
  opening: bigint | null;
  closing: bigint | null;
}

/** Formats whose files may begin and end within a day. */
const WINDOWS: readonly string[] = ['csv', 'xlsx', 'json'];

export const isWindow = ({ statement }: Laid): boolean => WINDOWS.includes(statement.format);

export const hasWalk = ({ walk }: Laid): boolean => walk.length > 0;

/** Whether this is a statement of the bank: neither a report nor a file that may begin and end anywhere. */
export const isFinal = (laid: Laid): boolean =>
  laid.statement.kind === 'final' && hasWalk(laid) && !isWindow(laid);

/** What two issues of a final statement have in common: format, page, first and last day. null: it does not say which days it has. */
export const daysKey = (laid: Laid): string | null => {
  const { format, sequence, from, to } = laid.statement;
  return !isFinal(laid) || from === null || to === null ? null : JSON.stringify([format, sequence, from, to]);
};

/**
 * Whether two statements may be one that the bank has issued twice. Numbers prove nothing, because banks restart them each January. A
 * statement of one day may also be a part of the day.
 */
export const haveSameDays = (one: Laid, other: Laid): boolean =>
  daysKey(one) !== null && daysKey(one) === daysKey(other);

/** Whether two statements, of several days, are one that the bank has issued twice. */
export const areIssues = (one: Laid, other: Laid): boolean =>
  one.statement.from !== one.statement.to && haveSameDays(one, other);

export const rowAt = ({ statement }: Laid, position: number): StatementRow =>
  statement.rows[position] as StatementRow;

export const balanceBefore = ({ amount, balance }: StatementRow): bigint | null =>
  balance === null ? null : balance - amount;

/** The key of a row: all that it says except its text. */
export const rowKey = ({ day, amount, balance, reference }: StatementRow): string =>
  `${day} ${amount} ${balance} ${reference}`;

/** References that a file counts from 1, zeros, and words are not ids. */
export const isId = (reference: string | null): reference is string =>
  reference !== null && /[1-9]/.test(reference) && !/^\d{1,4}$/.test(reference);

/** The bank's id of a row. null: it has none. */
export const idOf = ({ reference, isOwnReference, isPosition }: StatementRow): string | null =>
  isId(reference) && isOwnReference === undefined && isPosition === undefined ? reference : null;

export function layOut(
  statement: Statement,
  fingerprint: string | null,
  movements?: readonly number[],
): Laid {
  const { rows, from, to } = statement;
  const walk = statement.kind === 'none' ? [] : findWalk(statement);
  const days = new Map<string, number[]>();
  for (const position of walk) {
    append(days, (rows[position] as StatementRow).day, position);
  }
  const times = [
    ...rows.map(({ day }) => day),
    ...(from === null ? [] : [from]),
    ...(to === null ? [] : [to]),
  ];
  const [first, last] = [rows[walk[0] ?? -1], rows[walk.at(-1) ?? -1]];
  return {
    statement,
    fingerprint,
    movements: [...(movements ?? rows.map(() => -1))],
    walk,
    days,
    isOnWalk: new Set(walk),
    from: times.reduce((one, other) => (other < one ? other : one), times[0] ?? ''),
    to: times.reduce((one, other) => (other > one ? other : one), ''),
    opening: statement.opening ?? (first === undefined ? null : balanceBefore(first)),
    closing: statement.closing ?? last?.balance ?? null,
  };
}

function findWalk({ rows, opening, closing }: Statement): number[] {
  const direction = findDirection(rows, opening);
  if (direction === 'unknown') return [];
  const order = [...rows.keys()];
  if (direction === 'descending') order.reverse();
  const walk: number[] = [];
  let run: number[] = [];
  const end = () => {
    const [first, last] = [rows[run[0] ?? -1], rows[run.at(-1) ?? -1]];
    if (first === undefined || last === undefined) return;
    const isOfStatement =
      (opening !== null && (closing !== null || balanceBefore(first) === opening)) ||
      (closing !== null && last.balance === closing);
    if (run.length > 1 || isOfStatement) walk.push(...run);
    run = [];
  };
  for (const position of order) {
    const row = rows[position] as StatementRow;
    const before = rows[run.at(-1) ?? -1];
    if (before !== undefined && before.balance !== balanceBefore(row)) end();
    if (row.balance !== null) run.push(position);
  }
  end();
  return walk;
}

/** A file lists its rows from the oldest to the newest, or the other way round. */
type Direction = 'ascending' | 'descending' | 'unknown';

/**
 * Finds the direction in which rows are listed: the direction in which fewer balances contradict each other. In a tie, the days decide.
 * Rows of one day whose balance returns to its beginning can be read both ways.
 * @param breaks how many balances contradict the one before them, in each direction.
 * @param days of the first and the last row.
 */
export function decideDirection(
  breaks: Record<'ascending' | 'descending', number>,
  days: { first: string; last: string },
  rows: number,
): Direction {
  if (breaks.ascending !== breaks.descending)
    return breaks.ascending < breaks.descending ? 'ascending' : 'descending';
  if (rows < 2) return 'ascending';
  if (days.first !== days.last) return days.first < days.last ? 'ascending' : 'descending';
  return breaks.ascending === 0 ? 'unknown' : 'ascending';
}

/** The opening balance of a statement decides too. */
function findDirection(rows: readonly StatementRow[], opening: bigint | null): Direction {
  const breaks = { ascending: 0, descending: 0 };
  for (let at = 1; at < rows.length; at += 1) {
    const [one, other] = [rows[at - 1] as StatementRow, rows[at] as StatementRow];
    if (one.balance === null || other.balance === null) continue;
    if (one.balance !== balanceBefore(other)) breaks.ascending += 1;
    if (other.balance !== balanceBefore(one)) breaks.descending += 1;
  }
  const days = { first: rows[0]?.day ?? '', last: rows.at(-1)?.day ?? '' };
  const direction = decideDirection(breaks, days, rows.length);
  const isKnown = opening !== null || rows[0]?.balance == null;
  return direction === 'unknown' && isKnown ? 'ascending' : direction;
}

/** Adds an item to the list of a key. */
export function append<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
