import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { isAway } from '../database/transaction.ts';
import { type Batch, type DueDelivery, readDue } from './due.ts';
import type { Lease } from './lease.ts';
import type { Ledger } from './ledger.ts';
import { createPace } from './pace.ts';
import type { Poster } from './post.ts';
import type { AttemptResult, Results } from './results.ts';
import { settle } from './settle.ts';
import type { Starts } from './starts.ts';
import type { Subscriber } from './subscriber.ts';
import type { Turns } from './turns.ts';

/** The next batch is read while at least this many are still to be sent. */
const READ_AHEAD = 200;

/** Results written together, unless nothing more is in flight, or the ledger reminds of those that wait. */
const WRITE_RESULTS = 200;

/** A webhook that is owed no more than this is owed little. */
const LITTLE = 10;

/** A rate limit that makes us wait for longer than this is waited for by a delayed job, not by a slot of the worker. */
const LONGEST_PACE_WAIT = 500;

/**
 * Why a drain came to its end: nothing due is left, the time slice is used up, the endpoint or the rate limit asks for a
 * pause, the webhook's settings changed, the lease is lost, or the process is shutting down.
 */
export type DrainEnd = 'empty' | 'slice over' | 'paused' | 'changed' | 'lost' | 'stopped';

/** How a drain ended. `released`: its last results were written, and the lease given back with them. */
export interface Drained {
  end: DrainEnd;
  released: boolean;
}

export interface DrainContext {
  database: DataSource;
  ledger: Ledger;
  turns: Turns;
  starts: Starts;
  poster: Poster;
  /** Milliseconds; must never go back. */
  clock: () => number;
  /** In [0, 1), for jitter. */
  random: () => number;
  /** The retry schedule, milliseconds. */
  delays: readonly number[];
}

/**
 * Sends what one webhook is owed: reads batches ahead, keeps as many POSTs in flight as the webhook and the state of
 * its endpoint allow, and writes results behind, all three at once.
 * @param first what is due, read after the lease was taken.
 * @param sliceEnd when to stop starting new POSTs, on the context's clock.
 * @throws what MySQL throws, once all that was in flight has ended; what was not written is then sent again.
 */
