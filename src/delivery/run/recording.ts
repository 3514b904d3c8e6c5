import type { AttemptResult } from './types.ts';

/** Collects the results of a run until they are recorded, and decides when that is. One record is under way at a time. */

/** This many results are recorded immediately. Fewer results are recorded after a short wait, or when the run cannot continue before. */
const RESULTS_PER_RECORD = 200;

/** The most unrecorded results, because a crash may send their deliveries again. While MySQL accepts records, far fewer wait. */
const MOST_UNRECORDED = 1_000;

export interface Recording {
  add(result: AttemptResult): void;
  /** The results have waited for long enough. */
  flush(): void;
  /**
   * Begins a record if one is due.
   * @param options.isLast this is the last record, so it begins now, even without results.
   * @param options.isAwaited the run cannot continue before its results are recorded.
   * @returns the results of the record. `later`: ask for `flush` soon. null: do nothing.
   */
  begin(options: { isLast: boolean; isAwaited: boolean }): readonly AttemptResult[] | 'later' | null;
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
  let underWay: AttemptResult[] | null = null;
  let isFlushDue = false;
  let isFlushRequested = false;

  return {
    add: (result) => void waiting.push(result),
    flush() {
      isFlushDue = waiting.length > 0;
      isFlushRequested = false;
    },
    begin({ isLast, isAwaited }) {
      if (underWay !== null || (waiting.length === 0 && !isLast)) return null;
      if (!isLast && !isAwaited && !isFlushDue && waiting.length < RESULTS_PER_RECORD) {
        if (isFlushRequested) return null;
        isFlushRequested = true;
        return 'later';
      }
      underWay = waiting;
      waiting = [];
      isFlushDue = false;
      return underWay;
    },
    committed() {
      const results = underWay ?? [];
      underWay = null;
      return results;
    },
    isUnderWay: () => underWay !== null,
    isFull: () => waiting.length >= MOST_UNRECORDED,
    isDone: () => waiting.length === 0 && underWay === null,
  };
}
