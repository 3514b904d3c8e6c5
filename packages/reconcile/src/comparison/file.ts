import { areLinked, findRows } from '../relation.ts';
import type { StatementRow } from '../statement.ts';
import { isWindow, type Laid, rowAt, rowKey } from '../walk.ts';
import { createIndex, once } from './lazy.ts';

/**
 * The statements of one file. Two final ones have a booking in common only if one has all rows of the other, or if the last rows of one are
 * the first ones of the other with the same balances, as in downloads that overlap. Those that are stored already belong to it too.
 */
export interface FileStatements {
  /** Adds a statement as it lies in the books. @param asSent the same as the file has it, because texts of known rows are not stored. */
  add(laid: Laid, asSent: Laid): void;
  /** Whether a statement comes before the ones that are still to be decided. */
  isBefore(laid: Laid): boolean;
  /** Creates a function that says whether another statement of the file has no booking in common with this one. */
  apartFrom(laid: Laid): (other: Laid) => boolean;
}

/**
 * The statements with a row, and those of which no row was in fewer statements when they were added. One stands for all that have the same rows
 * in the same order.
 */
interface OfRow {
  /** From 0, in the order in which rows came first. */
  number: number;
  having: Laid[];
  rarest: Laid[];
}

/** The most statements that are looked at for rows at the end of one that another one begins with. */
const MOST_OVERLAPPING = 20;

const keyOf = (row: StatementRow): string => `${rowKey(row)} ${row.text}`;

const keysOf = ({ statement: { rows } }: Laid): string[] => [...new Set(rows.map(keyOf))];

/** The rows with balances that lead from one to the next, the oldest first. */
const walkOf = (laid: Laid): string[] => laid.walk.map((position) => keyOf(rowAt(laid, position)));

/** How many items at the end of one list are those at the beginning of the other. Knuth, Morris and Pratt: takes linear time. */
function countOverlap(one: readonly string[], other: readonly string[]): number {
  const borders: number[] = [];
  const next = (length: number, item: string): number => {
    let found = length;
    while (found > 0 && other[found] !== item) found = borders[found - 1] ?? 0;
    return other[found] === item ? found + 1 : 0;
  };
  other.forEach((item, at) => {
    borders.push(at === 0 ? 0 : next(borders[at - 1] ?? 0, item));
  });
  return one.reduce((length, item) => next(length, item), 0);
}

/** The row that the fewest statements have. */
function findRarest(index: ReadonlyMap<string, OfRow>, keys: readonly string[]): string | undefined {
  const countOf = (key: string) => index.get(key)?.having.length ?? 0;
  return keys.reduce((one, other) => (countOf(other) < countOf(one) ? other : one), keys[0] as string);
}

const isStatement = (laid: Laid): boolean => laid.statement.kind === 'final' && !isWindow(laid);

export function createFileStatements(): FileStatements {
  const sent = new Map<Laid, Laid>();
  const added: Laid[] = [];
  /** The statement that stands for those with the same rows, as it was sent: by the numbers of these rows, and by each of them. */
  const byRows = new Map<string, Laid>();
  const sameRows = new Map<Laid, Laid>();
  const byRow = createIndex<Laid, OfRow>(added, (index, laid) => {
    const asSent = sent.get(laid) as Laid;
    const rows = asSent.statement.rows.map(keyOf);
    const keys = [...new Set(rows)];
    for (const key of keys)
      if (!index.has(key)) index.set(key, { number: index.size, having: [], rarest: [] });
    const numbers = rows.map((key) => index.get(key)?.number).join();
    const first = byRows.get(numbers) ?? asSent;
    sameRows.set(laid, first);
    if (byRows.has(numbers)) return;
    byRows.set(numbers, first);
    const rarest = findRarest(index, keys);
    for (const key of keys) {
      const ofRow = index.get(key) as OfRow;
      ofRow.having.push(first);
      if (key === rarest) ofRow.rarest.push(first);
    }
  });
  /** The statements that have all rows of another one, or none but those. */
  const findContained = (laid: Laid, index: ReadonlyMap<string, OfRow>): Set<Laid> => {
    const keys = keysOf(laid);
    const containing = (index.get(findRarest(index, keys) ?? '')?.having ?? []).filter(
      (it) => findRows(laid, it, true) !== null,
    );
    const contained = keys
      .flatMap((key) => index.get(key)?.rarest ?? [])
      .filter((it) => findRows(it, laid, true) !== null);
    return new Set([...containing, ...contained]);
  };
  /** The statements whose last rows are the first ones of another one, or the other way round. */
  const findContinuing = (laid: Laid, index: ReadonlyMap<string, OfRow>): Set<Laid> => {
    const walk = walkOf(laid);
    const near = [walk[0], walk.at(-1)].flatMap(
      (key) => index.get(key ?? '')?.having.slice(-MOST_OVERLAPPING) ?? [],
    );
    const overlapping = [...new Set(near)].filter((it) => {
      const other = walkOf(it);
      return countOverlap(other, walk) > 0 || countOverlap(walk, other) > 0;
    });
    return new Set(overlapping);
  };
  return {
    add(laid, asSent) {
      if (!sent.has(laid)) added.push(laid);
      sent.set(laid, asSent);
    },
    isBefore: (laid) => sent.get(laid) === laid,
    apartFrom(laid) {
      if (!isStatement(laid)) return () => false;
      const findOverlapping = once(() => {
        const index = byRow();
        return { contained: findContained(laid, index), continuing: findContinuing(laid, index) };
      });
      return (other) => {
        if (!sent.has(other) || !isStatement(other)) return false;
        const { contained, continuing } = findOverlapping();
        const first = sameRows.get(other) as Laid;
        // What follows by its balances has no row in common.
        return !contained.has(first) && !(continuing.has(first) && !areLinked(laid, other));
      };
    },
  };
}
