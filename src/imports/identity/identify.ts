import { append } from './append.ts';
import { addMovement, addStatement, type Books, groupOf, openBooks, statementsNear } from './books.ts';
import { compareDays } from './compare-days.ts';
import {
  areLinked,
  beginsLater,
  createReachable,
  findPlaces,
  isOwner,
  isTheSame,
  isWalk,
  isWindow,
  type Laid,
  layOut,
  mayContain,
  mayFollow,
  type Places,
  pairPlaces,
} from './laid.ts';
import { findCutAmounts, matchLeft } from './match-left.ts';
import { areNumbersOfDownloads, areSeparate, isLonger } from './numbers.ts';
import type { Decision, KnownReason, ReceivedStatement, StatementRow, Stored } from './statement.ts';

/**
 * Decides which rows of a file are movements that are stored already. Compares each statement with the stored statements as a
 * whole: first by its balances, then day by day. Rows that no balance decides are matched by their content, and then by count. See
 * docs/trust.md, "How a movement is recognised".
 */

export interface IdentifyOptions {
  /** Whether a row is taken for a stored movement if nothing tells them apart. */
  mayAssume?: boolean;
  /** Whether statement numbers tell statements apart where their balances do not. */
  useNumbers?: boolean;
}

interface Identified {
  /** For each statement, the decision of each row. */
  decisions: Decision[][];
  /** By how much the balances of a statement have shifted against stored balances. Only shifts that no new row explains. */
  shifts: { statement: number; shift: bigint }[];
}

/**
 * @param stored the stored movements and statements about the days of the file, for one account.
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
    for (const { position, movement, reason } of matchLeft(books, laying.laid, left, isFree, mayAssume))
      take(laying, position, movement, reason);
    takeCutAmounts(laying, isFree);
    addNew(laying, overlapping, isFree);
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
  /** Movements that rows of this statement already have, known or new. */
  taken: Set<number>;
  /** Only an assumption tells this statement apart from another one. */
  isApartAssumed: boolean;
  /** Days on which another statement contradicts this one. */
  contradicting: Set<string>;
  shift: bigint;
}

/** A statement that may have bookings in common with the statement that is being decided. */
interface Overlapping {
  other: Laid;
  /** The part of their walks that they have in common; null: none. */
  places: Places | null;
  /** The two statements lie on one walk. */
  isPlaced: boolean;
  /** Nothing proves that the common part is not a repetition. */
  isDoubtful: boolean;
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
  reason: KnownReason,
): void {
  laid.movements[position] = movement;
  taken.add(movement);
  decisions[position] = { outcome: 'known', movement, reason };
}

/**
 * Whether a movement belongs to a statement that has no booking in common with this one. If a statement of the bank has brought the
 * movement, only that statement counts: files and reports may have taken an equal movement for it.
 */
function isApart({ books, apart }: Laying, movement: number): boolean {
  if (apart.size === 0) return false;
  const seen = books.movements[movement]?.seen ?? [];
  const owner = seen.find(({ laid }) => isOwner(laid));
  return owner === undefined ? seen.some(({ laid }) => apart.has(laid)) : apart.has(owner.laid);
}

const leftOf = ({ decisions }: Laying): number[] =>
  decisions.flatMap((it, position) => (it === undefined ? [position] : []));

/** Takes the rows that this import has stored already. */
function takeOwn(laying: Laying, own: ReadonlyMap<number, number> = new Map()): void {
  for (const [position, movement] of own) {
    const [row, stored] = [laying.laid.statement.rows[position], laying.books.movements[movement]];
    if (row?.day === stored?.day && row?.amount === stored?.amount) take(laying, position, movement, 'same');
  }
}

/**
 * Finds the statements before or after this one. They have no booking in common with it.
 * @returns the others.
 */
function tellApart(laying: Laying, areNumbersUsed: boolean, mayAssume: boolean): Overlapping[] {
  const { laid, near, same, apart } = laying;
  let reachable: ReturnType<typeof createReachable> | null = null;
  const isReachable = (other: Laid) => {
    reachable ??= createReachable(near, laid);
    return reachable(other);
  };
  const overlapping: Overlapping[] = [];
  for (const other of near) {
    if (other === same) continue;
    const linked = areLinked(laid, other);
    const places = findPlaces(laid, other);
    const overlap = places !== null || (linked && mayContain(laid, other));
    if (!overlap) {
      if (linked) {
        apart.add(other);
        laying.books.walks.join(laid, other);
      } else overlapping.push({ other, places, isPlaced: false, isDoubtful: false });
      continue;
    }
    const separate =
      areNumbersUsed &&
      areSeparate(laid.statement, other.statement) &&
      (linked || places === null || !isLonger(laid.statement, other.statement));
    const isAmbiguous = linked && mayFollow(laid, other);
    const isApart =
      (separate && (linked || isReachable(other) || (places?.haveOtherReferences ?? false))) ||
      (isAmbiguous && (!mayAssume || beginsLater(laid, other)));
    const isDoubtful =
      isAmbiguous || separate || (places?.isDoubtful ?? false) || (places?.haveOtherReferences ?? false);
    if (isApart) apart.add(other);
    else overlapping.push({ other, places, isPlaced: places !== null, isDoubtful });
    laying.isApartAssumed ||= isApart;
  }
  // A longer common part is more certain, so it comes first.
  return overlapping.sort((one, two) => (two.places?.rows ?? 0) - (one.places?.rows ?? 0));
}

/** Takes the movements of the same stored statement, except movements that a statement before or after it has brought. */
function takeSame(laying: Laying): void {
  for (const [position, movement] of laying.same?.movements.entries() ?? [])
    if (isConsistent(laying, position, movement) && !isApart(laying, movement))
      take(laying, position, movement, 'same');
}

