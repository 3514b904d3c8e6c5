import type { DataSource } from 'typeorm';
import type { SecretBox } from '../database/secret-box.ts';
import type { Log } from '../log.ts';
import { type DrainContext, drain } from './drain.ts';
import { readDue } from './due.ts';
import { type Lease, releaseLease, renewLeases, takeLeases } from './lease.ts';
import { createLedger } from './ledger.ts';
import type { Poster } from './post.ts';
import { RETRY_DELAYS } from './schedule.ts';
import { createStarts } from './starts.ts';
import { openSubscriber, readSubscribers } from './subscriber.ts';
import { together } from './together.ts';
import { createTurns } from './turns.ts';
import { waitsUntilDue } from './wait.ts';

const SECOND = 1_000;

/** After this long a webhook goes to the tail of the queue, so that one that is owed a million and one that is owed one take turns. */
const TIME_SLICE = 3 * SECOND;

/** A hanging receiver yields no results, which would prolong the lease as they are written. */
const RENEW_EVERY = 4 * SECOND;

/**
 * A webhook whose runs have ended so often without a result and without giving the lease back takes its process down
 * with it: it is set apart, so that the others are delivered.
 */
const MAX_TRIES = 10;

const SET_APART = `
  UPDATE webhooks SET status = 'paused', revision = revision + 1,
    status_reason = 'Delivering to it has ended the delivery process ${MAX_TRIES} times in a row. Its deliveries are kept.'
  WHERE id = ? AND status = 'active'`;

/** Drains webhooks. One process runs many at once; of all processes, one at a time holds a webhook's lease. */
export interface Pump {
  /**
   * Sends what the webhook is owed, for one time slice at most, and leaves a job behind if something remains: at once
   * when it is due, or for the moment at which the next will be, or another run's lease must be over.
   * @throws what MySQL or Redis throws. Nothing is lost then: the reconciler finds what is due.
   */
  run(webhookId: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface PumpOptions extends Partial<Pick<DrainContext, 'clock' | 'random' | 'delays'>> {
  database: DataSource;
  secrets: SecretBox;
  poster: Poster;
  /** Adds the webhook's job, to run after `delay` milliseconds. */
  wake: (webhookId: string, delay: number) => Promise<void>;
  log: Log;
  timeSlice?: number;
}

/** Wall-clock milliseconds that never go back within a process, whatever is done to the clock. */
const monotonicNow = () => performance.timeOrigin + performance.now();

export function createPump(options: PumpOptions): Pump {
  const { database, secrets, poster, wake, log } = options;
  const {
    clock = monotonicNow,
    random = Math.random,
    delays = RETRY_DELAYS,
    timeSlice = TIME_SLICE,
  } = options;
  const turns = createTurns();
  const context: DrainContext = {
    database,
    ledger: createLedger(database),
    turns,
    starts: createStarts(),
    poster,
    clock,
    random,
    delays,
  };

  /** What this process is draining; one statement prolongs it all. */
  const held = new Set<Lease>();
  const renewal = setInterval(() => {
    renewLeases(database, [...held]).catch((err: unknown) => log.warn({ err }, 'leases not renewed'));
  }, RENEW_EVERY);

  const takeLease = together((ids: readonly string[]) => takeLeases(database, ids));
  const readSubscriber = together((ids: readonly string[]) => readSubscribers(database, ids));
  const askWait = together((ids: readonly string[]) => waitsUntilDue(database, ids));
  const untilDue = (webhookId: string) => turns.take(webhookId, () => askWait(webhookId));

  /**
   * Drains until nothing is due or the slice is over; a webhook whose settings changed goes on with the new ones.
   * @returns whether the lease was given back.
   */
  async function drainSlice(lease: Lease, sliceEnd: number, signal: AbortSignal): Promise<boolean> {
    const { webhookId } = lease;
    while (clock() < sliceEnd && !signal.aborted) {
      // Side by side: before the first POST each answer of MySQL is waited for.
      const [row, first] = await turns.take(webhookId, () =>
        Promise.all([readSubscriber(webhookId), readDue(database, webhookId)]),
      );
      if (row === null) {
        turns.ended(webhookId, false);
        return false;
      }
      const subscriber = openSubscriber(row, secrets, clock());
      if (subscriber.tries > MAX_TRIES) {
        await database.query(SET_APART, [webhookId]);
        log.error({ webhookId }, 'webhook set apart: its runs keep ending the process');
        return false;
      }
      const { end, released } = await drain(context, subscriber, lease, { first, sliceEnd, signal });
      if (end === 'lost') log.warn({ webhookId }, 'lease lost: another run sends on');
      if (end !== 'changed') return released;
    }
    return false;
  }

  /** Drains if something is due and nobody else is at it. */
  async function drainDue(webhookId: string, sliceEnd: number, signal: AbortSignal): Promise<void> {
    const lease = await turns.take(webhookId, () => takeLease(webhookId));
    if (lease === null) return;
    held.add(lease);
    let released = false;
    try {
      released = await drainSlice(lease, sliceEnd, signal);
    } finally {
      held.delete(lease);
      if (!released) await turns.take(webhookId, () => releaseLease(database, lease));
    }
  }

  return {
    async run(webhookId, signal) {
      const sliceEnd = clock() + timeSlice;
      let wait: number | null;
      do {
        await drainDue(webhookId, sliceEnd, signal);
        wait = await untilDue(webhookId);
      } while (wait === 0 && clock() < sliceEnd && !signal.aborted);
      if (wait === null) return;
      // A wake-up that came while the job was active starts it again when it ends; only adding the later job overwrites it.
      // Its rows were committed before it, so that a look after adding sees them.
      await wake(webhookId, wait);
      if (wait > 0 && (await untilDue(webhookId)) === 0) await wake(webhookId, 0);
    },
    close: () => clearInterval(renewal),
  };
}
