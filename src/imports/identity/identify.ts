import { addMovement, addStatement, type Books, groupOf, openBooks, statementsNear } from './books.ts';
import { compareDays } from './compare-days.ts';
import {
  areLinked,
  beginsLater,
  findPlaces,
  isReachable,
  isTheSame,
  isWalk,
  type Laid,
  layOut,
  mayContain,
  mayFollow,
} from './laid.ts';
import { matchLeft } from './match-left.ts';
import { areNumbersOfDownloads, areSeparate } from './numbers.ts';
import type { Decision, ReceivedStatement, StatementRow, Stored } from './statement.ts';

/**
 * Decides which rows of a file are movements that are stored already. A statement is laid onto the stored ones as a whole: by its
 * balances, then day by day. What no balance decides is matched by what the rows say, and then by count. See docs/trust.md, "How a
 * movement is recognised".
 */

export interface IdentifyOptions {
  /** Whether a row that nothing tells apart from a stored movement is taken for it. */
  mayAssume?: boolean;
  /** Whether the numbers of statements tell apart those whose balances do not. */
  useNumbers?: boolean;
}

export interface Identified {
  /** For each statement, the decision of each row. */
  decisions: Decision[][];
  /** By how much the balances of a statement have shifted against stored ones, where no new row explains it. */
  shifts: { statement: number; shift: bigint }[];
}

/**
 * @param stored what is stored about the days of the file, for one account.
 * @param received the statements of the file about this account, in its order.
 */
export function identify(
  stored: Stored,
  received: readonly ReceivedStatement[],
  { mayAssume = true, useNumbers = true }: IdentifyOptions = {},
): Identified {
  const books = openBooks(stored);
  const areNumbersUsed = useNumbers && !areNumbersOfDownloads(books.movements.map(({ seen }) => seen));
  const shifts: Identified['shifts'] = [];
  const decisions = received.map((statement, index) => {
    const laying = begin(books, statement);
    takeOwn(laying, statement.stored);
    const overlapping = tellApart(laying, areNumbersUsed, mayAssume);
    takeSame(laying);
    placeByBalances(laying, overlapping);
    placeByDays(laying, overlapping);
    const left = leftOf(laying);
    const isFree = (movement: number) => !laying.taken.has(movement) && !isApart(laying, movement);
    for (const { position, movement, isAssumed } of matchLeft(books, laying.laid, left, isFree, mayAssume))
      take(laying, position, movement, isAssumed ? 'assumed' : 'same');
    addNew(laying, isFree);
    addStatement(books, laying.laid);
    if (laying.shift !== 0n) shifts.push({ statement: index, shift: laying.shift });
    return laying.decisions as Decision[];
  });
  return { decisions, shifts };
}

/** A statement of the file while its rows are decided. */
interface Laying {
  books: Books;
  laid: Laid;
  near: ReadonlySet<Laid>;
  /** The same statement, if it is stored. */
  same: Laid | null;
  /** Statements that have no booking in common with this one. */
  apart: Set<Laid>;
  decisions: (Decision | undefined)[];
  /** Movements that rows of this statement are. */
  taken: Set<number>;
  /** Nothing but an assumption tells it apart from another statement. */
  isApartAssumed: boolean;
  /** Days on which a statement says something else. */
  contradicting: Set<string>;
  shift: bigint;
}

interface Overlapping {
  other: Laid;
  /** It may also follow this statement: both balances are the same. */
  isAmbiguous: boolean;
}

function begin(books: Books, statement: ReceivedStatement): Laying {
  const laid = layOut(statement, Array(statement.rows.length).fill(-1), statement.fingerprint);
  books.balances.add(laid);
  const near = statementsNear(books, laid);
  const isSame = (it: Laid) =>
    it.fingerprint !== null && it.fingerprint === laid.fingerprint && isTheSame(laid, it);
  return {
    books,
    laid,
    near,
    same: [...near].find(isSame) ?? null,
    apart: new Set(),
    decisions: statement.rows.map(() => undefined),
    taken: new Set(),
    isApartAssumed: false,
    contradicting: new Set(),
    shift: 0n,
  };
}

function take(
  { laid, taken, decisions }: Laying,
  position: number,
  movement: number,
  reason: 'same' | 'changed' | 'assumed',
): void {
  laid.movements[position] = movement;
  taken.add(movement);
  decisions[position] = { outcome: 'known', movement, reason };
}

const isApart = ({ books, apart }: Laying, movement: number): boolean =>
  apart.size > 0 && (books.movements[movement]?.seen.some(({ laid }) => apart.has(laid)) ?? false);

const leftOf = ({ decisions }: Laying): number[] =>
  decisions.flatMap((it, position) => (it === undefined ? [position] : []));

/** Rows that this import has stored already. */
function takeOwn(laying: Laying, own: ReadonlyMap<number, number> = new Map()): void {
  for (const [position, movement] of own) {
    const [row, stored] = [laying.laid.statement.rows[position], laying.books.movements[movement]];
    if (row?.day === stored?.day && row?.amount === stored?.amount) take(laying, position, movement, 'same');
  }
}

