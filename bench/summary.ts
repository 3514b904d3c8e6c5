import type { Measured, MeasuredTimes, Round, Wanted } from './figure.ts';
import type { Machine } from './machine.ts';
import { percentilesOf } from './percentile.ts';

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** One measurement over all rounds. */
export interface Result {
  figure: string;
  /** The database server that it was measured on: 'MariaDB 10.11.14'. */
  server: string;
  name: string;
  unit: string;
  /** The day on which it was measured, if it is another one than the report's. */
  date?: string;
  rounds: number;
  /** Set when it is one percentile of the samples of all rounds, because a single round has too few. */
  pooled?: true;
  value: Spread;
  /** `ratio` compares the two values of each round, so that a slower machine slows both. */
  baseline?: { name: string; value: Spread; ratio: Spread };
  wanted?: Wanted;
  /** Whether the median meets the target; absent without a target. */
  met?: boolean;
}

/** A whole run, as bench/results/ keeps it. */
export interface Report extends Machine {
  /** YYYY-MM-DD, UTC. */
  date: string;
  results: readonly Result[];
}

/**
 * Combines the rounds of one figure, by what was measured and its baseline. A percentile for which there are too few samples is
 * left out.
 */
export function summarise(figure: string, server: string, rounds: readonly Round[]): Result[] {
  const keyOf = ({ name, baseline }: Round[number]) => JSON.stringify([name, baseline?.name]);
  const keys = [...new Set(rounds.flat().map(keyOf))];
  return keys.flatMap((key) => {
    const all = rounds.flat().filter((it) => keyOf(it) === key);
    const found = read(all);
    if (found === null) return [];
    const { values, baselines, pooled } = found;
    const [{ name, unit, baseline, wanted }] = all as [Round[number]];
    const value = spread(values);
    const ratio = spread(values.map((it, round) => it / (baselines[round] ?? Number.NaN)));
    return {
      figure,
      server,
      name,
      unit,
      rounds: all.length,
      ...(pooled ? { pooled } : {}),
      value,
      ...(baseline === undefined
        ? {}
        : { baseline: { name: baseline.name, value: spread(baselines), ratio } }),
      ...(wanted === undefined
        ? {}
        : { wanted, met: isMet((baseline === undefined ? value : ratio).median, wanted) }),
    };
  });
}

/** The values of each round and of its baseline, or of all rounds pooled; null when there are too few samples. */
function read(
  all: readonly Round[number][],
): { values: readonly number[]; baselines: readonly number[]; pooled: boolean } | null {
  const times = all.filter((it): it is MeasuredTimes => 'times' in it);
  const [first] = times;
  if (first === undefined) {
    const measured = all as readonly Measured[];
    const baselines = measured.flatMap(({ baseline }) => baseline?.value ?? []);
    return { values: measured.map(({ value }) => value), baselines, pooled: false };
  }
  const sides = [times.map((it) => it.times)];
  if (first.baseline !== undefined) sides.push(times.map(({ baseline }) => baseline?.times ?? []));
  const found = percentilesOf(sides, first.part);
  if (found === null) return null;
  const [values = [], baselines = []] = found.values;
  return { values, baselines, pooled: found.pooled };
}

/**
 * The report with what an earlier one has of other figures or from other database servers, and on which day it was measured. The
 * results are grouped by figure.
 */
export function mergeReports(earlier: Pick<Report, 'date' | 'results'>, report: Report): Report {
  const keyOf = ({ figure, server }: Result) => `${figure} ${server}`;
  const measured = new Set(report.results.map(keyOf));
  const kept = earlier.results.filter((result) => !measured.has(keyOf(result)));
  const dated =
    earlier.date === report.date ? kept : kept.map((result) => ({ date: earlier.date, ...result }));
  const all = [...dated, ...report.results];
  const figures = [...new Set(all.map(({ figure }) => figure))];
  return {
    ...report,
    results: figures.flatMap((figure) => all.filter((result) => result.figure === figure)),
  };
}

const isMet = (median: number, wanted: Wanted): boolean =>
  'atLeast' in wanted ? median >= wanted.atLeast : median <= wanted.atMost;

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}
