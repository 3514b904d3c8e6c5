import type { StatementRow } from '../statement.ts';
import { append, areIssues, balanceBefore, hasWalk, idOf, isWindow, type Laid, rowAt } from '../walk.ts';
import { areAmong, countEach } from './counts.ts';
import { longestRun, type Run } from './run.ts';

/** Compares the walks of two statements day by day. */

export interface Pair {
  one: number;
  other: number;
}

export interface Comparison {
  /** Rows of both that are the same booking. */
  pairs: Pair[];
  /** Only the amounts are the same: the bank lists a day in another order, or the balances have shifted. */
  isByAmount: boolean;
  /** The rows may lie in another place as well, or may be the same payments again. */
  isDoubtful: boolean;
  /** By how much the balances of the first are higher. */
  shift: bigint;
  /** Rows of the first on earlier days explain the shift. */
  isExplained: boolean;
  /** Days on which both begin or end with the same balance, and have other rows. */
  contradictions: string[];
}

/**
 * A shift that nothing explains is believed when this many rows with at least two different amounts are the same. With equal texts, two
 * suffice.
 */
const ROWS_OF_SHIFT = 3;

const DAY = 86_400_000;
/** Most days between equal bookings: the booking date in one format may be the value date in another. */
const MOST_DAYS_APART = 10;

export function compare(one: Laid, other: Laid): Comparison {
  const byBalance = compareDays(one, other);
  return areIssues(one, other) ? compareIssues(one, other, byBalance) : byBalance;
}

function compareDays(one: Laid, other: Laid): Comparison {
  const result: Comparison = {
    pairs: [],
    isByAmount: false,
    isDoubtful: false,
    shift: 0n,
    isExplained: false,
    contradictions: [],
  };
  if (!hasWalk(one) || !hasWalk(other)) return result;
  const days = [...new Set([...one.days.keys(), ...other.days.keys()])].sort();
  let shift = 0n;
  let seen = false;
  for (const day of days) {
    const [a, b] = [one.days.get(day) ?? [], other.days.get(day) ?? []];
    if (a.length === 0 || b.length === 0) {
      // A day that only one of them has shifts its later balances, if it lies between days of the other.
      if (seen) shift += sumOf(one, a) - sumOf(other, b);
      continue;
    }
    seen = true;
    const found = compareDay(one, a, other, b, { shift, isFirst: result.pairs.length === 0 });
    if (found.verdict === 'contradict') result.contradictions.push(day);
    if (found.verdict === 'contradict' || found.verdict === 'nothing') break;
    for (const pair of found.pairs) result.pairs.push(pair);
    result.isByAmount ||= found.isByAmount;
    result.isDoubtful ||= found.isDoubtful;
    if (found.verdict === 'shift') {
      result.shift = found.closing;
      result.isExplained = found.closing === sumBefore(one, day);
    }
    shift = found.closing;
  }
  const moved = findMoved(one, other);
  if (moved.pairs.length > result.pairs.length) {
    const haveCommonDay = moved.pairs.some((it) => rowAt(one, it.one).day === rowAt(other, it.other).day);
    const isDoubtful = moved.isDoubtful || !haveCommonDay;
    return { ...result, ...moved, isByAmount: false, isDoubtful, shift: 0n, contradictions: [] };
  }
  if (result.shift !== 0n && !result.isExplained && !isShiftBelieved(one, other, result)) {
    result.pairs = [];
    result.shift = 0n;
  }
  if (result.shift !== 0n && !result.isExplained && days.length === 1) result.isDoubtful = true;
  return result;
}

/**
 * The bank has issued a statement again, perhaps with entries that it has booked since: rows of a day with the same id or text and amount are
 * the same, whatever their balances. Where these have as much in common, they count.
 */
function compareIssues(one: Laid, other: Laid, byBalance: Comparison): Comparison {
  const pairs: Pair[] = [];
  for (const [day, a] of one.days)
    for (const pair of pairInStages(one, a, other, other.days.get(day) ?? [], [BY_ID, BY_TEXT, BY_AMOUNT]))
      pairs.push(pair);
  const found = byBalance.shift === 0n ? byBalance.pairs.length : 0;
  if (found >= pairs.length) return byBalance;
  const shift = (one.opening ?? 0n) - (other.opening ?? 0n);
  return {
    ...byBalance,
    pairs,
    shift,
    isByAmount: false,
    isDoubtful: found > 0 && shift !== 0n,
    isExplained: false,
    contradictions: [],
  };
}

