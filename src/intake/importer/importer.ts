import type { DataSource } from 'typeorm';
import { isStatementFormat } from '../../../packages/statements/src/formats.ts';
import { UnreadableFileError } from '../../../packages/statements/src/unreadable.ts';
import { completeAccount, createAccount } from '../../customers/accounts.ts';
import { isTransient } from '../../database/errors.ts';
import { createMatcher } from '../../ledger/matching.ts';
import type { Unidentified } from '../../ledger/movement.ts';
import { UnorderedFileError } from '../../ledger/ordinals.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { Log } from '../../platform/log.ts';
import type { ImportMetrics } from '../../platform/metrics.ts';
import { Problem } from '../../platform/problem.ts';
import { type Span, type Tracing, toSpanError } from '../../platform/tracing.ts';
import { failUnreadable, giveUp, MAX_CRASHES } from '../failed-imports.ts';
import { TooMuchToCompareError } from '../known/decide-safely.ts';
import { KnownDaysError, OutdatedIdentitiesError } from '../known/entry.ts';
import { createFileEntries } from '../known/file-entries.ts';
import { createChunkIdentifier } from '../known/identify-chunk.ts';
import { createFileIdentifier, type FileIdentifier } from '../known/identify-file.ts';
import type { FileReader } from '../parser-threads.ts';
import { isFormatName } from '../stage.ts';
import { type ChunkSize, createChunkSize, cutIntoChunks } from './chunks.ts';
import { fileEncoding } from './file-encoding.ts';
import { createAccountFinder, readAccountsOfImport } from './find-account.ts';
import { readPart, readParts } from './parts.ts';
import { readStatementFile } from './read-file.ts';
import { FORMATS } from './rows.ts';
import type { FindAccount } from './statement-rows.ts';
import {
  type Chunk,
  countChunk,
  createSourceAccounts,
  ImportTakenOverError,
  RemovalsChangedError,
  type StoredChunk,
  storeChunk,
} from './store-chunk.ts';

export type ImportOutcome = 'done' | 'given back' | 'nothing to do';

/** Stores staged imports. Several may run at the same time, in any number of processes. */
interface Importer {
  /**
   * Stores the rest of the import, chunk by chunk.
   * @param signal when aborted, the import is given back after the current chunk.
   * @param options.again an earlier run of the same job did not end, so this import may have crashed its process.
   * @param options.mayGoOn called after each chunk. If it returns false, the import is given back.
   * @throws errors of MySQL. The import stays unchanged and can be run again.
   */
  run(importId: string, signal: AbortSignal, options?: RunOptions): Promise<ImportOutcome>;
}

export interface RunOptions {
  again?: boolean;
  mayGoOn?: () => Promise<boolean>;
}

interface RestOptions {
  /** The file goes back to earlier days. See createOrdinals. */
  isUnordered: boolean;
  /** The whole file is read first, to identify its entries. */
  isWhole: boolean;
  mayGoOn: () => Promise<boolean>;
}

interface StoringOptions {
  identifier: Pick<FileIdentifier, 'identify' | 'prepare' | 'warnings'>;
  size: ChunkSize;
  signal: AbortSignal;
  mayGoOn: () => Promise<boolean>;
  started: number;
}

interface Unfinished {
  id: string;
  customer_id: string;
  source_id: string | null;
  format: string;
  traceparent: string | null;
  account_id: string | null;
  profile: string | null;
  /** Of the source. */
  encoding: string | null;
  create_accounts: number;
  force_account: number;
  unidentified: Unidentified;
  checkpoint: number;
  statements: number;
  crash_count: number;
  removals: number;
  removed_before: string | null;
}

const COUNT_CRASH = `UPDATE imports SET crash_count = crash_count + 1 WHERE id = ? AND status IN ('queued', 'running')`;
const LOAD = `
  SELECT i.id, i.customer_id, i.source_id, i.format, i.traceparent, i.account_id, i.profile, s.encoding, i.create_accounts, i.force_account,
    i.unidentified, i.checkpoint, i.statements, i.crash_count, l.removals, l.removed_before
  FROM imports i JOIN import_locks l ON l.customer_id = i.customer_id LEFT JOIN sources s ON s.id = i.source_id
  WHERE i.id = ? AND i.status IN ('queued', 'running')`;

/** The last chunk gets the warnings about the whole file. */
const withWarnings = (chunk: Chunk, warnings: Chunk['warnings']): Chunk =>
  chunk.last && warnings.length > 0
    ? { ...chunk, warned: chunk.warned + warnings.length, warnings: [...chunk.warnings, ...warnings] }
    : chunk;