const isConsistent = ({ laid, taken }: Laying, position: number, movement: number): boolean => {
  const known = laid.movements[position];
  return known === -1 ? !taken.has(movement) : known === movement;
};

/** Compares the walk with the walks of other statements. */
function placeByBalances(laying: Laying, overlapping: readonly Overlapping[]): void {
  const { laid, books, taken } = laying;
  const { rows } = laid.statement;
  const isDoubtful = createDoubtful(laying, overlapping);
  const takePlaced = (position: number, movement: number) => {
    const isMoved = books.movements[movement]?.day !== rows[position]?.day;
    take(laying, position, movement, isDoubtful(movement) ? 'assumed' : isMoved ? 'changed' : 'same');
  };
  // An earlier file may have mistaken one of two equal entries for the other. A row whose movement is therefore taken gets the
  // movement of the other entry (`spare`).
  const waiting: number[] = [];
  const spare = new Map<string, number[]>();
  for (const it of overlapping) {
    if (it.places === null) continue;
    const isFree = (position: number, movement: number) => isConsistent(laying, position, movement);
    const pairs = pairPlaces(laid, it.other, it.places, isFree).filter(
      ([, movement]) => !isApart(laying, movement),
    );
    // If all these movements belong to other statements, the walks only look the same.
    it.isPlaced = pairs.length > 0;
    for (const [position, movement] of pairs) {
      const known = laid.movements[position];
      if (known === movement) continue;
      if (known !== -1) append(spare, groupOf(rows[position] as StatementRow), movement);
      else if (taken.has(movement)) waiting.push(position);
      else takePlaced(position, movement);
    }
  }
  for (const position of waiting) {
    const movement = spare.get(groupOf(rows[position] as StatementRow))?.find((it) => !taken.has(it));
    if (movement !== undefined && laid.movements[position] === -1) takePlaced(position, movement);
  }
}

const doubtfulOf = (overlapping: readonly Overlapping[]): Set<Laid> =>
  new Set(overlapping.flatMap(({ other, isDoubtful }) => (isDoubtful ? [other] : [])));

/**
 * Creates a function that says whether a movement came with a doubtful statement: a statement that may have no booking in common
 * with this one.
 */
function createDoubtful(
  { books }: Laying,
  overlapping: readonly Overlapping[],
): (movement: number) => boolean {
  const doubtful = doubtfulOf(overlapping);
  return (movement) =>
    doubtful.size > 0 && (books.movements[movement]?.seen.some((it) => doubtful.has(it.laid)) ?? false);
}

/** Compares with statements whose walks differ, because the bank lists a day in another order or has inserted an entry. */
function placeByDays(laying: Laying, overlapping: readonly Overlapping[]): void {
  const { laid, taken } = laying;
  if (!isWalk(laid)) return;
  const isDoubtful = createDoubtful(laying, overlapping);
  for (const it of overlapping) {
    const { other } = it;
    if (taken.size === laid.movements.length) return;
    if (it.isPlaced || !isWalk(other)) continue;
    const compared = compareDays(laid, other);
    if (compared === null) continue;
    it.isPlaced = true;
    const found = compared.shift === 0n ? 'same' : 'changed';
    for (const { one, other: row } of compared.pairs) {
      const movement = other.movements[row] as number;
      if (laid.movements[one] !== -1 || taken.has(movement) || isApart(laying, movement)) continue;
      take(laying, one, movement, compared.isDoubtful || isDoubtful(movement) ? 'assumed' : found);
      if (!compared.isExplained) laying.shift = compared.shift;
    }
    for (const day of compared.contradictions) laying.contradicting.add(day);
  }
}

/** Finds rows at whose amounts earlier files were cut off. They conflict with the movements of those files. */
function takeCutAmounts(laying: Laying, isFree: (movement: number) => boolean): void {
  const { books, laid, near, taken, decisions } = laying;
  const left = leftOf(laying);
  if (!isWindow(laid.statement) || left.length === 0) return;
  for (const { position, movement } of findCutAmounts(books, laid, { left, near }, isFree)) {
    if (taken.has(movement)) continue;
    taken.add(movement);
    laid.movements[position] = movement;
    decisions[position] = { outcome: 'conflict', movement };
  }
}

/** Adds the remaining rows as new movements. */
function addNew(
  laying: Laying,
  overlapping: readonly Overlapping[],
  isFree: (movement: number) => boolean,
): void {
  const { books, laid, decisions, same } = laying;
  const { rows } = laid.statement;
  const left = leftOf(laying);
  const groups = new Set(left.map((position) => groupOf(rows[position] as StatementRow)));
  const doubtful = doubtfulOf(overlapping);
  for (const { other, isPlaced, isDoubtful } of overlapping)
    if (isPlaced && !isDoubtful) books.walks.join(laid, other);
  // Two rows on one walk that were not matched with each other are two bookings.
  const isOther = (it: Laid) => books.walks.areJoined(laid, it) && !doubtful.has(it);
  const mayBeRow = (movement: number) =>
    isFree(movement) && !books.movements[movement]?.seen.some((it) => isOther(it.laid));
  const mayBeKnown = new Set([...groups].filter((it) => books.byGroup.get(it)?.some(mayBeRow)));
  for (const position of left) {
    const row = rows[position] as StatementRow;
    const isAssumed =
      laying.isApartAssumed || laying.contradicting.has(row.day) || mayBeKnown.has(groupOf(row));
    const movement = addMovement(books, row);
    laid.movements[position] = movement;
    laying.taken.add(movement);
    const replaces = same?.movements[position];
    const replaced = replaces === undefined ? {} : { replaces };
    decisions[position] = { outcome: 'new', movement, isAssumed, ...replaced };
  }
}
