import type { StatementRow } from './statement.ts';

/** Lays one walk of balances onto another. */

/**
 * From these places on, `length` steps of the two walks are the same. The overlap begins where one walk begins, and ends where one
 * walk ends.
 */
export interface Overlap {
  one: Place;
  other: Place;
  length: number;
  /** How many of the steps have the same day in both. */
  sameDays: number;
  /** How many of the steps have different references. */
  otherReferences: number;
}

/** Most places that are tried. A walk that often returns to the same balance has many. */
const MOST_PLACES = 64;

/** Most days between equal bookings: the booking date in one format may be the value date in another. */
const MOST_DAYS_APART = 10;
const DAY = 86_400_000;

const isNear = (one: string, other: string): boolean =>
  one === other || Math.abs(Date.parse(one) - Date.parse(other)) <= MOST_DAYS_APART * DAY;

/** Walks of a statement, with their steps by the balance that they lead to. */
export interface Steps {
  walks: readonly (readonly StatementRow[])[];
  places: ReadonlyMap<bigint, readonly Place[]>;
}

interface Place {
  walk: number;
  at: number;
}

export function indexSteps(walks: readonly (readonly StatementRow[])[]): Steps {
  const places = new Map<bigint, Place[]>();
  for (const [walk, rows] of walks.entries()) {
    for (const [at, { balance }] of rows.entries()) {
      const found = places.get(balance ?? 0n);
      if (found === undefined) places.set(balance ?? 0n, [{ walk, at }]);
      else if (found.length < MOST_PLACES) found.push({ walk, at });
    }
  }
  return { walks, places };
}

/**
 * Finds the places where the walks of two statements are the same for as long as both last.
 * @param options.areOfFormat references of one format can be compared.
 * @param options.mayDatesDiffer the formats differ. Then the walks must be the same, or one must lie within the other with half of
 * its days.
 */
export function findOverlaps(
  one: Steps,
  other: Steps,
  { mayDatesDiffer, areOfFormat }: { mayDatesDiffer: boolean; areOfFormat: boolean },
): Overlap[] {
  const isSame = (row: StatementRow, with_: StatementRow) =>
    row.balance === with_.balance &&
    row.amount === with_.amount &&
    (row.day === with_.day || (mayDatesDiffer && isNear(row.day, with_.day)));
  const overlaps: Overlap[] = [];
  const tryPlace = (ofOne: Place, ofOther: Place) => {
    const [rows, others] = [one.walks[ofOne.walk] ?? [], other.walks[ofOther.walk] ?? []];
    const length = Math.min(rows.length - ofOne.at, others.length - ofOther.at);
    let sameDays = 0;
    let otherReferences = 0;
    for (let step = 0; step < length; step += 1) {
      const [row, with_] = [rows[ofOne.at + step] as StatementRow, others[ofOther.at + step] as StatementRow];
      if (!isSame(row, with_)) return;
      if (row.day === with_.day) sameDays += 1;
      if (areOfFormat && haveOtherReferences(row, with_)) otherReferences += 1;
    }
    const isContained = length === rows.length || length === others.length;
    const isWhole = length === rows.length && length === others.length;
    if (sameDays === length || (length > 1 && (isWhole || (isContained && 2 * sameDays >= length))))
      overlaps.push({ one: ofOne, other: ofOther, length, sameDays, otherReferences });
  };
  for (const [walk, [first]] of other.walks.entries())
    for (const place of one.places.get(first?.balance ?? 0n) ?? []) tryPlace(place, { walk, at: 0 });
  for (const [walk, [first]] of one.walks.entries())
    for (const place of other.places.get(first?.balance ?? 0n) ?? [])
      if (place.at > 0) tryPlace({ walk, at: 0 }, place);
  return overlaps;
}

const areSameDays = ({ length, sameDays }: Overlap) => Number(sameDays === length);

/** Orders overlaps: first by equal days and references, then by length. */
export const compareOverlaps = (a: Overlap, b: Overlap): number =>
  areSameDays(b) - areSameDays(a) ||
  Math.sign(a.otherReferences) - Math.sign(b.otherReferences) ||
  b.sameDays - a.sameDays ||
  b.length - a.length;

export const haveOtherReferences = (one: StatementRow, other: StatementRow): boolean =>
  one.reference !== null && other.reference !== null && one.reference !== other.reference;
