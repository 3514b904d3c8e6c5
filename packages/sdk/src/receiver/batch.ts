import type { Batch, Notification, RefusedEvent } from './notification.ts';

export type ReceivedEvent = Notification | RefusedEvent;

/** What became of an event. `busy`: another request is processing it. */
export type Outcome = 'done' | 'busy' | 'failed' | 'refused';

/** By the ids of events. An event without an outcome is not processed. */
export type Outcomes = Map<string, Outcome>;

/** What `onBatch` may return. Without it, all events are processed. */
export interface BatchResult {
  /**
   * The ids of the events that are not processed, and come again. If it has an id that the handler did not get, all events come again.
   */
  failed: readonly string[];
}

/** The events of a batch, each id once. */
export function uniqueEvents({ events }: Batch): ReceivedEvent[] {
  const ids = new Set<string>();
  return events.filter(({ id }) => !ids.has(id) && ids.add(id));
}

/**
 * Reads what `onBatch` has returned.
 * @param ids those that it got.
 * @throws {Error} when `failed` is not an array of them, because it is not known then what has failed.
 */
export function readFailed(result: unknown, ids: ReadonlySet<string>): ReadonlySet<string> {
  const { failed } = (result ?? {}) as Partial<Record<string, unknown>>;
  if (failed === undefined) return new Set();
  if (!Array.isArray(failed)) throw new Error('onBatch returned { failed } that is not an array of ids.');
  const unknown = failed.filter((id) => !ids.has(id));
  if (unknown.length === 0) return new Set(failed);
  throw new Error(`onBatch returned { failed } with an id that it did not get: ${String(unknown[0])}.`);
}
