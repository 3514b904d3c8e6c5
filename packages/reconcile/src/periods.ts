import { addDays } from '../../statements/src/values.ts';
import {
  areNumbersOfDownloads,
  contradict,
  leadsTo,
  mayBeWithin,
  type Named,
  repeats,
  repetitionKey,
  type Span,
  type Sums,
} from './series.ts';

/**
 * Finds out whether the statements of an account are complete. The closing balance of a statement is the opening balance of the next.
 * If it is not, a statement is missing. The difference of the two balances is the sum of the missing bookings.
 */

/** A final statement with both balances, in thousandths of the currency, and the data that decide its place in the chain. */
export interface ChainStatement extends Named, Span, Sums {
  id: string;
  kind: 'final';
  /** YYYY-MM-DD */
  from: string;
  to: string;
  opening: bigint;
  closing: bigint;
  /** The number or id in the file. `sequence` is the page. null: numbers do not count. */
  number: string | null;
  /** The place in the bank's series; null: the number in the file is not a number. */
  place: number | null;
  /** By how much the entries miss the closing balance; null: they match. */
  difference: bigint | null;
  entries: number;
  /** Whether its first day lies within an earlier statement. See `findBegunWithin`. */
  beginsWithin: boolean;
  /** The ids of its movements that also came with other statements, as far as a statement begins within another one on their day. */
  repeated: ReadonlySet<string>;
}

export type PeriodStatus = 'complete' | 'gap' | 'overlap' | 'contradiction';

/** A part of the time of an account. */
export interface Period {
  status: PeriodStatus;
  from: string;
  to: string;
  opening: bigint;
  closing: bigint;
  /** The amount missing between two balances, or by which they contradict each other. Zero for complete periods and overlaps. */
  difference: bigint;
  /** The statements of the period. A gap has the statements before and after it. */
  statements: readonly ChainStatement[];
}

/** A gap or a contradiction. Somebody must look at it. */
type WrongPeriod = Period & { status: 'gap' | 'contradiction' };

export const isWrong = (period: Period): period is WrongPeriod =>
  period.status === 'gap' || period.status === 'contradiction';

export type Completeness = 'complete' | 'incomplete' | 'contradictory' | 'unknown';

/** The place of a statement in the bank's series; null: its number is not a number. */
export const placeOf = (number: string | null): number | null =>
  number !== null && /^\d{1,9}$/.test(number) ? Number(number) : null;

/** Statements that follow each other without a gap. */
interface Run {
  statements: readonly ChainStatement[];
  from: string;
  to: string;
  opening: bigint;
  closing: bigint;
  /** The opening and closing balances of its statements. */
  balances: ReadonlySet<bigint>;
  /** `repeated` of all its statements. */
  repeated: ReadonlySet<string>;
}

const DAY = 86_400_000;
/** Numbers are trusted if they have followed each other at least this often, and nearly always. */
const NUMBERED = 3;

/**
 * Finds the complete periods, gaps, overlaps and contradictions.
 * @param statements of one account, in any order.
 * @returns the periods in the order of their dates.
 */
export function findPeriods(statements: readonly ChainStatement[]): Period[] {
  const runs = findRuns(withoutRepetitions(withoutDownloadNumbers(statements)));
  const periods: Period[] = [];
  let covering: Run | null = null;
  /** All balances of the covered time, including the opening and closing balances of shorter statements. */
  let balances = new Set<bigint>();
  for (const run of runs) {
    periods.push(...findWrong(run.statements));
    // A third statement may be missing between two statements of one day.
    if (
      covering === null ||
      run.from > covering.to ||
      (run.from === covering.to && !balances.has(run.opening) && !sharesFirstDay(run, covering))
    ) {
      if (covering !== null) periods.push(gapBetween(covering, run));
      periods.push(viewRun(run));
      covering = run;
      balances = new Set(run.balances);
      continue;
    }
    for (const balance of run.balances) balances.add(balance);
    const overlap = compareOverlap(covering, run);
    if (overlap !== null) periods.push(overlap);
    if (run.to <= covering.to) continue;
    if (overlap === null) periods.push(continuationOf(covering, run));
    covering = run;
  }
  return periods.toSorted((one, other) => compare(one.from, other.from) || compare(one.to, other.to));
}

