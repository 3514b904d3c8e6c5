import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { createBatcher } from '../batcher.ts';
import { isConnectionError } from '../database/transaction.ts';
import { type LeasedRecord, LeaseLostError, recordResults } from './record-results.ts';

/** Transactions at work at a time: when one waits for another's locks, the next does not wait with it. */
const WRITERS = 2;

/** How long a result may wait for others. Milliseconds. */
const FLUSH_AFTER = 25;

/** Webhooks, and results of all of them together, that go into one transaction. */
const MAX_WEBHOOKS = 100;
const MAX_RESULTS = 300;

/** Records the results of all runs of a process, those that come at about the same time in one transaction. */
export interface ResultWriter {
  /**
   * Does what `recordResults` does for one run. While MySQL cannot be reached it tries again for some seconds: what has been
   * delivered need not be sent again.
   * @returns the webhook's revision; null when the lease was lost, and nothing was written.
   * @throws what MySQL throws; nothing was written then, or the answer to its COMMIT was lost.
   */
  write(record: LeasedRecord): Promise<number | null>;
  /** Calls back within 25 ms, at the same moment for all: whoever has results then records them, together with the others. */
  flushSoon(callback: () => void): void;
}

export function createResultWriter(database: DataSource): ResultWriter {
  const recordAgain = (records: readonly LeasedRecord[]) =>
    pRetry(() => recordResults(database, records), {
      retries: 5,
      minTimeout: 250,
      shouldRetry: ({ error }) => isConnectionError(error),
    });
  const write = createBatcher(recordAgain, {
    workers: WRITERS,
    maxItems: MAX_WEBHOOKS,
    maxWeight: MAX_RESULTS,
    weigh: ({ record }) => record.results.length,
    // One lost lease, or one refused value, must not fail the others.
    retryAlone: (error) => !isConnectionError(error),
  });
  let callbacks: (() => void)[] = [];
  const flush = () => {
    const due = callbacks;
    callbacks = [];
    for (const callback of due) callback();
  };
  return {
    async write(record) {
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
