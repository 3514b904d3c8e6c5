import { setTimeout as sleep } from 'node:timers/promises';
import { type Params, SingleBar } from 'cli-progress';
import pRetry from 'p-retry';
import * as v from 'valibot';
import { GapView } from '../books/books-view.ts';
import { WarningView } from '../intake/import-view.ts';
import { countOf, formatCount, formatDuration } from '../platform/text.ts';
import { type Api, RefusedError, UnreachableError } from './api-client.ts';
import { Failure } from './context.ts';

/** The progress bar of an import or an export: amount, speed and time. */

type Unit = 'bytes' | 'rows';

export interface Progress {
  /** @param total undefined: not known. */
  start(total: number | undefined): void;
  update(value: number): void;
  setTotal(total: number): void;
  stop(): void;
}

/** Creates a progress bar. It is drawn on standard error, but only on a terminal. */
export function createProgress(title: string, unit: Unit): Progress {
  const bar = new SingleBar({
    format: (_options, params) => renderProgress(title, unit, toAmount(params)),
    hideCursor: true,
    stream: process.stderr,
  });
  return {
    start: (total) => bar.start(total ?? 0, 0),
    update: (value) => bar.update(value),
    setTotal: (total) => bar.setTotal(total),
    stop: () => bar.stop(),
  };
}

const toAmount = ({ value, total, startTime, stopTime }: Params & { stopTime?: number | null }): Amount => ({
  value,
  total: total === 0 ? undefined : total,
  elapsed: (stopTime ?? Date.now()) - startTime,
});

interface Amount {
  value: number;
  /** undefined: not known. */
  total: number | undefined;
  /** Milliseconds since the start. */
  elapsed: number;
}

const SECOND = 1_000;
const BAR = 24;

/** No rate is shown before this time, because it would say little. */
const FIRST_RATE = SECOND / 2;

/**
 * Renders the line: `Sending  ██████░░░░░░  50%  16.0 of 32.0 MiB  8.0 MiB/s  2 s left`. If the total is not known, it ends with the time
 * that has passed.
 */
export function renderProgress(title: string, unit: Unit, { value, total, elapsed }: Amount): string {
  const perSecond = (value / Math.max(elapsed, 1)) * SECOND;
  const hasRate = elapsed >= FIRST_RATE && value > 0;
  const left = hasRate && total !== undefined && total > value ? (total - value) / perSecond : null;
  const share = total === undefined ? null : Math.min(1, value / total);
  return [
    title,
    share === null
      ? null
      : `${'█'.repeat(Math.round(share * BAR)).padEnd(BAR, '░')} ${String(Math.floor(share * 100)).padStart(3)}%`,
    total === undefined ? format(value, unit) : `${format(value, unit, total)} of ${format(total, unit)}`,
    hasRate ? `${format(perSecond, unit)}/s` : null,
    left === null ? null : `${formatDuration(Math.ceil(left) * SECOND)} left`,
    total === undefined && elapsed >= FIRST_RATE ? formatDuration(elapsed) : null,
  ]
    .filter((part) => part !== null)
    .join('  ');
}

const KIB = 1024;

/** @param beside another amount, which shows the unit for both. */
function format(amount: number, unit: Unit, beside?: number): string {
  if (unit === 'rows') return `${formatCount(Math.round(amount))}${beside === undefined ? ' rows' : ''}`;
  const largest = beside ?? amount;
  const power = largest < KIB ? 0 : largest < KIB ** 2 ? 1 : largest < KIB ** 3 ? 2 : 3;
  const number = (amount / KIB ** power).toFixed(power === 0 ? 0 : 1);
  return beside === undefined ? `${number} ${['bytes', 'KiB', 'MiB', 'GiB'][power]}` : number;
}

const POLL_INTERVAL = SECOND / 5;
/** How long the service may be unreachable. After a restart, the service continues its imports. */
const OUTAGE_LIMIT = 60 * SECOND;

/** An import as the API shows it. Other fields are kept for --json. */
export const ImportAnswer = v.object({
  import: v.looseObject({
    id: v.number(),
    status: v.picklist(['queued', 'running', 'done', 'failed']),
    received: v.nullable(v.number()),
    inserted: v.number(),
    duplicates: v.number(),
    rejected: v.number(),
    assumed_duplicates: v.number(),
    assumed_new: v.number(),
    conflicts: v.number(),
    deliveries: v.number(),
    warnings: v.number(),
    first_warnings: v.array(v.looseObject(WarningView.entries)),
    error: v.nullable(v.string()),
    gaps: v.optional(v.array(v.looseObject(GapView.entries)), []),
  }),
});
export type ImportState = v.InferOutput<typeof ImportAnswer>['import'];

/**
 * Polls an import until it is done, and reports each state to `onState`.
 * @returns the final state.
 * @throws {Failure} when the import has failed, when the service is unreachable for a minute, or when `signal` is aborted.
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
      throw interrupted(state.id);
    });
    state = await readState(api, state.id, signal);
  }
}

const interrupted = (id: ImportState['id']) =>
  new Failure(`Interrupted. Import ${id} is accepted, and goes on while the service runs.`);

async function readState(api: Api, id: ImportState['id'], signal: AbortSignal): Promise<ImportState> {
  try {
    const read = () => api.get(`/v1/imports/${id}`, ImportAnswer, signal);
    return (await throughOutages(read, signal)).import;
  } catch (error) {
    if (signal.aborted) throw interrupted(id);
    // A key with the scope "import" alone may send an import, and not read its state.
    if (error instanceof RefusedError && error.status === 403)
      throw new Failure(`Import ${id} is accepted. Only its progress cannot be followed: ${error.message}`);
    throw error;
  }
}

/** Counts of rows by their result, in an import or a dry run. */
interface RowCounts {
  inserted: number;
  duplicates: number;
  rejected: number;
  conflicts: number;
}

/** Rows that have been processed so far. */
export const rowsDone = ({ inserted, duplicates, rejected, conflicts }: RowCounts): number =>
  inserted + duplicates + rejected + conflicts;

/** Says whether rows were rejected and none was stored or known already. The exit code is then 1. */
export const isAllRejected = ({ inserted, duplicates, rejected, conflicts }: RowCounts): boolean =>
  rejected > 0 && inserted + duplicates + conflicts === 0;

/** `3 rows, 2 new, 0 known already, 1 rejected` */
export const describeRows = (counts: RowCounts): string =>
  [
    countOf(rowsDone(counts), 'row'),
    `${formatCount(counts.inserted)} new`,
    `${formatCount(counts.duplicates)} known already`,
    `${formatCount(counts.rejected)} rejected`,
    ...(counts.conflicts === 0 ? [] : [countOf(counts.conflicts, 'conflict')]),
  ].join(', ');

const throughOutages = <T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> =>
  pRetry(ask, {
    signal,
    retries: Number.POSITIVE_INFINITY,
    minTimeout: SECOND / 2,
    maxTimeout: 5 * SECOND,
    maxRetryTime: OUTAGE_LIMIT,
    shouldRetry: ({ error }) =>
      error instanceof UnreachableError ||
      (error instanceof RefusedError && (error.status === 429 || error.status >= 500)),
  });
