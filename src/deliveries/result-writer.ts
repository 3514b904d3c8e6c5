import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { createBatcher } from '../platform/batcher.ts';
import { isConnectionError } from '../platform/database/transaction.ts';
import type { DeliveryMetrics } from '../platform/metrics.ts';
import { type LeasedRecord, LeaseLostError, recordResults } from './record-results.ts';

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
   * Records the results of one run, as `recordResults` does. While MySQL is unreachable it tries again for some seconds, so that
   * what has been delivered need not be sent again.
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
export function createResultWriter(database: DataSource, metrics?: DeliveryMetrics): ResultWriter {
  /** Records that no writer has taken yet. */
  const waiting = new Set<LeasedRecord>();
  const recordWithRetries = async (records: readonly LeasedRecord[]) => {
    for (const record of records) waiting.delete(record);
    const revisions = await pRetry(() => recordResults(database, records), {
      retries: 5,
      minTimeout: 250,
      shouldRetry: ({ error }) => isConnectionError(error),
    });
    for (const { record } of records) metrics?.recorded(record.results);
    return revisions;
  };
  const write = createBatcher(recordWithRetries, {
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
      setTimeout(flush, FLUSH_AFTER);
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
      if (callbacks.length === 0) setTimeout(flush, FLUSH_AFTER);
      callbacks.push(callback);
    },
  };
}
