import { compareDays } from './compare-days.ts';
import { findOverlaps, indexSteps, type Steps } from './overlaps.ts';
import type { Statement, StatementRow } from './statement.ts';
import { findWalks, type Walk } from './walks.ts';

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
  };
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
  const mayDatesDiffer = other.statement.format !== laid.statement.format;
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
  for (const steps of [laid.steps, laid.reversed]) {
    if (steps === null || pairs.size > 0) continue;
    for (const { one, other: place, length } of findOverlaps(steps, other.steps, mayDatesDiffer)) {
      const walk = laid.linked[one.walk]?.positions ?? [];
      const positions = steps === laid.reversed ? walk.toReversed() : walk;
      const others = other.linked[place.walk]?.positions ?? [];
      add(
        Array.from({ length }, (_, step) => [
          positions[one.at + step] as number,
          other.movements[others[place.at + step] as number] as number,
        ]),
      );
    }
  }
  return pairs.size === 0 ? null : [...pairs];
}

/** Whether the balances link the rows of a statement. */
export const isWalk = ({ linked, statement }: Laid): boolean =>
  linked.length > 0 && statement.kind !== 'none';

/** Whether a final statement with both balances was read without a fault. */
const isWhole = ({ kind, opening, closing }: Statement): boolean =>
  kind === 'final' && opening !== null && closing !== null;

/** Whether one statement ends with the balance with which the other one begins. */
export const areLinked = (one: Statement, other: Statement): boolean =>
  isWhole(one) && isWhole(other) && (one.closing === other.opening || other.closing === one.opening);

/** Whether two statements have the same rows. Without balances, the bank may have booked the same amounts twice. */
export const isTheSame = ({ statement }: Laid, { statement: other }: Laid): boolean =>
  isWhole(statement) &&
  statement.rows.length === other.rows.length &&
  statement.rows.every((row, position) => {
    const before = other.rows[position];
    return row.day === before?.day && row.amount === before.amount && row.balance === before.balance;
  });

/** Whether statements may be of one series. A month's statement and those of its days are not, nor are those of two formats. */
export const mayFollow = (one: Statement, other: Statement): boolean =>
  one.format === other.format && one.to === other.to;

/** Whether a statement whose balances return to where they began may lie within the other one, or the other way round. */
export function mayContain(laid: Laid, other: Laid): boolean {
  const returns = ({ statement: { opening, closing } }: Laid) => opening === closing;
  if (!returns(laid) && !returns(other)) return false;
  const compared = compareDays(laid, other);
  return compared !== null && compared.contradictions.length === 0 && compared.shift === 0n;
}

/** Whether statements lead from the end of one to the beginning of the other. */
export function isReachable(near: Iterable<Laid>, one: Statement, other: Statement): boolean {
  const nexts = new Map<bigint, bigint[]>();
  for (const { statement } of near) {
    const { opening, closing } = statement;
    if (isWhole(statement) && opening !== null && closing !== null && statement !== other)
      append(nexts, opening, closing);
  }
  const leads = (from: bigint | null, to: bigint | null) => {
    const seen = new Set(from === null ? [] : [from]);
    for (const balance of seen) {
      if (balance === to) return true;
      for (const next of nexts.get(balance) ?? []) seen.add(next);
    }
    return false;
  };
  return leads(one.closing, other.opening) || leads(other.closing, one.opening);
}

/** Adds a value to the list of a key. */
export function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
