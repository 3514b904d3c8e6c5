import type { AttemptResult, BatchLimits, Delivery, RunCommand, RunStart } from './types.ts';

/** Decides which delivery a run sends next: a new movement from the log, or a retry. Replays become retries, a batch at a time. */

/** The next read of the log begins when fewer than this many movements are left to send. For a smaller read, half of its size counts. */
const READ_AHEAD = 150;

/** Retries read at a time, in addition to the retries in hand, which the read may return again. */
export const RETRIES_PER_READ = 100;

/** While movements and retries are both waiting, one send in this many is a retry, so that neither source holds up the other. */
const RETRY_SHARE = 4;

export interface Sources {
  addMovements(read: { deliveries: Delivery[]; through: number; complete: boolean }, now: number): void;
  addRetries(read: { deliveries: Delivery[]; nextIn: number | null }, now: number): void;
  replayExpanded(expanded: { added: number; replaying: boolean }, now: number): void;
  /** There may be new movements. */
  expectMore(): void;
  /** Takes the delivery to send next. undefined: none is ready. */
  next(): Delivery | undefined;
  /**
   * Takes the deliveries to send next in one batch. New ones wait until the batch is full, or its time is over and the log is read.
   * @param options.limit the most deliveries of the batch; null: as many as the webhook allows.
   * @param options.isLate the batch does not wait for the log, which is read too slowly.
   * @returns an empty list: none is ready.
   */
  nextBatch(now: number, options: { limit: number | null; isLate: boolean }): Delivery[];
  /** Takes back deliveries of a batch that have no result. They come next. */
  putBack(deliveries: readonly Delivery[]): void;
  /**
   * When the new deliveries in hand, which do not fill a batch, are to be sent, if nothing else is. null: none waits.
   * @param limit as of `nextBatch`.
   */
  batchDueAt(limit: number | null): number | null;
  hasReady(): boolean;
  /** Whether retries in hand are due. */
  hasDue(): boolean;
  /** When the next unread retry is due, in milliseconds since 1970. null: none is known. */
  nextRetryAt(): number | null;
  /** The commands for the reads that are needed now. */
  read(now: number): RunCommand[];
  isReading(): boolean;
  /** Whether a replay is being expanded. */
  isExpanding(): boolean;
  /** An attempt has ended. */
  ended(delivery: Delivery): void;
  /** These results are committed. */
  recorded(results: readonly AttemptResult[], now: number): void;
  /** How far the log is done, counting all attempts that have ended. */
  cursor(): { sentThrough: number; highestRecordedId: number };
}

