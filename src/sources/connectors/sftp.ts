import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressGuard } from '../../platform/address-guard.ts';
import { TIME_LIMITS, type TimeLimits } from './connection-errors.ts';
import { type Connector, type OfferedFile, SourceError } from './connector.ts';
import { isUnfinished, matchesPattern } from './file-names.ts';
import type { SftpCredentials, SftpSettings } from './settings.ts';
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
import { createMover, MAX_FILES, type Mover, readWhole, tooManyFiles } from './sftp-transfer.ts';

/** Collects files from a folder of an SFTP server. */

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

/** Files that changed within the last day may still be uploaded. They must look the same twice, this many milliseconds apart. */
const SECOND_LOOK_AFTER = 5 * SECOND;

interface SftpOptions {
  settings: SftpSettings;
  credentials: SftpCredentials;
  guard: AddressGuard;
  limits?: TimeLimits;
  secondLookAfter?: number;
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
  secondLookAfter = SECOND_LOOK_AFTER,
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

  /** The files that are completely uploaded, the oldest first. */
  async function findFiles(it: SftpSession, signal: AbortSignal): Promise<SftpEntry[]> {
    let entries = await listFiles(it);
    const isRecent = ({ changedAt }: SftpEntry) => Math.abs(now() - changedAt * SECOND) < DAY;
    if (entries.some(isRecent)) {
      await sleep(secondLookAfter, undefined, { signal });
      const versions = new Set((await listFiles(it)).map((entry) => `${versionOf(entry)} ${entry.name}`));
      entries = entries.filter((entry) => versions.has(`${versionOf(entry)} ${entry.name}`));
    }
    return entries.sort((a, b) => a.changedAt - b.changedAt || (a.name < b.name ? -1 : 1));
  }

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

  const connector: Connector = {
    async *files(_since, signal) {
      const it = await connect(signal);
      if (settings.after === 'leave') {
        for (const entry of await findFiles(it, signal)) {
          yield offer(entry, () => readWhole(it, join(settings.path, entry.name), entry.size));
        }
        return;
      }
      const mover = createMover(it, settings);
      for (const entry of await mover.leftOvers()) {
        yield offer(entry, () => readWhole(it, mover.taken(entry), entry.size));
      }
      for (const entry of await findFiles(it, signal))
        yield offer(entry, () => takeAndRead(it, mover, entry));
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
      await createMover(await connect(), settings).put({ name, version }, outcome);
    },
  };
}

/** The refusal of the host's address, or null. For creating or changing a source. */
export const checkSftpAddress = (
  settings: SftpSettings,
  { guard }: { guard: AddressGuard },
): Promise<string | null> => guard.resolveHost(settings.host);

async function* takeAndRead(
  session: SftpSession,
  mover: Mover,
  entry: SftpEntry,
): AsyncGenerator<Uint8Array> {
  await mover.take(entry);
  yield* readWhole(session, mover.taken(entry), entry.size);
}

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
