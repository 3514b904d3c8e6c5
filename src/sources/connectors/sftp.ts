import { setTimeout as sleep } from 'node:timers/promises';
import { TIME_LIMITS, type TimeLimits } from './connection-errors.ts';
import { type Connector, FileError, type OfferedFile, SourceError } from './connector.ts';
import { isSettled, isUnfinished, matchesPattern, WAIT_FOR_WRITERS } from './file-names.ts';
import type { SftpSettings } from './settings.ts';
import type { SftpAccess } from './sftp-connect.ts';
import { READ_AHEAD, readWhole } from './sftp-file.ts';
import { createMover, MAX_FILES, tooManyFiles } from './sftp-mover.ts';
import {
  isDenied,
  isMissing,
  join,
  openSession,
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
    async putBack(file, signal) {
      return await createMover(await connect(signal), settings).putBack(file);
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