/**
 * Finds the statements whose first day lies within an earlier statement, unless their opening balance shows that they follow another
 * one. Both may have bookings of this day, because a bank may begin a statement on the last day of the statement before. If the
 * earlier statement ends with the opening balance, this may be by chance.
 * @param statements in the order of their last days.
 */
export function findBegunWithin(statements: readonly ChainStatement[]): ChainStatement[] {
  const byClosing = groupBy(statements, ({ closing }) => closing);
  const byFrom = statements.toSorted((one, other) => compare(one.from, other.from));
  let coveredTo = '';
  let earlier = 0;
  return byFrom.filter((it) => {
    for (; (byFrom[earlier] as ChainStatement).from < it.from; earlier += 1) {
      const { to } = byFrom[earlier] as ChainStatement;
      if (to > coveredTo) coveredTo = to;
    }
    if (it.from > coveredTo) return false;
    const before = byClosing.get(it.opening) ?? [];
    const mayShareDay = before.slice(
      firstIndex(before, ({ to }) => to >= it.from),
      firstIndex(before, ({ to }) => to > it.to),
    );
    return before.every((other) => other === it) || mayShareDay.some(({ from }) => from < it.from);
  });
}

const sharesFirstDay = ({ statements: [first] }: Run, covering: Run): boolean =>
  first?.beginsWithin === true && haveCommon(first.repeated, covering.repeated);

/** Whether two statements, of which the second begins within an earlier one, have a booking in common. */
const shareBooking = (one: ChainStatement, other: ChainStatement): boolean =>
  other.beginsWithin && haveCommon(one.repeated, other.repeated);

function haveCommon(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const [fewer, more] = one.size < other.size ? [one, other] : [other, one];
  for (const id of fewer) if (more.has(id)) return true;
  return false;
}

/** The time of a run after the last day of another run that it agrees with. That day may be in both statements. */
const continuationOf = (covering: Run, run: Run): Period => ({
  status: 'complete',
  from: covering.to,
  to: run.to,
  opening: covering.closing,
  closing: run.closing,
  difference: 0n,
  statements: run.statements,
});

