import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Connector,
  FileError,
  type FileOutcome,
  isSettled,
  isUnfinished,
  type MarkedFile,
  matchesPattern,
  numberedName,
  type OfferedFile,
  SourceError,
  TIME_LIMITS,
  type TimeLimits,
  WAIT_FOR_WRITERS,
} from './connector.ts';
import type { SftpSettings } from './settings.ts';
import {
  isDenied,
  isMissing,
  join,
  openSession,
  type SftpAccess,
  type SftpEntry,
  type SftpSession,
  SftpStatusError,
  versionOf,
} from './sftp-session.ts';

/** Collects files from a folder of an SFTP server. */

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

interface SftpOptions extends Omit<SftpAccess, 'limits'> {
  limits?: TimeLimits;
  settleSeconds: number;
  now?: () => number;
}

/**
 * With `after: "leave"`, nothing on the server is changed. With "move", a file is renamed into the folder `processing` before it is read,
 * so that a new file of the same name cannot replace it. Afterwards it is renamed into `done` or `failed`.
 */
export function createSftpConnector({
  settings,
  credentials,
  guard,
  limits = TIME_LIMITS,
  settleSeconds,
  now = Date.now,
}: SftpOptions): Connector {
  const ended = new AbortController();
  let session: Promise<SftpSession> | undefined;

  function connect(signal?: AbortSignal): Promise<SftpSession> {
    session ??= openSession(
      { settings, credentials, guard, limits },
      signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]),
    );
    return session;
  }

  async function listFiles(it: SftpSession): Promise<SftpEntry[]> {
    const entries: SftpEntry[] = [];
    try {
      for await (const entry of it.list(settings.path)) {
        if (isUnfinished(entry.name) || !matchesPattern(entry.name, settings.pattern)) continue;
        if (entries.push(entry) > MAX_FILES) throw tooManyFiles(settings.path);
      }
    } catch (error) {
      throw explainListing(error, settings);
    }
    return entries;
  }

  const settling = { settleSeconds, now };

  /**
   * The files that are completely uploaded, the oldest first. Files that changed within the last day must look the same twice, because
   * the clock of the server may be wrong.
   */
  async function findFiles(it: SftpSession, signal: AbortSignal): Promise<SftpEntry[]> {
    let entries = await listFiles(it);
    const isRecent = ({ changedAt }: SftpEntry) => Math.abs(now() - changedAt * SECOND) < DAY;
    if (settleSeconds > 0 && entries.some(isRecent)) {
      await sleep(Math.min(settleSeconds * SECOND, WAIT_FOR_WRITERS), undefined, { signal });
      const versions = new Set((await listFiles(it)).map((entry) => `${versionOf(entry)} ${entry.name}`));
      entries = entries.filter(
        (entry) =>
          versions.has(`${versionOf(entry)} ${entry.name}`) && isSettled(entry.changedAt * SECOND, settling),
      );
    }
    return entries.sort((a, b) => a.changedAt - b.changedAt || (a.name < b.name ? -1 : 1));
  }

  const original = (entry: SftpEntry) => join(settings.path, entry.name);

  function offer(entry: SftpEntry, read: () => AsyncIterable<Uint8Array>): OfferedFile {
    return {
      name: entry.name,
      version: versionOf(entry),
      format: 'auto',
      open(signal) {
        signal.addEventListener('abort', () => ended.abort(signal.reason), { once: true });
        return read();
      },
    };
  }

  /** Marked files that have changed, and cannot be taken back. */
  const stranded: OfferedFile[] = [];

  const connector: Connector = {
    async *files(_since, signal) {
      const it = await connect(signal);
      if (settings.after === 'leave') {
        for (const entry of await findFiles(it, signal)) {
          yield offer(entry, () =>
            readWhole(it, { path: original(entry), original: original(entry), size: entry.size }),
          );
        }
        return;
      }
      yield* stranded.splice(0);
      const mover = createMover(it, settings);
      for (const entry of await mover.leftOvers()) {
        yield offer(entry, () =>
          readWhole(it, { path: mover.taken(entry), original: original(entry), size: entry.size }),
        );
      }
      for (const entry of await findFiles(it, signal)) yield offer(entry, () => mover.read(entry));
    },
    async close() {
      const open = await session?.catch(() => undefined);
      open?.close();
    },
  };
  if (settings.after === 'leave') return connector;
  return {
    ...connector,
    async mark({ name, version }, outcome) {
      return await createMover(await connect(), settings).put({ name, version }, outcome);
    },
    async takeBack(marked, signal) {
      const it = await connect(signal);
      const mover = createMover(it, settings);
      // Several at a time, because each takes a round trip.
      const waiting = [...marked];
      const takeNext = async () => {
        for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
          signal.throwIfAborted();
          const { place, version } = file;
          await mover
            .takeBack(file, (changedAt) => isSettled(changedAt * SECOND, settling))
            .catch((error: unknown) => {
              if (!(error instanceof FileError)) throw error;
              stranded.push(offerFailing(place, version, error));
            });
        }
      };
      await Promise.all(Array.from({ length: READ_AHEAD }, takeNext));
    },
  };
}

