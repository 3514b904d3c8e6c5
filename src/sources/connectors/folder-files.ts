import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  access,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { codeOf } from './connection-errors.ts';
import {
  FileError,
  type FileOutcome,
  type MarkedFile,
  notFoundAgain,
  type PutAwayFile,
  type PutBack,
} from './connector.ts';
import { isUnfinished } from './file-names.ts';
import type { SourceFolders } from './source-folders.ts';

/** The files of a folder source: the files in the folder, and the files that a run has taken. */

/** A file in the folder. */
interface FoundFile {
  name: string;
  /** Changes while the file is written. */
  state: string;
  /** Milliseconds since 1970. */
  changedAt: number;
}

/** A file that was taken: `processing/TOKEN/NAME`. */
export interface TakenFile {
  name: string;
  /** The token, and the file's state when it was taken. */
  version: string;
  path: string;
}

const stateOf = ({ size, mtimeMs }: { size: number; mtimeMs: number }) => `${size} ${mtimeMs}`;
const TOKEN_LENGTH = 16;

/** Finds the files in a folder, the oldest first. Ignores everything that is not a regular file, such as folders and symbolic links. */
export async function look(folder: string): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for (const name of await readdir(folder)) {
    if (isUnfinished(name)) continue;
    const stats = await statOf(join(folder, name));
    if (stats === null) continue;
    found.push({ name, state: stateOf(stats), changedAt: stats.mtimeMs });
  }
  return found.toSorted((a, b) => a.changedAt - b.changedAt || (a.name < b.name ? -1 : 1));
}

/** @returns null when there is nothing with this name, or it is not a regular file. */
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
 * Takes a file by renaming it. This is atomic, so two runs never take the same file.
 * @param from where the file is.
 * @returns null when it is not there any more.
 * @throws {FileError} when this file cannot be moved, and others can.
 */
export async function takeFile(
  { inbox, processing }: SourceFolders,
  name: string,
  from = join(inbox, name),
): Promise<TakenFile | null> {
  const token = randomBytes(8).toString('hex');
  const folder = join(processing, token);
  await mkdir(folder);
  const path = join(folder, name);
  try {
    await rename(from, path);
  } catch (error) {
    await rmdir(folder);
    if (codeOf(error) === 'ENOENT') return null;
    const isOfFolder = await access(dirname(from), constants.W_OK).then(
      () => false,
      () => true,
    );
    throw isOfFolder ? error : fileError(error, 'moved');
  }
  const stats = await statOf(path);
  return stats === null ? null : { name, version: `${token} ${stateOf(stats)}`, path };
}

/**
 * Takes a marked file back to `processing/` if it has changed since it was read.
 * @param isSettled says whether a file that was changed then is complete.
 * @throws {FileError} when it cannot be moved.
 */
export async function takeBackFile(
  folders: SourceFolders,
  { name, version, place }: MarkedFile,
  isSettled: (changedAt: number) => boolean,
): Promise<void> {
  const status = place.startsWith('done/') ? 'done' : 'failed';
  const path = join(folders[status], basename(place));
  const stats = await statOf(path);
  if (stats === null || stateOf(stats) === version.slice(TOKEN_LENGTH + 1) || !isSettled(stats.mtimeMs))
    return;
  await takeFile(folders, name, path);
}

/**
 * Takes a file that was put away to `processing/`. Does nothing if it is there already, after a crash, or in the folder itself.
 * @throws {FileError} when it cannot be moved.
 */
export async function putBackFile(
  folders: SourceFolders,
  { name, version, place }: PutAwayFile,
): Promise<PutBack> {
  const state = version.slice(TOKEN_LENGTH + 1);
  const isIt = async (path: string) => {
    const stats = await statOf(path);
    return stats !== null && stateOf(stats) === state;
  };
  if (place !== null) {
    const path = join(folders[place.startsWith('done/') ? 'done' : 'failed'], basename(place));
    if ((await isIt(path)) && (await takeFile(folders, name, path)) !== null) return 'put back';
  }
  const taken = await findTaken(folders);
  if (taken.some((file) => file.name === name && file.version.slice(TOKEN_LENGTH + 1) === state))
    return 'put back';
  if (await isIt(join(folders.inbox, name))) return 'put back';
  return notFoundAgain(place === null ? [`done/${name}`] : [place]);
}