interface ComparedDay {
  pairs: Pair[];
  verdict: 'same' | 'run' | 'contradict' | 'shift' | 'nothing';
  isByAmount: boolean;
  isDoubtful: boolean;
  closing: bigint;
}

function compareDay(
  one: Laid,
  a: readonly number[],
  other: Laid,
  b: readonly number[],
  { shift, isFirst }: { shift: bigint; isFirst: boolean },
): ComparedDay {
  const ends = (laid: Laid, rows: readonly number[]) => ({
    opening: balanceBefore(rowAt(laid, rows[0] as number)) ?? 0n,
    closing: rowAt(laid, rows.at(-1) as number).balance ?? 0n,
  });
  const [ofOne, ofOther] = [ends(one, a), ends(other, b)];
  const closing = ofOne.closing - ofOther.closing;
  const [opensEqual, closesEqual] = [ofOne.opening - ofOther.opening === shift, closing === shift];
  const isAnchored = opensEqual || closesEqual;
  const isAll = (pairs: readonly Pair[]) => pairs.length === Math.min(a.length, b.length);
  const found = (verdict: ComparedDay['verdict'], pairs: Pair[], more: Partial<ComparedDay> = {}) => ({
    ...{ verdict, pairs, isByAmount: false, isDoubtful: false, closing },
    ...more,
  });

  const keyOfOne = ({ amount, balance }: StatementRow) => `${amount} ${(balance ?? 0n) - shift}`;
  const keyOfOther = ({ amount, balance }: StatementRow) => `${amount} ${balance}`;
  const run = longestRun(
    a.map((it) => keyOfOne(rowAt(one, it))),
    b.map((it) => keyOfOther(rowAt(other, it))),
  );
  const ofRun = pairRun(run, a, b);
  if (isAll(ofRun)) return found('same', ofRun);
  // Where a balance comes twice, the bank's ids say which row is which.
  const withId = (keyOf: KeyOf) => (row: StatementRow) =>
    idOf(row) === null ? null : `${row.reference} ${keyOf(row)}`;
  const byId = pairBy(one, a, other, b, withId(keyOfOne), withId(keyOfOther));
  const [ofA, ofB] = [without(a, byId, 'one'), without(b, byId, 'other')];
  const byBalance = [...byId, ...pairBy(one, ofA, other, ofB, keyOfOne, keyOfOther)];
  if (isAll(byBalance)) return found('same', byBalance);
  const haveAmounts = haveSameAmounts(one, a, other, b);
  const byAmount = () => pairByAmount(one, a, other, b, { fromEnd: closesEqual && !opensEqual });
  const isReordered = isAnchored && haveAmounts;
  if (isReordered && ((opensEqual && closesEqual) || run === null))
    return found('same', byAmount(), { isByAmount: true });
  // Another format may list the day in another order, so that it has the same row in the same place by chance.
  const mayBeReordered = one.statement.format !== other.statement.format && haveAmounts;
  if (run !== null)
    return found('run', ofRun, { isDoubtful: run.isDoubtful || isReordered || mayBeReordered });
  if (isAnchored) return found('contradict', []);
  if (byBalance.length > 0) return found('same', byBalance, { isDoubtful: true });
  if (isFirst && haveAmounts) return found('shift', byAmount(), { isByAmount: true });
  return found('nothing', []);
}

/** The rows of a run, which stands in two lists of positions. */
const pairRun = (run: Run | null, a: readonly number[], b: readonly number[]): Pair[] =>
  run === null
    ? []
    : Array.from({ length: run.length }, (_, step) => ({
        one: a[run.one + step] as number,
        other: b[run.other + step] as number,
      }));

function without(positions: readonly number[], pairs: readonly Pair[], side: keyof Pair): number[] {
  const paired = new Set(pairs.map((it) => it[side]));
  return positions.filter((it) => !paired.has(it));
}