const offerFailing = (name: string, version: string, error: FileError): OfferedFile => ({
  name,
  version,
  format: 'auto',
  // biome-ignore lint/correctness/useYield: there is nothing to read.
  async *open() {
    throw error;
  },
});

function explainListing(error: unknown, { path, host, port }: SftpSettings): unknown {
  if (isMissing(error))
    return new SourceError(`There is no folder "${path}" on ${host}:${port}. Check "path".`);
  if (isDenied(error)) {
    return new SourceError(
      `The user may not list "${path}" on ${host}:${port}. Give it the right on the server.`,
    );
  }
  if (error instanceof SftpStatusError) {
    return new SourceError(
      `${host}:${port} does not list "${path}": ${error.message}. Check that it is a folder.`,
    );
  }
  return error;
}

/** Moves files within an SFTP server: into `processing` before they are read, into `done` or `failed` afterwards. */

/** In `processing`, the version stands before the name, so that two files with the same name do not collide. */
const TAKEN = /^(\d+-\d+)-(.+)$/s;

/** The most files with the same name in `done`. More are an error of the uploader. */
const MAX_NUMBER = 10_000;

/** The most files in a folder. Their names are held in memory, to collect the oldest first. */
export const MAX_FILES = 100_000;

const tooManyFiles = (path: string) =>
  new SourceError(`"${path}" has more than ${MAX_FILES} files. Use "pattern", or a folder with fewer files.`);

function createMover(session: SftpSession, settings: SftpSettings) {
  const processing = join(settings.path, 'processing');
  const folders = {
    done: settings.done_path ?? join(settings.path, 'done'),
    failed: settings.failed_path ?? join(settings.path, 'failed'),
  };
  const made = new Set<string>();

  /** @throws {SourceError} that says which right is missing. */
  async function move<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SftpStatusError)) throw error;
      throw new SourceError(
        `The server does not let the user move files from "${settings.path}" (${error.message}). Give the user the right to rename files and to make folders there, or set "after" to "leave".`,
      );
    }
  }

  async function makeFolder(path: string): Promise<void> {
    if (made.has(path)) return;
    if ((await session.stat(path)) === null) await session.makeFolder(path);
    made.add(path);
  }

  const pathOf = (name: string, version: string) => join(processing, `${version}-${name}`);
  /** The path of a taken file. */
  const taken = (entry: SftpEntry) => pathOf(entry.name, versionOf(entry));

  async function readLeftOvers(): Promise<SftpEntry[]> {
    const found: SftpEntry[] = [];
    for await (const { name: takenName, ...attributes } of session.list(processing)) {
      const [, version = '', name = ''] = TAKEN.exec(takenName) ?? [];
      if (name === '') continue;
      const entry = { name, ...attributes };
      // The file has changed since it was taken. It is another version now, and must be read again as a whole.
      if (versionOf(entry) !== version)
        await session.rename(join(processing, takenName), pathOf(name, versionOf(entry)));
      if (found.push(entry) > MAX_FILES) throw tooManyFiles(processing);
    }
    return found;
  }

  /** The current path of a file that must be moved; null when it is not there any more. */
  async function locate(name: string, version: string): Promise<string | null> {
    for (const path of [pathOf(name, version), join(settings.path, name)]) {
      const attributes = await session.stat(path);
      if (attributes !== null && versionOf(attributes) === version) return path;
    }
    return null;
  }

  async function findFreePath(folder: string, name: string): Promise<string> {
    for (let n = 1; n <= MAX_NUMBER; n += 1) {
      const path = join(folder, numberedName(name, n));
      if ((await session.stat(path)) === null) return path;
    }
    throw new SourceError(`"${folder}" has more than ${MAX_NUMBER} files named "${name}". Remove some.`);
  }

  return {
    /** Files that an earlier run has taken but not moved further, because it crashed or their import is still running. */
    leftOvers: () =>
      move(() =>
        readLeftOvers().catch((error: unknown) => {
          if (isMissing(error)) return [];
          throw error;
        }),
      ),
    taken,
    /** Renames a file into `processing`, and reads it. */
    async *read(entry: SftpEntry): AsyncGenerator<Uint8Array> {
      const original = join(settings.path, entry.name);
      await move(async () => {
        await makeFolder(processing);
        await session.rename(original, taken(entry));
      });
      yield* readWhole(session, { path: taken(entry), original, size: entry.size });
    },
    /** Renames a marked file back into `processing` if it has changed. A server that hides it says nothing about it. */
    async takeBack(
      { name, version, place }: MarkedFile,
      isComplete: (changedAt: number) => boolean,
    ): Promise<void> {
      const found = await session.stat(place).catch((error: unknown) => {
        if (error instanceof SftpStatusError) return null;
        throw error;
      });
      if (found === null || versionOf(found) === version || !isComplete(found.changedAt)) return;
      try {
        await makeFolder(processing);
        await session.rename(place, pathOf(name, versionOf(found)));
      } catch (error) {
        if (!(error instanceof SftpStatusError)) throw error;
        throw new FileError(
          `It has changed since it was read, and cannot be moved back to be read again (${error.message}). Upload it again to "${settings.path}".`,
        );
      }
    },
    /**
     * Renames a taken file into `done` or `failed`. In `failed`, writes the reason to a text file. Does nothing if this was done before.
     * @returns the new path; null: it was moved before, or has changed.
     */
    put: (
      { name, version }: { name: string; version: string },
      outcome: FileOutcome,
    ): Promise<string | null> =>
      move(async () => {
        const from = await locate(name, version);
        if (from === null) return null;
        const folder = folders[outcome.status];
        await makeFolder(folder);
        const to = await findFreePath(folder, name);
        // The reason is written first. After a crash between the two steps, both are repeated.
        if (outcome.status === 'failed') await session.writeFile(`${to}.error.txt`, `${outcome.reason}\n`);
        await session.rename(from, to);
        return to;
      }),
  };
}

