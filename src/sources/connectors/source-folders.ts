import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { codeOf } from './connection-errors.ts';
import { SourceError } from './connector.ts';
import { FOLDERS } from './settings.ts';

/** The folders of a folder source. All of them are below the customer's folder. */

/** Their paths. On Linux, these lead to the opened folders themselves, even if somebody puts a link in the place of one of them. */
export type SourceFolders = Record<'inbox' | keyof typeof FOLDERS, string> & { close(): Promise<void> };

/**
 * Opens the folders of a source, and makes missing folders.
 * @param root the customer's folder. The folder above it must exist.
 * @param path within the customer's folder.
 * @returns paths that stay usable until `close`.
 * @throws {SourceError} when they cannot be opened, or a symbolic link leads out of the customer's folder.
 */
export async function openFolders(root: string, path: string): Promise<SourceFolders> {
  const top = await openRoot(root);
  const opened: FileHandle[] = [];
  const close = async () => {
    await Promise.all(opened.splice(0).map((handle) => handle.close()));
  };
  const openIn = (parent: string, name: string) => openFolder(top, join(parent, name), { path, opened });
  try {
    let inbox = top;
    for (const name of path.split('/')) inbox = await openIn(inbox, name);
    return {
      inbox,
      processing: await openIn(inbox, FOLDERS.processing),
      done: await openIn(inbox, FOLDERS.done),
      failed: await openIn(inbox, FOLDERS.failed),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openRoot(root: string): Promise<string> {
  try {
    await mkdir(root).catch(unlessItExists);
    return await realpath(root);
  } catch (error) {
    throw codeOf(error) === 'ENOENT'
      ? new SourceError(
          'The folder for sources does not exist on the server. Have the operator create the folder that SOURCES_DIR names.',
        )
      : folderError(error, '');
  }
}

/**
 * Opens a folder, and makes it if it is missing.
 * @param top the real path of the customer's folder.
 * @param source.opened gets the handle.
 * @returns a path that leads to the opened folder.
 */
async function openFolder(
  top: string,
  folder: string,
  { path, opened }: { path: string; opened: FileHandle[] },
): Promise<string> {
  try {
    await mkdir(folder).catch(unlessItExists);
    // Only Linux has paths of open files.
    const isLinux = process.platform === 'linux';
    if (isLinux) opened.push(await open(folder, constants.O_RDONLY | constants.O_DIRECTORY));
    const pinned = isLinux ? `/proc/self/fd/${opened.at(-1)?.fd}` : folder;
    const real = await realpath(pinned);
    if (real.startsWith(top + sep)) return isLinux ? pinned : real;
  } catch (error) {
    throw folderError(error, path);
  }
  throw new SourceError(
    `The folder ${path} has a symbolic link that leads out of your own folder. Replace the link with a folder.`,
  );
}

function unlessItExists(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'The service may not read or write there: give its user access to the folder and to its files.',
  EPERM: 'The service may not read or write there: give its user access to the folder and to its files.',
  EROFS: 'It is read-only, and the service has to move files there.',
  ENOSPC: 'The disk is full.',
  ENOTDIR: 'A part of its path is a file, and must be a folder.',
  ENOENT: 'It was removed or renamed during the run.',
  EXDEV: 'Its folders processing, done and failed must be on the same file system as itself.',
};

/** An error of the operating system, for the owner of the source. @param path of the folder; '' for the customer's own. */
export function folderError(error: unknown, path: string): Error {
  if (error instanceof SourceError) return error;
  const code = codeOf(error);
  if (!/^E[A-Z]+$/.test(code)) return error instanceof Error ? error : new Error(String(error));
  const which = path === '' ? 'Your folder for sources' : `The folder ${path}`;
  return new SourceError(`${which} cannot be used. ${REASONS[code] ?? `The operating system says ${code}.`}`);
}
