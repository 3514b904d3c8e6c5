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
import { join, resolve } from 'node:path';

/**
 * Creates `directory` and its missing parents, readable only by this user (0700). A directory that is not empty keeps its
 * mode, because DATA_DIR may be set to a directory that others need.
 */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (readdirSync(directory).length === 0) {
    chmodSync(directory, 0o700);
  }
}

/** The file's text, or null when there is no such file. */
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

/** Writes or replaces a file with mode 0600. The change is atomic, even if this process is killed. */
export function writePrivate(path: string, content: string): void {
  const temporary = writeTemporary(path, content);
  try {
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Creates a file with mode 0600 unless it exists. If there are several callers at the same time, exactly one succeeds. The file
 * has all its content from the start.
 * @returns false when the file existed already, which leaves it unchanged.
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

/** Reads the secret in `path`, which `make` creates the first time. Callers at the same time all get the same secret. */
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
  } catch (error) {
    // For example because the disk is full.
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  return temporary;
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/**
 * The SECRET_KEY of an embedded installation: 32 random bytes in base64, created once and kept in DATA_DIR/secret.key
 * (mode 0600). Processes that start at the same time get the same key. Losing the file makes the stored secrets unreadable.
 */
export async function loadOrCreateSecretKey(dataDir: string): Promise<string> {
  const directory = resolve(dataDir);
  makePrivateDirectory(directory);
  return readOrCreateSecret(join(directory, 'secret.key'), () => randomBytes(32).toString('base64'));
}
