import { formatAmount } from '../../statements/src/amounts.ts';
import { type BookedMovement, type Books, groupOf, openBooks } from './books.ts';
import { type Arranged, arrange } from './comparison/batch.ts';
import { type Comparison, compare, compareWholeDay, type Place } from './comparison/compare.ts';
import { createFileStatements, type FileStatements } from './comparison/file.ts';
import { once, remember } from './comparison/lazy.ts';
import { findLumps, type Lumps, type PaymentBudget } from './comparison/lumps.ts';
import { findText, matchLeft } from './comparison/match.ts';
import { areLinked, type Relation, relate } from './relation.ts';
import { createReversals } from './reversals.ts';
import { areNumbersOfDownloads, leadsTo } from './series.ts';
import type {
  Decision,
  KnownReason,
  KnownRow,
  ReceivedStatement,
  StatementRow,
  Stored,
} from './statement.ts';
import { balanceBefore, idOf, isFinal, type Laid, layOut, rowAt } from './walk.ts';

/**
 * Decides which rows of a file are movements that are stored already. See docs/trust.md, "How a movement is recognised".
 */

export interface KnownOptions {
  /** Whether a row is taken for a stored movement if nothing tells them apart. */
  mayAssume?: boolean;
  /** Whether statement numbers tell statements apart where their balances do not. */
  useNumbers?: boolean;
  /** Of the account, for the amounts in warnings; null: it is not known. */
  currency?: string | null;
}

interface Known {
  /** For each statement, the decision of each row. */
  decisions: Decision[][];
  /** What somebody should look at: balances that have shifted without a new row, and new rows with the id of a movement of another day. */
  warnings: { statement: number; message: string }[];
}

/**
 * @param stored the stored movements and statements about the days of the file, for one account.
 * @param fromFile the statements of the file about this account, in its order.
 */
export function findKnown(
  stored: Stored,
  fromFile: readonly ReceivedStatement[],
  { mayAssume = true, useNumbers = true, currency = null }: KnownOptions = {},
): Known {
  const settled = fromFile.map(createReversals(stored, currency));
  const books = openBooks(stored);
  const received = settled.map(({ statement }) =>
    books.arePositions(statement) ? withPositions(statement) : statement,
  );
  const movementsOf = remember(({ movements }: Pick<Laid, 'movements'>) => new Set(movements));
  const areNumbersUsed =
    useNumbers &&
    !areNumbersOfDownloads(books.statements.map(headerOf), (one, other) =>
      other.movements.some((it) => movementsOf(one).has(it)),
    );
  const shifted: Known['warnings'] = [];
  const moved: Known['warnings'] = [];
  const all = received.map((it) => layOut(it, it.fingerprint));
  const files = new Map<string | null, FileStatements>();
  const fileOf = (index: number) => {
    const name = received[index]?.file ?? null;
    const file = files.get(name) ?? createFileStatements();
    files.set(name, file);
    return file;
  };
  // A single statement is compared with no other of its file.
  for (const [index, laid] of all.length > 1 ? all.entries() : []) {
    const same = books.sameAs(laid)?.laid;
    if (same !== undefined) fileOf(index).add(same, laid);
  }
  const rows = received.reduce((sum, it) => sum + it.rows.length, stored.movements.length);
  const payments: PaymentBudget = { left: 2 * rows };
  let last: Laid | null = null;
  const decisions = received.map((statement, index) => {
    const file = fileOf(index);
    // A batch that is not found as its details is compared again as the statement has it, and so are details.
    const asTheyAre = new Set(statement.stored?.keys());
    let lumps: Lumps | null = null;
    for (;;) {
      const arranged = arrange(books, statement, asTheyAre, lumps);
      const laid =
        arranged.rearranged.length === 0
          ? (all[index] as Laid)
          : layOut(arranged.statement, statement.fingerprint);
      const deciding = begin(books, laid, { file, last, useNumbers: areNumbersUsed });
      takeOwn(deciding, arranged, statement.stored);
      takeSame(deciding, mayAssume);
      takeCommon(deciding, ({ isAssumed, comparison }) => !isAssumed && !comparison.isByAmount);
      takeDays(deciding, mayAssume);
      takeCommon(deciding, ({ isAssumed }) => mayAssume || !isAssumed);
      takeLeft(deciding, mayAssume);
      if (mayAssume) takeMoved(deciding);
      const undecided = arranged.rearranged.filter((it) =>
        arranged.positions[it]?.some((at) => deciding.decisions[at] === undefined),
      );
      for (const position of undecided) asTheyAre.add(position);
      if (undecided.length > 0) continue;
      if (lumps === null && arranged.rearranged.length === 0) {
        lumps = findLumps(books, laid, leftOf(deciding), payments);
        if (lumps.parted.size + lumps.joined.length > 0) continue;
      }
      addNew(deciding);
      const kept = withoutConflicts(deciding);
      books.add(kept);
      file.add(kept, laid);
      last = laid;
      for (const [at, from] of deciding.moved) {
        const row = statement.rows[arranged.origins[at] as number] as StatementRow;
        moved.push({ statement: index, message: describeMove(row, from, currency) });
      }
      if (deciding.shift !== 0n)
        shifted.push({ statement: index, message: describeShift(deciding.shift, currency) });
      return toDecisions(deciding, arranged);
    }
  });
  const turned = settled.flatMap(({ warnings }, statement) =>
    warnings.map((message) => ({ statement, message })),
  );
  return { decisions, warnings: [...shifted, ...moved, ...turned] };
}

