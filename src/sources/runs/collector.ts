import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { isTransient } from '../../database/errors.ts';
import { SEALED, type SecretBox } from '../../database/secret-box.ts';
import type { AddressGuard } from '../../platform/address-guard.ts';
import type { Log } from '../../platform/log.ts';
import { type Span, type Tracing, toSpanError } from '../../platform/tracing.ts';
import {
  type Connector,
  FileError,
  type OfferedFile,
  SourceError,
  untilAborted,
} from '../connectors/connector.ts';
import { type ConnectorKind, KINDS, kindOf } from '../connectors/kinds.ts';
import { putFilesBack } from './files-again.ts';
import { finishRun, type RunEnd } from './finish-run.ts';
import {
  addFailure,
  type ClaimedSource,
  findKnownFile,
  findMarkedFiles,
  hasPendingFiles,
  LeaseLostError,
  MAX_VERSION,
  markEndedFiles,
  RefusedFileError,
  RunInterruptedError,
  type RunTally,
  recordFile,
  stageFile,
} from './source-files.ts';
import { claimSource, RENEW_EVERY, renewLease } from './source-lease.ts';

/** Carries out the run of a source: looks at the files that it offers, and imports the new ones. */

/** How long a run waits for the imports of its files, so that it can mark most of its files itself. Milliseconds. */
const IMPORT_PATIENCE = 10_000;
const LOOK_EVERY = 100;

/** After this many unreadable files in a row, the source itself counts as broken. */
const MAX_UNREADABLE = 3;

/** A run shows after so many marked files that it makes progress. */
const TAKEN_BACK_AT_ONCE = 100;

const VERSION_TOO_LONG = `The server gives it a version (an ETag) of more than ${MAX_VERSION} characters. Have the server send a shorter one, or upload the file to another source.`;

const UNEXPECTED = 'The run failed. The operator finds the reason in the log.';

type RunOutcome = RunEnd['status'] | 'lost' | 'not due' | 'in progress' | 'inactive';

interface CollectorOptions {
  database: DataSource;
  secrets: SecretBox;
  guard: AddressGuard;
  /** The folder that contains a customer's folder sources; null: there is none. */
  folderOf: (customerId: string) => string | null;
  /** Queues an import. A failure is logged, and the reconciler queues it later. */
  queueImport: (queued: { importId: string; customerId: string }) => Promise<void>;
  log: Log;
  tracing?: Tracing | undefined;
  limits?: RunLimits;
  kinds?: Readonly<Record<string, ConnectorKind>>;
}

export interface Collector {
  /**
   * Collects from a source, if it is due and no other run is in progress.
   * @param shutdown ends the run. Another process continues the run, or this one after its next start.
   * @throws when MySQL cannot be reached. Another process takes over the run when its lease has ended.
   */
  run(sourceId: string, shutdown: AbortSignal): Promise<RunOutcome>;
}

