import type { InstallationOptions, startInstallation } from './installation.ts';

/** How much is done: `smoke` takes seconds and only checks that counts match; `large` needs more time and disk. */
export type Scale = 'smoke' | 'normal' | 'large';

/** Target for `value / baseline.value`, or for `value` itself when there is no baseline. */
export type Wanted = { atLeast: number } | { atMost: number };

/** One number of one round, and what it is compared with. */
export interface Measured {
  /** The name of the measurement, the same in every round: 'deliveries, 2 webhooks'. */
  name: string;
  unit: string;
  value: number;
  /** The baseline, measured in the same round. */
  baseline?: { name: string; value: number };
  wanted?: Wanted;
}

/** Times of one round. One of their percentiles is shown, if there are enough samples; see percentile.ts. */
export interface MeasuredTimes {
  /** Includes the percentile: 'latency at 100/s, p99'. */
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

/** A figure whose installations are running and filled. */
export interface Prepared {
  /** The database server that it is measured on: 'MariaDB 10.11.14'. */
  server: string;
  /** Measures everything once, values and baselines one after the other, so that a slower machine slows both. */
  round(): Promise<Round>;
  /** Ends everything, and leaves nothing behind. */
  end(): Promise<void>;
}

export type Start = (options?: InstallationOptions) => ReturnType<typeof startInstallation>;

export interface Figure {
  /** One line for the list of figures. */
  about: string;
  /** Whether it also runs on a database server that was given with --database-url. */
  onGivenServer?: boolean;
  /** Number of rounds, without one to warm up, for a figure that does not depend on the machine's speed. */
  rounds?: number;
  /**
   * @param start starts an installation. In a smoke run, other figures may use the same one before and after.
   * @throws in `prepare` and in its `round` when counts do not match, since a fast but wrong run is no result.
   */
  prepare(scale: Scale, start: Start): Promise<Prepared>;
}

/** Picks a size by scale. `large` defaults to `normal`. */
export const sized = <T = number>(scale: Scale, sizes: { smoke: T; normal: T; large?: T }): T =>
  scale === 'large' ? (sizes.large ?? sizes.normal) : sizes[scale];
