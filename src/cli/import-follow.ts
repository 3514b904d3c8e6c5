import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import * as v from 'valibot';
import { type Api, RefusedError, UnreachableError } from './api-client.ts';
import { Failure } from './failure.ts';

const SECOND = 1_000;
const LOOK_EVERY = SECOND / 5;
/** A service that is restarted goes on with its imports. */
const PATIENCE = 60 * SECOND;

/** An import as the API shows it; members that are not named here are kept for --json. */
export const ImportAnswer = v.object({
  import: v.looseObject({
    id: v.string(),
    status: v.picklist(['queued', 'running', 'done', 'failed']),
    received: v.nullable(v.number()),
    inserted: v.number(),
    duplicates: v.number(),
    rejected: v.number(),
    deliveries: v.number(),
    error: v.nullable(v.string()),
  }),
});
export type ImportState = v.InferOutput<typeof ImportAnswer>['import'];

/**
 * Waits until an import has ended, and tells of each look at it.
 * @throws {Failure} when it has failed, when the service is away for a minute, or when `signal` is aborted.
 */
export async function followImport(
  api: Api,
  started: ImportState,
  { onState, signal }: { onState: (state: ImportState) => void; signal: AbortSignal },
): Promise<ImportState> {
  for (let state = started; ; ) {
    onState(state);
    if (state.status === 'done') return state;
    if (state.status === 'failed')
      throw new Failure(`Import ${state.id} has failed: ${state.error ?? 'no reason given'}`);
    await sleep(LOOK_EVERY, undefined, { signal }).catch(() => {
      throw new Failure(`Interrupted. Import ${state.id} is accepted, and goes on while the service runs.`);
    });
    state = (await patiently(() => api.get(`/v1/imports/${state.id}`, ImportAnswer))).import;
  }
}

/** Rows that have been worked off so far. */
export const rowsDone = ({ inserted, duplicates, rejected }: ImportState): number =>
  inserted + duplicates + rejected;

const patiently = <T>(ask: () => Promise<T>): Promise<T> =>
  pRetry(ask, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: SECOND / 2,
    maxTimeout: 5 * SECOND,
    maxRetryTime: PATIENCE,
    shouldRetry: ({ error }) =>
      error instanceof UnreachableError ||
      (error instanceof RefusedError && (error.status === 429 || error.status >= 500)),
  });
