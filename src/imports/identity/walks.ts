import type { Statement, StatementRow } from './statement.ts';

/**
 * Finds the walk of balances in a statement: each row leads from the balance before it to the balance after it. A balance is only
 * believed if it links with a neighbouring row or with the statement's own balances.
 */

/** Rows in sequence. Each begins with the balance with which the previous row ends. */
export interface Walk {
  /** Positions of the rows in the statement, the oldest first. */
  positions: readonly number[];
  /** The balances link with each other, or with the statement. */
  isLinked: boolean;
}

export interface Walks {
  walks: readonly Walk[];
  /**
   * The rows may also be read in the opposite order, because nothing says whether the file begins with the oldest or the newest
   * row.
   */
  isReversible: boolean;
}

export const balanceBefore = ({ amount, balance }: StatementRow): bigint | null =>
  balance === null ? null : balance - amount;

export function findWalks({
  rows,
  opening,
  closing,
}: Pick<Statement, 'rows' | 'opening' | 'closing'>): Walks {
  const direction = findDirection(rows, opening);
  const order = [...rows.keys()];
  if (direction === 'descending') order.reverse();
  const walks: Walk[] = [];
  let open: number[] = [];
  const end = () => {
    const [first, last] = [rows[open[0] ?? -1], rows[open.at(-1) ?? -1]];
    if (first === undefined || last === undefined) return;
    const isOfStatement =
      (opening !== null && (closing !== null || balanceBefore(first) === opening)) ||
      (closing !== null && last.balance === closing);
    walks.push({ positions: open, isLinked: open.length > 1 || isOfStatement });
    open = [];
  };
  for (const position of order) {
    const row = rows[position] as StatementRow;
    const before = rows[open.at(-1) ?? -1];
    if (before !== undefined && before.balance !== balanceBefore(row)) end();
    if (row.balance !== null) open.push(position);
  }
  end();
  return { walks, isReversible: direction === 'unknown' };
}

/** A file lists its rows from the oldest to the newest, or the other way round. */
export type Direction = 'ascending' | 'descending' | 'unknown';

/**
 * Finds the direction in which rows are listed: the direction in which fewer balances contradict each other. In a tie, the days
 * decide. Rows of one day whose balance returns to its beginning can be read both ways.
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
