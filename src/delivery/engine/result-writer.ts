import { LRUCache } from 'lru-cache';
import { isConnectionError, isRetryableLockError, isTransient } from '../../database/errors.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { Log } from '../../platform/log.ts';
import type { DeliveryMetrics } from '../../platform/metrics.ts';
import type { Lease } from '../../webhook-record/lease.ts';
import { formatDeliveryId } from '../delivery-id.ts';
import type { AttemptResult } from '../run/types.ts';
import type { ClockPort, LeasedRecord, Recorded, ResultsPort } from './ports.ts';
import { LeaseLostError } from './record-results.ts';

/** Records the results of all runs of a process. Results that come at about the same time share a transaction. */

/** How many transactions run at a time. While one waits for locks, the other continues. */
const WRITERS = 2;

/** How long a result waits for other results while the writers keep up. Milliseconds. */
const FLUSH_AFTER = 25;

/** The first and the longest wait before a failed record is tried again. The wait doubles each time. Milliseconds. */
const FIRST_DELAY = 250;
const LONGEST_DELAY = 2_000;

/** A record that MySQL refuses is given up after this many attempts, which take 14 seconds. */
const MOST_REFUSALS = 10;

/** If MySQL refuses results of this many customers at the same time, no endpoint is the cause, and no record is given up. */
const MANY_REFUSED = 5;

/** MySQL refuses the results of one webhook, and no repetition will help. */
export class ResultsRefusedError extends Error {
  override name = 'ResultsRefusedError';
}

/**
 * Without LOG_LEVEL=debug, the log has the first failure of a webhook's endpoint at most this often. Otherwise an endpoint that fails every
 * second time would fill the log. Milliseconds.
 */
const TELL_EVERY = 60_000;

const MOST_TOLD = 10_000;

/** The most webhooks, and the most results of all of them together, in one transaction. */
const MAX_WEBHOOKS = 100;
const MAX_RESULTS = 300;

/** MySQL's name for an error. The message may contain values of movements, so it is only logged. */
const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? 'unknown error');

export interface ResultWriter {
  /**
   * Records the results of one run. Tries again after a failure until the lease is lost, because no other run sends again in that time.
   * @returns null when the lease was lost and nothing was written.
   * @throws {ResultsRefusedError} when MySQL has refused the results 10 times in a row, and the results of fewer than 5 customers in all.
   * @throws what MySQL throws after `stop`. Then nothing was written, or the answer to its COMMIT was lost.
   */
  write(record: LeasedRecord): Promise<Recorded | null>;
  /**
   * Calls back in 25 ms, at the same moment for all callers, so that their results are recorded together. Calls back later while
   * records wait for a writer, so that more results share a record.
   */
  flushSoon(callback: () => void): void;
  /** The process shuts down. Records that fail from now on are not tried again. */
  stop(): void;
}

/**
 * @param options.metrics counts the recorded results, if given.
 * @param options.onLocked called with the lease of a record that failed to get a lock. The lease could not be renewed during the wait
 * for the lock, but it can be renewed until the record is tried again.
 */
export function createResultWriter(
  results: ResultsPort,
  clock: ClockPort,
  {
    log,
    metrics,
    onLocked = () => {},
  }: { log: Log; metrics?: DeliveryMetrics | undefined; onLocked?: (lease: Lease) => void },
): ResultWriter {
  const isDebug = log.isLevelEnabled('debug');
  /** When the log last told of a first failure of a webhook, by the clock. Unlike `max`, `maxSize` allocates nothing in advance. */
  const toldOf = new LRUCache<string, number>({ maxSize: MOST_TOLD, sizeCalculation: () => 1 });
  function logAttempt(webhookId: string, result: AttemptResult): void {
    const {
      logged,
      subjectId,
      number: attempt,
      outcome,
      statusCode,
      durationMs,
      posts,
      retryIn,
      error,
    } = result;
    const { bytes, traceId, isFirstFailure, circuit } = logged;
    const isNews = isFirstFailure && clock.now() - (toldOf.get(webhookId) ?? -TELL_EVERY) >= TELL_EVERY;
    const isTold = isNews || circuit !== undefined;
    if (!isTold && !isDebug) return;
    if (isNews) toldOf.set(webhookId, clock.now());
    const deliveryId = formatDeliveryId({ webhookId, subjectId: String(subjectId) });
    log[isTold ? 'info' : 'debug'](
      {
        webhookId,
        deliveryId,
        attempt,
        outcome,
        statusCode,
        durationMs,
        posts,
        bytes,
        retryIn,
        circuit,
        traceId,
        error,
      },
      'delivery.attempted',
    );
  }
  /** Records that no writer has taken yet. */
  const waiting = new Set<LeasedRecord>();
  const recordAll = async (records: readonly LeasedRecord[]) => {
    for (const record of records) waiting.delete(record);
    const recorded = await results.record(records);
    for (const { lease, record } of records) {
      metrics?.recorded(record.results, record.rejectedBatches);
      for (const result of record.results) logAttempt(lease.webhookId, result);
    }
    return recorded;
  };
  const write = createBatcher(recordAll, {
    workers: WRITERS,
    maxItems: MAX_WEBHOOKS,
    maxWeight: MAX_RESULTS,
    weigh: ({ record }) => record.results.length,
    // A lost lease, or a value that MySQL refuses, must not fail the other records.
    afterFailure: (error) => (isConnectionError(error) ? 'fail' : 'alone'),
  });
  /** Results that were refused are tried alone, and hold up no others. */
  const writeAlone = createBatcher(recordAll, { maxItems: 1 });
  /** The webhooks whose results are refused, and their customers. */
  const refused = new Map<string, string>();
  const areManyRefused = () => new Set(refused.values()).size >= MANY_REFUSED;
  /** Notes that a record has failed. @returns whether MySQL has refused it. */
  function noteFailure(record: LeasedRecord, err: unknown): boolean {
    const { webhookId } = record.lease;
    const isRefused = !isTransient(err);
    log[isRefused ? 'error' : 'warn']({ err, webhookId }, 'results not recorded yet');
    if (isRetryableLockError(err)) onLocked(record.lease);
    if (isRefused) refused.set(webhookId, record.customerId);
    return isRefused;
  }
  let isStopped = false;
  let callbacks: (() => void)[] = [];
  const flush = () => {
    if (waiting.size > 0) {
      clock.after(FLUSH_AFTER, flush);
      return;
    }
    const due = callbacks;
    callbacks = [];
    for (const callback of due) callback();
  };
  return {
    async write(record) {
      const { webhookId } = record.lease;
      let refusals = 0;
      try {
        for (let delay = FIRST_DELAY; ; delay = Math.min(2 * delay, LONGEST_DELAY)) {
          waiting.add(record);
          try {
            return await (refusals === 0 ? write(record) : writeAlone(record));
          } catch (err) {
            if (err instanceof LeaseLostError) return null;
            if (isStopped) throw err;
            refusals = noteFailure(record, err) ? refusals + 1 : 0;
            if (refusals >= MOST_REFUSALS && !areManyRefused())
              throw new ResultsRefusedError(`MySQL refuses the results of its deliveries (${codeOf(err)})`);
          }
          await new Promise<void>((resolve) => void clock.after(delay, resolve));
        }
      } finally {
        refused.delete(webhookId);
      }
    },
    flushSoon(callback) {
      if (callbacks.length === 0) clock.after(FLUSH_AFTER, flush);
      callbacks.push(callback);
    },
    stop() {
      isStopped = true;
    },
  };
}