export function createImporter(options: {
  database: DataSource;
  reader: Pick<FileReader, 'read'>;
  /** Waits until a chunk of the customer may be stored. @returns a function that ends the turn. Default: no turns. */
  takeTurn?: (customerId: string) => Promise<(() => void) | null>;
  /** Wakes matched webhooks. A failure is logged, and the reconciler wakes them later. */
  wake: (webhookIds: readonly string[]) => Promise<void>;
  log: Log;
  metrics?: ImportMetrics;
  tracing?: Tracing | undefined;
}): Importer {
  const { database, reader, wake, log, metrics, tracing, takeTurn = async () => null } = options;
  const matcher = createMatcher();

  /** @throws {UnreadableFileError} when the file cannot be read. */
  function readStatements(
    { id, customer_id, format, profile }: Unfinished,
    parts: AsyncIterable<Buffer>,
    encoding: ReturnType<typeof fileEncoding>,
    findAccount: FindAccount,
  ) {
    if (format !== 'auto' && !isStatementFormat(format)) {
      throw new Error(`import ${id} has the unknown format ${format}`);
    }
    return readStatementFile(parts, { reader, owner: customer_id, format, profile, encoding, findAccount });
  }

  async function storeChunks(
    { id: importId, customer_id: customerId, format, source_id: sourceId }: Unfinished,
    chunks: AsyncGenerator<Chunk, void>,
    { identifier, size, signal, mayGoOn, started }: StoringOptions,
  ): Promise<ImportOutcome> {
    // Chunks are stored faster than a thousand webhooks are woken. Waiting wake-ups are combined, so that each webhook is woken
    // once.
    const wakeMatched = createBatcher(async (matched: readonly (readonly string[])[]) => {
      await wake([...new Set(matched.flat())]).catch((err: unknown) =>
        log.warn({ err, importId }, 'webhooks not woken'),
      );
      return [...matched];
    });
    const noteAccounts = createSourceAccounts(database, sourceId);
    const storing = { database, matcher, identify: identifier.identify, raised: { removals: 0 } };
    let areKnown = false;
    const store = async (chunk: Chunk): Promise<StoredChunk> => {
      const endTurn = await takeTurn(customerId);
      try {
        return await storeChunk(
          { ...storing, areKnown },
          withWarnings(chunk, identifier.warnings()),
          performance.now() - started,
        );
      } catch (error) {
        if (!(error instanceof OutdatedIdentitiesError)) throw error;
      } finally {
        endTurn?.();
      }
      // This may wait for a thread. Other customers store in the meantime.
      await identifier.prepare(database);
      return store(chunk);
    };
    try {
      // The next chunk is read and validated while MySQL stores this one.
      for (let next = chunks.next(); ; ) {
        const { value: chunk, done } = await next;
        if (done) return 'done';
        next = chunks.next();
        // If storing fails first, `next` is never awaited. Its error must not become an unhandled rejection.
        next.catch(() => {});
        await noteAccounts(chunk);
        const stored = await store(chunk);
        size.locked(stored.lockedFor);
        areKnown = 2 * stored.listed.length > chunk.to - chunk.from;
        const woken = wakeMatched(stored.webhookIds);
        metrics?.rows({ ...countChunk(chunk, stored), rejected: chunk.rejected });
        if (chunk.last) {
          metrics?.ended(format, 'done');
          log.info({ importId, rows: chunk.to }, 'import done');
        }
        const isGivenBack = !chunk.last && (signal.aborted || !(await mayGoOn()));
        if (chunk.last || isGivenBack) await woken;
        if (isGivenBack) return 'given back';
      }
    } finally {
      // Ends the thread that reads the file, if the file was not read to its end.
      await chunks.return().catch(() => {});
    }
  }

  /** @throws the error, unless it ends the import. */
  async function endFailed({ id: importId, format }: Unfinished, error: unknown): Promise<ImportOutcome> {
    if (error instanceof ImportTakenOverError) return 'nothing to do';
    // Other files are being compared. The import stays queued, and is tried again.
    if (error instanceof TooMuchToCompareError && error.isTemporary) throw error;
    if (error instanceof UnreadableFileError) {
      await failUnreadable(database, importId, error.message);
      metrics?.ended(format, 'unreadable');
      log.info({ importId }, 'import failed: its file cannot be read');
      return 'done';
    }
    // An unreachable, locked or full database is not the fault of the import, so it does not count as a crash.
    if (!isTransient(error)) await database.query(COUNT_CRASH, [importId]).catch(() => {});
    throw error;
  }

  async function storeRest(
    importId: string,
    signal: AbortSignal,
    { isUnordered, isWhole, mayGoOn }: RestOptions,
  ): Promise<ImportOutcome> {
    const started = performance.now();
    // In parallel, because an import of one movement mostly waits for round trips to MySQL.
    const [[unfinished], accounts, first] = await Promise.all([
      database.query<Unfinished[]>(LOAD, [importId]),
      readAccountsOfImport(database, importId),
      readPart(database, importId, 0),
    ]);
    if (unfinished === undefined) return 'nothing to do';
    if (unfinished.crash_count >= MAX_CRASHES) {
      await giveUp(database, importId);
      metrics?.ended(unfinished.format, 'given_up');
      log.error({ importId }, 'import given up: it keeps failing at the same row');
      return 'nothing to do';
    }
    const { format } = unfinished;
    // Created once, so that it knows the accounts that it has created when the file is read again.
    const findAccount = createAccountFinder({
      customerId: unfinished.customer_id,
      accountId: unfinished.account_id,
      createAccounts: unfinished.create_accounts === 1,
      forceAccount: unfinished.force_account === 1,
      accounts,
      addAccount: (account) =>
        createAccount(database, account).catch((error: unknown) => {
          if (error instanceof Problem) return { problem: error.message };
          throw error;
        }),
      completeAccount: (id, told) =>
        completeAccount(database, { customerId: unfinished.customer_id, importId }, id, told),
    });
    const encoding = fileEncoding(accounts, {
      ofSource: unfinished.encoding,
      accountId: unfinished.account_id,
    });
    const size = createChunkSize();
    const read = (from: { checkpoint: number; storedStatements: number; isUnordered: boolean }) => {
      const parts = readParts(database, importId, first);
      const rows = isFormatName(format)
        ? FORMATS[format](parts)
        : readStatements(unfinished, parts, encoding, findAccount);
      return cutIntoChunks(rows, {
        id: importId,
        customerId: unfinished.customer_id,
        ...from,
        size,
        accounts: isFormatName(format) ? new Map(accounts.map((it) => [it.id, it])) : null,
        unidentified: unfinished.unidentified,
        removedTime: {
          // These were read at the same time. The lowest value is the oldest.
          removals: Math.min(unfinished.removals, ...accounts.map(({ removals }) => removals)),
          removedBefore: unfinished.removed_before,
        },
      });
    };

    const span = beginSpan(unfinished);
    try {
      const identifier = isWhole
        ? await identifyWhole(unfinished, read({ checkpoint: 0, storedStatements: 0, isUnordered: true }))
        : { identify: createChunkIdentifier(importId), prepare: async () => {}, warnings: () => [] };
      const { checkpoint, statements: storedStatements } = unfinished;
      const chunks = read({ checkpoint, storedStatements, isUnordered: isUnordered || isWhole });
      const outcome = await storeChunks(unfinished, chunks, { identifier, size, signal, mayGoOn, started });
      span?.end();
      return outcome;
    } catch (error) {
      const isRepeated = [UnorderedFileError, RemovalsChangedError, KnownDaysError].some(
        (it) => error instanceof it,
      );
      span?.end(isRepeated ? undefined : toSpanError(error));
      // The previous chunks are stored. The rest is read again with all counts kept.
      if (error instanceof UnorderedFileError)
        return storeRest(importId, signal, { isUnordered: true, isWhole, mayGoOn });
      // The rest cannot be identified chunk by chunk, so the whole file is read first.
      if (error instanceof KnownDaysError)
        return storeRest(importId, signal, { isUnordered, isWhole: true, mayGoOn });
      // The accounts and stored movements are out of date. The rest is read and checked again.
      if (error instanceof RemovalsChangedError)
        return storeRest(importId, signal, { isUnordered, isWhole, mayGoOn });
      return await endFailed(unfinished, error);
    }
  }

  /** Reads the whole file, and identifies its entries. */
  async function identifyWhole(
    { id, customer_id, unidentified }: Unfinished,
    chunks: AsyncGenerator<Chunk, void>,
  ): Promise<FileIdentifier> {
    const file = createFileEntries();
    try {
      for await (const chunk of chunks) file.add(chunk);
    } catch (error) {
      // Rows before the unreadable place are stored, and then the import fails.
      if (!(error instanceof UnreadableFileError)) throw error;
    }
    const identifier = createFileIdentifier({
      customerId: customer_id,
      importId: id,
      accounts: file.end(),
      mayAssume: unidentified === 'known',
    });
    await identifier.prepare(database);
    return identifier;
  }

  /** The span of this run in the trace of the request, or of the collected file, that has brought the import. */
  const beginSpan = ({ id, customer_id, format, traceparent }: Unfinished): Span | undefined =>
    tracing?.begin({
      name: 'process imports',
      kind: 'consumer',
      parent: traceparent,
      attributes: {
        'messaging.system': 'bullmq',
        'messaging.destination.name': 'imports',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'ledgerbell.customer.id': Number(customer_id),
        'ledgerbell.import.id': Number(id),
        'ledgerbell.import.format': format,
      },
    });

  return {
    async run(importId, signal, { again = false, mayGoOn = async () => true } = {}) {
      if (again) await database.query(COUNT_CRASH, [importId]);
      return storeRest(importId, signal, { isUnordered: false, isWhole: false, mayGoOn });
    },
  };
}
