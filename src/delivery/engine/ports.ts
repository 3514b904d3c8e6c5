import type { DataSource } from 'typeorm';
import { isConnectionError } from '../../database/errors.ts';
import type { SecretBox } from '../../database/secret-box.ts';
import { tryTransaction } from '../../database/transaction.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { Answer, PostRequest } from '../posting/post.ts';
import { readStates, type WebhookState } from '../webhook-state.ts';
import { expandReplay } from './expand-replay.ts';
import { type Lease, type LeaseRequest, renewLeases, takeLeases } from './lease.ts';
import { type MovementLog, openMovementLog } from './movement-log.ts';
import { type LeasedRecord, recordResults } from './record-results.ts';
import { openSettings, type SealedSettings, type Settings } from './request.ts';
import { type RetriesRead, readRetries } from './retries.ts';
import { disableWebhook, type Quarantine, quarantineWebhook } from './webhook-status.ts';

/**
 * The ports of the delivery engine: runner.ts, active-run.ts and result-writer.ts reach MySQL, Redis, endpoints and the clock only
 * through these interfaces. The model test implements them in memory with a virtual clock, and so drives the real engine.
 */

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
  /** Disables a webhook, unless it was changed since `revision`. */
  disable(webhook: { id: string; customerId: string; revision: number }, reason: string): Promise<void>;
  /** Pauses a webhook because its runs cannot go on, see `quarantineWebhook`. */
  quarantine(webhook: { id: string; customerId: string }, cause: string): Promise<Quarantine>;
}

/** Records results. */
export interface ResultsPort {
  /**
   * Records the results of several runs in one transaction, see `recordResults`.
   * @returns the revision of each webhook.
   * @throws {LeaseLostError} when one of the leases was lost. Then nothing was written.
   */
  record(records: readonly LeasedRecord[]): Promise<number[]>;
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

export interface ClockPort {
  /** Milliseconds since 1970 that never go back within a process, even if the system clock is set back. */
  now(): number;
  /** Milliseconds since 1970 by the system clock. */
  wallTime(): number;
  /** Calls back after some milliseconds. */
  after(milliseconds: number, callback: () => void): CancelTimer;
  /** Calls back in the next pass of the event loop. */
  nextPass(callback: () => void): void;
}

export const systemClock: ClockPort = {
  now: () => performance.timeOrigin + performance.now(),
  wallTime: Date.now,
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
  nextPass: (callback) => void setImmediate(callback),
};

/** Everything that the runner of a process needs from outside. */
export interface EnginePorts {
  movementLog: MovementLog;
  retries: RetriesPort;
  webhooks: WebhooksPort;
  results: ResultsPort;
  jobs: JobsPort;
  poster: PostPort;
  clock: ClockPort;
  /** In [0, 1), for jitter. */
  random: () => number;
}

type MysqlPorts = Pick<EnginePorts, 'movementLog' | 'retries' | 'webhooks' | 'results'>;

/** The ports of the delivery engine that lead to MySQL. */
export function createMysqlPorts(database: DataSource, secrets: SecretBox): MysqlPorts {
  // A webhook that cannot be read must not fail the others, so they are tried one by one after a failure.
  const afterFailure = (error: unknown) => (isConnectionError(error) ? 'fail' : 'alone');
  return {
    movementLog: openMovementLog(database),
    retries: {
      read: (webhookId, options) => readRetries(database, webhookId, options),
      expandReplay: (webhookId) => expandReplay(database, webhookId),
    },
    webhooks: {
      readState: createBatcher((ids: readonly string[]) => readStates(database, ids), { afterFailure }),
      openSettings: (settings) => openSettings(settings, secrets),
      takeLease: createBatcher((requests: readonly LeaseRequest[]) => takeLeases(database, requests), {
        afterFailure,
      }),
      renewLeases: (leases) => tryTransaction(database, (sql) => renewLeases(sql, leases)),
      disable: (webhook, reason) => disableWebhook(database, webhook, reason),
      quarantine: (webhook, cause) => quarantineWebhook(database, webhook, cause),
    },
    results: { record: (records) => recordResults(database, records) },
  };
}