const headerOf = ({ statement, from, to, opening, closing, movements }: Laid) => {
  const { kind, format, number, sequence } = statement;
  return { kind, format, number, sequence, from, to, opening, closing, movements };
};

const withPositions = (statement: ReceivedStatement): ReceivedStatement => ({
  ...statement,
  rows: statement.rows.map((row): StatementRow => ({ ...row, isPosition: true })),
});

const describeShift = (shift: bigint, currency: string | null) =>
  `The balances of this statement are ${formatAmount(shift, currency)} more than those of the same entries before. The bank has probably inserted an entry on an earlier day: a statement of that day is missing.`;

const describeMove = ({ day, amount, reference }: StatementRow, from: string, currency: string | null) =>
  `The entry of ${day} over ${formatAmount(amount, currency)} has the id “${reference}” of a stored movement of ${from}, and is stored too. If the bank has moved the entry to another day, one of the two is too much.`;

/** The statement as it is stored: rows in conflict have no movement. */
function withoutConflicts({ laid, decisions }: Deciding): Laid {
  const isKept = (_: unknown, position: number) => decisions[position]?.outcome !== 'conflict';
  if (decisions.every(isKept)) return laid;
  const { statement, fingerprint, movements } = laid;
  return layOut({ ...statement, rows: statement.rows.filter(isKept) }, fingerprint, movements.filter(isKept));
}

/** A statement of the file while its rows are decided. */
interface Deciding {
  books: Books;
  laid: Laid;
  /** The same statement, if it is stored, and the movement of each row in it. */
  same: Laid | null;
  sameMovements: readonly number[];
  /** The same statement may also be another one that follows it. */
  isSameDoubtful: boolean;
  /** How it relates to the statements near it. */
  relations: () => ReadonlyMap<Laid, Relation>;
  /** The bank's id of a row. null: it has none, or the bank repeats it. */
  idOf: (row: StatementRow) => string | null;
  /** Whether another statement has no booking in common with this one. */
  isApartFrom: (other: Laid) => boolean;
  decisions: (Decision | undefined)[];
  /** Movements that rows of this statement have already. */
  taken: Set<number>;
  shift: bigint;
  /** The days of movements whose id a new row has. */
  moved: Map<number, string>;
}

