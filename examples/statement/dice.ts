export interface Dice {
  /** A number in [0, 1). */
  random(): number;
  /** A whole number, both ends included. */
  between(low: number, high: number): number;
  /** An amount in kuruş between two amounts in lira. */
  money(low: number, high: number): bigint;
  pick<T>(list: readonly T[]): T;
}

/** Chance that repeats itself (mulberry32): the same seed gives the same statement on every machine. */
export function createDice(seed: number): Dice {
  let state = seed;
  function random(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
  return {
    random,
    between,
    money: (low, high) => BigInt(between(low * 100, high * 100)),
    pick: <T>(list: readonly T[]) => list[between(0, list.length - 1)] as T,
  };
}