/** Summarizes the periods of an account. */
export function summarisePeriods(periods: readonly Period[]): Completeness {
  if (periods.length === 0) return 'unknown';
  const has = (status: PeriodStatus) => periods.some((it) => it.status === status);
  if (has('contradiction')) return 'contradictory';
  return has('gap') ? 'incomplete' : 'complete';
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Leaves out repeated statements: the ones with most entries stay. */
function withoutRepetitions(statements: readonly ChainStatement[]): ChainStatement[] {
  const seen = new Map<string, ChainStatement[]>();
  const longestFirst = statements.toSorted((one, other) => other.entries - one.entries);
  return longestFirst.filter((it) => {
    const key = repetitionKey(it);
    const before = seen.get(key) ?? [];
    if (before.some((other) => repeats(it, other))) return false;
    seen.set(key, [...before, it]);
    return true;
  });
}

/** Ignores numbers if the bank counts downloads. Such a bank gives different numbers to the same bookings of one day. */
const withoutDownloadNumbers = (statements: readonly ChainStatement[]): readonly ChainStatement[] =>
  areNumbersOfDownloads(statements, (one, other) => haveCommon(one.repeated, other.repeated))
    ? statements.map((it) => ({ ...it, number: null, sequence: null }))
    : statements;

/**
 * After each run, the remaining statements are joined again, until this many statements have been looked at. After that, all runs that no
 * other run has split are taken at once.
 */
const MOST_LOOKED = 100_000;

/**
 * Joins statements to runs. In a run, each statement begins with the closing balance of the statement before it. The run with the most
 * entries is taken first, because a bank may have sent shorter statements of the same days before.
 */
function findRuns(statements: readonly ChainStatement[]): Run[] {
  const areNumbered = haveNumbers(statements);
  let left = statements.toSorted(
    (one, other) =>
      compare(one.to, other.to) ||
      compare(one.from, other.from) ||
      Number(one.place) - Number(other.place) ||
      // If a day's balances return to an earlier balance, only the ids show the order.
      Number(one.id) - Number(other.id),
  );
  const runs: Run[] = [];
  let looked = 0;
  while (left.length > 0) {
    looked += left.length;
    const paths = findPaths(left, areNumbered);
    const used = new Set<ChainStatement>();
    const parted = new Set<ChainStatement>();
    for (const end of left.toSorted((one, other) => weightOf(paths, other) - weightOf(paths, one))) {
      if (used.has(end)) continue;
      const run: ChainStatement[] = [];
      let at: ChainStatement | null = end;
      for (; at !== null && !used.has(at) && !parted.has(at); at = paths.get(at)?.before ?? null)
        run.push(at);
      for (const it of run) (at === null ? used : parted).add(it);
      if (at === null) runs.push(toRun(run.reverse()));
      if (looked < MOST_LOOKED) break;
    }
    left = left.filter((it) => !used.has(it));
  }
  return runs.toSorted((one, other) => compare(one.from, other.from) || -compare(one.to, other.to));
}

function toRun(statements: readonly ChainStatement[]): Run {
  const [first, last] = [statements[0], statements.at(-1)] as [ChainStatement, ChainStatement];
  const balances = new Set(statements.flatMap(({ opening, closing }) => [opening, closing]));
  return {
    statements,
    from: first.from,
    opening: first.opening,
    to: last.to,
    closing: last.closing,
    balances,
    repeated: new Set(statements.flatMap(({ repeated }) => [...repeated])),
  };
}

/** The best run that ends with a statement. */
interface Path {
  /** Days without a statement before the last statement. */
  daysBetween: number;
  /** The statement before the last one contains the first day of the last one, and earlier days. */
  isOverlapping: boolean;
  /** The number of entries. For equal numbers, the number of statements counts. */
  weight: number;
  before: ChainStatement | null;
}

/**
 * Decides between two statements with the right closing balance, because balances may return to an earlier balance. The statement of the
 * nearer days comes before. A statement that ends the day before is preferred to a statement of several days that may contain the next.
 */
function isBetter(one: Path, other: Path): boolean {
  if (one.daysBetween !== other.daysBetween) return one.daysBetween < other.daysBetween;
  if (one.isOverlapping !== other.isOverlapping) return other.isOverlapping;
  return one.weight > other.weight;
}

/** How many of the nearest statements with the right balance are looked at. */
const NEAREST = 30;

/** Finds the best run that ends with each statement. @param statements in the order of their last days. */
function findPaths(
  statements: readonly ChainStatement[],
  areNumbered: boolean,
): ReadonlyMap<ChainStatement, Path> {
  const paths = new Map<ChainStatement, Path>();
  const byOpening = groupBy(statements, ({ opening }) => opening);
  const byClosing = groupBy(statements, ({ closing }) => closing);
  const fromDays = new Map(statements.map((it) => [it, Date.parse(it.from) / DAY]));
  const toDays = new Map(statements.map((it) => [it, Date.parse(it.to) / DAY]));
  const daysBetween = (one: ChainStatement, other: ChainStatement) =>
    Math.max(0, (fromDays.get(other) ?? 0) - (toDays.get(one) ?? 0) - 1);
  // Days to the nearest statement that may follow. Later statements with the same balance follow another statement.
  const nearestNext = new Map<ChainStatement, number>();
  for (const it of statements) {
    const next = byOpening.get(it.closing) ?? [];
    const first = firstIndex(next, ({ to }) => to >= it.to);
    const following = next.slice(first, first + NEAREST).filter((other) => follows(it, other, areNumbered));
    nearestNext.set(
      it,
      following.reduce((least, other) => Math.min(least, daysBetween(it, other)), Infinity),
    );
  }
  const ownWeight = ({ entries }: ChainStatement) => entries * (statements.length + 1) + 1;
  const weigh = (it: ChainStatement): Path => {
    const own = ownWeight(it);
    let best: Path = {
      daysBetween: Number.POSITIVE_INFINITY,
      isOverlapping: false,
      weight: own,
      before: null,
    };
    const candidates = byClosing.get(it.opening) ?? [];
    const end = firstIndex(candidates, ({ to }) => to > it.to);
    for (const before of candidates.slice(Math.max(0, end - NEAREST), end)) {
      const path = paths.get(before);
      if (path === undefined || !follows(before, it, areNumbered) || isInRun(paths, before, it)) continue;
      const days = daysBetween(before, it);
      if (days > (nearestNext.get(before) ?? 0)) continue;
      // A statement that may lie within this statement is left out of the run.
      const isWithin = mayBeWithin(before, it);
      const weight = path.weight + own - (isWithin ? ownWeight(before) : 0);
      const isOverlapping = before.from < it.from && before.to >= it.from;
      const longer = { daysBetween: days, isOverlapping, weight, before: isWithin ? path.before : before };
      if (weight > own && isBetter(longer, best)) best = longer;
    }
    return best;
  };
  for (let start = 0; start < statements.length; ) {
    const { to } = statements[start] as ChainStatement;
    const end = firstIndex(statements, (it) => it.to > to);
    // Statements of one day may follow each other in any order. When a path gets better, the statements that may follow are looked at again.
    const queue = statements.slice(start, end);
    for (let at = 0; at < queue.length && at < MOST_STEPS * (end - start); at += 1) {
      const it = queue[at] as ChainStatement;
      const path = weigh(it);
      const known = paths.get(it);
      if (known !== undefined && !isBetter(path, known)) continue;
      paths.set(it, path);
      const next = byOpening.get(it.closing) ?? [];
      for (let i = firstIndex(next, (other) => other.to >= to); next[i]?.to === to; i += 1)
        if (paths.has(next[i] as ChainStatement)) queue.push(next[i] as ChainStatement);
    }
    start = end;
  }
  return paths;
}

/** Finds the first item for which `isAtOrAfter` is true by binary search. @param items sorted: those for which it is false come first. */
function firstIndex<T>(items: readonly T[], isAtOrAfter: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isAtOrAfter(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A limit that is never reached, because there are few statements of one day. */
const MOST_STEPS = 20;

const weightOf = (paths: ReadonlyMap<ChainStatement, Path>, it: ChainStatement): number =>
  paths.get(it)?.weight ?? 0;

/** Says whether a statement is in the run that ends with another statement. Prevents loops if the balances of a day return. */
function isInRun(
  paths: ReadonlyMap<ChainStatement, Path>,
  end: ChainStatement,
  wanted: ChainStatement,
): boolean {
  // A statement of an earlier day cannot follow.
  for (
    let it: ChainStatement | null = end;
    it !== null && it.to >= wanted.to;
    it = paths.get(it)?.before ?? null
  )
    if (it === wanted) return true;
  return false;
}

/** Says whether a statement may be the next. Statements that follow each other have no entry in common. */
const follows = (one: ChainStatement, other: ChainStatement, areNumbered: boolean): boolean =>
  one !== other &&
  leadsTo(one, other) &&
  !shareBooking(one, other) &&
  !(areNumbered && skipsNumber(one, other));

function groupBy<T>(items: readonly T[], keyOf: (item: T) => bigint): Map<bigint, T[]> {
  const groups = new Map<bigint, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Numbers begin again at 1, usually in a new year. */
function skipsNumber(one: ChainStatement, other: ChainStatement): boolean {
  if (one.place === null || other.place === null) return false;
  if (other.place === 1 || other.place === one.place) return false;
  return other.place !== one.place + 1;
}

/** Says whether the bank numbers the statements of the account consecutively. Many banks do not. */
function haveNumbers(statements: readonly ChainStatement[]): boolean {
  const ordered = statements
    .filter(({ place }) => place !== null)
    .toSorted((one, other) => compare(one.to, other.to) || Number(one.place) - Number(other.place));
  let following = 0;
  let skipping = 0;
  for (const [index, statement] of ordered.entries()) {
    const before = ordered[index - 1];
    if (before === undefined || before.place === statement.place) continue;
    if (skipsNumber(before, statement)) skipping += 1;
    else following += 1;
  }
  return following >= NUMBERED && following > 3 * skipping;
}

const viewRun = ({ from, to, opening, closing, statements }: Run): Period => ({
  status: 'complete',
  from,
  to,
  opening,
  closing,
  difference: 0n,
  statements,
});

/** The statements whose entries do not give their closing balance contradict themselves, wherever they lie. */
const findWrong = (statements: readonly ChainStatement[]): Period[] =>
  statements.flatMap((it) => {
    const { from, to, opening, closing, difference } = it;
    return difference === null
      ? []
      : [{ status: 'contradiction', from, to, opening, closing, difference, statements: [it] }];
  });

/** A gap may contain no day, if two statements of one day do not follow each other. */
function gapBetween(one: Run, other: Run): Period {
  const after = addDays(one.to, 1);
  const before = addDays(other.from, -1);
  const isWithoutDay = after > before;
  return {
    status: 'gap',
    from: isWithoutDay ? one.to : after,
    to: isWithoutDay ? other.from : before,
    opening: one.closing,
    closing: other.opening,
    difference: other.opening - one.closing,
    statements: [...one.statements.slice(-1), ...other.statements.slice(0, 1)],
  };
}

const countEntries = (statements: readonly ChainStatement[]): number =>
  statements.reduce((sum, { entries }) => sum + entries, 0);

/**
 * Compares statements of the same time with each other, such as a statement of a week with the statements of its days.
 * @returns null when they agree.
 */
function compareOverlap(covering: Run, run: Run): Period | null {
  const isInside = run.to <= covering.to;
  const about = covering.statements.slice(
    firstIndex(covering.statements, ({ to }) => to >= run.from),
    firstIndex(covering.statements, ({ from }) => from > run.to),
  );
  const [begun] = run.statements as [ChainStatement];
  const rival = about.find((it) => contradict(it, begun));
  if (rival !== undefined) {
    const { from, to, opening, closing } = begun;
    const difference = closing - rival.closing;
    return { status: 'contradiction', from, to, opening, closing, difference, statements: [rival, begun] };
  }
  if (covering.balances.has(run.opening) && (!isInside || covering.balances.has(run.closing))) return null;
  // The run is a part of the covered time, or was made before the last day was over.
  const isShorter = countEntries(run.statements) < countEntries(about);
  if (isInside && covering.balances.has(run.opening) && isShorter) return null;
  const other = about.find(({ to }) => to === run.to);
  const isContradiction =
    isInside &&
    other !== undefined &&
    !isShorter &&
    about.every((it) => it.to !== run.to || it.closing !== run.closing);
  if (!isContradiction && sharesFirstDay(run, covering)) return null;
  const [opening, closing] = [run.opening, run.closing];
  return {
    status: isContradiction ? 'contradiction' : 'overlap',
    from: run.from,
    to: isInside ? run.to : covering.to,
    opening,
    closing,
    difference: isContradiction ? closing - (other?.closing ?? closing) : 0n,
    statements: run.statements,
  };
}
