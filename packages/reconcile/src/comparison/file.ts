import { findRows } from '../relation.ts';
import { isWindow, type Laid, rowKey } from '../walk.ts';
import { createIndex, once } from './lazy.ts';

/**
 * The statements of one file, of which two final ones have a booking in common only if one has all rows of the other. Those that are stored
 * already belong to it too.
 */
export interface FileStatements {
  /** Adds a statement as it lies in the books. @param asSent the same as the file has it, because texts of known rows are not stored. */
  add(laid: Laid, asSent: Laid): void;
  /** Whether a statement comes before the ones that are still to be decided. */
  isBefore(laid: Laid): boolean;
  /** Creates a function that says whether another statement of the file has no booking in common with this one. */
  apartFrom(laid: Laid): (other: Laid) => boolean;
}

/** The statements with a row, and those of which no row was in fewer statements when they were added. */
interface OfRow {
  having: Laid[];
  rarest: Laid[];
}

const keysOf = ({ statement: { rows } }: Laid): string[] => [
  ...new Set(rows.map((row) => `${rowKey(row)} ${row.text}`)),
];

/** The row that the fewest statements have. */
function findRarest(index: ReadonlyMap<string, OfRow>, keys: readonly string[]): string | undefined {
  const countOf = (key: string) => index.get(key)?.having.length ?? 0;
  return keys.reduce((one, other) => (countOf(other) < countOf(one) ? other : one), keys[0] as string);
}

const isStatement = (laid: Laid): boolean => laid.statement.kind === 'final' && !isWindow(laid);

export function createFileStatements(): FileStatements {
  const sent = new Map<Laid, Laid>();
  const asSent = (laid: Laid) => sent.get(laid) as Laid;
  const added: Laid[] = [];
  const byRow = createIndex<Laid, OfRow>(added, (index, laid) => {
    const keys = keysOf(asSent(laid));
    const rarest = findRarest(index, keys);
    for (const key of keys) {
      const ofRow = index.get(key) ?? { having: [], rarest: [] };
      index.set(key, ofRow);
      ofRow.having.push(laid);
      if (key === rarest) ofRow.rarest.push(laid);
    }
  });
  const findOverlapping = (laid: Laid): Set<Laid> => {
    const index = byRow();
    const keys = keysOf(laid);
    const containing = (index.get(findRarest(index, keys) ?? '')?.having ?? []).filter(
      (it) => findRows(laid, asSent(it), true) !== null,
    );
    const contained = keys
      .flatMap((key) => index.get(key)?.rarest ?? [])
      .filter((it) => findRows(asSent(it), laid, true) !== null);
    return new Set([...containing, ...contained]);
  };
  return {
    add(laid, asSent) {
      if (!sent.has(laid)) added.push(laid);
      sent.set(laid, asSent);
    },
    isBefore: (laid) => sent.get(laid) === laid,
    apartFrom(laid) {
      if (!isStatement(laid)) return () => false;
      const overlapping = once(() => findOverlapping(laid));
      return (other) => sent.has(other) && isStatement(other) && !overlapping().has(other);
    },
  };
}
