import {
  FileError,
  type FileOutcome,
  type MarkedFile,
  notFoundAgain,
  type PutAwayFile,
  type PutBack,
  SourceError,
} from './connector.ts';
import { numberedName } from './file-names.ts';
import type { SftpSettings } from './settings.ts';
import { readWhole } from './sftp-file.ts';
import {
  isMissing,
  join,
  type SftpEntry,
  type SftpSession,
  SftpStatusError,
  versionOf,
} from './sftp-session.ts';

/** Moves files within an SFTP server: into `processing` before they are read, into `done` or `failed` afterwards. */

/** In `processing`, the version stands before the name, so that two files with the same name do not collide. */
const TAKEN = /^(\d+-\d+)-(.+)$/s;

/** The most files with the same name in `done`. More are an error of the uploader. */
const MAX_NUMBER = 10_000;

/** The most files in a folder. Their names are held in memory, to collect the oldest first. */
export const MAX_FILES = 100_000;

export const tooManyFiles = (path: string) =>
  new SourceError(`"${path}" has more than ${MAX_FILES} files. Use "pattern", or a folder with fewer files.`);

export function createMover(session: SftpSession, settings: SftpSettings) {
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

  /** null when the file is not there, or the server hides it. */
  const statVisible = (path: string) =>
    session.stat(path).catch((error: unknown) => {
      if (error instanceof SftpStatusError) return null;
      throw error;
    });

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
      const found = await statVisible(place);
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
    /** Renames a file that was put away back into `processing`. A server that hides it says nothing about it. */
    async putBack({ name, version, place }: PutAwayFile): Promise<PutBack> {
      const places = place === null ? [join(folders.done, name), join(folders.failed, name)] : [place];
      for (const from of places) {
        const found = await statVisible(from);
        if (found === null || versionOf(found) !== version) continue;
        try {
          await makeFolder(processing);
          await session.rename(from, pathOf(name, version));
          return 'put back';
        } catch (error) {
          if (!(error instanceof SftpStatusError)) throw error;
          return {
            failure: `It is to be collected again, and cannot be moved back from "${from}" (${error.message}). Upload it again to "${settings.path}".`,
          };
        }
      }
      return (await move(() => locate(name, version))) === null ? notFoundAgain(places) : 'put back';
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
