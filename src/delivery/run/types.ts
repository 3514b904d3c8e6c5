import type { Extended } from '../../movements/extended.ts';
import type { Answer } from '../posting/types.ts';
import type { Outcome } from './schedule.ts';

/** The input and output of the state machine of a delivery run: start, events, commands and records. */

/**
 * How an endpoint has been answering, and the state of its circuit: closed (`openUntil` and `recoverySuccesses` are null), open
 * (until `openUntil`), or half-open (`recoverySuccesses` is not null). Stored in `webhook_cursors`. Times: milliseconds since 1970.
 */
export interface EndpointHealth {
  consecutiveFailures: number;
  /** When the failures since the last success began. After a day without an attempt, this period begins again. */
  failingSince: number | null;
  /** Days since `failingSince`, the first one included, each of which had a failed attempt. */
  failingDays: number;
  /** How often the circuit has opened since the last success. The time that it stays open doubles with each opening, up to 10 min. */
  circuitOpenings: number;
  openUntil: number | null;
  /** Successes of a new or recovering endpoint. null: the endpoint has recovered and gets as many POSTs at a time as its webhook allows. */
  recoverySuccesses: number | null;
  /** Answers since the last success that rejected the body (400, 413, 422 …), of an event or of a batch. */
  consecutiveRejections: number;
  /**
   * The most events of the next batch, while the endpoint rejects batches: half of a batch that was rejected, and twice as many with each
   * success. null: as many as the webhook allows.
   */
  batchLimit: number | null;
}

/** Applies the answer to a POST to the health of its endpoint, as the health is now: that of a template's endpoint may have changed since the POST. */
export type HealthChange = (health: EndpointHealth) => EndpointHealth;

/** A movement as a notification shows it. Amounts and dates are strings as MySQL writes them. */
export interface NotifiedMovement {
  /** Of the withdrawal of a movement: an id of its own, after those of the movements that were stored before. */
  transaction_id: string;
  /** The notification says that this movement was withdrawn. undefined: it is a new movement. */
  withdraws?: string;
  dc: string;
  code: string | null;
  amount: string;
  balance: string | null;
  currency: string;
  description: string | null;
  account_id: string;
  account: string;
  bank: string;
  opponent_id: string | null;
  opponent_iban: string | null;
  date_issue: string;
  /** Only for a webhook with an extended body. */
  extended?: Extended;
}

/** An operational event as a notification shows it. */
export interface NotifiedEvent {
  type: string;
  /** RFC 3339, in UTC. */
  timestamp: string;
  /** JSON. */
  data: string;
}

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
  subjectId: number;
  /** `log`: a new movement. `retries`: a delivery that is due again. */
  source: 'log' | 'retries';
  /** Attempts before this one, over the life of the delivery. */
  attempts: number;
  /** Failed attempts on the current retry schedule. A redelivery or a replay starts it again at 0. */
  failures: number;
  /** The content of the body: an event if the webhook is sent events. null: it is not stored any more. */
  content: LoggedMovement | LoggedEvent | null;
  /** There is no content, because the movement was withdrawn. */
  isWithdrawn?: boolean;
}

/** The result of one attempt that has ended. */
export interface AttemptResult {
  subjectId: number;
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
  /** How often the attempt sent its POST. */
  posts: number;
  /** When the movement was stored, in milliseconds since 1970; null: it is not stored any more. */
  storedAt: number | null;
  error: string | null;
  response: string;
  /** The first delivery of the batch that it was sent in, whose result has the answer. null: it was sent alone. */
  batchFirst: number | null;
  failures: number;
  /** Milliseconds until the next attempt. null: the delivery is not pending. */
  retryIn: number | null;
  /** Only for the log. */
  logged: LoggedAttempt;
}

/** Details of an attempt that only the log has. */
export interface LoggedAttempt {
  /** Bytes of the body that was sent. */
  bytes: number;
  traceId: string | undefined;
  /** The endpoint failed, and had not failed before. */
  isFirstFailure: boolean;
  /** How the attempt changed the endpoint's circuit; `undefined`: not at all. */
  circuit: 'opened' | 'closed' | undefined;
}

/** A batch that the receiver has rejected. Its deliveries have no result: they are sent again in smaller batches. */
export interface RejectedBatch {
  /** The lowest and the highest id of its movements or events. */
  firstId: number;
  lastId: number;
  /** How many events the batch had. */
  events: number;
  statusCode: number;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  response: string;
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
  /** Whether other webhooks of a template have the same endpoint, so that the stored health changes by what their runs see too. */
  isHealthShared: boolean;
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
  /** null: each delivery is a POST of its own. */
  batch: BatchLimits | null;
}

/** How deliveries are put together. */
export interface BatchLimits {
  /** The most deliveries of a batch. */
  max: number;
  /** How long a batch that is not full waits for more, in milliseconds. */
  waitMs: number;
  /** For how long the batch still waits that had begun before the run, in milliseconds. */
  dueIn: number;
  /** The most bytes of a batch with more than one delivery. */
  maxBytes: number;
  /** The bytes that a delivery adds to its batch. */
  bytesOf(delivery: Delivery): number;
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
  | 'no DNS'
  | 'stopped';

/** The end of a POST with a batch. */
export interface BatchAnswered {
  deliveries: readonly Delivery[];
  /** The ids of their events, in the same order. */
  ids: readonly string[];
  answer: Answer;
  startedAt: number;
  durationMs: number;
  /** Bytes of the body that was sent. */
  bytes: number;
}

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
  | {
      type: 'answered';
      delivery: Delivery;
      answer: Answer;
      startedAt: number;
      durationMs: number;
      /** Bytes of the body that was sent. */
      bytes: number;
    }
  | ({ type: 'batch answered' } & BatchAnswered)
  /** Results have waited long enough and must be recorded now. */
  | { type: 'flush due' }
  /** health: of the endpoint, if the webhook shares it. null: it is its own. */
  | { type: 'recorded'; revision: number; health: EndpointHealth | null }
  | { type: 'timer' }
  /** Nothing more can be recorded: another run has the lease, or MySQL did not accept the record. */
  | { type: 'lease lost' }
  /** The DNS servers of the machine do not answer, so that no endpoint can be judged. */
  | { type: 'no DNS' }
  /** Something failed that this run cannot repair, such as a read. The results so far are still recorded. */
  | { type: 'failed' }
  /** As `failed`, for the expansion of a replay: it is not under way any more. */
  | { type: 'expansion failed' }
  /** End as soon as possible: the process shuts down or was frozen, or too many of its runs linger. */
  | { type: 'stop' };

/** The output of the state machine: something to do now. One event answers each read, record and expansion. At most one of each kind is under way. */
export type RunCommand =
  | { type: 'read log'; after: number; highestRecordedId: number }
  | { type: 'read retries'; limit: number }
  | { type: 'expand replay' }
  | { type: 'send'; delivery: Delivery }
  /** One POST with these deliveries, in this order. At least one, each with its content. */
  | { type: 'send batch'; deliveries: readonly Delivery[] }
  /** The run ends. What has not been sent yet, because it waits for other POSTs to end, is answered with an aborted answer. */
  | { type: 'give back' }
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
  rejectedBatches: readonly RejectedBatch[];
  cursor: Cursor;
  /** null: unchanged, or shared. */
  health: EndpointHealth | null;
  /** The changes of a shared health since the last record, in order. */
  healthChanges: readonly HealthChange[];
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
