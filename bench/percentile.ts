/** Of values in ascending order, the least that `part` of them do not exceed. */
export const percentile = (ascending: readonly number[], part: number): number =>
  ascending[Math.max(0, Math.ceil(ascending.length * part) - 1)] ?? Number.NaN;
