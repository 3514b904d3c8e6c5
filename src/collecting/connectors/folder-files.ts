import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SourceError } from '../connector.ts';
import { codeOf } from './connection-errors.ts';
import { isUnfinished } from './file-names.ts';
import type { SourceFolders } from './folder-paths.ts';

/** The files of a folder source: those that lie there, and those that a run has taken. */

/** A file that lies in the folder. */
export interface FoundFile {
  name: string;
  /** Changes while the file is written. */
  state: string;
  /** Milliseconds since 1970. */
  changedAt: number;
}

/** A file that was taken: `processing/TOKEN/NAME`. */
export interface TakenFile {
  name: string;
  token: string;
  path: string;
}

/** Finds the files in a folder, the oldest first. Folders, symbolic links and the like are left alone. */
export async function look(folder: string): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for (const name of await readdir(folder)) {
    if (isUnfinished(name)) continue;
    const stats = await statOf(join(folder, name));
    if (stats === null) continue;
    found.push({ name, state: `${stats.size} ${stats.mtimeMs}`, changedAt: stats.mtimeMs });
  }
  return found.toSorted((a, b) => a.changedAt - b.changedAt || (a.name < b.name ? -1 : 1));
}

/** @returns null when there is no such file, or it is something else. */
async function statOf(path: string) {
  try {
    const stats = await lstat(path);
    return stats.isFile() ? stats : null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Takes a file: renaming it is atomic, so that two runs never take the same one.
 * @returns null when it is not there any more.
 */
export async function takeFile(
  { inbox, processing }: SourceFolders,
  name: string,
): Promise<TakenFile | null> {
  const token = randomBytes(8).toString('hex');
  const folder = join(processing, token);
  await mkdir(folder);
  const path = join(folder, name);
  try {
    await rename(join(inbox, name), path);
    return { name, token, path };
  } catch (error) {
    await rmdir(folder);
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Finds the files that earlier runs have taken and that are not marked, the oldest first. Removes folders that are empty. */
export async function findTaken({ processing }: SourceFolders): Promise<TakenFile[]> {
  const found: (TakenFile & { changedAt: number })[] = [];
  for (const entry of await readdir(processing, { withFileTypes: true })) {
    const { name: token } = entry;
    // No link: it could lead out of the customer's folder.
    if (!entry.isDirectory() || !/^[0-9a-f]{16}$/.test(token)) continue;
    const folder = join(processing, token);
    const [name] = await readdir(folder);
    if (name === undefined) {
      await rmdir(folder);
      continue;
    }
    const path = join(folder, name);
    const stats = await statOf(path);
    if (stats !== null) found.push({ name, token, path, changedAt: stats.mtimeMs });
  }
  return found.toSorted((a, b) => a.changedAt - b.changedAt || (a.name < b.name ? -1 : 1));
}

/** Yields the bytes of a file. @throws {SourceError} when something else was put in its place. */
export async function* readTaken({ name, path }: TakenFile, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  // A pipe that nobody writes to would never open without O_NONBLOCK.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    // A folder on the way may have been replaced by a link.
    if (!stats.isFile() || (await realpath(path)) !== path || (await lstat(path)).ino !== stats.ino)
      throw new SourceError(`${name} was replaced while it was collected.`);
    yield* handle.createReadStream({ signal, autoClose: false, highWaterMark: 256 * 1024 });
  } finally {
    await handle.close();
  }
}