/**
 * Finds the statements that follow this one, or are followed by it: they have no booking in common with it.
 * @returns the others.
 */
function tellApart(laying: Laying, areNumbersUsed: boolean, mayAssume: boolean): Overlapping[] {
  const { laid, near, same, apart } = laying;
  const overlapping: Overlapping[] = [];
  for (const other of near) {
    if (other === same) continue;
    const linked = areLinked(laid, other);
    const overlap = findPlaces(laid, other) !== null || (linked && mayContain(laid, other));
    const isAmbiguous = linked && overlap && mayFollow(laid, other);
    const isAssumed =
      overlap &&
      ((areNumbersUsed &&
        areSeparate(laid.statement, other.statement) &&
        (linked || isReachable(near, laid, other))) ||
        (isAmbiguous && (!mayAssume || beginsLater(laid, other))));
    if (isAssumed || (linked && !overlap)) apart.add(other);
    else overlapping.push({ other, isAmbiguous });
    laying.isApartAssumed ||= isAssumed;
  }
  return overlapping;
}

/** The same statement again. A movement that a statement before or after it has brought is not its own. */
function takeSame(laying: Laying): void {
  for (const [position, movement] of laying.same?.movements.entries() ?? [])
    if (isConsistent(laying, position, movement) && !isApart(laying, movement))
      take(laying, position, movement, 'same');
}

const isConsistent = ({ laid, taken }: Laying, position: number, movement: number): boolean => {
  const known = laid.movements[position];
  return known === -1 ? !taken.has(movement) : known === movement;
};

/** Lays the walk onto those of other statements. */
function placeByBalances(laying: Laying, overlapping: readonly Overlapping[]): void {
  const { laid, books } = laying;
  const ambiguous = new Set(overlapping.flatMap(({ other, isAmbiguous }) => (isAmbiguous ? [other] : [])));
  for (const { other } of overlapping) {
    const places = findPlaces(laid, other, (position, movement) => isConsistent(laying, position, movement));
    for (const [position, movement] of places ?? []) {
      if (laid.movements[position] !== -1 || isApart(laying, movement)) continue;
      const before = books.movements[movement];
      const isAmbiguous = ambiguous.size > 0 && before?.seen.some((it) => ambiguous.has(it.laid));
      const isMoved = before?.day !== laid.statement.rows[position]?.day;
      take(laying, position, movement, isAmbiguous ? 'assumed' : isMoved ? 'changed' : 'same');
    }
  }
}

/** Compares with statements whose walks are not the same: the bank lists a day in another order, or has inserted an entry. */
function placeByDays(laying: Laying, overlapping: readonly Overlapping[]): void {
  const { laid, taken } = laying;
  if (!isWalk(laid)) return;
  for (const { other, isAmbiguous } of overlapping) {
    if (leftOf(laying).length === 0) return;
    if (!isWalk(other) || findPlaces(laid, other) !== null) continue;
    const compared = compareDays(laid, other);
    if (compared === null) continue;
    for (const { one, other: row } of compared.pairs) {
      const movement = other.movements[row] as number;
      if (laid.movements[one] !== -1 || taken.has(movement) || isApart(laying, movement)) continue;
      take(laying, one, movement, isAmbiguous ? 'assumed' : compared.shift === 0n ? 'same' : 'changed');
      laying.shift = compared.shift;
    }
    for (const day of compared.contradictions) laying.contradicting.add(day);
  }
}

/** The rows that are left are new. */
function addNew(laying: Laying, isFree: (movement: number) => boolean): void {
  const { books, laid, decisions, same } = laying;
  const { rows } = laid.statement;
  const left = leftOf(laying);
  const groups = new Set(left.map((position) => groupOf(rows[position] as StatementRow)));
  const isBelieved = (movement: number) =>
    books.movements[movement]?.seen.some((it) => books.balances.isBelieved(it.laid, it.position)) ?? false;
  // Movements that a row may be: nothing proves that it is another one, unless both balances are believed.
  const others = new Map(
    [...groups].map((group) => {
      const free = (books.byGroup.get(group) ?? []).filter(isFree);
      return [group, { any: free.length > 0, doubtful: !free.every(isBelieved) }] as const;
    }),
  );
  for (const position of left) {
    const row = rows[position] as StatementRow;
    const isAssumed =
      laying.isApartAssumed ||
      laying.contradicting.has(row.day) ||
      (others.get(groupOf(row))?.doubtful ?? false) ||
      ((others.get(groupOf(row))?.any ?? false) && !books.balances.isBelieved(laid, position));
    const movement = addMovement(books, row);
    laid.movements[position] = movement;
    laying.taken.add(movement);
    const replaces = same?.movements[position];
    const replaced = replaces === undefined ? {} : { replaces };
    decisions[position] = { outcome: 'new', movement, isAssumed, ...replaced };
  }
}
