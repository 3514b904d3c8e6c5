import { append } from './append.ts';
import { type BookedMovement, type Books, groupOf } from './books.ts';
import { isWindow, type Laid } from './laid.ts';
import { type Candidate, type MatchedBy, matchRows } from './match-rows.ts';
import type { KnownReason, StatementRow } from './statement.ts';

/** Properties of a stored movement. Each can keep a row of the same day and amount from being that movement. */
interface Kept {
  /** A row of the same format has named it with a reference. */
  reference: boolean;
  /** Its balance is believed. */
  balance: boolean;
  /** Its balance links with the other balances of its statement. */
  linked: boolean;
  /** The movement came without a statement. */
  loose: boolean;
  /**
   * A row of the same format has brought it without a reference. That row was not the last of its file, where it may be cut off.
   */
  text: boolean;
}

/**
 * Matches the remaining rows of a statement, which no balance has placed, by their content and then by count. These are not matched
 * by count:
 *
 * - two rows whose balances are both believed, and differ or are both linked;
 * - two rows of one format with different references, unless the bank has given new references to the whole day;
 * - two rows of one format without references and with different texts, if the format repeats its texts;
 * - two rows that came without a statement, because their whole content is their identity.
 *
 * A row that was the last row of another file is `changed` if it says more than there, because that file was cut off.
 *
 * @param left the positions of the remaining rows.
 * @param isFree whether a movement may be one of them.
 * @returns for each of them, its movement.
 */
export function matchLeft(
  books: Books,
  laid: Laid,
  left: readonly number[],
  isFree: (movement: number) => boolean,
  mayAssume: boolean,
): { position: number; movement: number; reason: KnownReason }[] {
  const { rows, kind, format } = laid.statement;
  const groups = new Set(left.map((position) => groupOf(rows[position] as StatementRow)));
  // Rows with two linked balances can only be matched by a reference.
  const haveReference = left.some((position) => rows[position]?.reference != null);
  const areLinked = left.every((position) => isLinked(laid, position));
  const mayMatch = (movement: number) =>
    isFree(movement) && (haveReference || !areLinked || !books.movements[movement]?.seen.some(isSeenLinked));
  const free = [...groups].flatMap((group) => (books.byGroup.get(group) ?? []).filter(mayMatch));
  if (free.length === 0) return [];
  free.sort((one, other) => one - other);

  const kept = new Map<string, Kept>();
  const cutRows = free.map((index) => cutRowOf(books.movements[index] as BookedMovement, format));
  const candidates = free.map((index, at): Candidate => {
    const movement = books.movements[index] as BookedMovement;
    const mayBeCut = cutRows[at] !== null;
    const it = keptOf(books, movement, format, mayBeCut);
    const name = JSON.stringify(it);
    kept.set(name, it);
    return { ...contentOf(movement), mayBeCut, isLoose: it.loose, class: name };
  });
  const isRenumbered = createRenumbered(books, laid, isFree);
  const areTextsKept = kind !== 'none' && keepsTexts(books, laid);
  const mayBe = (index: number, name: string, by: MatchedBy): boolean => {
    const position = left[index] as number;
    const { reference, day } = rows[position] as StatementRow;
    const it = kept.get(name) as Kept;
    if (it.balance && books.balances.isBelieved(laid, position))
      return by === 'balance' && !(it.linked && isLinked(laid, position));
    if (kind === 'none') return !it.loose;
    if (by === 'reference') return true;
    if (reference !== null && it.reference) return isRenumbered(day);
    return by !== 'count' || reference !== null || !(areTextsKept && it.text);
  };
  const matchable = left.map((position) => {
    const row = rows[position] as StatementRow;
    return { ...row, group: groupOf(row), isLoose: kind === 'none' };
  });
  return matchRows(matchable, candidates, mayBe, mayAssume).flatMap((match, index) => {
    if (match === null) return [];
    const position = left[index] as number;
    const row = rows[position] as StatementRow;
    const movement = free[match.candidate] as number;
    const cut = cutRows[match.candidate] ?? null;
    const isWhole = cut !== null && saysMore(row, cut) && (row.reference !== null || areTextsKept);
    return [{ position, movement, reason: isWhole ? 'changed' : match.isAssumed ? 'assumed' : 'same' }];
  });
}

/**
 * The row that has brought a movement, if it is the last row of a file of this format. Bank statements are left out, because they
 * say where they end.
 */
