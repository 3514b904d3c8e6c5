import { compareDays } from './compare-days.ts';
import { findOverlaps, indexSteps, type Steps } from './overlaps.ts';
import type { Statement, StatementRow } from './statement.ts';
import { balanceBefore, findWalks, type Walk } from './walks.ts';

/** A statement whose rows are movements, and how two of them lie on the walk of balances. */
export interface Laid {
  statement: Statement;
  fingerprint: string | null;
  /** The movement of each row. -1: not decided yet. */
  movements: number[];
  walks: readonly Walk[];
  /** The walk of each row with a balance. */
  walkOf: ReadonlyMap<number, Walk>;
  /** Walks that are linked. */
  linked: readonly Walk[];
  steps: Steps;
  /** The same, read in the opposite order; null: there is no doubt. */
  reversed: Steps | null;
  /** The rows of each day, in the order of their walk. */
  days: ReadonlyMap<string, readonly number[]>;
  /** The first day of its rows, and the last day of its rows or of the statement. */
  first: string;
  last: string;
  /** The balances of a final statement. A file that can be read in both orders has two of each. */
  ends: readonly Ends[];
}

export interface Ends {
  opening: bigint;
  closing: bigint;
}

export function layOut(statement: Statement, movements: number[], fingerprint: string | null): Laid {
  const { rows } = statement;
  const { walks, isReversible } = findWalks(statement);
  const days = new Map<string, number[]>();
  const walkOf = new Map<number, Walk>();
  for (const walk of walks) for (const position of walk.positions) walkOf.set(position, walk);
  const order = [...walkOf.keys(), ...[...rows.keys()].filter((it) => !walkOf.has(it))];
  for (const position of order) append(days, (rows[position] as StatementRow).day, position);
  const linked = walks.filter(({ isLinked }) => isLinked);
  const rowsOf = ({ positions }: Walk) => positions.map((it) => rows[it] as StatementRow);
  return {
    statement,
    fingerprint,
    movements,
    walks,
    walkOf,
    linked,
    steps: indexSteps(linked.map(rowsOf)),
    reversed: isReversible ? indexSteps(linked.map((it) => rowsOf(it).reverse())) : null,
    days,
    ...timeOf(days.keys(), statement.to),
    ends: endsOf(statement, isReversible),
  };
}

function endsOf({ kind, opening, closing, rows }: Statement, isReversible: boolean): Ends[] {
  if (kind !== 'final') return [];
  if (opening !== null && closing !== null) return [{ opening, closing }];
  const [first, last] = [rows[0], rows.at(-1)];
  if (!isReversible || first === undefined || last === undefined) return [];
  return [
    [first, last],
    [last, first],
  ].flatMap(([from, to]) => {
    const before = from === undefined ? null : balanceBefore(from);
    return before === null || to?.balance == null ? [] : [{ opening: before, closing: to.balance }];
  });
}

function timeOf(days: Iterable<string>, to: string | null): { first: string; last: string } {
  const sorted = [...days].sort();
  const last = sorted.at(-1) ?? to ?? '';
  return { first: sorted[0] ?? last, last: to !== null && to > last ? to : last };
}

/**
 * Lays the walks of a statement onto those of another one.
 * @param isFree whether a row may be a movement.
 * @returns pairs of a row and a movement; null: they do not overlap.
 */
export function findPlaces(
  laid: Laid,
  other: Laid,
  isFree: (position: number, movement: number) => boolean = () => true,
): [position: number, movement: number][] | null {
  const mayDatesDiffer = haveOtherDates(laid.statement, other.statement);
  const pairs = new Map<number, number>();
  const used = new Set<number>();
  const add = (found: [number, number][]) => {
    const fits = found.every(
      ([position, movement]) =>
        (pairs.has(position) ? pairs.get(position) === movement : !used.has(movement)) &&
        isFree(position, movement),
    );
    if (!fits) return;
    for (const [position, movement] of found) {
      pairs.set(position, movement);
      used.add(movement);
    }
  };
  for (const [steps, others] of readingsOf(laid, other)) {
    if (pairs.size > 0) break;
    for (const { one, other: place, length } of findOverlaps(steps, others, mayDatesDiffer)) {
      const positions = positionsOf(laid, steps, one.walk);
      const otherPositions = positionsOf(other, others, place.walk);
      add(
        Array.from({ length }, (_, step) => [
          positions[one.at + step] as number,
          other.movements[otherPositions[place.at + step] as number] as number,
        ]),
      );
    }
  }
  return pairs.size === 0 ? null : [...pairs];
}

