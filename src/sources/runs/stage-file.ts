import type { DataSource } from 'typeorm';
import { NDJSON_IMPORT_BYTES, stageImport } from '../../intake/stage.ts';
import type { StatementFormat } from '../../statements/formats.ts';
import { type OfferedFile, SourceError } from '../connectors/connector.ts';
import type { ClaimedSource } from './claimed-source.ts';
import { fingerprintOf, LeaseLostError } from './source-files.ts';

/** The file can never be imported as it is. */
export class RefusedFileError extends Error {
  override readonly name = 'RefusedFileError';
}

/** The run cannot go on now, but the source is not the reason. The run is continued soon. */
export class RunInterruptedError extends Error {
  override readonly name = 'RunInterruptedError';
}

/**
 * A run that ends between staging a file and recording it leaves an unrecorded import. The next run finds the import by this key, and
 * does not stage the file again. Idempotency keys of clients are ASCII, so they never equal this key.
 */
const keyOf = (source: ClaimedSource, file: OfferedFile): string =>
  `§${source.id} ${fingerprintOf(source, file).toString('hex')}`;

const FREE_KEY = 'UPDATE imports SET idempotency_key = NULL WHERE customer_id = ? AND idempotency_key = ?';

/**
 * Stages a file as an import.
 * @param onProgress called with the length of each piece that arrives.
 * @param traceparent of the span that the import belongs to.
 * @returns the import's id.
 * @throws {SourceError} when the file cannot be read.
 * @throws {RefusedFileError} when it is too large.
 * @throws {RunInterruptedError} when an earlier run is still staging the file.
 */
export async function stageFile(
  database: DataSource,
  source: ClaimedSource,
  file: OfferedFile,
  {
    signal,
    onProgress,
    traceparent,
  }: { signal: AbortSignal; onProgress: (bytes: number) => void; traceparent: string | undefined },
): Promise<string> {
  const { customerId, accountId, profile, createAccounts, forceAccount } = source;
  const idempotencyKey = keyOf(source, file);
  const staged = await stageImport(database, {
    customerId,
    apiKeyId: null,
    sourceId: source.id,
    format: file.format === 'auto' ? (source.format as StatementFormat | 'auto') : file.format,
    statement: { accountId, profile, createAccounts, forceAccount },
    received: null,
    idempotencyKey,
    traceparent,
    body: readFile(file, signal, onProgress),
  });
  switch (staged.outcome) {
    case 'staged':
    case 'replayed':
      return staged.importId;
    case 'key reused':
      await database.query(FREE_KEY, [customerId, idempotencyKey]);
      throw new SourceError(
        `${file.name} changed while it was collected. It is collected again by the next run.`,
      );
    case 'api key deleted':
      throw new LeaseLostError('the source was deleted');
    case 'in progress':
    case 'dropped':
      throw new RunInterruptedError(
        'Another run is still collecting one of the files. This run is continued soon.',
      );
  }
}

async function* readFile(
  file: OfferedFile,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of file.open(signal)) {
    signal.throwIfAborted();
    onProgress(part.length);
    bytes += part.length;
    // The same limit as for an upload.
    if (bytes > NDJSON_IMPORT_BYTES) throw new RefusedFileError('The file is larger than 1 GiB.');
    yield part;
  }
}