/** Finds the files that earlier runs have taken but not marked, the oldest first. Removes empty folders. */
export async function findTaken({ processing }: SourceFolders): Promise<TakenFile[]> {
  const found: (TakenFile & { changedAt: number })[] = [];
  for (const entry of await readdir(processing, { withFileTypes: true })) {
    const { name: token } = entry;
    // A link is ignored, because it could lead out of the customer's folder.
    if (!entry.isDirectory() || !/^[0-9a-f]{16}$/.test(token)) continue;
    const folder = join(processing, token);
    const [name] = await readdir(folder);
    if (name === undefined) {
      await rmdir(folder);
      continue;
    }
    const path = join(folder, name);
    const stats = await statOf(path);
    if (stats !== null)
      found.push({ name, version: `${token} ${stateOf(stats)}`, path, changedAt: stats.mtimeMs });
  }
  return found.toSorted((a, b) => a.changedAt - b.changedAt || (a.name < b.name ? -1 : 1));
}

const READ_SIZE = 256 * 1024;

/** Yields the bytes of a file. @throws {SourceError} when the file was replaced with something else. */
export async function* readTaken({ name, path }: TakenFile, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would never end.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const explain = (error: unknown) => {
    throw fileError(error, 'read');
  };
  const handle = await open(path, flags).catch(explain);
  try {
    const stats = await handle.stat();
    // A folder on the way may have been replaced by a link.
    const expected = join(await realpath(dirname(dirname(path))), basename(dirname(path)), name);
    if (!stats.isFile() || (await realpath(path)) !== expected || (await lstat(path)).ino !== stats.ino)
      throw new FileError('It was replaced while it was collected.');
    for (;;) {
      // Not a stream, because the error of a stream that is created with an aborted signal would end the process.
      signal.throwIfAborted();
      const { buffer, bytesRead } = await handle
        .read(Buffer.allocUnsafe(READ_SIZE), 0, READ_SIZE)
        .catch(explain);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** An error of one file. @param what could not be done with it: `read` or `moved`. */
function fileError(error: unknown, what: 'read' | 'moved'): Error {
  const code = codeOf(error);
  if (!/^E[A-Z]+$/.test(code) || ['EROFS', 'ENOSPC', 'EXDEV', 'EMFILE', 'ENFILE'].includes(code))
    return error as Error;
  if (code === 'ELOOP') return new FileError('There is a symbolic link in its place.');
  if (what === 'read' && code === 'ENOENT')
    return new FileError('It was removed before it was read. Put it into the folder again if it is missing.');
  if (code === 'EACCES' || code === 'EPERM')
    return new FileError(`It cannot be ${what}: give the user of the service access to it.`);
  return new FileError(
    `It cannot be ${what}: the operating system says ${code}. Check the file and its disk, and put the file into the folder again.`,
  );
}

/** The longest name that file systems accept, in bytes. */
const MAX_NAME = 255;

const REASON_SUFFIX = '.error.txt';

/**
 * Moves a taken file to `done/` or `failed/`. In `failed/`, the reason is written beside it. May be repeated, because a file that was
 * already moved stays where it is. So does a file that has changed since it was taken: the next run collects it again.
 * @returns the place of the file, such as `done/march.sta`; null: it stays in `processing/`, or is gone.
 */
export async function markFile(
  folders: SourceFolders,
  { name, version }: { name: string; version: string },
  outcome: FileOutcome,
): Promise<string | null> {
  const token = version.slice(0, TOKEN_LENGTH);
  const folder = join(folders.processing, token);
  const path = join(folder, name);
  const stats = await statOf(path);
  const target = folders[outcome.status];
  const unique = addToName(name, `-${token}`);
  if (stats === null) {
    // An earlier call has moved it.
    const moved = (await exists(join(target, unique))) ? unique : name;
    return (await exists(join(target, moved))) ? `${outcome.status}/${moved}` : null;
  }
  if (`${token} ${stateOf(stats)}` !== version) return null;
  const free = (await exists(join(target, name))) ? unique : name;
  // The reason is written first, so that no file is in failed/ without a reason.
  if (outcome.status === 'failed')
    await replaceFile(
      join(target, cutName(free, REASON_SUFFIX)),
      join(target, `.${token}`),
      `${outcome.reason}\n`,
    );
  await rename(path, join(target, free));
  // Fails if somebody has put another file there.
  await rmdir(folder).catch(() => {});
  return `${outcome.status}/${free}`;
}

/** Writes a file. Replaces a symbolic link instead of following it, because anybody with access to the folder could have put it there. */
async function replaceFile(path: string, draft: string, text: string): Promise<void> {
  await rm(draft, { force: true });
  await writeFile(draft, text, { flag: 'wx' });
  await rename(draft, path);
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** `march.sta` becomes `march-TEXT.sta`. */
function addToName(name: string, text: string): string {
  const extension = extname(name);
  return cutName(name.slice(0, name.length - extension.length), text + extension);
}

/** Appends to a name. Cuts off the end of a name that would get too long. */
function cutName(name: string, suffix: string): string {
  const letters = [...name];
  while (Buffer.byteLength(letters.join('') + suffix) > MAX_NAME) letters.pop();
  return letters.join('') + suffix;
}
