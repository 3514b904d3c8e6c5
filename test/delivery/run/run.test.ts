import { expect, it } from 'vitest';
import { NOT_SENT } from '../../../src/delivery/posting/post.ts';
import type { Answer } from '../../../src/delivery/posting/types.ts';
import { createRun } from '../../../src/delivery/run/run.ts';
import type { Delivery, LoggedMovement, RunEvent, RunStart } from '../../../src/delivery/run/types.ts';
import { describeStep } from './description.ts';

/** A webhook whose cursor is at 10, with movements after it. Its endpoint has answered before. */
const START: RunStart = {
  revision: 1,
  ordered: false,
  maxInFlight: 2,
  rateLimit: null,
  rateWait: 0,
  health: {
    consecutiveFailures: 0,
    failingSince: null,
    failingDays: 0,
    circuitOpenings: 0,
    openUntil: null,
    recoverySuccesses: null,
    consecutiveRejections: 0,
    batchLimit: null,
  },
  isHealthShared: false,
  lastError: null,
  cursor: { sentThrough: 10, highestRecordedId: 10 },
  hasBacklog: false,
  filtersVersion: 1,
  retryIn: null,
  replaying: false,
  retryDelays: [5_000, 300_000],
  sliceLength: 3_000,
  longestRun: 60_000,
  batch: null,
  linger: 1_000,
};

const MOVEMENT = { stored_at: '0' } as LoggedMovement;

const fresh = (subjectId: number): Delivery => ({
  subjectId,
  source: 'log',
  attempts: 0,
  failures: 0,
  content: MOVEMENT,
});
const retry = (subjectId: number, content: LoggedMovement | null = MOVEMENT): Delivery => ({
  subjectId,
  source: 'retries',
  attempts: 1,
  failures: 1,
  content,
});

const STARTED: RunEvent = { type: 'started' };
const WOKEN: RunEvent = { type: 'woken', reread: false };
const FLUSH: RunEvent = { type: 'flush due' };
const TIMER: RunEvent = { type: 'timer' };
const RECORDED: RunEvent = { type: 'recorded', revision: 1, health: null };

const log = (
  ids: number[],
  rest: { through?: number; complete?: boolean; filtersVersion?: number } = {},
): RunEvent => ({
  type: 'log read',
  deliveries: ids.map(fresh),
  through: ids.at(-1) ?? 10,
  complete: true,
  filtersVersion: 1,
  ...rest,
});
const retries = (deliveries: Delivery[], nextIn: number | null = null): RunEvent => ({
  type: 'retries read',
  deliveries,
  nextIn,
});
const answered = (delivery: Delivery, status: number, rest: Partial<Answer> = {}): RunEvent => ({
  type: 'answered',
  delivery,
  answer: { ...NOT_SENT, aborted: false, status, ...rest },
  startedAt: 0,
  durationMs: 5,
  bytes: 100,
});

type Step = [at: number, event: RunEvent, commands: string[]];

interface Scenario {
  start?: Partial<RunStart>;
  mostInFlight?: number;
  steps: Step[];
}