function cutRowOf({ seen: [first] }: BookedMovement, format: string): StatementRow | null {
  if (first === undefined || !isWindow(first.laid.statement)) return null;
  const { rows, format: itsFormat } = first.laid.statement;
  return itsFormat === format && first.position === rows.length - 1 ? (rows[first.position] ?? null) : null;
}

const saysMore = (row: StatementRow, cut: StatementRow): boolean =>
  row.text !== cut.text || row.reference !== cut.reference || row.balance !== cut.balance;

/**
 * Finds the rows at whose amounts earlier files were cut off: `-12` was `-125`. A cut amount is whole and has no balance after it.
 * @param near the statements of the same days.
 * @param isFree whether a movement may be one of the rows.
 */
export function findCutAmounts(
  { movements }: Books,
  { statement: { rows, format } }: Laid,
  { left, near }: { left: readonly number[]; near: ReadonlySet<Laid> },
  isFree: (movement: number) => boolean,
): { position: number; movement: number }[] {
  const keyOf = ({ day, reference, text }: StatementRow) => `${day} ${reference} ${text}`;
  const cuts = new Map<string, { amount: bigint; movement: number }[]>();
  for (const { movements: ofFile } of near) {
    const movement = ofFile.at(-1) ?? -1;
    const cut = movements[movement] === undefined ? null : cutRowOf(movements[movement], format);
    if (cut?.balance === null && isFree(movement)) append(cuts, keyOf(cut), { amount: cut.amount, movement });
  }
  if (cuts.size === 0) return [];
  return left.flatMap((position) => {
    const row = rows[position] as StatementRow;
    const found = cuts.get(keyOf(row))?.find(({ amount }) => isCutFrom(amount, row.amount));
    return found === undefined ? [] : [{ position, movement: found.movement }];
  });
}

/** Whether an amount begins with the digits of the cut amount, which is whole. */
const isCutFrom = (cut: bigint, amount: bigint): boolean =>
  cut % 100n === 0n && cut !== amount && String(amount).startsWith(String(cut / 100n));

/** Whether a row's balance links with others. Walks of linked balances were compared before. */
const isLinked = ({ statement, walkOf }: Laid, position: number): boolean =>
  statement.kind !== 'none' && walkOf.get(position)?.isLinked === true;

const isSeenLinked = ({ laid, position }: BookedMovement['seen'][number]): boolean =>
  isLinked(laid, position);

function keptOf({ balances }: Books, { seen }: BookedMovement, format: string, mayBeCut: boolean): Kept {
  const ofFormat = seen.filter(({ laid }) => laid.statement.format === format);
  const reference = ofFormat.some(({ laid, position }) => laid.statement.rows[position]?.reference != null);
  return {
    reference,
    balance: seen.some(({ laid, position }) => balances.isBelieved(laid, position)),
    linked: seen.some(isSeenLinked),
    loose: seen.length === 0 || seen.some(({ laid }) => laid.statement.kind === 'none'),
    text: ofFormat.length > 0 && !reference && !mayBeCut,
  };
}

function contentOf(movement: BookedMovement): Omit<Candidate, 'mayBeCut' | 'isLoose' | 'class'> {
  const rows = movement.seen.map(({ laid, position }) => laid.statement.rows[position] as StatementRow);
  return {
    group: groupOf(movement),
    references: [...new Set(rows.flatMap(({ reference }) => reference ?? []))],
    balances: [...new Set(rows.flatMap(({ balance }) => balance ?? []))],
    text: movement.text,
  };
}

/** Whether the format repeats its texts: one of the rows has the text of a stored row of the same format. */
function keepsTexts({ movements, byGroup }: Books, { statement: { rows, format } }: Laid): boolean {
  const said = new Set<string>();
  for (const group of new Set(rows.map(groupOf)))
    for (const index of byGroup.get(group) ?? [])
      for (const { laid } of movements[index]?.seen ?? [])
        if (laid.statement.format === format) said.add(`${group} ${movements[index]?.text}`);
  return rows.some((row) => row.text !== '' && said.has(`${groupOf(row)} ${row.text}`));
}

/**
 * Creates a function that says whether the bank has given new references to a day. Then none of the references is known, and by
 * count either all rows are stored or all stored movements are among the rows. A single row does not prove this.
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