export function createCollector(options: CollectorOptions): Collector {
  const { database, secrets, guard, folderOf, queueImport, log, tracing, kinds = KINDS } = options;
  const { limits = RUN_LIMITS } = options;

  function connect(source: ClaimedSource): Connector {
    const { id, customerId, settings, credentials, accountId, settleSeconds } = source;
    const opened = credentials === null ? null : secrets.open(credentials, SEALED.sourceCredentials(id));
    return kindOf(kinds, source.kind).create({
      settings: JSON.parse(settings),
      credentials: opened === null ? null : JSON.parse(opened),
      guard,
      folder: folderOf(customerId),
      accountId,
      settleSeconds: settleSeconds ?? 0,
    });
  }

  async function run(sourceId: string, shutdown: AbortSignal): Promise<RunOutcome> {
    const claim = await claimSource(database, sourceId);
    if (claim.outcome !== 'claimed') return claim.outcome;
    const { source } = claim;
    const watch = watchRun({
      limits,
      renew: () => renewLease(database, source),
      shutdown,
    });
    try {
      const end = await collect(source, watch).then(
        (tally): RunEnd => ({ status: 'done', tally }),
        (error: unknown) => endOf(source, watch.signal.aborted ? watch.signal.reason : error),
      );
      if (end === 'lost') return 'lost';
      await finishRun(database, source, end);
      return end.status;
    } finally {
      watch.stop();
    }
  }

  function endOf({ id: sourceId, runId }: ClaimedSource, error: unknown): RunEnd | 'lost' {
    if (error instanceof LeaseLostError) return 'lost';
    if (error instanceof RunInterruptedError) return { status: 'interrupted', error: error.message };
    if (error instanceof SourceError) {
      log.info({ sourceId, runId }, 'source cannot be collected');
      return { status: 'failed', error: error.message, wait: error.wait };
    }
    if (isTransient(error)) return { status: 'interrupted', error: 'The database could not store anything.' };
    log.error({ err: error, sourceId, runId }, 'run of a source failed');
    return { status: 'failed', error: UNEXPECTED };
  }

  async function collect(source: ClaimedSource, watch: RunWatch): Promise<RunTally> {
    const { signal } = watch;
    const tally: RunTally = { done: 0, failed: 0, firstFailure: null };
    const connector = connect(source);
    const unreadable: SourceError[] = [];
    try {
      await markEndedFiles(database, source, connector, tally);
      const again = await putFilesBack(database, source, connector, { ...watch, tally });
      await takeBackChanged(source, connector, watch);
      // The files that are collected again may be before the position.
      const since = again.size > 0 ? null : source.position;
      for await (const file of itemsUntilAborted(
        connector.files(since, signal, watch.noteProgress),
        signal,
      )) {
        watch.noteProgress();
        again.noteOffered(file);
        try {
          await collectFile(source, connector, file, watch, tally);
        } catch (error) {
          // A file that cannot be read must not hold up the others. But a file with a cursor must not be skipped, because the cursor
          // would then pass it for good.
          if (!(error instanceof SourceError) || file.cursor !== undefined || signal.aborted) throw error;
          if (error instanceof FileError) {
            addFailure(tally, file.name, error.message);
            continue;
          }
          unreadable.push(error);
          if (unreadable.length >= MAX_UNREADABLE) break;
        }
        await markEndedFiles(database, source, connector, tally);
      }
      if (unreadable.length === 0) await again.giveUp();
      await markRemaining(source, connector, signal, tally);
    } finally {
      await connector.close().catch((err: unknown) => log.info({ err }, 'source not closed'));
    }
    const [first] = unreadable;
    if (first !== undefined) throw first;
    return tally;
  }

  /** A program may go on writing to a file that was read as a whole. Marked files that have changed are collected again. */
  async function takeBackChanged(
    source: ClaimedSource,
    connector: Connector,
    { signal, noteProgress }: RunWatch,
  ): Promise<void> {
    if (connector.takeBack === undefined) return;
    const marked = await findMarkedFiles(database, source);
    while (marked.length > 0) {
      await untilAborted(connector.takeBack(marked.splice(0, TAKEN_BACK_AT_ONCE), signal), signal);
      noteProgress();
    }
  }

  async function collectFile(
    source: ClaimedSource,
    connector: Connector,
    file: OfferedFile,
    { signal, noteProgress }: RunWatch,
    tally: RunTally,
  ): Promise<void> {
    const { name, version, cursor } = file;
    if (version.length > MAX_VERSION) throw new FileError(VERSION_TOO_LONG);
    const known = await findKnownFile(database, source, file);
    if (known !== null && known.outcome !== 'again') return;
    const span = beginSpan(source);
    try {
      const importId = await stageFile(database, source, file, {
        signal,
        onProgress: noteProgress,
        traceparent: span?.traceparent,
      });
      span?.set({ 'ledgerbell.import.id': Number(importId) });
      await recordFile(database, source, { name, version, cursor, importId, known });
      await queueImport({ importId, customerId: source.customerId }).catch((err: unknown) =>
        log.warn({ err, importId }, 'import not queued yet'),
      );
      span?.end();
    } catch (error) {
      span?.end(toSpanError(error));
      if (!(error instanceof RefusedFileError)) throw error;
      await connector.mark?.(file, { status: 'failed', reason: error.message });
      await recordFile(database, source, { name, version, cursor, importId: null, known });
      addFailure(tally, name, error.message);
    }
  }

  /** Each collected file begins a trace, like each request with a file. */
  const beginSpan = ({ id, customerId, kind }: ClaimedSource): Span | undefined =>
    tracing?.begin({
      name: 'collect file',
      kind: 'internal',
      parent: null,
      attributes: {
        'ledgerbell.customer.id': Number(customerId),
        'ledgerbell.source.id': Number(id),
        'ledgerbell.source.kind': kind,
      },
    });

  /** Marks files whose imports end soon. A later run marks the others. */
  async function markRemaining(
    source: ClaimedSource,
    connector: Connector,
    signal: AbortSignal,
    tally: RunTally,
  ): Promise<void> {
    const until = performance.now() + IMPORT_PATIENCE;
    while ((await hasPendingFiles(database, source.id)) && performance.now() < until) {
      await delay(LOOK_EVERY, undefined, { signal });
      await markEndedFiles(database, source, connector, tally);
    }
  }

  return { run };
}

