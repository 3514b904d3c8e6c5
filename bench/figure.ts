import type { startInstallation } from './installation.ts';

/** How much is done: `smoke` checks that counts match, in seconds; `large` is for machines with time and disk. */
export type Scale = 'smoke' | 'normal' | 'large';

/** One number of one round, and what it is compared with. */
export interface Measured {
  /** What was measured, the same in every round: 'deliveries, 2 webhooks'. */
  name: string;
  unit: string;
  value: number;
  /** What it is held against, measured in the same round. */
  baseline?: { name: string; value: number };
  /** What `value / baseline.value` should be, or `value` itself when there is no baseline. */
  wanted?: { atLeast: number } | { atMost: number };
}

/** A figure whose installations run and are filled. */
export interface Prepared {
  /** Measures everything once, value and baseline one after the other: the machine's moods hit both. */
  round(): Promise<Measured[]>;
  /** Leaves nothing behind. */
  end(): Promise<void>;
}

export interface Figure {
  /** One line for the list of figures. */
  about: string;
  /** Whether it is measured when nothing is named. */
  byDefault: boolean;
  /** How often it is measured, without a round to warm up, when that is not a matter of the machine's moods. */
  rounds?: number;
  /**
   * @param start starts an installation; in a smoke run it may be one that others have used and will use.
   * @throws in `prepare` and in its `round` when counts do not match: a fast nonsense is no result.
   */
  prepare(scale: Scale, start: typeof startInstallation): Promise<Prepared>;
}

/** The given one of three, by scale. */
export const sized = <T = number>(scale: Scale, sizes: { smoke: T; normal: T; large?: T }): T =>
  scale === 'large' ? (sizes.large ?? sizes.normal) : sizes[scale];
