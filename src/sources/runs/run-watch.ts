import { SourceError } from '../connectors/connector.ts';
import { LeaseLostError } from './source-files.ts';
import { RunInterruptedError } from './stage-file.ts';

const MINUTE = 60_000;

/** How long a run may take, and within what time its source must send another file or `LEAST_BYTES`. Milliseconds. */
export interface RunLimits {
  total: number;
  silence: number;
}

/** A source that sends less than this within the limit counts as silent, because other sources wait for its run. */
const LEAST_BYTES = 64 * 1_024;

export const RUN_LIMITS: RunLimits = { total: 60 * MINUTE, silence: 2 * MINUTE };

/** Ends a run early if there is a reason. */
interface RunWatch {
  /** Aborted with the reason, an error. */
  signal: AbortSignal;
  /** A file, or bytes of a file, came from the source. */
  noteProgress(bytes?: number): void;
  stop(): void;
}

/**
 * Watches a run.
 * @param renew renews the lease. Returns false if the lease is lost.
 * @param shutdown aborted when the process ends.
 */
export function watchRun({
  limits,
  renewEvery,
  renew,
  shutdown,
}: {
  limits: RunLimits;
  renewEvery: number;
  renew: () => Promise<boolean>;
  shutdown: AbortSignal;
}): RunWatch {
  const ending = new AbortController();
  const end = (reason: Error) => ending.abort(reason);
  const onShutdown = () => end(new RunInterruptedError('The service was stopped during the run.'));
  if (shutdown.aborted) onShutdown();
  shutdown.addEventListener('abort', onShutdown);

  const lease = setInterval(async () => {
    // If MySQL cannot be reached, the next attempt renews the lease. The run can write only while it has the lease.
    const isHeld = await renew().catch(() => true);
    if (!isHeld) end(new LeaseLostError('another run has the source'));
  }, renewEvery);
  const total = setTimeout(() => {
    const minutes = Math.round(limits.total / MINUTE);
    end(new SourceError(`The run took longer than ${minutes} minutes. The next run continues.`));
  }, limits.total);
  let received = 0;
  const silence = setTimeout(() => {
    const seconds = Math.round(limits.silence / 1_000);
    const what = received === 0 ? 'Nothing' : `Less than ${LEAST_BYTES / 1_024} KiB`;
    end(new SourceError(`${what} came from the source for ${seconds} seconds.`));
  }, limits.silence);

  return {
    signal: ending.signal,
    noteProgress(bytes = LEAST_BYTES) {
      received += bytes;
      if (received < LEAST_BYTES) return;
      received = 0;
      silence.refresh();
    },
    stop() {
      shutdown.removeEventListener('abort', onShutdown);
      clearInterval(lease);
      clearTimeout(total);
      clearTimeout(silence);
    },
  };
}

/** Yields the items of another iterable until the signal is aborted, even if that iterable hangs. @throws the signal's reason. */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  // Promise.race with a promise for the whole run would keep every item until the run ends.
  let fail: (reason: unknown) => void = () => {};
  const onAbort = () => fail(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      const { value, done } = await new Promise<IteratorResult<T>>((resolve, reject) => {
        fail = reject;
        iterator.next().then(resolve, reject);
      });
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited after an abort, because an iterable that hangs would hang here too.
    const ended = iterator.return?.(undefined);
    ended?.catch(() => {});
    if (!signal.aborted) await ended;
  }
}
