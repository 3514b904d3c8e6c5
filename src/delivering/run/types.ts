import type { NotifiedMovement } from '../posting/notification.ts';
import type { Answer } from '../posting/post.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import type { Outcome } from './outcome.ts';

/** One movement for one webhook, to be sent. */
export interface Delivery {
  transactionId: number;
  /** Where it was read: a new movement from the log, or one that is due again. */
  source: 'log' | 'retries';
  /** Attempts before this one, over the life of the delivery. */
  attempts: number;
  /** Failures on the retry schedule. */
  failures: number;
  /** null: it is not stored any more. */
  movement: NotifiedMovement | null;
}

/** One attempt that has ended, to be recorded. */
export interface AttemptResult {
  transactionId: number;
  /** Counted from 1 over the life of the delivery. */
  number: number;
  /** The delivery's status from now on. */
  status: 'pending' | 'delivered' | 'failed';
  outcome: Outcome['kind'];
  statusCode: number | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  error: string | null;
  response: string;
  failures: number;
  /** Milliseconds until the next attempt, for one that is pending; else null. */
  retryIn: number | null;
}

/** How far a run has got in the movement log; see the columns of `webhook_cursors`. */
export interface Cursor {
  sentThrough: number;
  recordedThrough: number;
}

/** A webhook as a run finds it when it begins. */
export interface RunStart {
  revision: number;
  ordered: boolean;
  maxInFlight: number;
  /** POSTs per second; null: no limit. */
  rateLimit: number | null;
  /** Milliseconds until the rate limit lets the next one go. */
  rateWait: number;
  health: EndpointHealth;
  lastError: string | null;
  cursor: Cursor;
  /** Nothing at or before this id is left to be read from the log. */
  logFrom: number;
  /** Whether the log holds matching movements beyond the cursor. */
  backlog: boolean;
  /** Changes with each change of what one of the customer's webhooks matches. */
  filtersVersion: number;
  /** Milliseconds until the next retry is due (of an ordered webhook: the first in its order); null: none is waiting. */
  retryIn: number | null;
  /** Whether a replay is not finished. */
  replaying: boolean;
  /** Milliseconds after each failure; the last failure is final. */
  retryDelays: readonly number[];
  /** How long the run sends without a pause, and after how long it ends at its next pause. Milliseconds. */
  sliceLength: number;
  longestRun: number;
  /** How long a run that has sent everything waits for more. Milliseconds. */
  linger: number;
}

/** Why a run ends. `idle`: nothing is left to be sent now. `changed`: the webhook must be read again. */
export type RunEnd =
  | 'idle'
  | 'slice over'
  | 'circuit open'
  | 'rate limited'
  | 'blocked'
  | 'changed'
  | 'failed'
  | 'lost'
  | 'stopped';

/** What has happened. */
export type RunEvent =
  /** The first event. */
  | { type: 'started' }
  /** More may be due: new movements, or (`reread`) anything about the webhook. */
  | { type: 'woken'; reread: boolean }
  | {
      type: 'log read';
      deliveries: Delivery[];
      /** Nothing that matches is left at or before this id. */
      through: number;
      /** Nothing beyond it was there at that moment. */
      complete: boolean;
      filtersVersion: number;
    }
  | {
      type: 'retries read';
      deliveries: Delivery[];
      /** Milliseconds until the next one that is not among them. */
      nextIn: number | null;
    }
  /** Some of a replay's deliveries were made due, or none was left. */
  | { type: 'replay expanded'; added: number; replaying: boolean }
  | { type: 'answered'; delivery: Delivery; answer: Answer; startedAt: number; durationMs: number }
  /** Results may wait no longer. */
  | { type: 'flush due' }
  | { type: 'recorded'; revision: number }
  | { type: 'timer' }
  /** Nothing more can be recorded: another run has the webhook, or MySQL did not take the record. */
  | { type: 'lease lost' }
  /** Something failed that this run cannot mend, such as a read. What has been sent is still recorded. */
  | { type: 'failed' }
  /** End as soon as possible: the process shuts down, or needs the place. */
  | { type: 'stop' };

/** What is to be done. Reads, records and expansions are answered by an event each; of each kind one is under way at a time. */
export type RunCommand =
  | { type: 'read log'; after: number; recordedThrough: number }
  | { type: 'read retries'; limit: number }
  | { type: 'expand replay' }
  | { type: 'send'; delivery: Delivery }
  /** Results have come: send `flush due` soon. */
  | { type: 'flush soon' }
  | { type: 'record'; record: RunRecord }
  /** Send `timer` at this moment, and not at the one asked for before. */
  | { type: 'set timer'; at: number }
  /** The run begins, or ends, to wait for new movements with nothing else to do. */
  | { type: 'idle'; isIdle: boolean }
  | { type: 'end'; reason: RunEnd };

/** What a run writes down: results, how far it has got, and how its endpoint answers. */
export interface RunRecord {
  results: readonly AttemptResult[];
  cursor: Cursor;
  /** null: as it was. */
  health: EndpointHealth | null;
  /** Milliseconds until the webhook's rate limit lets the next POST go; null: no limit. */
  rateWait: number | null;
  lastError: string | null;
  /** Why the webhook is to be disabled; null: it is not. */
  disable: string | null;
  /** The webhook's revision that the run started with. */
  revision: number;
  /** The run ends with this record, and gives its lease back. */
  release: boolean;
}
