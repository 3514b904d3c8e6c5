import type { InstallationOptions, startInstallation } from './installation.ts';

/** How much is done: `smoke` checks that counts match, in seconds; `large` is for machines with time and disk. */
export type Scale = 'smoke' | 'normal' | 'large';

/** What `value / baseline.value` should be, or `value` itself when there is no baseline. */
export type Wanted = { atLeast: number } | { atMost: number };

/** One number of one round, and what it is compared with. */
export interface Measured {
  /** What was measured, the same in every round: 'deliveries, 2 webhooks'. */
  name: string;
  unit: string;
  value: number;
  /** What it is held against, measured in the same round. */
  baseline?: { name: string; value: number };
  wanted?: Wanted;
}

/** Times of one round, of which one percentile is shown: if there are enough of them, see percentile.ts. */
export interface MeasuredTimes {
  /** With the percentile: 'latency at 100/s, p99'. */
  name: string;
  unit: string;
  /** 0.99 for the 99th percentile. */
  part: number;
  times: readonly number[];
  baseline?: { name: string; times: readonly number[] };
  wanted?: Wanted;
}

/** Everything that one round measured. */
export type Round = readonly (Measured | MeasuredTimes)[];

/** A figure whose installations run and are filled. */
export interface Prepared {
  /** The database server that it is measured on: 'MariaDB 10.11.14'. */
  server: string;
  /** Measures everything once, value and baseline one after the other: what slows down the machine hits both. */
  round(): Promise<Round>;
  /** Leaves nothing behind. */
  end(): Promise<void>;
}

export type Start = (options?: InstallationOptions) => ReturnType<typeof startInstallation>;

export interface Figure {
  /** One line for the list of figures. */
  about: string;
  /** Whether it also runs on a database server that was given with --database-url. */
  onGivenServer?: boolean;
  /** How often it is measured, without a round to warm up, when the machine's speed does not matter. */
  rounds?: number;
  /**
   * @param start starts an installation; in a smoke run it may be one that others have used and will use.
   * @throws in `prepare` and in its `round` when counts do not match: a fast nonsense is no result.
   */
  prepare(scale: Scale, start: Start): Promise<Prepared>;
}

/** The given one of three, by scale. */
export const sized = <T = number>(scale: Scale, sizes: { smoke: T; normal: T; large?: T }): T =>
  scale === 'large' ? (sizes.large ?? sizes.normal) : sizes[scale];