const SCENARIOS: Record<string, Scenario> = {
  'A run sends what it reads, records the results together, waits for more, and ends.': {
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12]), ['send 11', 'send 12']],
      [10, answered(fresh(12), 200), ['flush soon']],
      [11, answered(fresh(11), 200), []],
      [
        35,
        FLUSH,
        [
          'record [12 delivered #1, 11 delivered #1] {"sentThrough":12,"highestRecordedId":12,"release":false,"disable":null}',
        ],
      ],
      [40, RECORDED, ['idle {"isIdle":true}', 'set timer {"at":1040}']],
      [1_040, TIMER, ['record [] {"sentThrough":12,"highestRecordedId":12,"release":true,"disable":null}']],
      [1_045, RECORDED, ['end {"reason":"idle"}']],
    ],
  },
  'A run that is idle sends what a wake-up tells it of, and has a new time slice.': {
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([]), ['idle {"isIdle":true}', 'set timer {"at":1005}']],
      [900, WOKEN, ['read log {"after":10,"highestRecordedId":10}', 'idle {"isIdle":false}']],
      [905, log([11]), ['send 11']],
      [910, answered(fresh(11), 200), ['flush soon']],
    ],
  },
  'A wake-up during a read makes the run read the log again.': {
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [1, WOKEN, []],
      [5, log([]), ['read log {"after":10,"highestRecordedId":10}']],
      [9, log([]), ['idle {"isIdle":true}', 'set timer {"at":1009}']],
    ],
  },
  'A read that began before the lease does not count as complete.': {
    start: { hasBacklog: true },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11]), ['send 11', 'read log {"after":11,"highestRecordedId":10}']],
      [8, log([], { through: 11 }), []],
    ],
  },
  'A run reads on while the log has more.': {
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11], { complete: false }), ['send 11', 'read log {"after":11,"highestRecordedId":10}']],
    ],
  },
  'The cursor stays before a movement without a result.': {
    start: { maxInFlight: 3 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12, 13]), ['send 11', 'send 12', 'send 13']],
      [10, answered(fresh(12), 200), ['flush soon']],
      [
        35,
        FLUSH,
        ['record [12 delivered #1] {"sentThrough":10,"highestRecordedId":12,"release":false,"disable":null}'],
      ],
      [36, answered(fresh(13), 200), []],
      [37, answered(fresh(11), 200), []],
      [40, RECORDED, ['flush soon']],
    ],
  },
  'A failed attempt is due again after the delay, and its retry is read then.': {
    start: { linger: 10_000 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11]), ['send 11']],
      [10, answered(fresh(11), 422), ['flush soon']],
      [
        35,
        FLUSH,
        ['record [11 pending #1] {"sentThrough":11,"highestRecordedId":11,"release":false,"disable":null}'],
      ],
      [40, RECORDED, ['idle {"isIdle":true}', 'set timer {"at":5040}']],
      [5_040, TIMER, ['read retries {"limit":100}', 'idle {"isIdle":false}']],
      [5_045, retries([retry(11)]), ['send 11']],
      [5_050, answered(retry(11), 200), ['flush soon']],
    ],
  },
  'A retry whose movement is not stored any more fails for good without a POST.': {
    start: { retryIn: 0 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}', 'read retries {"limit":100}']],
      [5, retries([retry(7, null)]), ['flush soon']],
    ],
  },
  'The last delay is over: the delivery fails for good.': {
    start: { retryDelays: [5_000], retryIn: 0 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}', 'read retries {"limit":100}']],
      [4, log([]), []],
      [5, retries([retry(7)]), ['send 7']],
      [9, answered(retry(7), 400), ['flush soon']],
      [
        34,
        FLUSH,
        ['record [7 failed #2] {"sentThrough":10,"highestRecordedId":10,"release":false,"disable":null}'],
      ],
    ],
  },
  'Three endpoint failures in a row open the circuit: the run ends when the POSTs in flight are answered.': {
    start: { maxInFlight: 3 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12, 13, 14]), ['send 11', 'send 12', 'send 13']],
      [10, answered(fresh(11), 500), ['send 14', 'flush soon']],
      [11, answered(fresh(12), 500), []],
      [12, answered(fresh(13), 500), []],
      [
        13,
        answered(fresh(14), 500),
        [
          'record [11 pending #1, 12 pending #1, 13 pending #1, 14 pending #1] {"sentThrough":14,"highestRecordedId":14,"release":true,"disable":null}',
        ],
      ],
      [18, RECORDED, ['end {"reason":"circuit open"}']],
    ],
  },
  'An ordered webhook sends one after the other, and ends at a failure until its retry is due.': {
    start: { ordered: true, maxInFlight: 1 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12]), ['send 11']],
      [10, answered(fresh(11), 200), ['send 12', 'flush soon']],
      [
        15,
        answered(fresh(12), 500),
        [
          'record [11 delivered #1, 12 pending #1] {"sentThrough":12,"highestRecordedId":12,"release":true,"disable":null}',
        ],
      ],
      [18, RECORDED, ['end {"reason":"blocked"}']],
    ],
  },
  'A rate limit spaces the POSTs.': {
    start: { rateLimit: 4 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12, 13]), ['send 11', 'set timer {"at":250}']],
      [10, answered(fresh(11), 200), ['flush soon']],
      [255, TIMER, ['send 12', 'set timer {"at":500}']],
      [260, answered(fresh(12), 200), []],
    ],
  },
  'A rate limit that makes the next POST wait for more than half a second ends the run.': {
    start: { rateLimit: 1 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12]), ['send 11', 'give back']],
      [
        10,
        answered(fresh(11), 200),
        ['record [11 delivered #1] {"sentThrough":11,"highestRecordedId":11,"release":true,"disable":null}'],
      ],
      [15, RECORDED, ['end {"reason":"rate limited"}']],
    ],
  },
  'An endpoint that answers 410 is sent nothing more, and its webhook is disabled with the last record.': {
    start: { maxInFlight: 1 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12]), ['send 11']],
      [
        10,
        answered(fresh(11), 410),
        [
          'record [11 pending #1] {"sentThrough":11,"highestRecordedId":11,"release":true,"disable":"The endpoint answered 410 Gone."}',
        ],
      ],
      [15, { type: 'recorded', revision: 2, health: null }, ['end {"reason":"changed"}']],
    ],
  },
  'A run that still has something to send at the end of its time slice ends, and leaves the rest to the next run.':
    {
      start: { sliceLength: 20 },
      steps: [
        [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
        [5, log([11, 12, 13, 14]), ['send 11', 'send 12']],
        [25, answered(fresh(11), 200), ['flush soon', 'give back']],
        [
          26,
          answered(fresh(12), 200),
          [
            'record [11 delivered #1, 12 delivered #1] {"sentThrough":12,"highestRecordedId":12,"release":true,"disable":null}',
          ],
        ],
        [30, RECORDED, ['end {"reason":"slice over"}']],
      ],
    },
  'A webhook that was changed is read again by another run: nothing more is sent.': {
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12, 13]), ['send 11', 'send 12']],
      [6, { type: 'woken', reread: true }, ['give back']],
      [10, answered(fresh(11), 200), ['flush soon']],
      [
        11,
        answered(fresh(12), 200),
        [
          'record [11 delivered #1, 12 delivered #1] {"sentThrough":12,"highestRecordedId":12,"release":true,"disable":null}',
        ],
      ],
      [15, { type: 'recorded', revision: 2, health: null }, ['end {"reason":"changed"}']],
    ],
  },
  'What a new filter matches may be missing in the read: the run ends.': {
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [
        5,
        log([11], { filtersVersion: 2 }),
        ['record [] {"sentThrough":10,"highestRecordedId":10,"release":true,"disable":null}'],
      ],
      [9, RECORDED, ['end {"reason":"changed"}']],
    ],
  },
  'A run that has lost its lease records nothing, and ends when its POSTs are answered.': {
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
      [5, log([11, 12]), ['send 11', 'send 12']],
      [10, answered(fresh(11), 200), ['flush soon']],
      [
        35,
        FLUSH,
        ['record [11 delivered #1] {"sentThrough":11,"highestRecordedId":11,"release":false,"disable":null}'],
      ],
      [40, { type: 'lease lost' }, ['give back']],
      [45, answered(fresh(12), 200), ['end {"reason":"lost"}']],
      [50, WOKEN, []],
    ],
  },
  'A POST that the shutdown cut short has no result. A read that failed ends the run, and what was sent is recorded.':
    {
      steps: [
        [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
        [
          5,
          log([11, 12], { complete: false }),
          ['send 11', 'send 12', 'read log {"after":12,"highestRecordedId":10}'],
        ],
        [8, { type: 'failed' }, ['give back']],
        [10, answered(fresh(11), 200), ['flush soon']],
        [11, { type: 'stop' }, []],
        [
          12,
          { ...answered(fresh(12), 0), answer: NOT_SENT } as RunEvent,
          [
            'record [11 delivered #1] {"sentThrough":11,"highestRecordedId":11,"release":true,"disable":null}',
          ],
        ],
        [15, RECORDED, ['end {"reason":"failed"}']],
      ],
    },
  'A run has no more POSTs in flight than its process allows, and after a small read it reads on when half of it is sent.':
    {
      mostInFlight: 2,
      steps: [
        [0, STARTED, ['read log {"after":10,"highestRecordedId":10}']],
        [5, log([11, 12, 13, 14], { complete: false }), ['send 11', 'send 12']],
        [
          10,
          answered(fresh(11), 200),
          ['send 13', 'read log {"after":14,"highestRecordedId":10}', 'flush soon'],
        ],
      ],
    },
  'A replay is expanded into retries, some at a time, until none is left.': {
    start: { replaying: true },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}', 'expand replay']],
      [4, log([]), []],
      [5, { type: 'replay expanded', added: 1, replaying: true }, ['read retries {"limit":100}']],
      [9, retries([retry(3)]), ['send 3', 'expand replay']],
      [12, answered(retry(3), 200), ['flush soon']],
      [14, { type: 'replay expanded', added: 0, replaying: false }, []],
    ],
  },
  'A run that ends gives its lease back when its replay is expanded: what was expanded may be due now.': {
    start: { ordered: true, maxInFlight: 1, replaying: true, retryIn: 0 },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}', 'read retries {"limit":1}']],
      [4, log([]), []],
      [5, retries([retry(3)]), ['send 3', 'expand replay']],
      [
        8,
        answered(retry(3), 500),
        ['record [3 pending #2] {"sentThrough":10,"highestRecordedId":10,"release":false,"disable":null}'],
      ],
      [10, RECORDED, []],
      [
        12,
        { type: 'replay expanded', added: 1, replaying: false },
        ['record [] {"sentThrough":10,"highestRecordedId":10,"release":true,"disable":null}'],
      ],
      [14, RECORDED, ['end {"reason":"blocked"}']],
    ],
  },
  'An expansion that fails ends the run.': {
    start: { replaying: true },
    steps: [
      [0, STARTED, ['read log {"after":10,"highestRecordedId":10}', 'expand replay']],
      [4, log([]), []],
      [
        5,
        { type: 'expansion failed' },
        ['record [] {"sentThrough":10,"highestRecordedId":10,"release":true,"disable":null}'],
      ],
      [9, RECORDED, ['end {"reason":"failed"}']],
    ],
  },
};

it.each(Object.entries(SCENARIOS))('%s', (_, { start = {}, mostInFlight = 16, steps }) => {
  const run = createRun({ ...START, ...start }, 0);
  const handled = steps.map(([at, event]) => [
    at,
    describeStep(event),
    run.handle(event, { now: at, random: () => 0.5, mostInFlight }).map(describeStep),
  ]);
  expect(handled).toEqual(steps.map(([at, event, commands]) => [at, describeStep(event), commands]));
});