export async function drain(
  { database, ledger, turns, starts, poster, clock, random, delays }: DrainContext,
  subscriber: Subscriber,
  lease: Lease,
  { first, sliceEnd, signal }: { first: Batch; sliceEnd: number; signal: AbortSignal },
): Promise<Drained> {
  const { webhookId, maxInFlight, ordered, revision } = subscriber;
  const pace = createPace(subscriber.rateLimit, clock() + subscriber.rateWait);
  const ready: DueDelivery[] = [];
  /** Read and not yet written: still due in the table, so that a read may meet them again. */
  const inHand = new Set<string>();
  let breaker = subscriber.breaker;
  let results: AttemptResult[] = [];
  let inFlight = 0;
  let sent = 0;
  let newestFresh = '0';
  let exhausted = false;
  let reading = false;
  let writing = false;
  let lastError: string | null = null;
  let disable: string | null = null;
  let end: DrainEnd | null = null;
  let failure: { error: unknown } | null = null;
  let writeFailed = false;
  let released = false;
  let writeDue = false;
  let paceTimer: NodeJS.Timeout | null = null;
  let finish: () => void = () => {};

  const stop = (reason: DrainEnd) => {
    end ??= reason;
  };
  const fail = (error: unknown) => {
    failure ??= { error };
    stop('lost');
  };

  const writeDueResults = () => {
    writeDue = true;
    goOn();
  };

  /** Why nothing more may be started in this run, or null. */
  function reasonToStop(now: number): DrainEnd | null {
    if (signal.aborted) return 'stopped';
    if (now >= sliceEnd) return 'slice over';
    if (breaker.pausedUntil !== null && breaker.pausedUntil > now) return 'paused';
    return pace.wait(now) > LONGEST_PACE_WAIT ? 'paused' : null;
  }

  /** Starts one POST, unless something limits them. @returns whether it did. */
  function startNext(): boolean {
    if (end !== null || ready.length === 0) return false;
    const now = clock();
    end = reasonToStop(now);
    if (end !== null) goOn();
    const limit = Math.min(maxInFlight, breaker.inFlightLimit ?? maxInFlight);
    if (end !== null || inFlight >= limit) return false;
    const wait = pace.wait(now);
    if (wait > 0) {
      paceTimer ??= setTimeout(() => {
        paceTimer = null;
        goOn();
      }, wait);
      return false;
    }
    pace.spend(now);
    const delivery = ready.shift();
    if (delivery !== undefined) void attempt(delivery);
    return true;
  }

  /** Only those that are owed much take turns. */
  function sendReady(): void {
    while (sent < LITTLE && startNext());
    if (sent >= LITTLE) starts.share(startNext);
  }

  async function attempt(delivery: DueDelivery): Promise<void> {
    inFlight += 1;
    sent += 1;
    const startedAt = new Date();
    const started = clock();
    try {
      const answer = await poster.post(subscriber.request(delivery, Math.floor(startedAt.getTime() / 1_000)));
      // Cut short by our own shutdown: it says nothing about the receiver, and counts for nothing.
      if (answer.aborted) return;
      const kept = { ...answer, body: subscriber.redact(answer.body) };
      const settled = settle(delivery, kept, breaker, {
        startedAt,
        durationMs: clock() - started,
        now: clock(),
        random,
        delays,
        maxInFlight,
        ordered,
      });
      const delivered = settled.result.outcome === 'delivered';
      turns.ended(webhookId, delivered);
      if (delivered && sent < LITTLE && exhausted) starts.servedLittle();
      results.push(settled.result);
      breaker = settled.breaker;
      lastError = settled.fault ?? lastError;
      disable ??= settled.disable;
      if (disable !== null) stop('changed');
      ledger.remind(writeDueResults);
    } catch (error) {
      fail(error);
    } finally {
      inFlight -= 1;
      goOn();
    }
  }

  function takeIn(batch: Batch): void {
    newestFresh = batch.newestFresh;
    const unseen = batch.rows.filter(({ id }) => !inHand.has(id));
    // Reading the same again and again, while what is in hand is still under way, would find nothing else.
    exhausted = batch.complete || unseen.length === 0;
    if (batch.rows.some((row) => row.revision !== revision)) {
      stop('changed');
      return;
    }
    for (const row of unseen) {
      inHand.add(row.id);
      ready.push(row);
    }
  }

  async function read(): Promise<void> {
    reading = true;
    try {
      takeIn(await turns.take(webhookId, () => readDue(database, webhookId, newestFresh)));
    } catch (error) {
      fail(error);
    } finally {
      reading = false;
      goOn();
    }
  }

  /** This run sends and writes nothing more, once what is being written is; with new settings it would go on. */
  const isEnding = () =>
    inFlight === 0 &&
    !reading &&
    results.length === 0 &&
    (end === null ? ready.length === 0 && exhausted : end !== 'changed' && end !== 'lost');

  function resultsOf(attempts: AttemptResult[]): Results {
    const now = clock();
    const rateWait = subscriber.rateLimit === null ? null : pace.wait(now);
    return { lease, ended: isEnding(), attempts, breaker, rateWait, lastError, disable, revision, now };
  }

  async function write(): Promise<void> {
    writing = true;
    const attempts = results;
    let ended = false;
    results = [];
    ledger.forget(writeDueResults);
    writeDue = false;
    try {
      const writeNow = () => {
        const batch = resultsOf(attempts);
        ended = batch.ended;
        return ledger.write(batch);
      };
      // What has arrived need not be sent again because MySQL is away for a moment.
      const kept = await pRetry(writeNow, {
        retries: 5,
        minTimeout: 250,
        shouldRetry: ({ error }) => isAway(error) && !signal.aborted,
      });
      if (!kept) stop('lost');
      released = kept && ended;
      for (const { deliveryId } of attempts) inHand.delete(deliveryId);
    } catch (error) {
      writeFailed = true;
      fail(error);
    } finally {
      writing = false;
      goOn();
    }
  }

  const mayRead = () => !reading && end === null && !exhausted && ready.length < READ_AHEAD;
  const mayWrite = () =>
    !writing &&
    results.length > 0 &&
    !writeFailed &&
    (results.length >= WRITE_RESULTS || writeDue || (inFlight === 0 && (end !== null || ready.length === 0)));
  const isOver = () =>
    inFlight === 0 &&
    !reading &&
    !writing &&
    (results.length === 0 || writeFailed) &&
    (end !== null || (ready.length === 0 && exhausted));

  /** Runs after every event: begins whatever may be begun now. */
  function goOn(): void {
    sendReady();
    if (mayRead()) void read();
    if (mayWrite()) void write();
    if (isOver()) finish();
  }

  takeIn(first);
  await new Promise<void>((resolve) => {
    finish = resolve;
    goOn();
  });
  ledger.forget(writeDueResults);
  if (paceTimer !== null) clearTimeout(paceTimer);
  if (failure !== null) throw (failure as { error: unknown }).error;
  return { end: end ?? 'empty', released };
}