function begin(
  books: Books,
  laid: Laid,
  { file, last, useNumbers }: { file: FileStatements; last: Laid | null; useNumbers: boolean },
): Deciding {
  const isReachable = books.reachable(laid);
  const repeated = books.sameAs(laid);
  const same = repeated?.laid ?? null;
  const findOthers = once(() => [...books.related(laid)].filter((it) => it !== same));
  const bankIdOf = books.idsOf(laid);
  // The same rows may have been booked again: another statement leads from the same one to this one, or the balance comes back to its
  // beginning, and neither a number nor an id of the bank says which of them it is.
  const isFollowing =
    same !== null &&
    isFinal(laid) &&
    laid.statement.rows.every((row) => bankIdOf(row) === null) &&
    (!books.isNumbered(laid) ||
      (repeated?.movements ?? []).some((movement, position) =>
        hasOtherText(books, laid, { position, movement }),
      )) &&
    (areLinked(laid, same) || (isReachable(same) && findOthers().some(isFinal)));
  const isOfFile = isFollowing && file.isBefore(same);
  const areApart = file.apartFrom(laid);
  const isNext = last !== null && isFinal(laid) && last.closing === laid.opening && areLinked(last, laid);
  /** A statement that begins where the one before it in its file ends has no row of a statement before. */
  const isApartInFile = (other: Laid) =>
    (isNext && isFinal(other) && file.isBefore(other)) || areApart(other);
  const compareWith = remember((other: Laid) => compare(laid, other));
  const findRelations = once(() => {
    const others = findOthers();
    const isLinked = others.some(
      (it) => isFinal(it) && it.statement.format === laid.statement.format && areLinked(laid, it),
    );
    const circumstances = {
      useNumbers,
      isReachable,
      isLinked,
      hasNeighbour: hasNeighbour(laid, others, compareWith),
    };
    const relations = new Map<Laid, Relation>();
    for (const other of others) {
      const relation = relate(laid, other, circumstances, compareWith(other));
      relations.set(other, isApartInFile(other) ? { ...relation, kind: 'apart' } : relation);
    }
    if (isOfFile)
      relations.set(same, { ...relate(laid, same, circumstances), kind: 'apart', isAssumed: false });
    return relations;
  });
  return {
    books,
    laid,
    same: isOfFile ? null : same,
    sameMovements: (!isOfFile && repeated?.movements) || [],
    isSameDoubtful: isFollowing,
    relations: findRelations,
    idOf: bankIdOf,
    isApartFrom: remember((other) => {
      if (other === same) return isOfFile;
      return findRelations().get(other)?.kind === 'apart' || isApartInFile(other);
    }),
    decisions: laid.statement.rows.map(() => undefined),
    taken: new Set(),
    shift: 0n,
    moved: new Map(),
  };
}

/** Whether a row has another text than the movement has in its format. Texts of known rows are not stored. */
function hasOtherText(
  books: Books,
  laid: Laid,
  { position, movement }: { position: number; movement: number },
): boolean {
  const before = findText(books.movements[movement]?.seen ?? [], laid);
  return before !== null && before !== rowAt(laid, position).text;
}

/** How many rows a statement has of the days of another one. */
const rowsOfDays = (laid: Laid, other: Laid): number =>
  [...laid.days].reduce((sum, [day, rows]) => (other.days.has(day) ? sum + rows.length : sum), 0);

/** Whether a final statement of the same day ends where this one begins, or begins where it ends, and is no part of it. */
const hasNeighbour = (laid: Laid, near: readonly Laid[], compareWith: (it: Laid) => Comparison): boolean =>
  isFinal(laid) &&
  near.some(
    (it) =>
      isFinal(it) &&
      it.to === laid.to &&
      it.statement.format === laid.statement.format &&
      areLinked(laid, it) &&
      compareWith(it).pairs.length < rowsOfDays(it, laid),
  );

function take(
  { books, laid, taken, decisions }: Deciding,
  position: number,
  movement: number,
  reason: KnownReason,
): void {
  laid.movements[position] = movement;
  taken.add(movement);
  const isChanged = reason === 'same' && hasOtherText(books, laid, { position, movement });
  decisions[position] = { outcome: 'known', movement, reason: isChanged ? 'changed' : reason };
}

const isFree = ({ laid, taken }: Deciding, position: number, movement: number): boolean =>
  laid.movements[position] === -1 && !taken.has(movement);

/**
 * Whether a movement belongs to a statement that is apart from this one. If a final statement has brought the movement, only final
 * statements count, those of the same format first: files and reports may have taken an equal movement for it.
 */
function isApart(deciding: Deciding, movement: number): boolean {
  const { books, laid, same, isApartFrom } = deciding;
  const seen = books.movements[movement]?.seen ?? [];
  if (seen.length === 1) return isApartFrom((seen[0] as { laid: Laid }).laid);
  if (seen.every((it) => it.laid === same)) return false;
  const isOf = (it: { laid: Laid }) => isApartFrom(it.laid);
  const finals = seen.filter((it) => isFinal(it.laid));
  const ofFormat = finals.filter((it) => it.laid.statement.format === laid.statement.format);
  if (ofFormat.length > 0) return ofFormat.some(isOf);
  const [owner] = finals;
  return owner === undefined ? seen.some(isOf) : isOf(owner);
}