/** An entry of MT940 may have no booking date, and then has its value date. */
const haveOtherDates = (one: Statement, other: Statement): boolean =>
  one.kind === 'final' &&
  other.kind === 'final' &&
  (one.format === 'mt940') !== (other.format === 'mt940') &&
  ![one.format, other.format].some((it) => WINDOWS.includes(it));

/** The orders in which two statements may be read. */
const readingsOf = (laid: Laid, other: Laid): [Steps, Steps][] =>
  [laid.steps, laid.reversed].flatMap((one) =>
    [other.steps, other.reversed].flatMap((two): [Steps, Steps][] =>
      one === null || two === null ? [] : [[one, two]],
    ),
  );

function positionsOf({ linked, reversed }: Laid, steps: Steps, walk: number): readonly number[] {
  const positions = linked[walk]?.positions ?? [];
  return steps === reversed ? positions.toReversed() : positions;
}

/** Whether the balances link the rows of a statement. */
export const isWalk = ({ linked, statement }: Laid): boolean =>
  linked.length > 0 && statement.kind !== 'none';

/** Whether a final statement with both balances was read without a fault. */
const isWhole = ({ kind, opening, closing }: Statement): boolean =>
  kind === 'final' && opening !== null && closing !== null;

/** Whether one statement ends with the balance with which the other one begins. Banks book some entries on earlier days. */
export const areLinked = (one: Laid, other: Laid): boolean => leadsTo(one, other) || leadsTo(other, one);

const leadsTo = (one: Laid, next: Laid): boolean =>
  one.first <= next.first &&
  one.last <= next.last &&
  one.ends.some(({ closing }) => next.ends.some(({ opening }) => opening === closing));

/** Whether two statements have the same rows. Without balances, the bank may have booked the same amounts twice. */
export const isTheSame = ({ statement }: Laid, { statement: other }: Laid): boolean =>
  statement.rows.length === other.rows.length &&
  statement.rows.every((row, position) => {
    const before = other.rows[position];
    const isSameRow = row.day === before?.day && row.amount === before.amount;
    return isSameRow && row.balance !== null && row.balance === before.balance;
  });

/**
 * Whether a statement that overlaps with another one may follow it instead. A month's statement and those of its days are not of one
 * series, nor are those of two formats. A file that can be read in both orders may do one in each.
 */
export const mayFollow = (one: Laid, other: Laid): boolean =>
  (one.statement.format === other.statement.format && one.statement.to === other.statement.to) ||
  one.ends.length > 1 ||
  other.ends.length > 1;

/** Files of these formats may begin and end within a day. */
const WINDOWS: readonly string[] = ['csv', 'xlsx', 'json'];

/** Whether one of two statements of a day begins after the other one has. What a bank has booked so far always begins with the day. */
export const beginsLater = (one: Laid, other: Laid): boolean =>
  one.statement.format === other.statement.format &&
  !WINDOWS.includes(one.statement.format) &&
  one.first === other.first &&
  one.statement.opening !== other.statement.opening;

/** Whether a statement whose balances return to where they began may lie within the other one, in another order. */
export function mayContain(laid: Laid, other: Laid): boolean {
  const compared = compareDays(laid, other);
  if (compared === null || compared.contradictions.length > 0 || compared.shift !== 0n) return false;
  return [laid, other].some(
    ({ statement: { rows, opening, closing } }) =>
      opening === closing && compared.pairs.length === rows.length,
  );
}

/** Whether statements of one day lead from the end of one to the beginning of the other. */
export function isReachable(near: Iterable<Laid>, one: Laid, other: Laid): boolean {
  const nexts = new Map<bigint, bigint[]>();
  for (const { statement, last } of near) {
    const { opening, closing } = statement;
    if (!isWhole(statement) || opening === null || closing === null) continue;
    if (statement !== other.statement && last === one.last) append(nexts, opening, closing);
  }
  const leads = (from: bigint | null, to: bigint | null) => {
    const seen = new Set(from === null ? [] : [from]);
    for (const balance of seen) {
      if (balance === to) return true;
      for (const next of nexts.get(balance) ?? []) seen.add(next);
    }
    return false;
  };
  return (
    leads(one.statement.closing, other.statement.opening) ||
    leads(other.statement.closing, one.statement.opening)
  );
}

/** Adds a value to the list of a key. */
export function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
