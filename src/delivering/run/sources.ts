import { createLogWindow } from './log-window.ts';
import type { AttemptResult, Delivery, RunCommand, RunStart } from './types.ts';

/** The log is read on while fewer than this many of what was read are still to be sent. */
const READ_AHEAD = 150;

/** Retries read at a time, beyond those that are in hand. */
const READ_RETRIES = 100;

/** While both are waiting, one send of this many is a retry: neither source holds the other back. */
const RETRY_SHARE = 4;

/** Where a run's deliveries come from: the movement log and the retries. Replays become retries, some at a time. */
export interface Sources {
  takeLog(read: { deliveries: Delivery[]; through: number; complete: boolean }): void;
  takeRetries(read: { deliveries: Delivery[]; nextIn: number | null }, now: number): void;
  takeReplay(expanded: { added: number; replaying: boolean }, now: number): void;
  /** New movements may be there. */
  lookAgain(): void;
  /** What is sent next; undefined: nothing is ready. */
  next(): Delivery | undefined;
  hasReady(): boolean;
  /** Milliseconds since 1970 at which the next retry is due that has not been read; null: none is known. */
  nextRetryAt(): number | null;
  /** What is to be read now. */
  read(now: number): RunCommand[];
  isReading(): boolean;
  /** An attempt has ended. */
  ended(delivery: Delivery): void;
  /** The results of these are committed. */
  recorded(results: readonly AttemptResult[], now: number): void;
  /** How far the log is done, counting all attempts that have ended. */
  cursor(): { sentThrough: number; recordedThrough: number };
}

export function createSources(start: RunStart, now: number): Sources {
  const { ordered } = start;
  const window = createLogWindow(start.logFrom);
  const fresh: Delivery[] = [];
  const due: Delivery[] = [];
  /** Read and not yet recorded: a read of the retries may find them again. */
  const inHand = new Set<number>();
  const state = {
    reading: { log: false, retries: false, replay: false },
    logComplete: false,
    /** The first read began before the lease was there: what was stored in between was told to nobody. */
    readBeforeLease: start.backlog,
    replaying: start.replaying,
    retryAt: start.retryIn === null ? null : now + start.retryIn,
    recordedThrough: start.cursor.recordedThrough,
    /** Recorded while the retries were being read: that read may have seen them as they were before. */
    recordedMeanwhile: [] as number[],
    sends: 0,
  };

  const expectRetry = (at: number) => {
    state.retryAt = state.retryAt === null ? at : Math.min(state.retryAt, at);
  };

  function mayReadRetries(at: number): boolean {
    if (state.reading.retries || state.retryAt === null || state.retryAt > at) return false;
    // Those of an ordered webhook are read one by one, each when the one before it is recorded.
    return ordered ? inHand.size === fresh.length : due.length < READ_RETRIES / 2;
  }

  return {
    takeLog({ deliveries, through, complete }) {
      state.reading.log = false;
      if (!complete || state.readBeforeLease) state.logComplete = false;
      state.readBeforeLease = false;
      window.read(
        deliveries.map(({ transactionId }) => transactionId),
        through,
      );
      for (const delivery of deliveries) {
        inHand.add(delivery.transactionId);
        fresh.push(delivery);
      }
    },
    takeRetries({ deliveries, nextIn }, at) {
      state.reading.retries = false;
      for (const delivery of deliveries) {
        if (inHand.has(delivery.transactionId)) continue;
        inHand.add(delivery.transactionId);
        due.push(delivery);
      }
      for (const id of state.recordedMeanwhile) inHand.delete(id);
      state.recordedMeanwhile = [];
      if (nextIn !== null) expectRetry(at + nextIn);
    },
    takeReplay({ added, replaying }, at) {
      state.reading.replay = false;
      state.replaying = replaying;
      if (added > 0) expectRetry(at);
    },
    lookAgain() {
      state.logComplete = false;
    },
    next() {
      const retryFirst = ordered || fresh.length === 0 || state.sends % RETRY_SHARE === 0;
      if (due.length > 0 && retryFirst) {
        state.sends += 1;
        return due.shift();
      }
      // Nothing new overtakes a retry of an ordered webhook.
      if (ordered && (state.retryAt !== null || state.reading.retries)) return undefined;
      state.sends += 1;
      return fresh.shift();
    },
    hasReady: () => fresh.length > 0 || due.length > 0,
    nextRetryAt: () => state.retryAt,
    read(at) {
      const commands: RunCommand[] = [];
      if (!state.reading.log && !state.logComplete && fresh.length < READ_AHEAD) {
        state.reading.log = true;
        // What comes while it is read is looked for once more.
        state.logComplete = true;
        const { recordedThrough } = start.cursor;
        commands.push({ type: 'read log', after: window.readThrough(), recordedThrough });
      }
      if (mayReadRetries(at)) {
        state.reading.retries = true;
        state.retryAt = null;
        commands.push({ type: 'read retries', limit: ordered ? 1 : READ_RETRIES + inHand.size });
      }
      const nothingDue = due.length === 0 && !state.reading.retries && (state.retryAt ?? at + 1) > at;
      if (state.replaying && !state.reading.replay && nothingDue) {
        state.reading.replay = true;
        commands.push({ type: 'expand replay' });
      }
      return commands;
    },
    isReading: () => state.reading.log || state.reading.retries || state.reading.replay,
    ended({ source, transactionId }) {
      if (source === 'retries') return;
      window.record(transactionId);
      state.recordedThrough = Math.max(state.recordedThrough, transactionId);
    },
    recorded(results, at) {
      for (const { transactionId, retryIn } of results) {
        if (state.reading.retries) state.recordedMeanwhile.push(transactionId);
        else inHand.delete(transactionId);
        if (retryIn !== null) expectRetry(at + retryIn);
      }
    },
    cursor() {
      const sentThrough = window.sentThrough();
      state.recordedThrough = Math.max(state.recordedThrough, sentThrough);
      return { sentThrough, recordedThrough: state.recordedThrough };
    },
  };
}
