import { findRows } from './relation.ts';
import type { StatementRow } from './statement.ts';
import { append, isWindow, type Laid, rowKey } from './walk.ts';

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

const keyOf = (row: StatementRow) => `${rowKey(row)} ${row.text}`;

const isStatement = (laid: Laid): boolean => laid.statement.kind === 'final' && !isWindow(laid);

export function createFileStatements(): FileStatements {
  const sent = new Map<Laid, Laid>();
  const added: Laid[] = [];
  let indexed = 0;
  const byRow = new Map<string, Laid[]>();
  /** By the row that the fewest statements have. */
  const byRarest = new Map<string, Laid[]>();
  const countOf = (key: string) => byRow.get(key)?.length ?? 0;
  const rarestOf = (keys: readonly string[]) =>
    keys.reduce((one, other) => (countOf(other) < countOf(one) ? other : one), keys[0] ?? '');
  const asSent = (laid: Laid) => sent.get(laid) as Laid;
  /** Most statements need not be compared with others of their file. */
  const index = () => {
    for (; indexed < added.length; indexed += 1) {
      const laid = added[indexed] as Laid;
      const keys = [...new Set(asSent(laid).statement.rows.map(keyOf))];
      append(byRarest, rarestOf(keys), laid);
      for (const key of keys) append(byRow, key, laid);
    }
  };
  const findOverlapping = (laid: Laid): Set<Laid> => {
    index();
    const keys = [...new Set(laid.statement.rows.map(keyOf))];
    const containing = (byRow.get(rarestOf(keys)) ?? []).filter(
      (it) => findRows(laid, asSent(it), true) !== null,
    );
    const contained = keys
      .flatMap((key) => byRarest.get(key) ?? [])
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
      let overlapping: Set<Laid> | null = null;
      return (other) => {
        if (!sent.has(other) || !isStatement(other)) return false;
        overlapping ??= findOverlapping(laid);
        return !overlapping.has(other);
      };
    },
  };
}
