import { append } from './append.ts';
import { compareDays } from './compare-days.ts';
import { compareOverlaps, findOverlaps, indexSteps, type Overlap, type Steps } from './overlaps.ts';
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
    ...timeOf(days.keys(), statement),
    ends: endsOf(statement, isReversible),
  };
}

function endsOf({ kind, opening, closing, rows }: Statement, isReversible: boolean): Ends[] {
  if (kind === 'none') return [];
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

function timeOf(days: Iterable<string>, { from, to }: Statement): { first: string; last: string } {
  const sorted = [...days, ...(from === null ? [] : [from]), ...(to === null ? [] : [to])].sort();
  return { first: sorted[0] ?? '', last: sorted.at(-1) ?? '' };
}

/** How the walks of two statements overlap. */
export interface Places {
  /** The overlaps of each pair of walks, the best first. */
  overlaps: readonly (readonly [ReadOverlap, ...ReadOverlap[]])[];
  /** The number of rows in common. */
  rows: number;
  /** The rows may lie in another place as well. */
  isDoubtful: boolean;
  /** The bank's references differ. */
  haveOtherReferences: boolean;
}

/** Compares the walks of two statements. @returns null if they do not overlap. */
export function findPlaces(laid: Laid, other: Laid): Places | null {
  if (laid.linked.length === 0 || other.linked.length === 0) return null;
  const byWalks = new Map<string, ReadOverlap[]>();
  for (const it of overlapsOf(laid, other)) append(byWalks, `${it.one.walk} ${it.other.walk}`, it);
  if (byWalks.size === 0) return null;
  const overlaps = [...byWalks.values()] as [ReadOverlap, ...ReadOverlap[]][];
  return {
    overlaps,
    rows: overlaps.reduce((sum, [{ length }]) => sum + length, 0),
    isDoubtful: overlaps.some(({ length }) => length > 1),
    haveOtherReferences: overlaps.some(([{ otherReferences }]) => otherReferences > 0),
  };
}

/**
 * Pairs rows with the movements at their places. Uses one place for each pair of walks.
 * @param isFree whether a row may be a movement. Among equally good places, prefers one where all rows may be.
 */
export function pairPlaces(
  laid: Laid,
  other: Laid,
  { overlaps }: Places,
  isFree: (position: number, movement: number) => boolean,
): [position: number, movement: number][] {
  return overlaps.flatMap((ofWalks) => {
    const [best] = ofWalks;
    const found = ofWalks
      .filter((it) => compareOverlaps(it, best) === 0)
      .map((it) => pairsOf(laid, other, it))
      .find((pairs) => pairs.every(([position, movement]) => isFree(position, movement)));
    return found ?? pairsOf(laid, other, best);
  });
}

/** An overlap, and the order in which each statement was read. */
type ReadOverlap = Overlap & { steps: Steps; others: Steps };

/** The overlaps in all orders in which the statements may be read, the best first. */
function overlapsOf(laid: Laid, other: Laid): ReadOverlap[] {
  const options = {
    mayDatesDiffer: haveOtherDates(laid.statement, other.statement),
    areOfFormat: laid.statement.format === other.statement.format,
  };
  const found: ReadOverlap[] = [];
  for (const steps of [laid.steps, laid.reversed])
    for (const others of [other.steps, other.reversed])
      if (steps !== null && others !== null)
        for (const it of findOverlaps(steps, others, options)) found.push({ ...it, steps, others });
  return found.length < 2 ? found : found.sort(compareOverlaps);
}

function pairsOf(laid: Laid, other: Laid, { one, other: place, length, steps, others }: ReadOverlap) {
  const positions = positionsOf(laid, steps, one.walk);
  const otherPositions = positionsOf(other, others, place.walk);
  return Array.from({ length }, (_, step): [number, number] => [
    positions[one.at + step] as number,
    other.movements[otherPositions[place.at + step] as number] as number,
  ]);
}

/** An entry of MT940 may have no booking date, and then has its value date. */
const haveOtherDates = (one: Statement, other: Statement): boolean =>
  one.kind === 'final' &&
  other.kind === 'final' &&
  (one.format === 'mt940') !== (other.format === 'mt940') &&
  !isWindow(one) &&
  !isWindow(other);

function positionsOf({ linked, reversed }: Laid, steps: Steps, walk: number): readonly number[] {
  const positions = linked[walk]?.positions ?? [];
  return steps === reversed ? positions.toReversed() : positions;
}

/** Whether the balances link the rows of a statement. */
export const isWalk = ({ linked, statement }: Laid): boolean =>
  linked.length > 0 && statement.kind !== 'none';

/**
 * Whether one statement ends with the balance with which the other begins. Their days may overlap, because banks book some entries
 * on earlier days.
 */
export const areLinked = (one: Laid, other: Laid): boolean => leadsTo(one, other) || leadsTo(other, one);

const leadsTo = (one: Laid, next: Laid): boolean =>
  one.first <= next.first &&
  one.last <= next.last &&
  one.ends.some(({ closing }) => next.ends.some(({ opening }) => opening === closing));

/**
 * Whether two statements have the same rows. False if a row has no balance, because the bank may have booked the same amounts
 * twice.
 */
export const isTheSame = ({ statement }: Laid, { statement: other }: Laid): boolean =>
  statement.rows.length === other.rows.length &&
  statement.rows.every((row, position) => {
    const before = other.rows[position];
    const isSameRow = row.day === before?.day && row.amount === before.amount;
    return isSameRow && row.balance !== null && row.balance === before.balance;
  });

/**
 * Whether a statement that overlaps with another may follow it instead. The statements of a month and of its days belong to
 * different series, and so do statements of two formats. A file that can be read in both orders may overlap in one order and follow
 * in the other.
 */
export const mayFollow = (one: Laid, other: Laid): boolean =>
  (one.statement.format === other.statement.format && one.statement.to === other.statement.to) ||
  [one, other].some(({ statement, ends }) => ends.length > 1 || isWindow(statement));

/** Formats whose files may begin and end within a day. */
const WINDOWS: readonly string[] = ['csv', 'xlsx', 'json'];

export const isWindow = ({ format }: Statement): boolean => WINDOWS.includes(format);

/** Whether this is a statement of the bank. It is neither a report nor a file that may begin and end anywhere. */
export const isOwner = ({ statement, linked }: Laid): boolean =>
  statement.kind === 'final' && linked.length > 0 && !isWindow(statement);

/**
 * Whether one of two statements of a day begins later than the other. The later one is not a repetition, because a statement of the
 * day so far always begins with the day.
 */
export const beginsLater = (one: Laid, other: Laid): boolean =>
  one.statement.format === other.statement.format &&
  !isWindow(one.statement) &&
  one.first === other.first &&
  one.statement.opening !== other.statement.opening;

/** Whether a statement that ends with its opening balance may be part of the other statement, in another order. */
export function mayContain(laid: Laid, other: Laid): boolean {
  const compared = compareDays(laid, other);
  if (compared === null || compared.contradictions.length > 0 || compared.shift !== 0n) return false;
  return [laid, other].some(
    ({ statement: { rows, opening, closing } }) =>
      opening === closing && compared.pairs.length === rows.length,
  );
}

/**
 * Creates a function that says whether a chain of statements of one day connects this statement with another one, in either
 * direction.
 */
export function createReachable(near: Iterable<Laid>, laid: Laid): (other: Laid) => boolean {
  const [forward, back] = [new Map<bigint, bigint[]>(), new Map<bigint, bigint[]>()];
  for (const { statement, last, ends } of near) {
    if (statement.kind !== 'final' || last !== laid.last) continue;
    for (const { opening, closing } of ends) {
      append(forward, opening, closing);
      append(back, closing, opening);
    }
  }
  const reach = (from: readonly bigint[], steps: ReadonlyMap<bigint, readonly bigint[]>) => {
    const seen = new Set(from);
    for (const balance of seen) for (const next of steps.get(balance) ?? []) seen.add(next);
    return seen;
  };
  const after = reach(
    laid.ends.map(({ closing }) => closing),
    forward,
  );
  const before = reach(
    laid.ends.map(({ opening }) => opening),
    back,
  );
  return ({ ends }) => ends.some(({ opening, closing }) => after.has(opening) || before.has(closing));
}
