import { areSeparate } from '../imports/identity/numbers.ts';

/**
 * Says whether the statements of an account are complete. The closing balance of one is the opening balance of the next; where it is
 * not, a statement is missing, and the difference of the two is what was booked in it.
 */

/** A final statement with both balances, in hundredths, as far as it can be a part of the chain. */
export interface ChainStatement {
  id: string;
  /** YYYY-MM-DD */
  from: string;
  to: string;
  opening: bigint;
  closing: bigint;
  /** The number of the statement, if it is one. */
  number: number | null;
  /** Its number or id as the file has it, and its page. */
  name: string | null;
  sequence: string | null;
  format: string;
  /** The sums of its entries. */
  credits: bigint;
  debits: bigint;
  /** By how much its entries miss its closing balance; null: not at all. */
  difference: bigint | null;
  entries: number;
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
  /** Those that it is made of. A gap has the one before it and the one after it. */
  statements: readonly ChainStatement[];
}

/** A gap or a contradiction: somebody has to look at it. */
type WrongPeriod = Period & { status: 'gap' | 'contradiction' };

export const isWrong = (period: Period): period is WrongPeriod =>
  period.status === 'gap' || period.status === 'contradiction';

export type Completeness = 'complete' | 'incomplete' | 'contradictory' | 'unknown';

/** Statements that follow each other without a gap. */
interface Run {
  statements: readonly ChainStatement[];
  from: string;
  to: string;
  opening: bigint;
  closing: bigint;
  /** Those with which its statements begin and end. */
  balances: ReadonlySet<bigint>;
}

const DAY = 86_400_000;
export const addDays = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10);

/** Numbers are believed when they have followed each other this often, and nearly always. */
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
  /** Balances of the time that is covered, also those with which shorter statements of it begin and end. */
  let balances = new Set<bigint>();
  for (const run of runs) {
    // Two statements of one day may have a third one between them.
    if (
      covering === null ||
      run.from > covering.to ||
      (run.from === covering.to && !balances.has(run.opening))
    ) {
      if (covering !== null) periods.push(gapBetween(covering, run));
      periods.push(...viewRun(run));
      covering = run;
      balances = new Set(run.balances);
      continue;
    }
    for (const balance of run.balances) balances.add(balance);
    const overlap = compareOverlap(covering, run);
    if (overlap !== null) periods.push(overlap);
    if (run.to > covering.to) covering = run;
  }
  return periods.toSorted((one, other) => compare(one.from, other.from) || compare(one.to, other.to));
}

/** Sums up the periods of an account. */
export function summarisePeriods(periods: readonly Period[]): Completeness {
  if (periods.length === 0) return 'unknown';
  const has = (status: PeriodStatus) => periods.some((it) => it.status === status);
  if (has('contradiction')) return 'contradictory';
  return has('gap') ? 'incomplete' : 'complete';
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/**
 * The same statement may have come in another format, where it has another number. One of the day so far may have the same balances, and
 * fewer entries.
 */
function withoutRepetitions(statements: readonly ChainStatement[]): ChainStatement[] {
  const seen = new Map<string, ChainStatement[]>();
  const longestFirst = statements.toSorted((one, other) => other.entries - one.entries);
  return longestFirst.filter((it) => {
    const { from, to, opening, closing } = it;
    const key = `${to} ${opening} ${closing} ${opening === closing ? from : ''}`;
    const before = seen.get(key) ?? [];
    if (before.some((other) => !haveOwnNumbers(it, other))) return false;
    seen.set(key, [...before, it]);
    return true;
  });
}

/** Whether their numbers say that two statements are not the same one. */
const haveOwnNumbers = (one: ChainStatement, other: ChainStatement): boolean =>
  areSeparate(numbered(one), numbered(other));

const numbered = ({ format, name, sequence, to }: ChainStatement) =>
  ({ kind: 'final', format, number: name, sequence, to }) as const;

/** A bank that counts downloads gives other numbers to what it has booked so far on one day. */
function withoutDownloadNumbers(statements: readonly ChainStatement[]): readonly ChainStatement[] {
  const firsts = new Map<string, ChainStatement>();
  const closings = new Set(statements.map(({ to, closing }) => `${to} ${closing}`));
  const areDownloads = statements.some((it) => {
    const key = `${it.format} ${it.to} ${it.opening}`;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, it);
    // Nothing returns to the opening balance, so that the longer one contains the shorter one.
    const returns = closings.has(`${it.to} ${it.opening}`);
    return first !== undefined && !returns && first.closing !== it.closing && haveOwnNumbers(first, it);
  });
  return areDownloads ? statements.map((it) => ({ ...it, name: null, sequence: null })) : statements;
}

/**
 * After each run, those that are left are joined anew, until so many statements have been looked at. Then all runs are taken that no other
 * one has parted.
 */
const MOST_LOOKED = 100_000;

/**
 * Joins statements to runs, in which each begins with the balance with which the one before it ends. The run with the most entries is
 * taken first: a bank may have given shorter statements of the same days before.
 */
function findRuns(statements: readonly ChainStatement[]): Run[] {
  const areNumbered = haveNumbers(statements);
  let left = statements.toSorted(
    (one, other) =>
      compare(one.to, other.to) ||
      compare(one.from, other.from) ||
      Number(one.number) - Number(other.number) ||
      // Where the balances of a day return to where they were, only this says which came first.
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
  };
}

