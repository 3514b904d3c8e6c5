import type { AttemptResult, RejectedBatch } from './types.ts';

/** Collects the results of a run, and the batches that were rejected, until they are recorded, and decides when that is. One record is under way at a time. */

/** This many results are recorded immediately. Fewer results are recorded after a short wait, or when the run cannot continue before. */
const RESULTS_PER_RECORD = 200;

/** The most unrecorded results, because a crash may send their deliveries again. While MySQL accepts records, far fewer wait. */
const MOST_UNRECORDED = 1_000;

interface Recorded {
  results: readonly AttemptResult[];
  rejectedBatches: readonly RejectedBatch[];
}

export interface Recording {
  add(result: AttemptResult): void;
  addRejected(batch: RejectedBatch): void;
  /** The results have waited for long enough. */
  flush(): void;
  /**
   * Begins a record if one is due.
   * @param options.isLast this is the last record, so it begins now, even without results.
   * @param options.isAwaited the run cannot continue before its results are recorded.
   * @returns what to record. `later`: ask for `flush` soon. null: do nothing.
   */
  begin(options: { isLast: boolean; isAwaited: boolean }): Recorded | 'later' | null;
  /** The record under way is committed. @returns its results. */
  committed(): readonly AttemptResult[];
  isUnderWay(): boolean;
  /** Says whether the run must send nothing before some results are recorded. */
  isFull(): boolean;
  /** Says whether everything is recorded. */
  isDone(): boolean;
}

export function createRecording(): Recording {
  let waiting: AttemptResult[] = [];
  let rejected: RejectedBatch[] = [];
  let underWay: Recorded | null = null;
  let isFlushDue = false;
  let isFlushRequested = false;
  const hasSome = () => waiting.length > 0 || rejected.length > 0;

  return {
    add: (result) => void waiting.push(result),
    addRejected: (batch) => void rejected.push(batch),
    flush() {
      isFlushDue = hasSome();
      isFlushRequested = false;
    },
    begin({ isLast, isAwaited }) {
      if (underWay !== null || (!hasSome() && !isLast)) return null;
      if (!isLast && !isAwaited && !isFlushDue && waiting.length < RESULTS_PER_RECORD) {
        if (isFlushRequested) return null;
        isFlushRequested = true;
        return 'later';
      }
      underWay = { results: waiting, rejectedBatches: rejected };
      waiting = [];
      rejected = [];
      isFlushDue = false;
      return underWay;
    },
    committed() {
      const results = underWay?.results ?? [];
      underWay = null;
      return results;
    },
    isUnderWay: () => underWay !== null,
    isFull: () => waiting.length >= MOST_UNRECORDED,
    isDone: () => !hasSome() && underWay === null,
  };
}