export function createSources(start: RunStart, now: number): Sources {
  const { ordered, batch } = start;
  const readAhead = Math.max(READ_AHEAD, batch?.max ?? 0);
  const retriesPerRead = Math.max(RETRIES_PER_READ, batch?.max ?? 0);
  /** An ordered webhook sends its retries in the order of their ids, one POST at a time. */
  const retriesInOrder = ordered ? (batch?.max ?? 1) : null;
  const window = createLogWindow(start.cursor.sentThrough);
  const fresh: Delivery[] = [];
  const due: Delivery[] = [];
  /** Ids of deliveries that were read and are not recorded yet. A read of the retries may return them again. */
  const inHand = new Set<number>();
  const state = {
    reading: { log: false, retries: false, replay: false },
    logComplete: false,
    readAhead,
    /** The first read began before the lease was taken. Nothing wakes the run for movements stored in between, so it reads again. */
    readBeforeLease: start.hasBacklog,
    replaying: start.replaying,
    retryAt: start.retryIn === null ? null : now + start.retryIn,
    highestRecordedId: start.cursor.highestRecordedId,
    /** Ids recorded while the retries were being read. The read may have returned an older state of their retries. */
    recordedMeanwhile: [] as number[],
    sends: 0,
    /** When a batch of new deliveries that is not full is due. */
    batchDueAt: now + (batch?.dueIn ?? 0),
    /** Everything that was there was taken, so that what comes next begins a batch. */
    wasEmptied: false,
  };

  const expectRetry = (at: number) => {
    state.retryAt = state.retryAt === null ? at : Math.min(state.retryAt, at);
  };

  function mayReadRetries(at: number): boolean {
    if (state.reading.retries || state.retryAt === null || state.retryAt > at) return false;
    // An ordered webhook reads its next retries when the results of the last ones are recorded.
    return ordered ? inHand.size === fresh.length : due.length < retriesPerRead / 2;
  }

  const largestBatch = (limit: number | null) => Math.min(batch?.max ?? 1, limit ?? Infinity);

  /** Takes deliveries from the beginning of a list until a batch is full, in the order of their ids. */
  function take(from: Delivery[], { max, maxBytes, bytesOf }: BatchLimits): Delivery[] {
    let bytes = 0;
    let count = 0;
    for (const delivery of from) {
      // A delivery without its content is not sent.
      bytes += delivery.content === null ? 0 : bytesOf(delivery);
      if (count === max || (count > 0 && bytes > maxBytes)) break;
      count += 1;
    }
    return from.splice(0, count).sort((one, other) => one.subjectId - other.subjectId);
  }

  /** Whether the log has no more new deliveries for now. */
  const isLogRead = () => state.logComplete && !state.reading.log;

  /** Says whether retries come before new deliveries. */
  const isRetryFirst = () => ordered || fresh.length === 0 || state.sends % RETRY_SHARE === 0;
  /** In an ordered webhook, nothing new overtakes a retry. */
  const isBlocked = () => ordered && (state.retryAt !== null || state.reading.retries);

  return {
    addMovements({ deliveries, through, complete }, at) {
      state.reading.log = false;
      if (batch !== null && state.wasEmptied && deliveries.length > 0) {
        state.batchDueAt = at + batch.waitMs;
        state.wasEmptied = false;
      }
      if (!complete || state.readBeforeLease) state.logComplete = false;
      state.readBeforeLease = false;
      if (!complete)
        state.readAhead =
          batch !== null ? readAhead : Math.max(1, Math.min(READ_AHEAD, deliveries.length / 2));
      window.read(
        deliveries.map(({ subjectId }) => subjectId),
        through,
      );
      for (const delivery of deliveries) {
        inHand.add(delivery.subjectId);
        fresh.push(delivery);
      }
    },
    addRetries({ deliveries, nextIn }, at) {
      state.reading.retries = false;
      for (const delivery of deliveries) {
        if (inHand.has(delivery.subjectId)) continue;
        inHand.add(delivery.subjectId);
        due.push(delivery);
      }
      for (const id of state.recordedMeanwhile) inHand.delete(id);
      state.recordedMeanwhile = [];
      if (nextIn !== null) expectRetry(at + nextIn);
    },
    replayExpanded({ added, replaying }, at) {
      state.reading.replay = false;
      state.replaying = replaying;
      if (added > 0) expectRetry(at);
    },
    expectMore() {
      state.logComplete = false;
    },
    next() {
      if (due.length > 0 && isRetryFirst()) {
        state.sends += 1;
        return due.shift();
      }
      if (isBlocked()) return undefined;
      state.sends += 1;
      return fresh.shift();
    },
    nextBatch(at, { limit, isLate }) {
      if (batch === null) return [];
      const limits = { ...batch, max: largestBatch(limit) };
      const isDue = fresh.length >= limits.max || ((isLogRead() || isLate) && at >= state.batchDueAt);
      const isFreshReady = fresh.length > 0 && isDue && !isBlocked();
      if (due.length > 0 && (isRetryFirst() || !isFreshReady)) {
        state.sends += 1;
        return take(due, limits);
      }
      if (!isFreshReady) return [];
      state.sends += 1;
      const taken = take(fresh, limits);
      if (fresh.length === 0 && isLogRead()) state.wasEmptied = true;
      return taken;
    },
    putBack(deliveries) {
      const isFresh = deliveries[0]?.source === 'log';
      (isFresh ? fresh : due).unshift(...deliveries);
      if (isFresh) state.wasEmptied = false;
    },
    batchDueAt(limit) {
      const isAlone = due.length === 0 && !state.replaying;
      return batch !== null && isAlone && fresh.length > 0 && fresh.length < largestBatch(limit)
        ? state.batchDueAt
        : null;
    },
    hasReady: () => fresh.length > 0 || due.length > 0,
    hasDue: () => due.length > 0,
    nextRetryAt: () => state.retryAt,
    read(at) {
      const commands: RunCommand[] = [];
      if (!state.reading.log && !state.logComplete && fresh.length < state.readAhead) {
        state.reading.log = true;
        // `expectMore` sets this to false again for movements that arrive during the read.
        state.logComplete = true;
        const { highestRecordedId } = start.cursor;
        commands.push({ type: 'read log', after: window.readThrough(), highestRecordedId });
      }
      if (mayReadRetries(at)) {
        state.reading.retries = true;
        state.retryAt = null;
        commands.push({ type: 'read retries', limit: retriesInOrder ?? retriesPerRead + inHand.size });
      }
      const nothingDue = due.length === 0 && !state.reading.retries && (state.retryAt ?? at + 1) > at;
      if (state.replaying && !state.reading.replay && nothingDue) {
        state.reading.replay = true;
        commands.push({ type: 'expand replay' });
      }
      return commands;
    },
    isExpanding: () => state.reading.replay,
    isReading: () => state.reading.log || state.reading.retries || state.reading.replay,
    ended({ source, subjectId }) {
      if (source === 'retries') return;
      window.addResult(subjectId);
      state.highestRecordedId = Math.max(state.highestRecordedId, subjectId);
    },
    recorded(results, at) {
      for (const { subjectId, retryIn } of results) {
        if (state.reading.retries) state.recordedMeanwhile.push(subjectId);
        else inHand.delete(subjectId);
        if (retryIn !== null) expectRetry(at + retryIn);
      }
    },
    cursor() {
      const sentThrough = window.sentThrough();
      state.highestRecordedId = Math.max(state.highestRecordedId, sentThrough);
      return { sentThrough, highestRecordedId: state.highestRecordedId };
    },
  };
}

