import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';

/**
 * Makes `directory`, and whatever is missing above it, readable for this user alone (0700). A directory that already
 * holds something keeps its mode: DATA_DIR may have been pointed at a place that others need.
 */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (readdirSync(directory).length === 0) {
    chmodSync(directory, 0o700);
  }
}

/** The file's text, or null when there is none. */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) {
      return null;
    }
    throw error;
  }
}

/** Writes a file of mode 0600, over an older one; a reader, or a kill at any moment, never meets half of it. */
export function writePrivate(path: string, content: string): void {
  renameSync(writeTemporary(path, content), path);
}

/**
 * Makes a file of mode 0600 unless there is one: of several callers at once exactly one succeeds, and the content is
 * whole from the first moment.
 * @returns false when the file was already there; it is left as it is.
 */
export function createPrivate(path: string, content: string): boolean {
  const temporary = writeTemporary(path, content);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) {
      return false;
    }
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** The secret kept in `path`, made with `make` the first time; callers at the same moment all get the same one. */
export function readOrCreateSecret(path: string, make: () => string): string {
  const kept = readIfThere(path);
  if (kept !== null) {
    return kept;
  }
  createPrivate(path, make());
  return readFileSync(path, 'utf8');
}

function writeTemporary(path: string, content: string): string {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return temporary;
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
