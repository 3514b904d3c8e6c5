import { type BookedMovement, type Books, groupOf } from './books.ts';
import { isWindow, type Laid } from './laid.ts';
import { type Candidate, type Match, type MatchedBy, matchRows } from './match-rows.ts';
import type { StatementRow } from './statement.ts';

/** A stored movement has these. Each can keep a row of the same day and amount from being that movement. */
interface Kept {
  /** A row of the same format has named it with a reference. */
  reference: boolean;
  /** Its balance is believed. */
  balance: boolean;
  /** It came without a statement. */
  loose: boolean;
  /** A row of the same format, without a reference. */
  text: boolean;
}

/**
 * Matches the rows of a statement that no balance has placed, by what they say, and then by count. Not matched by count are
 *
 * - two rows whose balances are both believed;
 * - two rows of one format with other references, unless the bank has given new references to the whole day;
 * - two rows of one format without references and with other texts, if the format says the same texts again;
 * - two rows that came without a statement: all that they say is their identity.
 *
 * @param left the positions of these rows.
 * @param isFree whether a movement may be one of them.
 * @returns for each of them, its movement.
 */
export function matchLeft(
  books: Books,
  laid: Laid,
  left: readonly number[],
  isFree: (movement: number) => boolean,
  mayAssume: boolean,
): { position: number; movement: number; isAssumed: boolean }[] {
  const { rows, kind, format } = laid.statement;
  const groups = new Set(left.map((position) => groupOf(rows[position] as StatementRow)));
  // Two believed balances leave only a reference to match by.
  const haveReference = left.some((position) => rows[position]?.reference != null);
  const areBelieved = left.every((position) => books.balances.isBelieved(laid, position));
  const mayMatch = (movement: number) =>
    isFree(movement) && (haveReference || !areBelieved || !isBelieved(books, movement));
  const free = [...groups].flatMap((group) => (books.byGroup.get(group) ?? []).filter(mayMatch));
  if (free.length === 0) return [];
  free.sort((one, other) => one - other);

  const kept = new Map<string, Kept>();
  const candidates = free.map((index): Candidate => {
    const movement = books.movements[index] as BookedMovement;
    const it = keptOf(books, movement, format);
    const name = JSON.stringify(it);
    kept.set(name, it);
    return { ...contentOf(movement), isLoose: it.loose, class: name };
  });
  const isRenumbered = createRenumbered(books, laid, isFree);
  const areTextsKept = kind !== 'none' && keepsTexts(books, laid);
  const mayBe = (index: number, name: string, by: MatchedBy): boolean => {
    const position = left[index] as number;
    const { reference, day } = rows[position] as StatementRow;
    const it = kept.get(name) as Kept;
    if (it.balance && books.balances.isBelieved(laid, position)) return false;
    if (kind === 'none') return !it.loose;
    if (by === 'reference') return true;
    if (reference !== null && it.reference) return isRenumbered(day);
    return by !== 'count' || reference !== null || !(areTextsKept && it.text);
  };
  const matchable = left.map((position) => {
    const row = rows[position] as StatementRow;
    return { ...row, group: groupOf(row), isLoose: kind === 'none' };
  });
  const toPair = (match: Match | null, index: number) =>
    match === null
      ? []
      : [
          {
            position: left[index] as number,
            movement: free[match.candidate] as number,
            isAssumed: match.isAssumed,
          },
        ];
  return matchRows(matchable, candidates, mayBe, mayAssume).flatMap(toPair);
}

/** Whether a row that is this movement has a balance that is believed. */
const isBelieved = ({ movements, balances }: Books, movement: number): boolean =>
  movements[movement]?.seen.some(({ laid, position }) => balances.isBelieved(laid, position)) ?? false;

function keptOf({ balances }: Books, { seen }: BookedMovement, format: string): Kept {
  const ofFormat = seen.filter(({ laid }) => laid.statement.format === format);
  const reference = ofFormat.some(({ laid, position }) => laid.statement.rows[position]?.reference != null);
  return {
    reference,
    balance: seen.some(({ laid, position }) => balances.isBelieved(laid, position)),
    loose: seen.length === 0 || seen.some(({ laid }) => laid.statement.kind === 'none'),
    text: ofFormat.length > 0 && !reference,
  };
}

function contentOf(movement: BookedMovement): Omit<Candidate, 'isLoose' | 'class'> {
  const rows = movement.seen.map(({ laid, position }) => laid.statement.rows[position] as StatementRow);
  return {
    group: groupOf(movement),
    references: [...new Set(rows.flatMap(({ reference }) => reference ?? []))],
    cutReference: cutReferenceOf(movement),
    balances: [...new Set(rows.flatMap(({ balance }) => balance ?? []))],
    text: movement.text,
  };
}

/** Only a file of rows ends where it was cut off. A bank's statement has an end. */
function cutReferenceOf({ seen: [first] }: BookedMovement): string | null {
  if (first === undefined || !isWindow(first.laid.statement)) return null;
  const { rows } = first.laid.statement;
  return first.position === rows.length - 1 ? (rows[first.position]?.reference ?? null) : null;
}

/** Whether the format says the same texts again: one of the rows has the text of a stored row of the same format. */
function keepsTexts({ movements, byGroup }: Books, { statement: { rows, format } }: Laid): boolean {
  const said = new Set<string>();
  for (const group of new Set(rows.map(groupOf)))
    for (const index of byGroup.get(group) ?? [])
      for (const { laid } of movements[index]?.seen ?? [])
        if (laid.statement.format === format) said.add(`${group} ${movements[index]?.text}`);
  return rows.some((row) => row.text !== '' && said.has(`${groupOf(row)} ${row.text}`));
}

/**
 * Creates a function that says whether the bank has given new references to a day: none of them is known, while all rows are stored by
 * their count, or all that is stored is among the rows. A single row does not show that.
 */
function createRenumbered(
  books: Books,
  laid: Laid,
  isFree: (movement: number) => boolean,
): (day: string) => boolean {
  const { format, rows } = laid.statement;
  const known = new Map<string, boolean>();
  const find = (day: string): boolean => {
    const ofDay = (laid.days.get(day) ?? []).map((position) => rows[position] as StatementRow);
    const stored = new Set<number>();
    const references = new Set<string | null>();
    for (const { statement, days, movements } of books.byDay.get(day) ?? []) {
      for (const position of days.get(day) ?? []) {
        const movement = movements[position] as number;
        if (!isFree(movement) || books.movements[movement]?.day !== day) continue;
        stored.add(movement);
        if (statement.format === format) references.add(statement.rows[position]?.reference ?? null);
      }
    }
    const counts = countBy(ofDay);
    const storedCounts = countBy([...stored].map((it) => books.movements[it] as BookedMovement));
    const areStored = [...counts].every(([amount, count]) => (storedCounts.get(amount) ?? 0) >= count);
    const areAmong = [...storedCounts].every(([amount, count]) => (counts.get(amount) ?? 0) >= count);
    return (
      ofDay.every(({ reference }) => reference === null || !references.has(reference)) &&
      ((areStored && ofDay.length > 1) || (areAmong && stored.size > 1))
    );
  };
  return (day) => {
    const found = known.get(day) ?? find(day);
    known.set(day, found);
    return found;
  };
}

function countBy(items: readonly { amount: bigint }[]): Map<bigint, number> {
  const counts = new Map<bigint, number>();
  for (const { amount } of items) counts.set(amount, (counts.get(amount) ?? 0) + 1);
  return counts;
}
