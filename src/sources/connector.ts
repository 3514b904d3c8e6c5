/** How files reach the collector. Each kind of source (folder, SFTP, HTTP, S3) has one connector. */

/** A file that a source offers. */
export interface OfferedFile {
  /** Its name or path within the source. With the version, it tells whether the file was collected before. */
  name: string;
  /** Changes when the content does: an ETag, or the size and the time of the last change. */
  version: string;
  /** `auto` for statement files. A connector that translates what it reads says what it yields. */
  format: 'auto' | 'ndjson';
  /**
   * Reads the file. Called at most once.
   * @param signal ends the transfer.
   * @throws {SourceError} when the file cannot be read.
   */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** A connector that reads page by page: where the next run starts, once this file is committed. */
  cursor?: string;
}

/** The outcome of a file's import. */
export type FileOutcome = { status: 'done' } | { status: 'failed'; reason: string };

/** One connection to a source, for one run. */
export interface Connector {
  /**
   * Yields the files that the source offers now, oldest first where the source tells.
   * @param since the cursor, or else the version, of the file that was collected last; null at the first run.
   * @throws {SourceError} when the source cannot be reached, refuses the credentials, or is not what the settings say.
   */
  files(since: string | null, signal: AbortSignal): AsyncIterable<OfferedFile>;
  /** Marks a file as done or failed in the source itself, where it can: a folder moves it. Called again after a crash. */
  mark?(file: { name: string; version: string }, outcome: FileOutcome): Promise<void>;
  close(): Promise<void>;
}

/** The error of a source, in one sentence for its owner. It names no secret, and no internal address. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}