/** Takes the rows that this import has stored already. */
function takeOwn(
  deciding: Deciding,
  { positions }: Arranged,
  own: ReadonlyMap<number, number> = new Map(),
): void {
  for (const [index, movement] of own) {
    const position = positions[index]?.[0] as number;
    const [row, stored] = [rowAt(deciding.laid, position), deciding.books.movements[movement]];
    if (row.day === stored?.day && row.amount === stored.amount) take(deciding, position, movement, 'same');
  }
}

function takeSame(deciding: Deciding, mayAssume: boolean): void {
  for (const [position, movement] of deciding.sameMovements.entries()) {
    if (!isFree(deciding, position, movement) || isApart(deciding, movement)) continue;
    const row = rowAt(deciding.laid, position);
    // Without balances and ids, the same rows may have been booked again.
    const isCertain = !deciding.isSameDoubtful && (row.balance !== null || idOf(row) !== null);
    if (isCertain || mayAssume) take(deciding, position, movement, isCertain ? 'same' : 'assumed');
  }
}

/** Takes the bookings of whole days that the statements of another format have listed, in however many parts and in whatever order. */
function takeDays(deciding: Deciding, mayAssume: boolean): void {
  const { laid, books } = deciding;
  if (!isFinal(laid)) return;
  for (const [day, positions] of laid.days) {
    if (positions.every((position) => laid.movements[position] !== -1)) continue;
    const formats = books.finalsOf(day);
    for (const [format, parts] of formats) {
      if (format === laid.statement.format) continue;
      const own = (formats.get(laid.statement.format) ?? []).filter((it) => it !== deciding.same);
      const isAnchored = parts.some((it) => haveCommonEnd(laid, it, day));
      // Other parts of the day, of this statement's format, begin and end with the balances of the day.
      const isAnchoredByOthers = parts.some((it) => own.some((part) => haveCommonEnd(part, it, day)));
      if (!isAnchored && !(mayAssume && isAnchoredByOthers)) continue;
      const left = positions.filter((position) => laid.movements[position] === -1);
      const others = placesOf(parts, day).filter((it) => !deciding.taken.has(movementAt(it)));
      const notApart = others.filter((it) => !isApart(deciding, movementAt(it)));
      // All parts together are the day, even if one of them begins with the balance with which the day ends.
      const isWhole = others.length <= left.length;
      const pairs =
        (isWhole ? compareWholeDay(laid, left, others) : null) ?? compareWholeDay(laid, left, notApart) ?? [];
      for (const { position, other } of pairs) {
        const movement = movementAt(other);
        const isChanged = books.movements[movement]?.day !== day;
        take(deciding, position, movement, !isAnchored ? 'assumed' : isChanged ? 'changed' : 'same');
      }
    }
  }
}

const movementAt = ({ laid, position }: Place): number => laid.movements[position] as number;

/** The rows that statements have of a day, each booking once. */
function placesOf(statements: readonly Laid[], day: string): Place[] {
  const places = new Map<number, Place>();
  for (const laid of statements)
    for (const position of laid.days.get(day) ?? [])
      places.set(laid.movements[position] as number, { laid, position });
  return [...places.values()];
}

/** Whether a day begins or ends with the same balance in both. */
function haveCommonEnd(one: Laid, other: Laid, day: string): boolean {
  const endsOf = (laid: Laid) => {
    const positions = laid.days.get(day) ?? [];
    const [first, last] = [positions[0], positions.at(-1)].map((it) => rowAt(laid, it as number));
    return { opening: balanceBefore(first as StatementRow), closing: last?.balance };
  };
  const [a, b] = [endsOf(one), endsOf(other)];
  return a.opening === b.opening || a.closing === b.closing;
}

