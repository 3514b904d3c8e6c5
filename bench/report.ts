import type { Measured } from './figure.ts';

interface Spread {
  median: number;
  min: number;
  max: number;
}

/** One measured thing over all rounds. */
export interface Result {
  figure: string;
  name: string;
  unit: string;
  value: Spread;
  baseline?: { name: string; value: Spread; ratio: Spread };
  wanted?: Measured['wanted'];
}

/** Brings the rounds of one figure together, by what was measured. */
export function summarise(figure: string, rounds: readonly Measured[][]): Result[] {
  const names = [...new Set(rounds.flat().map(({ name }) => name))];
  return names.map((name) => {
    const all = rounds.flat().filter((it) => it.name === name);
    const [first] = all as [Measured];
    const baselines = all.flatMap(({ baseline }) => baseline?.value ?? []);
    return {
      figure,
      name,
      unit: first.unit,
      value: spread(all.map(({ value }) => value)),
      ...(first.baseline === undefined
        ? {}
        : {
            baseline: {
              name: first.baseline.name,
              value: spread(baselines),
              ratio: spread(all.map(({ value, baseline }) => value / (baseline?.value ?? Number.NaN))),
            },
          }),
      ...(first.wanted === undefined ? {} : { wanted: first.wanted }),
    };
  });
}

/** Prints the table, or JSON. */
export async function writeReport(
  results: readonly Result[],
  { json }: { json: boolean; keep: boolean },
): Promise<void> {
  if (json) {
    console.log(JSON.stringify({ results }, null, 2));
    return;
  }
  for (const { name, unit, value, baseline } of results) {
    console.log(`${name}: ${show(value, 0)} ${unit}`);
    if (baseline === undefined) continue;
    console.log(`  ${baseline.name}: ${show(baseline.value, 0)} ${unit}`);
    console.log(`  ratio: ${show(baseline.ratio, 2)}`);
  }
}

function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return { median: at(Math.floor(sorted.length / 2)), min: at(0), max: at(sorted.length - 1) };
}

function show({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}
