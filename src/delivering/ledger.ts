import type { DataSource } from 'typeorm';
import { LeaseLostError, type Results, writeResults } from './results.ts';
import { together } from './together.ts';

/** Transactions at work at once. One may be held up by another one's locks; what comes meanwhile does not wait for it. */
const WRITERS = 2;

/** How long a result may wait for others. Milliseconds. */
const REMIND_AFTER = 25;

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
  /**
   * Calls back once within 25 ms, at the same moment for all: whoever has results then writes them, in one transaction with the
   * others.
   */
  remind(callback: () => void): void;
  forget(callback: () => void): void;
}

export function createLedger(database: DataSource): Ledger {
  const writeTogether = async (batches: readonly Results[]) => {
    await writeResults(database, batches);
    return batches.map(() => true);
  };
  const write = together(writeTogether, {
    workers: WRITERS,
    most: MOST_BATCHES,
    heaviest: MOST_RESULTS,
    weigh: ({ attempts }) => attempts.length,
  });
  const reminders = new Set<() => void>();
  let waits = false;
  const remindAll = () => {
    waits = false;
    const due = [...reminders];
    reminders.clear();
    for (const callback of due) callback();
  };
  return {
    remind(callback) {
      reminders.add(callback);
      if (waits) return;
      waits = true;
      setTimeout(remindAll, REMIND_AFTER);
    },
    forget: (callback) => void reminders.delete(callback),
    write: (results) =>
      write(results).catch((error: unknown) => {
        if (error instanceof LeaseLostError) return false;
        throw error;
      }),
  };
}
