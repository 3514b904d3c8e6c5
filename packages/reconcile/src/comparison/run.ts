/** The longest common part of two sequences of which one goes on where the other ends, or lies within the other. */
export interface Run {
  /** Where it begins in each. */
  one: number;
  other: number;
  length: number;
  /** It fits in another place as well. */
  isDoubtful: boolean;
}

/** Linear in the lengths. @returns null if there is none. */
export function longestRun(one: readonly string[], other: readonly string[]): Run | null {
  const found = [...runsInto(one, other, false), ...runsInto(other, one, true)];
  const [best, second] = found.toSorted((a, b) => b.length - a.length);
  return best === undefined ? null : { ...best, isDoubtful: second !== undefined };
}

/** The places in `text` where `pattern` begins and fits to its end, or to the end of `text`. */
function runsInto(
  pattern: readonly string[],
  text: readonly string[],
  isSwapped: boolean,
): Omit<Run, 'isDoubtful'>[] {
  const lengths = prefixLengths(pattern, text);
  return lengths.flatMap((length, at) => {
    const fits = length > 0 && (length === pattern.length || at + length === text.length);
    // Where both begin, both directions would find the same place.
    if (!fits || (isSwapped && at === 0)) return [];
    return [isSwapped ? { one: at, other: 0, length } : { one: 0, other: at, length }];
  });
}

/** For each place in `text`, how much of `pattern` stands there (Z algorithm). */
function prefixLengths(pattern: readonly string[], text: readonly string[]): number[] {
  const all = [...pattern, null, ...text];
  const z = new Array<number>(all.length).fill(0);
  let [left, right] = [0, 0];
  for (let at = 1; at < all.length; at += 1) {
    let length = at < right ? Math.min(right - at, z[at - left] ?? 0) : 0;
    while (at + length < all.length && all[length] === all[at + length] && all[length] !== null) length += 1;
    z[at] = length;
    if (at + length > right) [left, right] = [at, at + length];
  }
  return z.slice(pattern.length + 1);
}
