import { createBatcher } from '../platform/batcher.ts';
import { isConnectionError } from '../platform/database/transaction.ts';
import type { DeliveryMetrics } from '../platform/metrics.ts';
import type { ClockPort, ResultsPort } from './ports.ts';
import { type LeasedRecord, LeaseLostError } from './record-results.ts';

/** Records the results of all runs of a process. Results that come at about the same time share a transaction. */

/** Transactions at a time. While one waits for locks, the other goes on. */
const WRITERS = 2;

/** How long a result waits for others, while the writers keep up. Milliseconds. */
const FLUSH_AFTER = 25;

/** The most webhooks, and the most results of all of them together, in one transaction. */
const MAX_WEBHOOKS = 100;
const MAX_RESULTS = 300;

export interface ResultWriter {
  /**
   * Records the results of one run.
   * @returns the webhook's revision; null when the lease was lost and nothing was written.
   * @throws what MySQL throws. Then nothing was written, or the answer to its COMMIT was lost.
   */
  write(record: LeasedRecord): Promise<number | null>;
  /**
   * Calls back in 25 ms, at the same moment for all callers, so that their results are recorded together. While records wait for
   * a writer, it calls back later: more results then share a record.
   */
  flushSoon(callback: () => void): void;
}

/** @param metrics counts the results that are recorded. Without them, nothing is counted. */
export function createResultWriter(
  results: ResultsPort,
  clock: ClockPort,
  metrics?: DeliveryMetrics,
): ResultWriter {
  /** Records that no writer has taken yet. */
  const waiting = new Set<LeasedRecord>();
  const recordAll = async (records: readonly LeasedRecord[]) => {
    for (const record of records) waiting.delete(record);
    const revisions = await results.record(records);
    for (const { record } of records) metrics?.recorded(record.results);
    return revisions;
  };
  const write = createBatcher(recordAll, {
    workers: WRITERS,
    maxItems: MAX_WEBHOOKS,
    maxWeight: MAX_RESULTS,
    weigh: ({ record }) => record.results.length,
    // One lost lease, or one value that MySQL refuses, must not fail the other records.
    retryAlone: (error) => !isConnectionError(error),
  });
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
      waiting.add(record);
      try {
        return await write(record);
      } catch (error) {
        if (error instanceof LeaseLostError) return null;
        throw error;
      }
    },
    flushSoon(callback) {
      if (callbacks.length === 0) clock.after(FLUSH_AFTER, flush);
      callbacks.push(callback);
    },
  };
}