/** Takes the bookings in common with other statements, of which those with most equal balances come first. */
function takeCommon(deciding: Deciding, isWanted: (relation: Relation) => boolean): void {
  const { laid, books, relations, decisions } = deciding;
  if (!decisions.includes(undefined)) return;
  const common = [...relations()].filter(([, it]) => it.kind === 'common' && isWanted(it));
  const rank = ({ comparison, isAssumed }: Relation) =>
    (comparison.isByAmount || comparison.shift !== 0n ? 0 : comparison.pairs.length) - (isAssumed ? 0.5 : 0);
  common.sort(([, one], [, other]) => rank(other) - rank(one));
  for (const [other, { comparison, isAssumed }] of common) {
    const { pairs, shift } = comparison;
    const isUnexplained = shift !== 0n && !comparison.isExplained && !isLedTo(deciding);
    for (const pair of pairs) {
      const movement = other.movements[pair.other] as number;
      if (!isFree(deciding, pair.one, movement) || isApart(deciding, movement)) continue;
      if (hasOwnDay(deciding, pair.one, movement)) continue;
      const isChanged = books.movements[movement]?.day !== rowAt(laid, pair.one).day || shift !== 0n;
      take(deciding, pair.one, movement, isAssumed ? 'assumed' : isChanged ? 'changed' : 'same');
      if (isUnexplained) deciding.shift = shift;
    }
  }
}

/** Whether statements of this format have a movement under another day than a row. One format has an entry under one day. */
function hasOwnDay({ books, laid }: Deciding, position: number, movement: number): boolean {
  const { day } = rowAt(laid, position);
  if (books.movements[movement]?.day === day) return false;
  const ofFormat = (books.movements[movement]?.seen ?? []).filter(
    (it) => it.laid.statement.format === laid.statement.format,
  );
  return ofFormat.length > 0 && ofFormat.every((it) => rowAt(it.laid, it.position).day !== day);
}

/** Whether another final statement ends where this one begins, and so explains its balances. */
const isLedTo = ({ laid, relations }: Deciding): boolean =>
  [...relations().keys()].some((it) => isFinal(it) && leadsTo(it, laid));

/** @returns the decisions about the rows that the statement itself has. */
function toDecisions({ laid, decisions }: Deciding, { positions, rearranged }: Arranged): Decision[] {
  const areRearranged = new Set(rearranged);
  const listed = new Set<number>();
  return positions.map((compared, index) => {
    const found = compared.map((it) => decisions[it] as Decision);
    const first = found[0] as Decision;
    if (first.outcome !== 'known' || !areRearranged.has(index)) return first;
    const rows = compared
      .filter((it) => !listed.has(it))
      .map((it): KnownRow => ({ ...rowAt(laid, it), movement: laid.movements[it] as number }));
    for (const it of compared) listed.add(it);
    const reasons = new Set(found.map((it) => it.outcome === 'known' && it.reason));
    const reason = (['assumed', 'changed'] as const).find((it) => reasons.has(it)) ?? 'same';
    return { ...first, reason, rows };
  });
}

const leftOf = ({ decisions }: Deciding): number[] =>
  decisions.flatMap((it, position) => (it === undefined ? [position] : []));

function takeLeft(deciding: Deciding, mayAssume: boolean): void {
  const { books, laid, taken, idOf } = deciding;
  const mayBe = (movement: number) => !taken.has(movement) && !isApart(deciding, movement);
  const matches = matchLeft(books, laid, leftOf(deciding), { idOf, mayBe, mayAssume });
  for (const { position, movement, reason } of matches) take(deciding, position, movement, reason);
}

const covers = ({ from, to }: Laid, day: string): boolean => from <= day && day <= to;

/** Takes movements with the id and the amount of a row, if the bank has them under another day now: both files have both days. */
function takeMoved(deciding: Deciding): void {
  const { books, laid, idOf } = deciding;
  for (const position of leftOf(deciding)) {
    const row = rowAt(laid, position);
    if (idOf(row) === null) continue;
    const found = books
      .named(row)
      .find(
        ({ movement, laid: it, row: { day, amount } }) =>
          amount === row.amount &&
          isFree(deciding, position, movement) &&
          !isApart(deciding, movement) &&
          covers(laid, day) &&
          covers(it, row.day),
      );
    if (found !== undefined) take(deciding, position, found.movement, 'assumed');
  }
}

/**
 * Finds the movement with the id of a row and another amount, such as that of a card payment before its tip. Banks also give a payment and
 * its charge one id. So the two conflict only if a final statement of the movement's day does not have it.
 */
