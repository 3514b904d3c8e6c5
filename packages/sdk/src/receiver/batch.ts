import type { Batch, Notification, RefusedEvent } from './notification.ts';

export type ReceivedEvent = Notification | RefusedEvent;

/** What became of an event. `busy`: another request is processing it. `refused`: the handler has returned its id. */
export type Outcome = 'done' | 'busy' | 'failed' | 'refused';

/** By the ids of events. An event without an outcome is not processed. */
export type Outcomes = Map<string, Outcome>;

/** What a handler may return. Without it, all its events are processed. */
export interface HandlerResult {
  /**
   * The ids of the events that it refuses, because something is wrong with them. They come again, and each uses up one of its attempts. If it has an id
   * that the handler did not get, all events come again.
   */
  failed: readonly string[];
}

/** The events of a batch, each id once. */
export function uniqueEvents({ events }: Batch): ReceivedEvent[] {
  const ids = new Set<string>();
  return events.filter(({ id }) => !ids.has(id) && ids.add(id));
}

/**
 * Reads what a handler has returned.
 * @param ids those that it got.
 * @throws {Error} when `failed` is not an array of them, because it is not known then what has failed.
 */
export function readFailed(result: unknown, ids: ReadonlySet<string>): ReadonlySet<string> {
  const { failed } = (result ?? {}) as Partial<Record<string, unknown>>;
  if (failed === undefined) return new Set();
  if (!Array.isArray(failed))
    throw new Error(
      'The handler returned { failed } that is not an array of ids. Return ids of events that it got.',
    );
  const unknown = failed.findIndex((id) => !ids.has(id));
  if (unknown === -1) return new Set(failed);
  throw new Error(
    `The handler returned { failed } with an id that it did not get: ${String(failed[unknown])}. Return ids of events that it got.`,
  );
}
