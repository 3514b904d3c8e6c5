import type { DataSource } from 'typeorm';
import { isAway } from '../database/transaction.ts';
import { type Results, writeResults } from './results.ts';

/** Transactions at work at once. One may be held up by another one's locks; what comes meanwhile does not wait for it. */
const WRITERS = 2;

/** Webhooks, and results of all of them together, that go into one transaction. */
const MOST_BATCHES = 100;
const MOST_RESULTS = 1_000;

/**
 * Writes the results of all webhooks of a process. Those that come while others are being written go together in the next
 * transaction: a hundred webhooks with a few results each cost no more than one with as many.
 */
export interface Ledger {
  /**
   * @returns false when the lease was lost: nothing was written, and another run sends the same again.
   * @throws what MySQL throws; nothing of this batch was written then, or the answer to its commit was lost.
   */
  write(results: Results): Promise<boolean>;
}

interface Waiting {
  results: Results;
  resolve: (kept: boolean) => void;
  reject: (error: unknown) => void;
}

export function createLedger(database: DataSource): Ledger {
  const waiting: Waiting[] = [];
  let writers = 0;

  function takeBatches(): Waiting[] {
    let batches = 0;
    let results = 0;
    for (const { results: batch } of waiting) {
      results += batch.attempts.length;
      if (batches > 0 && (batches >= MOST_BATCHES || results > MOST_RESULTS)) break;
      batches += 1;
    }
    return waiting.splice(0, batches);
  }

  /** What one of them lost or broke must not hold the others back: if they fail together, each is written alone. */
  async function writeTogether(batches: readonly Waiting[]): Promise<void> {
    try {
      const kept = await writeResults(
        database,
        batches.map(({ results }) => results),
      );
      if (kept || batches.length === 1) {
        for (const { resolve } of batches) resolve(kept);
        return;
      }
    } catch (error) {
      if (batches.length === 1 || isAway(error)) {
        for (const { reject } of batches) reject(error);
        return;
      }
    }
    for (const batch of batches) await writeTogether([batch]);
  }

  async function writeAll(): Promise<void> {
    writers += 1;
    while (waiting.length > 0) await writeTogether(takeBatches());
    writers -= 1;
  }

  return {
    write: (results) =>
      new Promise((resolve, reject) => {
        waiting.push({ results, resolve, reject });
        if (writers < WRITERS) void writeAll();
      }),
  };
}
