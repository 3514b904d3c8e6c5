/** The smallest value that at least `part` of the values do not exceed. */
export const percentile = (ascending: readonly number[], part: number): number =>
  ascending[Math.max(0, Math.ceil(ascending.length * part) - 1)] ?? Number.NaN;

/** Samples that must lie beyond a percentile. With fewer, it depends on one or two of them. */
const SAMPLES_BEYOND = 10;

/** How many samples a percentile needs: 20 for the median, 1,000 for the 99th, 10,000 for the 99.9th. */
export const samplesNeeded = (part: number): number => Math.round(SAMPLES_BEYOND / (1 - part));

/**
 * A percentile of each round, or of all rounds pooled if some round has too few samples for it.
 * @param sides what is compared, such as the service and its baseline: for each, the samples of each round, in any order.
 * @returns the percentiles of each side; null when all rounds together have too few samples.
 */
export function percentilesOf(
  sides: readonly (readonly (readonly number[])[])[],
  part: number,
): { values: number[][]; pooled: boolean } | null {
  const isEnough = (samples: readonly number[]) => samples.length >= samplesNeeded(part);
  const of = (samples: readonly number[]) =>
    percentile(
      samples.toSorted((a, b) => a - b),
      part,
    );
  if (sides.flat().every(isEnough)) return { values: sides.map((rounds) => rounds.map(of)), pooled: false };
  const pools = sides.map((rounds) => rounds.flat());
  return pools.every(isEnough) ? { values: pools.map((pool) => [of(pool)]), pooled: true } : null;
}
