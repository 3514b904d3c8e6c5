import type { ReceiveMovementWebhookPayload } from '../generated/types.gen.ts';
import type { RefusalReason } from './verification-error.ts';

/** Notifications, with the names of the fields as in docs/receiving-webhooks.md. */

/** A bank movement. What the bank did not send is "". */
export type Movement = ReceiveMovementWebhookPayload;

/** A closing balance of an account (docs/receiving/balances.md). */
export interface Balance {
  account_id: number;
  account: string;
  bank: string;
  /** ISO 4217. */
  currency: string;
  /** With two digits after the point: `1250.00`. */
  balance: string;
  /** The day, YYYY-MM-DD. */
  date: string;
  /** `statement`: the closing balance of a statement. */
  source: string;
  import_id: number;
  statement_id: number;
}

/** The webhook that an event is about. `origin` is the scheme, host and port of its endpoint. */
export interface WebhookSubject {
  id: number;
  title: string;
  event: string;
  origin: string;
}

/** The import that an event is about. */
export interface ImportSubject {
  id: number;
  format: string;
  source_id: number | null;
  rows_stored: number;
}

/** Days without a statement, or with statements that contradict each other. Days are YYYY-MM-DD, amounts text. */
export interface StatementPeriod {
  from: string;
  to: string;
  status: string;
  opening_balance: string;
  closing_balance: string;
  difference: string;
}

interface OfCustomer {
  customer_id: number;
}

interface OfPeriod extends OfCustomer {
  account_id: number;
  period: StatementPeriod;
}

interface StoppedWebhook extends OfCustomer {
  webhook: WebhookSubject;
  reason: string;
}

interface WaitingWebhook extends OfCustomer {
  webhook: WebhookSubject;
  pending: number;
  /** When the oldest movement was stored that was not sent; null: none waits. */
  waiting_since: string | null;
}

interface UnstableWebhook extends OfCustomer {
  webhook: WebhookSubject;
  /** When the endpoint recovered, the newest first. */
  recoveries: string[];
}

/** The member `data` of each type of operational event (docs/operational-events.md). Times are RFC 3339, in UTC. */
export interface EventData {
  'webhook.failing': OfCustomer & {
    webhook: WebhookSubject;
    /** Of the time until the webhook is disabled. */
    percent: 50 | 70 | 90;
    failing_since: string;
    disabled_at: string;
    last_error: string | null;
  };
  'webhook.disabled': StoppedWebhook;
  'webhook.quarantined': StoppedWebhook;
  'webhook.behind': WaitingWebhook;
  'webhook.caught_up': WaitingWebhook;
  'webhook.flapping': UnstableWebhook;
  'webhook.stable': UnstableWebhook;
  'delivery.failed': OfCustomer & {
    webhook: WebhookSubject;
    failed: number;
    delivery_ids: string[];
    last_error: string | null;
  };
  'import.failed': OfCustomer & { import: ImportSubject & { error: string | null } };
  'import.stuck': OfCustomer & { import: ImportSubject; received_at: string; imports: number };
  'movement.conflict': OfCustomer & { import: { id: number }; conflicts: number };
  'statement.gap': OfPeriod;
  'statement.contradiction': OfPeriod;
  'statement.late': OfCustomer & { account_id: number; late_since: string };
  'source.failing': OfCustomer & {
    source: { id: number; title: string; kind: string };
    consecutive_failures: number;
    error: string;
    next_run_at: string | null;
  };
  /** Only the operator gets it. */
  'delivery.stalled': { webhooks: number; oldest_seconds: number };
  'process.killed': { process: string; host: string; pid: number; silent_for_seconds: number };
}

interface EventOf<Type extends string, Data> {
  type: Type;
  /** When it was recorded: RFC 3339, in UTC. */
  timestamp: string;
  data: Data;
}

/** An operational event. Its `type` decides what `data` has. */
export type OperationalEvent = {
  [Type in keyof EventData]: EventOf<Type, EventData[Type] & { suppressed_until?: string }>;
}[keyof EventData];

/** An event of a type that this version of the package does not know. */
export type UnknownEvent = EventOf<string, Readonly<Record<string, unknown>>>;

/** What each notification has. */
export interface Sent {
  /** `webhook-id`, or in a batch the `id` of the event. It is the same on every attempt, alone or in any batch. */
  id: string;
  /** The name that the receiver gives the sender in `installations`; null without one. */
  installation: string | null;
  /**
   * The customer that it is for, if one endpoint gets those of many (a webhook template); null otherwise. From headers that the signature does not
   * cover. The hash of a movement, which is made with the API secret of its customer, proves whose it is.
   */
  customer: { id: string; externalId: string | null } | null;
  /** The time of this attempt: seconds since 1970. */
  sentAt: number;
}

export interface MovementNotification extends Sent {
  kind: 'movement';
  /** The id of the movement in the listing, as `webhook-id` has it. */
  transactionId: string;
  movement: Movement;
}

/** A movement was withdrawn. It may come before its movement, and without it. */
export interface WithdrawalNotification extends Sent {
  kind: 'withdrawal';
  /** The id of the withdrawn movement, as `webhook-id` has it. */
  transactionId: string;
  /** As it was sent when it was new. */
  movement: Movement;
}

export interface BalanceNotification extends Sent {
  kind: 'balance';
  /** When it was recorded: RFC 3339, in UTC. Of the same date, the balance with the latest one counts. */
  timestamp: string;
  balance: Balance;
}

export interface EventNotification extends Sent {
  kind: 'event';
  event: OperationalEvent;
}

export interface UnknownNotification extends Sent {
  kind: 'unknown';
  event: UnknownEvent;
}

/** What `POST /v1/webhooks/:id/test` sends, with made-up values. Its id begins with `msg_test_`. */
export interface TestNotification extends Sent {
  kind: 'test';
  sample: Movement | UnknownEvent;
}

/** A genuine notification. Its `kind` decides what else it has. */
export type Notification =
  | MovementNotification
  | WithdrawalNotification
  | BalanceNotification
  | EventNotification
  | UnknownNotification
  | TestNotification;

/** An event of a genuine batch that is not processed: its hash is wrong, or its body is not a notification. */
export interface RefusedEvent extends Sent {
  kind: 'refused';
  reason: RefusalReason;
  message: string;
}

/** Several notifications in one POST, in their order. Its id is another one in each POST, also in a retry. */
export interface Batch extends Sent {
  kind: 'batch';
  events: readonly (Notification | RefusedEvent)[];
}