function pairBy(
  one: Laid,
  a: readonly number[],
  other: Laid,
  b: readonly number[],
  keyOfOne: (row: StatementRow) => string | null,
  keyOfOther: (row: StatementRow) => string | null,
): Pair[] {
  const free = new Map<string, number[]>();
  for (const position of b.toReversed()) {
    const key = keyOfOther(rowAt(other, position));
    if (key !== null) append(free, key, position);
  }
  return a.flatMap((position) => {
    const key = keyOfOne(rowAt(one, position));
    const found = key === null ? undefined : free.get(key)?.pop();
    return found === undefined ? [] : [{ one: position, other: found }];
  });
}

/** A row of a statement. */
export interface Place {
  laid: Laid;
  position: number;
}

/**
 * Compares the rows of a day with all rows that the statements of another format have of that day, in whatever order and in however many
 * parts they list it.
 * @param others the rows of the other format, each booking once.
 * @returns the pairs, if all rows of one side have a row of the other. null: they have not.
 */
export function compareWholeDay(
  laid: Laid,
  positions: readonly number[],
  others: readonly Place[],
): { position: number; other: Place }[] | null {
  const rows = others.map(({ laid: it, position }) => rowAt(it, position));
  const whole = { ...laid, statement: { ...laid.statement, rows } };
  const paired = new Set<number>();
  const found: { position: number; other: Place }[] = [];
  const [first, last] = [rowAt(laid, positions[0] ?? 0), rowAt(laid, positions.at(-1) ?? 0)];
  // A part at the end of the day is compared from the end.
  const isAtEnd = ({ laid: it }: Place) => it.closing === last.balance && it.opening !== balanceBefore(first);
  for (const fromEnd of [false, true]) {
    const left = positions.filter((it) => !paired.has(it));
    const part = [...rows.keys()].filter((it) => isAtEnd(others[it] as Place) === fromEnd);
    for (const pair of pairByAmount(laid, left, whole, part, { fromEnd })) {
      paired.add(pair.one);
      found.push({ position: pair.one, other: others[pair.other] as Place });
    }
  }
  return found.length < Math.min(positions.length, rows.length) ? null : found;
}

type KeyOf = (row: StatementRow) => string | null;

const BY_ID: KeyOf = (row) => (idOf(row) === null ? null : `${row.amount} ${row.reference}`);
const BY_REFERENCE: KeyOf = ({ amount, reference }) => (reference === null ? null : `${amount} ${reference}`);
const BY_BALANCE: KeyOf = ({ amount, balance }) => `${amount} ${balance}`;
const BY_TEXT: KeyOf = ({ amount, text }) => `${amount} ${text}`;
const BY_AMOUNT: KeyOf = ({ amount }) => String(amount);

/** Whether the amounts of the rows on one side, as often as they come, are among those of the other. */
function haveSameAmounts(one: Laid, a: readonly number[], other: Laid, b: readonly number[]): boolean {
  const amountIn = (laid: Laid) => (position: number) => rowAt(laid, position).amount;
  return a.length <= b.length
    ? areAmong(a, amountIn(one), countEach(b.map(amountIn(other))))
    : areAmong(b, amountIn(other), countEach(a.map(amountIn(one))));
}

/** Pairs rows with the same amount: first those with the same reference, balance or text, then in their order. */
const pairByAmount = (
  one: Laid,
  a: readonly number[],
  other: Laid,
  b: readonly number[],
  { fromEnd }: { fromEnd: boolean },
): Pair[] => pairInStages(one, a, other, b, [BY_REFERENCE, BY_BALANCE, BY_TEXT, BY_AMOUNT], { fromEnd });

/** Pairs rows with an equal key: what the first key leaves, the next one pairs. */
function pairInStages(
  one: Laid,
  a: readonly number[],
  other: Laid,
  b: readonly number[],
  stages: readonly KeyOf[],
  { fromEnd = false } = {},
): Pair[] {
  const pairs: Pair[] = [];
  const [taken, paired] = [new Set<number>(), new Set<number>()];
  for (const keyOf of stages) {
    const [left, free] = [a.filter((it) => !paired.has(it)), b.filter((it) => !taken.has(it))];
    if (fromEnd) for (const list of [left, free]) list.reverse();
    for (const pair of pairBy(one, left, other, free, keyOf, keyOf)) {
      paired.add(pair.one);
      taken.add(pair.other);
      pairs.push(pair);
    }
  }
  return pairs;
}

