import { type Comparison, compare, haveOtherReferences } from './comparison/compare.ts';
import { areAmong, countEach } from './comparison/counts.ts';
import { once, remember } from './comparison/lazy.ts';
import { areSeparate, leadsTo } from './series.ts';
import type { StatementRow } from './statement.ts';
import {
  append,
  areIssues,
  hasWalk,
  haveSameDays,
  idOf,
  isFinal,
  isWindow,
  type Laid,
  rowAt,
  rowKey,
} from './walk.ts';

/** How two statements of an account relate. */

export interface Relation {
  /**
   * `apart`: they have no booking in common. `common`: the pairs are the same bookings. `contradict`: they begin or end with the same
   * balance, and have other rows. `unknown`: nothing says.
   */
  kind: 'apart' | 'common' | 'contradict' | 'unknown';
  /** Nothing proves it. */
  isAssumed: boolean;
  comparison: Comparison;
}

/** What is known about the statements of the account. */
export interface Circumstances {
  /** Whether statement numbers tell statements apart. */
  useNumbers: boolean;
  /** Whether final statements of one day connect the two, in either direction. */
  isReachable: (other: Laid) => boolean;
  /** Whether a final statement of the same day comes before or after the first one, and is no part of it. */
  hasNeighbour: boolean;
  /** Whether any statement of its format ends where the first one begins, or begins where it ends. */
  isLinked: boolean;
}

export function relate(
  one: Laid,
  other: Laid,
  { useNumbers, isReachable, hasNeighbour, isLinked }: Circumstances,
  comparison = compare(one, other),
): Relation {
  const relation = (kind: Relation['kind'], isAssumed = false): Relation => ({ kind, isAssumed, comparison });
  const linked = areLinked(one, other);
  const { pairs, shift, isByAmount, isDoubtful } = comparison;
  if (areIssues(one, other)) return relation(pairs.length > 0 ? 'common' : 'unknown', linked || isDoubtful);
  if (pairs.length === 0 || shift !== 0n) {
    const isIssue = mayBeIssues(one, other, isReachable);
    if (linked || isIssue) return relation('apart', isIssue);
    if (pairs.length === 0) return relation(comparison.contradictions.length > 0 ? 'contradict' : 'unknown');
  }
  // A statement of the day so far may have another number than the shorter one before it.
  const isLonger = one.opening === other.opening && one.closing !== other.closing;
  const separate = useNumbers && areSeparate(one.statement, other.statement) && (linked || !isLonger);
  const areOther = haveOtherReferences(one, other, pairs);
  const ofFormat = one.statement.format === other.statement.format;
  const areFinal = isFinal(one) && isFinal(other);
  if (isByAmount && shift === 0n && ofFormat && areFinal && isReachable(other))
    return relation('apart', mayBeIssues(one, other, isReachable));
  if (separate && (linked || areOther)) return relation('apart', true);
  if (areOther && isReachable(other)) return relation('apart', true);
  // A statement of the day so far has all that was booked since.
  const areOfDay = ofFormat && areFinal && one.to === other.to;
  const mayGoOn = areOfDay && isReachable(other);
  if (mayGoOn && hasNeighbour) return relation('apart', true);
  const beginsLater = areOfDay && one.opening !== other.opening;
  // A statement that follows another one has its rows nowhere else, and the end of a third one only looks the same.
  const isPart = pairs.length < Math.min(one.walk.length, other.walk.length);
  const mayOnlySeem = isPart && isLinked && ofFormat && areFinal;
  const mayBeNew = isDoubtful || mayGoOn || beginsLater || mayOnlySeem;
  return relation('common', mayBeNew || (linked && mayFollow(one, other, isPart)) || separate);
}

/**
 * Whether one of two statements of a day may be the other, issued again: all rows of one are in the other, with the same texts, and no
 * balance says that one follows the other. A balance that comes back says nothing.
 */
function mayBeIssues(one: Laid, other: Laid, isReachable: Circumstances['isReachable']): boolean {
  if (!haveSameDays(one, other)) return false;
  if (one.statement.number !== other.statement.number) return false;
  if (one.opening !== other.opening && isReachable(other)) return false;
  return haveSameRows(one, other);
}

const contentOf = ({ amount, text }: StatementRow): string => `${amount} ${text}`;

const countContents = remember(({ statement }: Laid) => countEach(statement.rows.map(contentOf)));

/** Whether one of two statements has all rows of the other, by amount and text. */
export function haveSameRows(one: Laid, other: Laid): boolean {
  const isFewer = one.statement.rows.length <= other.statement.rows.length;
  const [fewer, more] = isFewer ? [one, other] : [other, one];
  return areAmong(fewer.statement.rows, contentOf, countContents(more));
}