/** The best run that ends with a statement. */
interface Path {
  /** Days without a statement before its last one. */
  daysBetween: number;
  /** The one before its last one contains the day with which the last one begins, and days before it. */
  isOverlapping: boolean;
  /** Entries, and then statements. */
  weight: number;
  before: ChainStatement | null;
}

/**
 * Balances return to where they were. Of two statements with the right one, that of the nearer days is the one before; and one that ends
 * the day before, rather than one of several days that may contain the next one.
 */
function isBetter(one: Path, other: Path): boolean {
  if (one.daysBetween !== other.daysBetween) return one.daysBetween < other.daysBetween;
  if (one.isOverlapping !== other.isOverlapping) return other.isOverlapping;
  return one.weight > other.weight;
}

/** Of the statements with the right balance, this many of the nearest are looked at. */
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
  // Days to the nearest statement that may follow. Later ones with the same balance follow another one.
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
      if (path === undefined || !follows(before, it, areNumbered) || leadsTo(paths, before, it)) continue;
      const days = daysBetween(before, it);
      if (days > (nearestNext.get(before) ?? 0)) continue;
      // One that may lie within this one is left out of the run.
      const isWithin = mayBeIn(before, it);
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
    // Statements of one day may follow each other in any order, so each one that became better is looked at again.
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

/** The index of the first item for which `isAtOrAfter` is true, by halving. @param items those for which it is false come first. */
function firstIndex<T>(items: readonly T[], isAtOrAfter: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isAtOrAfter(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * A statement of a day so far, whose entries cancel out, has the balances with which the whole day begins. So one of the two may lie within
 * the other.
 */
const mayBeIn = (one: ChainStatement, other: ChainStatement): boolean =>
  one.opening === one.closing &&
  one.to >= other.from &&
  (sumsAreWithin(one, other) || sumsAreWithin(other, one)) &&
  !haveOwnNumbers(one, other);

/** Whether two statements begin with the same balance and end with others, and neither contains the other. */
const contradict = (one: ChainStatement, other: ChainStatement): boolean =>
  one.from === other.from &&
  one.opening === other.opening &&
  one.closing !== other.closing &&
  !sumsAreWithin(one, other) &&
  !sumsAreWithin(other, one) &&
  !haveOwnNumbers(one, other);

const sumsAreWithin = (one: ChainStatement, other: ChainStatement): boolean =>
  one.credits <= other.credits && one.debits <= other.debits;

/** Statements of one day are a few, so that this is never reached. */
const MOST_STEPS = 20;

const weightOf = (paths: ReadonlyMap<ChainStatement, Path>, it: ChainStatement): number =>
  paths.get(it)?.weight ?? 0;

/** Whether a statement is in the run that ends with another one. The balances of a day may return to where they were. */
function leadsTo(
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

/** Whether a statement may be the next one. Banks book some entries on earlier days. */
const follows = (one: ChainStatement, other: ChainStatement, areNumbered: boolean): boolean =>
  one !== other && one.to <= other.to && one.from <= other.from && !(areNumbered && skipsNumber(one, other));

function groupBy<T>(items: readonly T[], keyOf: (item: T) => bigint): Map<bigint, T[]> {
  const groups = new Map<bigint, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Numbers begin again at 1, in a new year as a rule. */
function skipsNumber(one: ChainStatement, other: ChainStatement): boolean {
  if (one.number === null || other.number === null) return false;
  if (other.number === 1 || other.number === one.number) return false;
  return other.number !== one.number + 1;
}

/** Whether the bank numbers the statements of the account one after the other. Many do not. */
function haveNumbers(statements: readonly ChainStatement[]): boolean {
  const ordered = statements
    .filter(({ number }) => number !== null)
    .toSorted((one, other) => compare(one.to, other.to) || Number(one.number) - Number(other.number));
  let following = 0;
  let skipping = 0;
  for (const [index, statement] of ordered.entries()) {
    const before = ordered[index - 1];
    if (before === undefined || before.number === statement.number) continue;
    if (skipsNumber(before, statement)) skipping += 1;
    else following += 1;
  }
  return following >= NUMBERED && following > 3 * skipping;
}

function viewRun(run: Run): Period[] {
  const { from, to, opening, closing, statements } = run;
  const wrong = statements.flatMap((it): Period[] =>
    it.difference === null
      ? []
      : [
          {
            status: 'contradiction',
            from: it.from,
            to: it.to,
            opening: it.opening,
            closing: it.closing,
            difference: it.difference,
            statements: [it],
          },
        ],
  );
  return [{ status: 'complete', from, to, opening, closing, difference: 0n, statements }, ...wrong];
}

/** A gap may be of no day, when two statements of one day do not follow each other. */
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
 * Compares statements with others about the same time, such as those of a week with those of its days.
 * @returns null when they say the same.
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
  // It is a part of what is covered, or was made before the last day was over.
  if (isInside && covering.balances.has(run.opening) && countEntries(run.statements) < countEntries(about))
    return null;
  const other = about.find(({ to }) => to === run.to);
  const isContradiction =
    isInside &&
    other !== undefined &&
    countEntries(run.statements) >= countEntries(about) &&
    about.every((it) => it.to !== run.to || it.closing !== run.closing);
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