/** Finds the rows in common of two formats of which one may have them under other days: they take the same steps. */
function findMoved(one: Laid, other: Laid): Pick<Comparison, 'pairs' | 'isDoubtful'> {
  if (one.statement.format === other.statement.format) return { pairs: [], isDoubtful: false };
  if (haveOtherDates(one, other)) return { pairs: pairNear(one, other), isDoubtful: false };
  const stepsOf = (laid: Laid) => laid.walk.map((it) => BY_BALANCE(rowAt(laid, it)) as string);
  const run = longestRun(stepsOf(one), stepsOf(other));
  const pairs = pairRun(run, one.walk, other.walk);
  return pairs.every((it) => areNear(one, other, it))
    ? { pairs, isDoubtful: run?.isDoubtful ?? false }
    : { pairs: [], isDoubtful: false };
}

const areNear = (one: Laid, other: Laid, { one: a, other: b }: Pair): boolean =>
  Math.abs(Date.parse(rowAt(one, a).day) - Date.parse(rowAt(other, b).day)) <= MOST_DAYS_APART * DAY;

/** Pairs rows with the same amount and balance, whatever their days, within ten days. */
function pairNear(one: Laid, other: Laid): Pair[] {
  const keyOf = ({ amount, balance }: StatementRow) => `${amount} ${balance}`;
  const pairs = pairBy(one, one.walk, other, other.walk, keyOf, keyOf).filter((it) =>
    areNear(one, other, it),
  );
  const isAll = pairs.length === Math.min(one.walk.length, other.walk.length);
  const haveEqualEnds = one.opening === other.opening && one.closing === other.closing;
  const sameDays = pairs.filter((it) => rowAt(one, it.one).day === rowAt(other, it.other).day).length;
  return isAll && (haveEqualEnds || (pairs.length > 1 && 2 * sameDays >= pairs.length)) ? pairs : [];
}

/** An entry of MT940 may have no booking date, and then has its value date. */
const haveOtherDates = (one: Laid, other: Laid): boolean =>
  (one.statement.format === 'mt940') !== (other.statement.format === 'mt940') &&
  one.statement.kind === 'final' &&
  other.statement.kind === 'final' &&
  !isWindow(one) &&
  !isWindow(other);

function isShiftBelieved(one: Laid, other: Laid, { pairs }: Comparison): boolean {
  // One amount that goes out and comes back leads from every balance to the same ones again.
  const amounts = new Set(pairs.map((it) => absolute(rowAt(one, it.one).amount)));
  const haveEqualTexts = pairs.every(({ one: a, other: b }) => {
    const { text } = rowAt(one, a);
    return text !== '' && text === rowAt(other, b).text;
  });
  return (
    (pairs.length >= ROWS_OF_SHIFT || haveEqualTexts) &&
    amounts.size > 1 &&
    !haveOtherReferences(one, other, pairs)
  );
}

/** Whether the bank's references of rows that were paired differ, in one format. */
export const haveOtherReferences = (one: Laid, other: Laid, pairs: readonly Pair[]): boolean =>
  one.statement.format === other.statement.format &&
  pairs.some((it) => {
    const [a, b] = [idOf(rowAt(one, it.one)), idOf(rowAt(other, it.other))];
    return a !== null && b !== null && a !== b;
  });

const absolute = (amount: bigint): bigint => (amount < 0n ? -amount : amount);

const sumOf = (laid: Laid, positions: readonly number[]): bigint =>
  positions.reduce((sum, position) => sum + rowAt(laid, position).amount, 0n);

/** The sum of the rows on the days before. */
const sumBefore = (laid: Laid, day: string): bigint =>
  laid.statement.rows.reduce((sum, row) => (row.day < day ? sum + row.amount : sum), 0n);