/** Whether one of two statements leads to the other. */
export const areLinked = (one: Laid, other: Laid): boolean =>
  hasWalk(one) && hasWalk(other) && (leadsTo(one, other) || leadsTo(other, one));

/**
 * Whether a statement that has rows in common with another may follow it instead. The statement of a month, which has all rows of that of a
 * day, belongs to another series, and so do statements of two formats.
 * @param isPart both have rows that the other has not.
 */
const mayFollow = (one: Laid, other: Laid, isPart: boolean): boolean =>
  (one.statement.format === other.statement.format && (one.statement.to === other.statement.to || isPart)) ||
  isWindow(one) ||
  isWindow(other);

/**
 * Finds each row of a statement among the rows of another one. Statements with the same header are stored as one, so that the other may have
 * more rows. Texts of known rows are not stored. Those that are have to be equal if a row has neither a balance nor an id.
 * @param areTextsCompared whether all texts have to be equal.
 * @returns the movement of each row. null: the other has not all of them.
 */
export function findRows(laid: Laid, other: Laid, areTextsCompared = false): number[] | null {
  const { rows } = laid.statement;
  if (rows.length > other.movements.length) return null;
  return findInOrder(rows, other, areTextsCompared) ?? findInAnyOrder(rows, other, areTextsCompared);
}

const isTextNeeded = (row: StatementRow): boolean => row.balance === null && idOf(row) === null;

/** The rows nearly always stand one after the other, as in the same file. */
function findInOrder(rows: readonly StatementRow[], other: Laid, areTextsCompared: boolean): number[] | null {
  const areEqual = (row: StatementRow, it: StatementRow) =>
    row.amount === it.amount &&
    row.balance === it.balance &&
    row.day === it.day &&
    row.reference === it.reference &&
    (row.text === it.text || !(areTextsCompared || isTextNeeded(row)));
  const [first] = rows;
  const begin = first === undefined ? 0 : other.statement.rows.findIndex((it) => areEqual(first, it));
  if (begin === -1 || begin + rows.length > other.movements.length) return null;
  if (!rows.every((row, at) => areEqual(row, rowAt(other, begin + at)))) return null;
  return other.movements.slice(begin, begin + rows.length);
}

function findInAnyOrder(
  rows: readonly StatementRow[],
  other: Laid,
  areTextsCompared: boolean,
): number[] | null {
  const withText = new Map<string, number[]>();
  const withAnyText = new Map<string, number[]>();
  for (const position of [...other.movements.keys()].reverse()) {
    const row = rowAt(other, position);
    append(withText, `${rowKey(row)} ${row.text}`, position);
    append(withAnyText, rowKey(row), position);
  }
  const taken = new Set<number>();
  const take = (positions: number[] = []): number | undefined => {
    for (let found = positions.pop(); found !== undefined; found = positions.pop())
      if (!taken.has(found)) return found;
    return undefined;
  };
  const found: number[] = [];
  for (const row of rows) {
    const key = rowKey(row);
    const ofText = () => take(withText.get(`${key} ${row.text}`));
    const position = areTextsCompared
      ? ofText()
      : isTextNeeded(row)
        ? (ofText() ?? take(withText.get(`${key} `)))
        : take(withAnyText.get(key));
    if (position === undefined) return null;
    taken.add(position);
    found.push(other.movements[position] as number);
  }
  return found;
}

/** The balances from which, and to which, the final statements with one last day lead. */
export interface Chain {
  forward: Map<bigint, Set<bigint>>;
  back: Map<bigint, Set<bigint>>;
}

export function addToChain(chains: Map<string, Chain>, { to, opening, closing }: Laid): void {
  if (opening === null || closing === null) return;
  const chain = chains.get(to) ?? { forward: new Map(), back: new Map() };
  chains.set(to, chain);
  chain.forward.set(opening, (chain.forward.get(opening) ?? new Set()).add(closing));
  chain.back.set(closing, (chain.back.get(closing) ?? new Set()).add(opening));
}

/** How many balances of a day are followed. A day that has more leads from nearly every statement to every other. */
const MOST_REACHED = 1_000;

/** Creates a function that says whether a chain connects a statement with another one, in either direction. */
export function createReachable(laid: Laid, chain: Chain | undefined): (other: Laid) => boolean {
  const reach = (from: bigint | null, steps: Chain['forward'] | undefined) => {
    const seen = new Set(from === null ? [] : [from]);
    for (const balance of seen) {
      for (const next of steps?.get(balance) ?? []) seen.add(next);
      if (seen.size > MOST_REACHED) break;
    }
    return {
      has: (balance: bigint | null) => balance !== null && (seen.size > MOST_REACHED || seen.has(balance)),
    };
  };
  const after = once(() => reach(laid.closing, chain?.forward));
  const before = once(() => reach(laid.opening, chain?.back));
  return ({ opening, closing }) => after().has(opening) || before().has(closing);
}
