export type Stop = () => unknown;

/**
 * Stops what was started, in reverse order and one after the other. If one fails to stop, the rest are still stopped.
 * @throws the error, or an AggregateError whose message contains all errors, after trying to stop everything.
 */
export async function stopInReverse(started: readonly Stop[]): Promise<void> {
  const errors: unknown[] = [];
  for (const stop of started.toReversed()) {
    try {
      await stop();
    } catch (error) {
      errors.push(error);
    }
  }
  throwAll(errors);
}

/**
 * @returns a function that stops everything in `started` at the time of the call, in reverse. Called again, it returns the same
 * promise.
 */
export function stopOnce(started: readonly Stop[]): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  return () => {
    stopping ??= stopInReverse(started);
    return stopping;
  };
}

/** Stops things that do not depend on each other, all at the same time. @throws like {@link stopInReverse}. */
export async function stopTogether(started: readonly Stop[]): Promise<void> {
  const results = await Promise.allSettled(started.map(async (stop) => stop()));
  throwAll(results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])));
}

/** Cleans up after a failed start. @throws `reason`, together with the error of the cleanup if that fails too. */
export async function abandonStart(reason: unknown, stop: Stop): Promise<never> {
  try {
    await stop();
  } catch (error) {
    throwAll([reason, error]);
  }
  throw reason;
}

function throwAll(errors: readonly unknown[]): void {
  const [first] = errors;
  if (errors.length === 0) return;
  if (errors.length === 1) throw first;
  const messages = errors.map((error) => (error instanceof Error ? error.message : String(error)));
  throw new AggregateError(errors, messages.join('\n'));
}
