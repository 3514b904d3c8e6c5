import { RefusedAddressError } from '../../platform/address-guard.ts';
import { explainAddressErrors, explainTlsError, firstErrorOf } from '../../platform/connector.ts';

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
   * @returns where `takeBack` finds the file; null: nothing can change it any more, or nobody knows where it is.
   */
  mark?(file: { name: string; version: string }, outcome: FileOutcome): Promise<string | null>;
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

/** Explains in one sentence why a connection failed, and what to do about it. */

const SECOND = 1_000;

/** In milliseconds. */
export interface TimeLimits {
  /** The time for connecting, including encryption and sign-in. */
  connect: number;
  /** How long the server may send nothing while an answer is expected. */
  idle: number;
}

export const TIME_LIMITS: TimeLimits = { connect: 15 * SECOND, idle: 30 * SECOND };

const CONNECT_TIMEOUTS = ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'];
const IDLE_TIMEOUTS = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'];
const BROKEN_OFF = [
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'HPE_INVALID_EOF_STATE',
];

/** The server sent nothing for too long. */
export const idleError = (peer: string, { idle }: TimeLimits) =>
  new SourceError(
    `${peer} sent nothing for ${idle / SECOND} s, so the connection was closed. The next run tries again.`,
  );

/** The connection took too long. */
export const connectTimeoutError = (peer: string, { connect }: TimeLimits) =>
  new SourceError(
    `${peer} could not be reached within ${connect / SECOND} s. Check host and port, and whether its firewall lets this server in.`,
  );

/** The connection ended before the transfer did. */
export const brokenOffError = (peer: string) =>
  new SourceError(`The connection to ${peer} broke off. The next run tries again.`);

/**
 * @param peer the server as the settings name it, such as "sftp.bank.example:22".
 * @returns a SourceError for the owner of the source. An error that is already a SourceError, or is unknown, is returned unchanged.
 */
export function toSourceError(error: unknown, peer: string, limits: TimeLimits): unknown {
  if (error instanceof SourceError) return error;
  if (error instanceof RefusedAddressError) return new SourceError(error.message);
  const several = explainAddressErrors(error);
  if (several !== null) {
    return new SourceError(
      `${peer} could not be reached: ${several}. Check host and port, and whether its firewall lets this server in.`,
    );
  }
  const coded = findCoded(error instanceof Error ? firstErrorOf(error) : error);
  const code = coded?.code ?? '';
  if (code === 'ENOTFOUND') {
    return new SourceError(`The host name of ${peer} does not exist in DNS. Check its spelling.`);
  }
  if (code === 'EAI_AGAIN') {
    return new SourceError(`DNS gave no answer for the host name of ${peer}. The next run tries again.`);
  }
  if (code === 'ECONNREFUSED') {
    return new SourceError(
      `${peer} refuses connections. Check the port, and whether its firewall lets this server in.`,
    );
  }
  if (CONNECT_TIMEOUTS.includes(code)) return connectTimeoutError(peer, limits);
  if (IDLE_TIMEOUTS.includes(code)) return idleError(peer, limits);
  if (BROKEN_OFF.includes(code)) return brokenOffError(peer);
  const words = coded === null ? null : explainTlsError(coded, peer);
  if (words !== null) {
    const sentence = words.startsWith('the ') ? `T${words.slice(1)}` : words;
    return new SourceError(`${sentence} (${code}). Check the host and port, and what the server sends.`);
  }
  if (code.startsWith('HPE_')) {
    return new SourceError(`${peer} does not speak HTTP as expected (${code}). Check the port.`);
  }
  return error;
}

/** The code of an error, or of the first error in an AggregateError, because Node tries several addresses of one name. */
export const codeOf = (error: unknown): string => findCoded(error)?.code ?? '';

function findCoded(error: unknown): (Error & { code: string }) | null {
  if (error instanceof AggregateError && error.errors.length > 0) return findCoded(error.errors[0]);
  if (!(error instanceof Error)) return null;
  if ('code' in error && typeof error.code === 'string') return error as Error & { code: string };
  return findCoded(error.cause);
}

/** Rules for the names of files, the same for all kinds of sources. */

/** Names that programs give a file while they are writing it. */
const UNFINISHED = /^\.|\.(?:part|partial|tmp|temp|filepart|crdownload|writing|uploading)$|~$/i;

/** The most bytes of a file, as many as of an upload. */
export const MAX_FILE_BYTES = 1024 ** 3;

/** How long a run waits for files that may still be written. A later run takes the files that are not complete by then. Milliseconds. */
export const WAIT_FOR_WRITERS = 15_000;

/** Files of one run that are watched until they have not changed for `settleSeconds`. */
export interface Settling {
  settleSeconds: number;
  now: () => number;
}

/**
 * Says whether nothing has changed a file for `settleSeconds`. A time in the future says nothing about that, because the clock of the
 * server may be ahead: the caller looks at such a file twice.
 */
export function isSettled(changedAt: number, { settleSeconds, now }: Settling): boolean {
  const age = now() - changedAt;
  return age < 0 || age >= settleSeconds * SECOND;
}

/** Says whether the name belongs to a file that is hidden or still being written. */
export const isUnfinished = (name: string): boolean => UNFINISHED.test(name);

/**
 * Says whether a name matches a pattern, in which `*` stands for any characters and `?` for one. Upper and lower case are different.
 * Takes linear space and at most name × pattern steps. A malicious regular expression could take minutes.
 */
export function matchesPattern(name: string, pattern: string): boolean {
  let at = 0;
  let wanted = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    if (pattern[wanted] === '*') {
      star = wanted;
      starAt = at;
      wanted += 1;
    } else if (pattern[wanted] === '?' || pattern[wanted] === name[at]) {
      wanted += 1;
      at += 1;
    } else if (star >= 0) {
      // The last star takes one character more.
      wanted = star + 1;
      starAt += 1;
      at = starAt;
    } else {
      return false;
    }
  }
  return /^\**$/.test(pattern.slice(wanted));
}

/** The n-th name for a file whose name is taken: "statement.sta", "statement.2.sta", … */
export function numberedName(name: string, n: number): string {
  if (n === 1) return name;
  const dot = name.lastIndexOf('.');
  return dot > 0 ? `${name.slice(0, dot)}.${n}${name.slice(dot)}` : `${name}.${n}`;
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
