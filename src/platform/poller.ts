/** Reads something repeatedly while somebody looks at it. All viewers share one reading. */
export interface Poller<T> {
  /** The newest reading. If it is too old, a new reading. Concurrent callers share it. */
  current(): Promise<T>;
  /** The readings since somebody began to look, the oldest first. */
  readonly history: readonly T[];
  /** Calls `listener` with each new reading. @returns a function that ends the subscription. Reading stops with the last subscription. */
  subscribe(listener: (reading: T) => void): () => void;
  /** Ends all subscriptions. */
  close(): void;
  /** Aborted by `close`. */
  readonly closed: AbortSignal;
}

interface PollerOptions<T> {
  read: () => Promise<T>;
  every: number;
  kept: number;
}

/**
 * @param read reads once. If it fails, the reading is left out and `current` fails.
 * @param every milliseconds between readings.
 * @param kept readings in the history.
 */
export function createPoller<T>({ read, every, kept }: PollerOptions<T>): Poller<T> {
  const listeners = new Set<(reading: T) => void>();
  const history: T[] = [];
  const closing = new AbortController();
  let reading: Promise<T> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const readOnce = (): Promise<T> => {
    reading ??= read()
      .then((value) => {
        // Clears the history, because a chart would show a gap as a straight line.
        if (performance.now() - readAt > 3 * every) history.length = 0;
        readAt = performance.now();
        history.push(value);
        if (history.length > kept) history.shift();
        return value;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };

  const tell = () => {
    readOnce().then(
      (value) => {
        for (const listener of listeners) listener(value);
      },
      () => {},
    );
  };

  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };

  return {
    history,
    closed: closing.signal,
    current: async () => {
      const newest = history.at(-1);
      return newest !== undefined && performance.now() - readAt < every ? newest : readOnce();
    },
    subscribe(listener) {
      listeners.add(listener);
      timer ??= setInterval(tell, every);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stop();
      };
    },
    close() {
      listeners.clear();
      stop();
      closing.abort();
    },
  };
}
