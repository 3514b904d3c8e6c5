/** The interface through which files reach the collector. Each kind of source (folder, SFTP, HTTP, S3) has a connector. */

/** A file that a source offers. */
export interface OfferedFile {
  /** The name or path of the file within the source. Name and version together tell whether the file was collected before. */
  name: string;
  /** Changes when the content changes: an ETag, or the size and the time of the last change. */
  version: string;
  /** `auto` for statement files. A connector that converts its input names the format of its output. */
  format: 'auto' | 'ndjson';
  /**
   * Reads the file. Called at most once.
   * @param signal ends the transfer.
   * @throws {SourceError} when the file cannot be read.
   */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** For a connector that reads page by page: where the next run starts once this file is committed. */
  cursor?: string;
}

/** The outcome of a file's import. */
export type FileOutcome = { status: 'done' } | { status: 'failed'; reason: string };

/** A file that an earlier run has marked. */
export interface MarkedFile {
  name: string;
  version: string;
  /** Where `mark` has put it. */
  place: string;
}

/** A file whose import was withdrawn, and that is to be collected again. */
export interface PutAwayFile {
  name: string;
  version: string;
  /** The place to which `mark` has moved the file; null: the place is unknown. */
  place: string | null;
}

/**
 * `put back`: `files` offers it, perhaps as another version. `in place`: it was never moved, so `files` offers it if the source still has
 * it. `failure`: one sentence that says why it cannot be collected again. It follows the file's name and a colon.
 */
export type PutBack = 'put back' | 'in place' | { failure: string };

/** @param places where the file was looked for. */
export const notFoundAgain = (places: readonly string[]): PutBack => ({
  failure: `It is to be collected again, but is not in ${places.map((place) => `"${place}"`).join(' or ')} as it was read. Put it into the source again, or send it with POST /v1/imports.`,
});

/** One connection to a source, for one run. */
export interface Connector {
  /**
   * Takes back the marked files that have changed since they were read. `files`, which is called afterwards, offers them again.
   * @throws {SourceError} when the source cannot be reached.
   */
  takeBack?(marked: readonly MarkedFile[], signal: AbortSignal): Promise<void>;
  /**
   * Yields the files that the source offers now, oldest first if the source tells their age.
   * @param since the cursor of the file that was collected last, or its version if it has no cursor; null at the first run.
   * @param onProgress called with the number of bytes that arrive before a file can be offered.
   * @throws {SourceError} when the source cannot be reached, refuses the credentials, or does not match the settings.
   */
  files(
    since: string | null,
    signal: AbortSignal,
    onProgress?: (bytes: number) => void,
  ): AsyncIterable<OfferedFile>;
  /**
   * Marks a file as done or failed in the source itself, if possible. For example, a folder moves it. May be called again after a crash.
   * @returns the place at which `takeBack` and `putBack` find the file; null: the place is unknown.
   */
  mark?(file: { name: string; version: string }, outcome: FileOutcome): Promise<string | null>;
  /**
   * Puts a file back that `mark` has moved, so that `files`, which is called afterwards, offers it again. May be called again after a
   * crash. Another file that is in its place now stays there.
   * @throws {SourceError} when the source cannot be reached.
   */
  putBack?(file: PutAwayFile, signal: AbortSignal): Promise<PutBack>;
  close(): Promise<void>;
}

/** The error of a source, in one sentence for its owner. The sentence contains no secret and no internal address. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError';
  /** How long the server asks to wait until the next run, in milliseconds. */
  readonly wait: number;

  constructor(message: string, { wait = 0 }: { wait?: number } = {}) {
    super(message);
    this.wait = wait;
  }
}

/** An error of one file. It says nothing about the other files of the source. The sentence follows the file's name and a colon. */
export class FileError extends SourceError {
  override readonly name = 'FileError';
}

/** @throws the signal's reason when it is aborted first, even if the thread does not answer any more. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => {});
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
