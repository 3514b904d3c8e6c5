/** Stops one thing that was started. */
export type Stop = () => unknown;

/**
 * Stops what was started, in the opposite order, each after the one before it has stopped or failed to.
 * @throws what failed, when all have been tried: the one error, or an AggregateError that names each.
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

/** Stops things that do not need each other, all at once. @throws like {@link stopInReverse}. */
export async function stopTogether(started: readonly Stop[]): Promise<void> {
  const results = await Promise.allSettled(started.map(async (stop) => stop()));
  throwAll(results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])));
}

/** Cleans up after a start that failed. @throws the reason of that, together with what could not be stopped. */
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
