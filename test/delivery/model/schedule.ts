import fc from 'fast-check';
import { RETRY_DELAYS } from '../../../src/delivery/run/schedule.ts';
import type { Filter } from '../../../src/webhook-record/filter.ts';
import { type Change, FILTERS } from './commands.ts';
import { MOODS, type Mood } from './endpoint.ts';
import type { WebhookRow } from './tables.ts';
import type { Faults, Tuning } from './world.ts';

/** An event in the world, and how many milliseconds pass after it. */
export type Step = (
  | { do: 'import'; count: number }
  | { do: 'change'; change: Change }
  | { do: 'change another webhook' }
  | { do: 'redeliver'; index: number }
  | { do: 'replay'; statuses: readonly ('delivered' | 'failed')[]; part: number }
  | { do: 'withdraw'; index: number; count: number }
  | { do: 'delete a movement'; index: number }
  | { do: 'endpoint'; mood: Mood }
  | { do: 'crash'; index: number }
  | { do: 'freeze'; index: number; length: number }
  | { do: 'shut down'; index: number }
  | { do: 'start a process' }
  | { do: 'empty Redis' }
  | { do: 'reconcile' }
  | { do: 'faults'; faults: Partial<Faults> }
) & { wait: number };

export interface Schedule {
  /** For the world's random choices: latencies, answers, faults. */
  seed: number;
  webhook: Pick<WebhookRow, 'ordered' | 'rateLimit' | 'maxInFlight' | 'filter' | 'batch'>;
  tuning: Tuning;
  processes: number;
  steps: Step[];
}

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

const index = fc.nat(50);

/** Most of what can go wrong goes wrong within milliseconds. */
const wait = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 12 }) },
  { weight: 6, arbitrary: fc.integer({ min: 12, max: 150 }) },
  { weight: 4, arbitrary: fc.integer({ min: 150, max: 5 * SECOND }) },
  { weight: 3, arbitrary: fc.integer({ min: 5 * SECOND, max: 60 * SECOND }) },
  { weight: 1, arbitrary: fc.integer({ min: 60 * SECOND, max: 2 * HOUR }) },
);

const rateLimit = fc.constantFrom(null, null, null, 2, 20, 200);
const maxInFlight = fc.constantFrom(1, 2, 4, 4, 20);
const batch = fc.constantFrom(
  null,
  null,
  { max: 3, waitMs: 0 },
  { max: 8, waitMs: 300 },
  { max: 20, waitMs: 4_000 },
);
const filter = fc.constantFrom(...FILTERS);

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ status: fc.constantFrom('active', 'active', 'paused', 'disabled') }),
  fc.record({ filter }),
  fc.record({ filter }),
  fc.record({ ordered: fc.boolean() }),
  fc.record({ maxInFlight }),
  fc.record({ rateLimit }),
  fc.record({ redirects: fc.constant(true) }),
);

const chance = fc.constantFrom(0, 0, 0.02, 0.3);
const faults = fc.record({
  read: fc.constantFrom(0, 0, 0, 0.05),
  record: chance,
  redis: fc.constantFrom(0, 0, 0, 0.1),
  publish: fc.constantFrom(0, 0, 0.5, 1),
  wake: fc.constantFrom(0, 0, 0, 0.3),
  slow: chance,
});

/** One kind of step, with its fields. */
const named = <Name extends string, Fields extends object>(
  weight: number,
  name: Name,
  fields: { [Field in keyof Fields]: fc.Arbitrary<Fields[Field]> },
) => {
  const all = fc.record(fields) as fc.Arbitrary<Fields>;
  const arbitrary = fc
    .tuple(all, wait)
    .map(([its, milliseconds]) => ({ do: name, ...its, wait: milliseconds }));
  return { weight, arbitrary };
};

const count = fc.oneof(
  { weight: 40, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 10, arbitrary: fc.integer({ min: 7, max: 30 }) },
  { weight: 1, arbitrary: fc.integer({ min: 150, max: 400 }) },
);

const statuses = fc.constantFrom<('delivered' | 'failed')[]>(
  ['failed'],
  ['delivered'],
  ['delivered', 'failed'],
);

const step: fc.Arbitrary<Step> = fc.oneof(
  named(30, 'import', { count }),
  named(14, 'change', { change }),
  named(2, 'change another webhook', {}),
  named(7, 'redeliver', { index }),
  named(5, 'replay', { statuses, part: fc.constantFrom(0, 0, 0.5) }),
  named(2, 'delete a movement', { index }),
  named(12, 'endpoint', { mood: fc.constantFrom(...MOODS) }),
  named(6, 'crash', { index }),
  named(4, 'freeze', { index, length: fc.integer({ min: 50, max: 40 * SECOND }) }),
  named(3, 'shut down', { index }),
  named(4, 'start a process', {}),
  named(2, 'empty Redis', {}),
  named(3, 'reconcile', {}),
  named(5, 'faults', { faults }),
);

const tuning: fc.Arbitrary<Tuning> = fc.record({
  page: fc.constantFrom(2, 3, 5, 300),
  delays: fc.constantFrom(
    RETRY_DELAYS,
    RETRY_DELAYS.slice(0, 2),
    RETRY_DELAYS.slice(0, 1),
    RETRY_DELAYS.slice(0, 4),
  ),
  timeSlice: fc.constantFrom(3 * SECOND, 3 * SECOND, 100),
  longestRun: fc.constantFrom(60 * SECOND, 2 * SECOND),
  linger: fc.constantFrom(SECOND, 50, 0),
  maxLingering: fc.constantFrom(1, 1, 0),
});

export const schedules: fc.Arbitrary<Schedule> = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  webhook: fc.record({ ordered: fc.boolean(), rateLimit, maxInFlight, filter, batch }),
  tuning,
  processes: fc.constantFrom(1, 2, 3),
  steps: fc.array(step, { minLength: 1, maxLength: 24, size: 'max' }),
});

/** What webhooks list: withdrawals too, withdrawals alone, or none. */
const LISTINGS: ((filter: Filter) => Filter)[] = [
  (filter) => ({ ...filter, withdrawals: true }),
  (filter) => ({ ...filter, withdrawals: true }),
  ({ accountId }) => ({ event: 'WITHDRAWN_TRANSACTION', accountId, withdrawals: true }),
  (filter) => filter,
];

/** Schedules in which movements are withdrawn. Those above stay as they are, because some are known by their numbers. */
export const withdrawingSchedules: fc.Arbitrary<Schedule> = fc
  .tuple(
    schedules,
    fc.array(
      fc.tuple(fc.nat(30), named(1, 'withdraw', { index, count: fc.integer({ min: 1, max: 8 }) }).arbitrary),
      {
        minLength: 1,
        maxLength: 6,
      },
    ),
    fc.array(fc.constantFrom(...LISTINGS), { minLength: 1, maxLength: 5 }),
  )
  .map(([{ steps, webhook, ...schedule }, withdrawals, listings]) => {
    let changes = 0;
    const list = (filter: Filter): Filter => listings[changes++ % listings.length]?.(filter) ?? filter;
    const listed = { ...webhook, filter: list(webhook.filter) };
    const all: Step[] = steps.map((it) =>
      it.do === 'change' && it.change.filter !== undefined
        ? { ...it, change: { ...it.change, filter: list(it.change.filter) } }
        : it,
    );
    for (const [at, withdrawal] of withdrawals) all.splice(at % (all.length + 1), 0, withdrawal);
    return { ...schedule, webhook: listed, steps: all };
  });