/**
 * The movements that a run has read from the log, and which of them have a result. Attempts end in any order, but the cursor may pass a
 * movement only when this movement and all movements before it have a result. A result counts here before it is recorded in MySQL.
 */
interface LogWindow {
  /** Adds the next ids of the log, in ascending order. @param through no other match is left at or before this id. */
  read(ids: readonly number[], through: number): void;
  /** Notes that an id has a result. @returns whether the id was read from the log. */
  addResult(id: number): boolean;
  /** Every matching movement up to this id has a result. */
  sentThrough(): number;
  /** Where reading the log continues: after this id. */
  readThrough(): number;
}

/** @param from reading begins after this id. */
export function createLogWindow(from: number): LogWindow {
  let ids: number[] = [];
  let first = 0;
  let readThrough = from;
  const ended = new Set<number>();
  let newest = from;

  return {
    read(more, through) {
      ids = first === 0 ? ids.concat(more) : ids.slice(first).concat(more);
      first = 0;
      newest = more.at(-1) ?? newest;
      readThrough = through;
    },
    addResult(id) {
      const head = ids[first];
      if (head === undefined || id < head || id > newest) return false;
      ended.add(id);
      return true;
    },
    sentThrough() {
      for (let head = ids[first]; head !== undefined && ended.delete(head); head = ids[first]) first += 1;
      const head = ids[first];
      return head === undefined ? readThrough : head - 1;
    },
    readThrough: () => readThrough,
  };
}