function findOtherAmount(
  deciding: Deciding,
  row: StatementRow,
): { movement: number; isConflict: boolean } | null {
  const { books, laid, taken } = deciding;
  if (deciding.idOf(row) === null) return null;
  const { opening, closing } = laid.statement;
  for (const { movement } of books.named(row)) {
    const { day, amount, seen } = books.movements[movement] as BookedMovement;
    if (amount === row.amount || taken.has(movement) || isApart(deciding, movement)) continue;
    const isConflict = isFinal(laid) && opening !== null && closing !== null && covers(laid, day);
    // Two final statements have two bookings.
    if (isConflict || !isFinal(laid) || !seen.some((it) => isFinal(it.laid))) return { movement, isConflict };
  }
  return null;
}

function addNew(deciding: Deciding): void {
  const { books, laid, decisions, taken, sameMovements } = deciding;
  const left = leftOf(deciding);
  // The same statement lies on the walks on which it was stored.
  if (left.length === 0 && deciding.same !== null) {
    books.join(laid, deciding.same);
    return;
  }
  const relations = deciding.relations();
  const isApartAssumed = [...relations.values()].some(({ kind, isAssumed }) => kind === 'apart' && isAssumed);
  const contradicting = new Set(
    [...relations.values()].flatMap((it) => (it.kind === 'apart' ? [] : it.comparison.contradictions)),
  );
  for (const [other, { kind, isAssumed, comparison }] of relations) {
    const follows = kind === 'apart' && areLinked(laid, other) && comparison.contradictions.length === 0;
    if (!isAssumed && (kind === 'common' || follows)) books.join(laid, other);
  }
  const doubtful = new Set(
    [...relations].flatMap(([other, it]) => (it.kind === 'common' && it.isAssumed ? [other] : [])),
  );
  // Another format may list the day in another order, so that it only seems to end where this statement begins.
  const mayReorder = (it: Laid) =>
    it.statement.format !== laid.statement.format &&
    isFinal(it) &&
    it.to === laid.to &&
    relations.get(it)?.kind === 'apart';
  // Two rows on one walk that were not paired are two bookings.
  const isOther = (it: Laid) => books.areJoined(laid, it) && !doubtful.has(it);
  const mayBeRow = (movement: number) => {
    if (taken.has(movement)) return false;
    const seen = books.movements[movement]?.seen ?? [];
    const isOfOther = isApart(deciding, movement) || seen.some((it) => isOther(it.laid));
    return !isOfOther || seen.some((it) => mayReorder(it.laid));
  };
  const groups = new Set(left.map((position) => groupOf(rowAt(laid, position))));
  // Another format, or the same one later, may have the entry under another day: it has the same id, or the same balance.
  const findSameId = (row: StatementRow) =>
    deciding.idOf(row) === null
      ? undefined
      : books.named(row).find((it) => it.row.amount === row.amount && !taken.has(it.movement))?.movement;
  const hasSameBalance = (row: StatementRow) =>
    row.balance !== null &&
    books
      .withBalance(row)
      .some(
        ({ movement, laid: it }) =>
          !taken.has(movement) &&
          (it.statement.format !== laid.statement.format || it.statement.kind !== laid.statement.kind) &&
          !isOther(it),
      );
  const mayBeKnown = new Set([...groups].filter((it) => books.ofGroup(it).some(mayBeRow)));
  for (const position of left) {
    const row = rowAt(laid, position);
    const renamed = findOtherAmount(deciding, row);
    if (renamed?.isConflict) {
      taken.add(renamed.movement);
      decisions[position] = { outcome: 'conflict', movement: renamed.movement };
      continue;
    }
    const sameId = findSameId(row);
    if (sameId !== undefined) deciding.moved.set(position, books.movements[sameId]?.day ?? '');
    const isAssumed =
      isApartAssumed ||
      contradicting.has(row.day) ||
      mayBeKnown.has(groupOf(row)) ||
      sameId !== undefined ||
      renamed !== null ||
      hasSameBalance(row);
    const movement = books.addMovement(row);
    laid.movements[position] = movement;
    taken.add(movement);
    const replaces = sameMovements[position];
    decisions[position] = {
      outcome: 'new',
      movement,
      isAssumed,
      ...(replaces === undefined ? {} : { replaces }),
    };
  }
}