const MINUTE = 60_000;

/** How long a run may take, and within what time its source must send another file or `LEAST_BYTES`. Milliseconds. */
export interface RunLimits {
  total: number;
  silence: number;
}

/** A source that sends less than this within the limit counts as silent, because other sources wait for its run. */
const LEAST_BYTES = 64 * 1_024;

export const RUN_LIMITS: RunLimits = { total: 60 * MINUTE, silence: 2 * MINUTE };

type RunWatch = ReturnType<typeof watchRun>;

/**
 * Watches a run.
 * @param renew renews the lease. Returns false if the lease is lost.
 * @param shutdown aborted when the process ends.
 */
export function watchRun({
  limits,
  renew,
  shutdown,
}: {
  limits: RunLimits;
  renew: () => Promise<boolean>;
  shutdown: AbortSignal;
}) {
  const ending = new AbortController();
  const end = (reason: Error) => ending.abort(reason);
  const onShutdown = () => end(new RunInterruptedError('The service was stopped during the run.'));
  if (shutdown.aborted) onShutdown();
  shutdown.addEventListener('abort', onShutdown);

  const lease = setInterval(async () => {
    // If MySQL cannot be reached, the next attempt renews the lease. The run can write only while it has the lease.
    const isHeld = await renew().catch(() => true);
    if (!isHeld) end(new LeaseLostError('another run has the source'));
  }, RENEW_EVERY);
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
    /** Aborted with the reason, an error. */
    signal: ending.signal,
    /** A file, or bytes of a file, came from the source. */
    noteProgress(bytes = LEAST_BYTES): void {
      received += bytes;
      if (received < LEAST_BYTES) return;
      received = 0;
      silence.refresh();
    },
    stop(): void {
      shutdown.removeEventListener('abort', onShutdown);
      clearInterval(lease);
      clearTimeout(total);
      clearTimeout(silence);
    },
  };
}

/** Yields the items of another iterable until the signal is aborted, even if that iterable hangs. @throws the signal's reason. */
export async function* itemsUntilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      signal.throwIfAborted();
      // Promise.race with a promise for the whole run would keep every item until the run ends.
      const { value, done } = await untilAborted(iterator.next(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Not awaited after an abort, because an iterable that hangs would hang here too.
    const ended = iterator.return?.(undefined);
    ended?.catch(() => {});
    if (!signal.aborted) await ended;
  }
}
