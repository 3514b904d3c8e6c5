import type { FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2';
import { brokenOffError, idleError, toSourceError } from './connection-errors.ts';
import { SourceError } from './connector.ts';
import { connectSftp, type SftpAccess } from './sftp-connect.ts';

/** Requests to an SFTP server as promises, each with a time limit. */

/** Status codes of SFTP version 3 (draft-ietf-secsh-filexfer-02, section 7). */
const END_OF_FILE = 1;
const NO_SUCH_FILE = 2;
const PERMISSION_DENIED = 3;

/** The error of a request that the server has refused. */
export class SftpStatusError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const isMissing = (error: unknown): boolean =>
  error instanceof SftpStatusError && error.status === NO_SUCH_FILE;
export const isDenied = (error: unknown): boolean =>
  error instanceof SftpStatusError && error.status === PERMISSION_DENIED;

/** A regular file in a folder. */
export interface SftpEntry {
  name: string;
  size: number;
  /** When the content changed, in seconds since 1970; 0: the server does not say. */
  changedAt: number;
}

type Attributes = Pick<SftpEntry, 'size' | 'changedAt'>;

/** Changes when the content changes, as far as the server shows it. */
export const versionOf = ({ size, changedAt }: Attributes): string => `${size}-${changedAt}`;

/** A path that does not begin with "/" begins in the user's home. */
export const join = (folder: string, name: string): string =>
  folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`;

export interface SftpSession {
  /** The regular files in a folder, in the order in which the server lists them. Links and folders are left out. */
  list(path: string): AsyncGenerator<SftpEntry>;
  /** null when there is no such file. */
  stat(path: string): Promise<Attributes | null>;
  open(path: string): Promise<Buffer>;
  statOpen(handle: Buffer): Promise<Attributes>;
  /** Reads up to `length` bytes. Only an empty result means the end of the file. */
  read(handle: Buffer, position: number, length: number): Promise<Buffer>;
  closeHandle(handle: Buffer): Promise<void>;
  /** Fails if `to` exists, provided that the server follows version 3 of the protocol. */
  rename(from: string, to: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  writeFile(path: string, text: string): Promise<void>;
  close(): void;
}

type Done<T> = (error: Error | null | undefined, result: T) => void;

/**
 * Connects, and sends requests over this connection until it is closed. An error of the connection is a `SourceError`. A refused
 * request is an `SftpStatusError`.
 * @param signal ends the connection and every request.
 */
export async function openSession(access: SftpAccess, signal: AbortSignal): Promise<SftpSession> {
  const { client, sftp, socket } = await connectSftp(access, signal);
  const { limits } = access;
  const peer = `${access.settings.host}:${access.settings.port}`;
  let lost: unknown;
  /** For each request without an answer, a function that makes it fail. */
  const pending = new Set<() => void>();

  const lose = (reason: unknown) => {
    lost ??= reason;
    socket.destroy();
  };
  const onAbort = () => lose(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  client.on('error', (error) => lose(toSourceError(error, peer, limits)));
  client.on('close', () => {
    signal.removeEventListener('abort', onAbort);
    lose(brokenOffError(peer));
    for (const fail of pending) fail();
  });
  sftp.on('error', (error: Error) =>
    lose(new SourceError(`${peer} does not speak SFTP as expected: ${error.message}.`)),
  );
  socket.on('timeout', () => lose(idleError(peer, limits)));

  /** Sends a request. The socket's timer runs only while an answer is expected, so that a slow import does not end the connection. */
  function request<T>(send: (sftp: SFTPWrapper, done: Done<T>) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (lost !== undefined) return reject(lost);
      const fail = () => finish(() => reject(lost));
      const finish = (answer: () => void) => {
        if (!pending.delete(fail)) return;
        if (pending.size === 0) socket.setTimeout(0);
        answer();
      };
      pending.add(fail);
      socket.setTimeout(limits.idle);
      send(sftp, (error, result) => {
        if (error)
          finish(() =>
            reject(isStatus(error) ? new SftpStatusError(error.code, error.message) : (lost ?? error)),
          );
        else finish(() => resolve(result));
      });
    });
  }

  async function* list(path: string): AsyncGenerator<SftpEntry> {
    const handle = await request<Buffer>((it, done) => it.opendir(path, done));
    try {
      for (;;) {
        const entries = await request<FileEntryWithStats[]>((it, done) => it.readdir(handle, done)).catch(
          stopAtEnd,
        );
        if (entries === null) return;
        for (const { filename, longname, attrs } of entries) {
          if (isRegular(attrs, longname) && isOneName(filename))
            yield { name: filename, ...attributesOf(attrs) };
        }
      }
    } finally {
      await closeHandle(handle).catch(() => {});
    }
  }
  const closeHandle = (handle: Buffer) =>
    request<void>((it, done) => it.close(handle, (error) => done(error, undefined)));

  return {
    list,
    stat: (path) =>
      request<Stats>((it, done) => it.stat(path, done)).then(attributesOf, (error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      }),
    open: (path) => request((it, done) => it.open(path, 'r', done)),
    statOpen: (handle) => request<Stats>((it, done) => it.fstat(handle, done)).then(attributesOf),
    read: (handle, position, length) =>
      request((it, done) =>
        it.read(handle, Buffer.allocUnsafe(length), 0, length, position, (error, _read, bytes) =>
          done(error, bytes),
        ),
      ),
    closeHandle,
    rename: (from, to) => request((it, done) => it.rename(from, to, (error) => done(error, undefined))),
    makeFolder: (path) => request((it, done) => it.mkdir(path, (error) => done(error, undefined))),
    writeFile: (path, text) =>
      request((it, done) => it.writeFile(path, text, (error) => done(error, undefined))),
    close() {
      // The timeout closes the socket if the server does not close its side.
      socket.setTimeout(limits.idle);
      client.end();
    },
  };
}

const isStatus = (error: Error): error is Error & { code: number } =>
  'code' in error && typeof error.code === 'number';

function stopAtEnd(error: unknown): null {
  if (error instanceof SftpStatusError && error.status === END_OF_FILE) return null;
  throw error;
}

const attributesOf = ({ size, mtime }: Stats): Attributes => ({
  size: Number(size ?? 0),
  changedAt: mtime ?? 0,
});

/** Some servers on mainframes and Windows send no mode. If they send a long name, it begins as in `ls -l`. */
const isRegular = (attributes: Stats, longName: string): boolean =>
  (attributes.mode as number | undefined) === undefined ? !/^[dl]/.test(longName) : attributes.isFile();

/** Refuses a path, with which a server could answer instead of a name. */
const isOneName = (name: string): boolean => !/[/\0]/.test(name) && name !== '.' && name !== '..';
