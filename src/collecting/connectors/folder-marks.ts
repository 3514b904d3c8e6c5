import { lstat, rename, rmdir, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { FileOutcome } from '../connector.ts';
import { codeOf } from './connection-errors.ts';
import type { SourceFolders } from './folder-paths.ts';

/** The longest name that file systems take, in bytes. */
const MAX_NAME = 255;

const REASON_SUFFIX = '.error.txt';

/**
 * Moves a file that was taken to `done/` or `failed/`, there with the reason beside it. May be repeated: what is moved already stays
 * where it is.
 */
export async function markFile(
  folders: SourceFolders,
  { name, token }: { name: string; token: string },
  outcome: FileOutcome,
): Promise<void> {
  const folder = join(folders.processing, token);
  const path = join(folder, name);
  if (!(await exists(path))) return;
  const target = folders[outcome.status];
  const free = (await exists(join(target, name))) ? addToName(name, `-${token}`) : name;
  // The reason comes first, so that no file lies in failed/ without one.
  if (outcome.status === 'failed')
    await writeFile(join(target, cutName(free, REASON_SUFFIX)), `${outcome.reason}\n`);
  await rename(path, join(target, free));
  // Something else may have been put there.
  await rmdir(folder).catch(() => {});
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

/** Appends to a name, whose end is cut off where it would get too long. */
function cutName(name: string, suffix: string): string {
  const letters = [...name];
  while (Buffer.byteLength(letters.join('') + suffix) > MAX_NAME) letters.pop();
  return letters.join('') + suffix;
}
