import { readFileSync } from 'node:fs';

/** How many lines of a compiled file belong to functions that have run, from the counts of Node's inspector. */

/** The calls of a function in several windows of time. `start` and `end` are its place in the file. */
export interface FunctionCalls {
  start: number;
  end: number;
  total: number;
  /** In how many windows it was called, and the most calls in one of them. */
  windows: number;
  most: number;
}

/** The functions of each file, by its path. */
export type Scripts = Map<string, Map<string, FunctionCalls>>;

/**
 * Counts the lines that belong to a function that counts in one of the phases. A function within it that does not count itself is left out,
 * and so are empty lines and comments that have the line for themselves.
 */
export function countLines(
  path: string,
  phases: readonly (readonly FunctionCalls[])[],
  counts: (it: FunctionCalls) => boolean,
): number {
  const places = new Map<string, { start: number; end: number; ran: boolean }>();
  for (const { start, end, ...it } of phases.flat()) {
    const place = places.get(`${start}-${end}`) ?? { start, end, ran: false };
    place.ran ||= counts({ start, end, ...it });
    places.set(`${start}-${end}`, place);
  }
  // The outer function comes first, and the inner one replaces its part of it.
  const sorted = [...places.values()].toSorted((a, b) => a.start - b.start || b.end - a.end);
  const text = readFileSync(path, 'utf8');
  const ran = new Uint8Array(text.length);
  for (const it of sorted) ran.fill(it.ran ? 1 : 0, it.start, it.end);
  let lines = 0;
  let from = 0;
  for (const line of text.split('\n')) {
    const isCode = !/^\s*(?:$|\/\/|\/\*|\* |\*\/)/.test(line);
    if (isCode && ran.subarray(from, from + line.length).includes(1)) lines += 1;
    from += line.length + 1;
  }
  return lines;
}