/** Reads a file from an SFTP server in constant memory, and checks that it is complete. */

/** All servers answer requests of this size (draft-ietf-secsh-filexfer-02, section 3). */
const READ_BYTES = 32 * 1024;
/** Requests under way at a time. Together they ask for 512 KiB, so that a server 100 ms away still sends 5 MB/s. */
const READ_AHEAD = 16;

/**
 * Yields the bytes of a file. Its size and time must be the same before and after. So neither a file that is still being written nor a
 * transfer that breaks off counts as complete.
 * @param file.path where the file is now.
 * @param file.original where its owner has put it. Errors name this path.
 * @param file.size when it was listed.
 * @throws {SourceError}
 */
async function* readWhole(
  session: SftpSession,
  { path, original, size }: { path: string; original: string; size: number },
): AsyncGenerator<Uint8Array> {
  const handle = await session.open(path).catch((error: unknown) => {
    throw explainOpening(error, original);
  });
  try {
    const before = await session.statOpen(handle);
    if (before.size !== size) throw changed(original);
    const underWay: Promise<Buffer>[] = [];
    let next = 0;
    for (;;) {
      while (underWay.length < READ_AHEAD && next < size) {
        const part = readPart(session, handle, next, Math.min(READ_BYTES, size - next), original);
        part.catch(() => {}); // Awaited below, unless an earlier part fails.
        underWay.push(part);
        next += READ_BYTES;
      }
      const first = underWay.shift();
      if (first === undefined) break;
      yield await first;
    }
    const after = await session.statOpen(handle);
    if (after.size !== before.size || after.changedAt !== before.changedAt) throw changed(original);
  } finally {
    await session.closeHandle(handle).catch(() => {});
  }
}

/** Repeats requests until the part is complete, because a server may answer with fewer bytes than requested. */
async function readPart(
  session: SftpSession,
  handle: Buffer,
  position: number,
  length: number,
  path: string,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  while (bytes < length) {
    const part = await session.read(handle, position + bytes, length - bytes);
    if (part.length === 0) throw changed(path);
    parts.push(part);
    bytes += part.length;
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
}

const changed = (path: string) =>
  new FileError(`"${path}" changed while it was being read. The next run reads it again.`);

function explainOpening(error: unknown, path: string): unknown {
  if (path.includes('\uFFFD')) {
    return new FileError(
      `The name "${path}" is not UTF-8, so the file cannot be opened. Rename it on the server.`,
    );
  }
  if (isMissing(error))
    return new FileError(`"${path}" was removed before it was read. Upload it again if it is missing.`);
  if (isDenied(error))
    return new FileError(
      `The user of the source may not read "${path}". Have the server give the user the right to read this file, or upload the file again. The next run tries again.`,
    );
  return error;
}
