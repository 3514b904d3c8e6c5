import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import * as v from 'valibot';
import { countOf, formatCount } from '../counts.ts';
import { type Api, RefusedError, UnreachableError } from './api-client.ts';
import { Failure } from './failure.ts';

const SECOND = 1_000;
const POLL_INTERVAL = SECOND / 5;
/** How long the service may be unreachable. After a restart it continues its imports. */
const OUTAGE_LIMIT = 60 * SECOND;

/** An import as the API shows it. Fields that are not named here are kept for --json. */
export const ImportAnswer = v.object({
  import: v.looseObject({
    id: v.number(),
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
 * Polls an import until it is done, and reports each state to `onState`.
 * @returns the final state.
 * @throws {Failure} when it has failed, when the service is unreachable for a minute, or when `signal` is aborted.
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
    await sleep(POLL_INTERVAL, undefined, { signal }).catch(() => {
      throw new Failure(`Interrupted. Import ${state.id} is accepted, and goes on while the service runs.`);
    });
    state = (await throughOutages(() => api.get(`/v1/imports/${state.id}`, ImportAnswer))).import;
  }
}

/** What has become of rows, in an import or a dry run. */
interface RowCounts {
  inserted: number;
  duplicates: number;
  rejected: number;
}

/** Rows that have been processed so far. */
export const rowsDone = ({ inserted, duplicates, rejected }: RowCounts): number =>
  inserted + duplicates + rejected;

/** Whether rows were rejected, and none was stored or known already. The exit code is then 1. */
export const isAllRejected = ({ inserted, duplicates, rejected }: RowCounts): boolean =>
  rejected > 0 && inserted + duplicates === 0;

/** `3 rows, 2 new, 0 known already, 1 rejected` */
export const describeRows = (counts: RowCounts): string =>
  [
    countOf(rowsDone(counts), 'row'),
    `${formatCount(counts.inserted)} new`,
    `${formatCount(counts.duplicates)} known already`,
    `${formatCount(counts.rejected)} rejected`,
  ].join(', ');

const throughOutages = <T>(ask: () => Promise<T>): Promise<T> =>
  pRetry(ask, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: SECOND / 2,
    maxTimeout: 5 * SECOND,
    maxRetryTime: OUTAGE_LIMIT,
    shouldRetry: ({ error }) =>
      error instanceof UnreachableError ||
      (error instanceof RefusedError && (error.status === 429 || error.status >= 500)),
  });
