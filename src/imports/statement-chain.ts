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
  /** By how much its entries miss its closing balance; null: not at all. */
  difference: bigint | null;
}

export type PeriodStatus = 'complete' | 'gap' | 'overlap' | 'contradiction';

/** A part of the time of an account. */
export interface Period {
  status: PeriodStatus;
  from: string;
  to: string;
  opening: bigint;
  closing: bigint;
  /** What is missing between two balances, or by how much they contradict each other. Zero for complete periods and overlaps. */
  difference: bigint;
  /** The statements at its ends. */
  first: string;
  last: string;
}

export type Completeness = 'complete' | 'incomplete' | 'contradictory' | 'unknown';

/** Statements that follow each other without a gap. */
interface Run {
  statements: ChainStatement[];
  from: string;
  to: string;
  opening: bigint;
  closing: bigint;
}

const DAY = 86_400_000;
const addDays = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10);

/** Numbers are believed when they have followed each other this often, and nearly always. */
const NUMBERED = 3;

/**
 * Finds the complete periods, gaps, overlaps and contradictions.
 * @param statements of one account, in any order.
 * @returns the periods in the order of their dates.
 */
export function findPeriods(statements: readonly ChainStatement[]): Period[] {
  const runs = findRuns(withoutRepetitions(statements));
  const periods: Period[] = [];
  let covering: Run | null = null;
  for (const run of runs) {
    // Two statements of one day may have a third one between them.
    if (
      covering === null ||
      run.from > covering.to ||
      (run.from === covering.to && !knows(covering, run.opening))
    ) {
      if (covering !== null) periods.push(gapBetween(covering, run));
      periods.push(...viewRun(run));
      covering = run;
      continue;
    }
    const overlap = compareOverlap(covering, run);
    if (overlap !== null) periods.push(overlap);
    if (run.to > covering.to) covering = run;
  }
  return periods.toSorted((one, other) => compare(one.from, other.from) || compare(one.to, other.to));
}

/** What the periods of an account say together. */
export function summarisePeriods(periods: readonly Period[]): Completeness {
  if (periods.length === 0) return 'unknown';
  const has = (status: PeriodStatus) => periods.some((it) => it.status === status);
  if (has('contradiction')) return 'contradictory';
  return has('gap') ? 'incomplete' : 'complete';
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** The same statement may have come in another format, where it has another number. */
function withoutRepetitions(statements: readonly ChainStatement[]): ChainStatement[] {
  const seen = new Set<string>();
  return statements.filter(({ from, to, opening, closing }) => {
    const key = `${to} ${opening} ${closing} ${opening === closing ? from : ''}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Joins statements to runs: each to one that ends with its opening balance, and not later. Banks book some entries on earlier days. */
function findRuns(statements: readonly ChainStatement[]): Run[] {
  const areNumbered = haveNumbers(statements);
  const ordered = statements.toSorted(
    (one, other) =>
      compare(one.to, other.to) || compare(one.from, other.from) || Number(one.number) - Number(other.number),
  );
  const runs: Run[] = [];
  const byClosing = new Map<bigint, Run[]>();
  for (const statement of ordered) {
    const candidates = byClosing.get(statement.opening) ?? [];
    const before = candidates.findLast(
      (run) =>
        run.closing === statement.opening &&
        run.to <= statement.to &&
        run.from <= statement.from &&
        !(areNumbered && skipsNumber(run.statements.at(-1), statement)),
    );
    const run = before ?? { statements: [], ...statement };
    run.statements.push(statement);
    run.to = statement.to;
    run.closing = statement.closing;
    if (before === undefined) runs.push(run);
    byClosing.set(run.closing, [...(byClosing.get(run.closing) ?? []), run]);
  }
  return joinRuns(runs, areNumbered).toSorted(
    (one, other) => compare(one.from, other.from) || -compare(one.to, other.to),
  );
}

/** Statements of one day may have come in another order than they follow each other. */
function joinRuns(runs: readonly Run[], areNumbered: boolean): Run[] {
  const joined = [...runs];
  for (let index = 0; index < joined.length; index += 1) {
    const run = joined[index] as Run;
    const next = joined.findIndex(
      (other) =>
        other !== run &&
        other.opening === run.closing &&
        other.to >= run.to &&
        other.from >= run.from &&
        !(areNumbered && skipsNumber(run.statements.at(-1), other.statements[0])),
    );
    if (next === -1) continue;
    const [other] = joined.splice(next, 1) as [Run];
    const at = joined.indexOf(run);
    joined[at] = {
      statements: [...run.statements, ...other.statements],
      from: run.from,
      to: other.to,
      opening: run.opening,
      closing: other.closing,
    };
    index = at - 1;
  }
  return joined;
}

/** Numbers begin again at 1, in a new year as a rule. */
function skipsNumber(one: ChainStatement | undefined, other: ChainStatement | undefined): boolean {
  if (one?.number == null || other?.number == null) return false;
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
  const ends = { first: statements[0]?.id ?? '', last: statements.at(-1)?.id ?? '' };
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
            first: it.id,
            last: it.id,
          },
        ],
  );
  return [{ status: 'complete', from, to, opening, closing, difference: 0n, ...ends }, ...wrong];
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
    first: one.statements.at(-1)?.id ?? '',
    last: other.statements[0]?.id ?? '',
  };
}

/** Whether one of the statements begins or ends with a balance. */
const knows = ({ statements }: Run, balance: bigint): boolean =>
  statements.some(({ opening, closing }) => opening === balance || closing === balance);

/**
 * Compares statements with others about the same time, such as those of a week with those of its days.
 * @returns null when they say the same.
 */
function compareOverlap(covering: Run, run: Run): Period | null {
  const isInside = run.to <= covering.to;
  if (knows(covering, run.opening) && (!isInside || knows(covering, run.closing))) return null;
  const other = covering.statements.find(({ to }) => to === run.to);
  const isContradiction =
    isInside &&
    other !== undefined &&
    covering.statements.every((it) => it.to !== run.to || it.closing !== run.closing);
  const [opening, closing] = [run.opening, run.closing];
  return {
    status: isContradiction ? 'contradiction' : 'overlap',
    from: run.from,
    to: isInside ? run.to : covering.to,
    opening,
    closing,
    difference: isContradiction ? closing - (other?.closing ?? closing) : 0n,
    first: run.statements[0]?.id ?? '',
    last: run.statements.at(-1)?.id ?? '',
  };
}
