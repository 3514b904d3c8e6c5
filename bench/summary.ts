import type { Measured } from './figure.ts';
import type { Machine } from './machine.ts';

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** One measured thing over all rounds. */
export interface Result {
  figure: string;
  name: string;
  unit: string;
  rounds: number;
  value: Spread;
  /** `ratio` is of the two values of one round each: the machine's moods hit both. */
  baseline?: { name: string; value: Spread; ratio: Spread };
  wanted?: Measured['wanted'];
  /** Whether the median is as wanted; absent when nothing is wanted. */
  met?: boolean;
}

/** A whole run, as bench/results/ keeps it. */
export interface Report extends Machine {
  /** YYYY-MM-DD, UTC. */
  date: string;
  results: readonly Result[];
}

/** Brings the rounds of one figure together, by what was measured and what it is held against. */
export function summarise(figure: string, rounds: readonly Measured[][]): Result[] {
  const keyOf = ({ name, baseline }: Measured) => JSON.stringify([name, baseline?.name]);
  const keys = [...new Set(rounds.flat().map(keyOf))];
  return keys.map((key) => {
    const all = rounds.flat().filter((it) => keyOf(it) === key);
    const [{ name, unit, baseline, wanted }] = all as [Measured];
    const value = spread(all.map((it) => it.value));
    const ratio = spread(all.map((it) => it.value / (it.baseline?.value ?? Number.NaN)));
    return {
      figure,
      name,
      unit,
      rounds: all.length,
      value,
      ...(baseline === undefined
        ? {}
        : {
            baseline: {
              name: baseline.name,
              value: spread(all.flatMap((it) => it.baseline?.value ?? [])),
              ratio,
            },
          }),
      ...(wanted === undefined
        ? {}
        : { wanted, met: isMet((baseline === undefined ? value : ratio).median, wanted) }),
    };
  });
}

const isMet = (median: number, wanted: NonNullable<Measured['wanted']>): boolean =>
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
