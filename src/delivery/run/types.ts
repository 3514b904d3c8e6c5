import type { NotifiedEvent, NotifiedMovement } from '../posting/notification.ts';
import type { Answer } from '../posting/post.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import type { Outcome } from './schedule.ts';

/** The input and output of the state machine of a delivery run: start, events, commands and records. */

/** A movement of the log. */
export interface LoggedMovement extends NotifiedMovement {
  /** When it was stored: microseconds since 1970. */
  stored_at: string;
}

/** An event that a webhook is sent in place of a movement. */
export interface LoggedEvent extends NotifiedEvent {
  /** null: the event belongs to no account. */
  account_id: string | null;
  /** When it was recorded: microseconds since 1970. */
  stored_at: string;
}

/** One movement or operational event to be sent to one webhook. */
export interface Delivery {
  /** The id of the movement or the event. */
  transactionId: number;
  /** `log`: a new movement. `retries`: a delivery that is due again. */
  source: 'log' | 'retries';
  /** Attempts before this one, over the life of the delivery. */
  attempts: number;
  /** Failed attempts on the current retry schedule. A redelivery or a replay starts it again at 0. */
  failures: number;
  /** The content of the body: an event if the webhook is sent events. null: it is not stored any more. */
  movement: LoggedMovement | LoggedEvent | null;
}

/** The result of one attempt that has ended. */
export interface AttemptResult {
  transactionId: number;
  /** Where the delivery came from. A delivery from `retries` has a row there. */
  source: Delivery['source'];
  /** Counted from 1 over the life of the delivery. */
  number: number;
  /** The delivery's status after this attempt. */
  status: 'pending' | 'delivered' | 'failed';
  outcome: Outcome['kind'];
  statusCode: number | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  /** When the movement was stored, in milliseconds since 1970; null: it is not stored any more. */
  storedAt: number | null;
  error: string | null;
  response: string;
  failures: number;
  /** Milliseconds until the next attempt. null: the delivery is not pending. */
  retryIn: number | null;
}

/** A webhook's position in the movement log. */
export interface Cursor {
  /** Every matching movement up to this id has a result. */
  sentThrough: number;
  /** No movement beyond this id has a result. Up to it, some may have none. Never lower than `sentThrough`. */
  highestRecordedId: number;
}

/** The state of a webhook at the start of a run. */
export interface RunStart {
  revision: number;
  ordered: boolean;
  maxInFlight: number;
  /** POSTs per second; null: no limit. */
  rateLimit: number | null;
  /** Milliseconds until the rate limit allows the next POST. */
  rateWait: number;
  health: EndpointHealth;
  lastError: string | null;
  cursor: Cursor;
  /** Whether the log holds matching movements beyond the cursor. */
  hasBacklog: boolean;
  /** The customer's `filters_version`, which grows when one of the customer's webhooks changes what it matches. */
  filtersVersion: number;
  /** Milliseconds until the next retry is due (ordered webhook: the retry with the lowest transaction id). null: no retry is waiting. */
  retryIn: number | null;
  /** Whether a replay is unfinished. */
  replaying: boolean;
  /** Milliseconds to wait after the first failure, the second, and so on. A failure after the last wait is final. */
  retryDelays: readonly number[];
  /** The run ends if it still has something to send after this long. Being idle starts a new slice. Milliseconds. */
  sliceLength: number;
  /** After this long, the run ends the next time it is idle. Milliseconds. */
  longestRun: number;
  /** How long an idle run waits for new movements. Milliseconds. */
  linger: number;
}

/** Why a run ends (all reasons: docs/states.md). `idle`: nothing is left to send now. `changed`: the webhook must be read again. */
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

/** The input of the state machine: something has happened. */
export type RunEvent =
  /** The first event. */
  | { type: 'started' }
  /** There may be more to send: new movements, or (`reread`) anything about the webhook may have changed. */
  | { type: 'woken'; reread: boolean }
  | {
      type: 'log read';
      deliveries: Delivery[];
      /** No other match is left at or before this id. */
      through: number;
      /** At the moment of the read, there were no movements beyond `through`. */
      complete: boolean;
      filtersVersion: number;
    }
  | {
      type: 'retries read';
      deliveries: Delivery[];
      /** Milliseconds until the next retry that is not in `deliveries`. 0: more are due. null: there is none. */
      nextIn: number | null;
    }
  /** Some of a replay's deliveries became due, or none was left. */
  | { type: 'replay expanded'; added: number; replaying: boolean }
  | { type: 'answered'; delivery: Delivery; answer: Answer; startedAt: number; durationMs: number }
  /** Results have waited long enough and must be recorded now. */
  | { type: 'flush due' }
  | { type: 'recorded'; revision: number }
  | { type: 'timer' }
  /** Nothing more can be recorded: another run has the lease, or MySQL did not accept the record. */
  | { type: 'lease lost' }
  /** Something failed that this run cannot repair, such as a read. The results so far are still recorded. */
  | { type: 'failed' }
  /** End as soon as possible: the process shuts down or was frozen, or too many of its runs linger. */
  | { type: 'stop' };

/** The output of the state machine: something to do now. One event answers each read, record and expansion. At most one of each kind is under way. */
export type RunCommand =
  | { type: 'read log'; after: number; highestRecordedId: number }
  | { type: 'read retries'; limit: number }
  | { type: 'expand replay' }
  | { type: 'send'; delivery: Delivery }
  /** Results have come in. Send `flush due` soon. */
  | { type: 'flush soon' }
  | { type: 'record'; record: RunRecord }
  /** Send `timer` at this moment. This replaces the timer that was set before. */
  | { type: 'set timer'; at: number }
  /** The run starts, or stops, waiting for new movements with nothing else to do. */
  | { type: 'idle'; isIdle: boolean }
  | { type: 'end'; reason: RunEnd };

/** A record of a run: its results, its cursor, and the health of its endpoint. */
export interface RunRecord {
  results: readonly AttemptResult[];
  cursor: Cursor;
  /** null: unchanged. */
  health: EndpointHealth | null;
  /** Milliseconds until the rate limit allows the next POST; null: no limit. */
  rateWait: number | null;
  lastError: string | null;
  /** Why the webhook is to be disabled; null: it is not. */
  disable: string | null;
  /** The webhook revision this run started with. */
  revision: number;
  /** Whether the run ends with this record and gives its lease back. */
  release: boolean;
}
