import type { DnsWatch } from '../../platform/dns-watch.ts';
import type { Log } from '../../platform/log.ts';
import type { DeliveryMetrics } from '../../platform/metrics.ts';
import type { systemClock } from '../../platform/system-clock.ts';
import type { Lease, LeaseRequest } from '../../webhook-record/lease.ts';
import type { AttemptTraces } from '../posting/attempt-traces.ts';
import type { SealedSettings, Settings } from '../posting/request.ts';
import type { Answer, PostRequest } from '../posting/types.ts';
import type { EndpointHealth, RunRecord } from '../run/types.ts';
import type { WebhookState } from '../webhook-state.ts';
import type { MovementLog } from './movement-log.ts';
import type { RetriesRead } from './retries.ts';
import type { Quarantine } from './webhook-status.ts';

/** The interfaces of the delivery engine: the runner, and the ports through which it reaches MySQL, the queue, endpoints and the clock. */

export interface RunnerOptions extends EnginePorts {
  /** `undefined`: traces are off. */
  traces?: AttemptTraces | undefined;
  log: Log;
  metrics?: DeliveryMetrics;
  /** The retry schedule. Milliseconds. */
  delays?: readonly number[];
  timeSlice?: number;
  longestRun?: number;
  linger?: number;
  maxLingering?: number;
}

/** Runs deliveries. One process runs many webhooks at a time; across all processes, one run at a time holds a webhook's lease. */
export interface Runner {
  /**
   * Sends the webhook's due deliveries in one or more delivery runs. Starts no run after the time slice. If something is left, adds a job
   * for it: without delay if it is due now, otherwise delayed until it is due or another run's lease ends.
   * @throws what MySQL or Redis throws. Nothing is lost, because the reconciler finds due deliveries.
   */
  runJob(webhookId: string): Promise<void>;
  /** Notifies the active runs of these webhooks in this process. `reread` is as in `wakeWebhooks`. */
  notify(webhookIds: readonly string[], reread: boolean): void;
  /** Notifies the active runs of the webhooks of these templates that the templates have changed. */
  notifyTemplates(templateIds: readonly string[]): void;
  /** Ends all runs as soon as their POSTs in flight have ended. */
  stop(): void;
}

/** The record of one run, with the lease under which it is written. */
export interface LeasedRecord {
  lease: Lease;
  customerId: string;
  /** The webhook whose row has the settings and the health of the endpoint, a template or itself, and its revision when it was read. */
  settings: { id: string; revision: number };
  record: RunRecord;
  /** The moment that the record's times refer to, in milliseconds since 1970. */
  now: number;
}

/** Deliveries that are due again. */
interface RetriesPort {
  /** Reads the retries of a webhook that are due, see `readRetries`. */
  read(
    webhookId: string,
    options: { ordered: boolean; limit: number; ofEvents: boolean; isExtended: boolean },
  ): Promise<RetriesRead>;
  /** Makes the next deliveries of the webhook's oldest replay due, see `expandReplay`. */
  expandReplay(webhookId: string): Promise<{ added: number; replaying: boolean }>;
}

/** Reads and changes webhooks. A call may share a statement with calls for other webhooks. */
interface WebhooksPort {
  /** Reads the state of a webhook. @returns null when the webhook does not exist. */
  readState(webhookId: string): Promise<WebhookState | null>;
  /** Opens a webhook's settings: decrypts its secrets and prepares how its POSTs are built. */
  openSettings(settings: SealedSettings): Settings;
  /** Takes a webhook's lease. @returns null when another run holds it, or has held it or recorded results since the state was read. */
  takeLease(request: LeaseRequest): Promise<Lease | null>;
  /** Renews leases. @returns the leases that are still held. */
  renewLeases(leases: readonly Lease[]): Promise<Lease[]>;
  /** Disables a webhook or a template, unless it was changed since `revision`. */
  disable(webhook: { id: string; revision: number }, reason: string): Promise<void>;
  /** Takes the right to probe the endpoint of a template for all its webhooks. @returns false when another webhook has it. */
  claimProbe(webhook: { id: string; templateId: string }): Promise<boolean>;
  /** A probe has succeeded: wakes all webhooks that have waited for it. A failure is only logged, because the reconciler does the same. */
  wakeAfterProbe(): void;
  /** Gives back the right to probe. */
  endProbe(webhook: { id: string; templateId: string }): Promise<void>;
  /** Pauses a webhook because its runs cannot go on, see `quarantineWebhook`. */
  quarantine(
    webhook: { id: string; customerId: string; templateId: string | null },
    cause: string,
  ): Promise<Quarantine>;
}

/** The state of a webhook after its record was stored. */
export interface Recorded {
  /** The webhook's revision. */
  revision: number;
  /** The health of the endpoint, which the webhooks of a template share. null: the endpoint is the webhook's own. */
  health: EndpointHealth | null;
}

/** Records results. */
export interface ResultsPort {
  /**
   * Records the results of several runs in one transaction, see `recordResults`.
   * @throws {LeaseLostError} when one of the leases was lost. Then nothing was written.
   */
  record(records: readonly LeasedRecord[]): Promise<Recorded[]>;
}

/** The queue of webhooks. */
interface JobsPort {
  /** Adds the webhook's job, to run after `delay` milliseconds. */
  add(webhookId: string, delay: number): Promise<void>;
}

/** Reaches endpoints. */
interface PostPort {
  /** Sends a POST. Never rejects. */
  post(request: PostRequest): Promise<Answer>;
}

/** Cancels a timer. */
export type CancelTimer = () => void;

export type ClockPort = typeof systemClock;

/** Everything that the runner of a process needs from outside. */
export interface EnginePorts {
  movementLog: MovementLog;
  retries: RetriesPort;
  webhooks: WebhooksPort;
  results: ResultsPort;
  jobs: JobsPort;
  poster: PostPort;
  /** Left out: each name without an answer is a matter of its endpoint. */
  dns?: DnsWatch | undefined;
  clock: ClockPort;
  /** In [0, 1), for jitter. */
  random: () => number;
}
