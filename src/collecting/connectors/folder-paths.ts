import { mkdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { SourceError } from '../connector.ts';
import { codeOf } from './connection-errors.ts';
import { FOLDERS } from './folder-settings.ts';

/** The folders of a folder source, all of them below the customer's. */

/** Real paths, without symbolic links. */
export type SourceFolders = Record<'inbox' | keyof typeof FOLDERS, string>;

/**
 * Opens the folders of a source, and makes those that are missing.
 * @param root the customer's folder. The folder above it must exist.
 * @param path within the customer's folder.
 * @throws {SourceError} when they cannot be opened, or a symbolic link leads out of the customer's folder.
 */
export async function openFolders(root: string, path: string): Promise<SourceFolders> {
  const top = await openRoot(root);
  let inbox = top;
  for (const name of path.split('/')) inbox = await openFolder(top, inbox, name, path);
  return {
    inbox,
    processing: await openFolder(top, inbox, FOLDERS.processing, path),
    done: await openFolder(top, inbox, FOLDERS.done, path),
    failed: await openFolder(top, inbox, FOLDERS.failed, path),
  };
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

async function openFolder(top: string, parent: string, name: string, path: string): Promise<string> {
  try {
    const folder = join(parent, name);
    await mkdir(folder).catch(unlessItExists);
    const real = await realpath(folder);
    if (real.startsWith(top + sep)) return real;
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
  ELOOP: 'It has a symbolic link in place of a file.',
};

/** An error of the operating system, for the owner of the source. @param path of the folder; '' for the customer's own. */
export function folderError(error: unknown, path: string): Error {
  if (error instanceof SourceError) return error;
  const code = codeOf(error);
  if (!/^E[A-Z]+$/.test(code)) return error instanceof Error ? error : new Error(String(error));
  const which = path === '' ? 'Your folder for sources' : `The folder ${path}`;
  return new SourceError(`${which} cannot be used. ${REASONS[code] ?? `The operating system says ${code}.`}`);
}
