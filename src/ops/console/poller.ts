/** Reads something again and again while somebody looks at it. All who look share one reading. */
export interface Poller<T> {
  /** The newest reading, or a new one if that is too old. Concurrent callers share it. */
  current(): Promise<T>;
  /** The readings while somebody has been looking, the oldest first. */
  readonly history: readonly T[];
  /** Calls `listener` with each new reading. @returns a function that ends this. With the last one, reading ends. */
  subscribe(listener: (reading: T) => void): () => void;
  /** Ends all subscriptions. */
  close(): void;
  /** Aborted by `close`. */
  readonly closed: AbortSignal;
}

/**
 * @param read reads once. If it fails, the reading is left out, and `current` fails.
 * @param every milliseconds between readings.
 * @param kept readings in the history.
 */
export function createPoller<T>({
  read,
  every,
  kept,
}: {
  read: () => Promise<T>;
  every: number;
  kept: number;
}): Poller<T> {
  const listeners = new Set<(reading: T) => void>();
  const history: T[] = [];
  const closing = new AbortController();
  let reading: Promise<T> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const readOnce = (): Promise<T> => {
    reading ??= read()
      .then((value) => {
        // A gap would look like a straight line in a chart.
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
