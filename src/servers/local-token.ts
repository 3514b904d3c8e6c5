import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import type { Config } from '../platform/config.ts';
import { isOperatorToken } from '../platform/tokens.ts';
import { identify, isAlive, ProcessIdentity } from './embedded/process-identity.ts';
import { createPrivate, makePrivateDirectory, writePrivate } from './private-file.ts';

/**
 * The local token: a running service leaves it in a file, so that whoever may read the files of the service may also command it. Each
 * process that publishes a token has a file of its own, because several services may share a DATA_DIR.
 */

const TokenRecord = v.object({
  ...ProcessIdentity.entries,
  url: v.pipe(v.string(), v.url(), v.regex(/^https?:/i)),
  token: v.pipe(v.string(), v.check(isOperatorToken)),
});
/** The process that published the token, and the URL of its operators' listener. */
export type TokenRecord = v.InferOutput<typeof TokenRecord>;

type Directories = Pick<Config, 'dataDir' | 'runtimeDirs'>;

/**
 * Writes the token and the URL of the operators' listener into a file of mode 0600: in DATA_DIR or, if that cannot be written, in a
 * runtime directory. Replaces a file that an ended process of the same pid has left.
 * @returns a function that removes the file, if it still has this token; or null when no directory can be written.
 */
export function publishLocalToken({
  token,
  url,
  ...directories
}: Directories & Pick<TokenRecord, 'token' | 'url'>): (() => void) | null {
  const identity = identify(process.pid) ?? { pid: process.pid, startTime: '' };
  const content = JSON.stringify({ ...identity, url, token });
  for (const { directory, prefix, make } of placesOf(directories)) {
    const path = join(directory, `${prefix}${process.pid}.json`);
    const isWritten = attempt(() => {
      make();
      // No other living process has this name. Neither way follows a symbolic link.
      if (!createPrivate(path, content)) writePrivate(path, content);
      return true;
    });
    if (isWritten === true) return () => remove(path, token);
  }
  return null;
}

/**
 * Finds the tokens of the services on this machine that run with this DATA_DIR, the newest first. Ignores the files of processes that
 * have ended, and files that somebody else may have written or read. Removes nothing.
 */
export function findLocalTokens(directories: Directories): TokenRecord[] {
  return placesOf(directories)
    .flatMap(({ directory, prefix, isTrusted }) =>
      isTrusted()
        ? (attempt(() => readdirSync(directory)) ?? [])
            .filter((name) => name.startsWith(prefix) && /^\d+\.json$/.test(name.slice(prefix.length)))
            .map((name) => readRecord(join(directory, name)))
        : [],
    )
    .filter((found) => found !== null)
    .filter(({ record }) => isAlive(record))
    .toSorted((a, b) => b.writtenAt - a.writtenAt)
    .map(({ record }) => record);
}

interface Place {
  directory: string;
  /** How the names of its files begin. The pid follows. */
  prefix: string;
  /** Creates the directory if it is missing. @throws when others can write to it. */
  make(): void;
  /** Whether files may be read from it. */
  isTrusted(): boolean;
}

const NAME = 'operator-token.';

/** The directories for the files, the preferred one first. */
function placesOf({ dataDir, runtimeDirs }: Directories): Place[] {
  const folder = resolve(dataDir);
  // Containers that share a DATA_DIR have processes of the same pid, and may start them at the same moment.
  const namespace = pidNamespace();
  // Several installations share a runtime directory.
  const installation = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  const prefix = `${NAME}${installation}.${namespace}`;
  const temporary = join(tmpdir(), `ledgerbell-${ownUid()}`);
  return [
    {
      directory: folder,
      prefix: `${NAME}${namespace}`,
      make: () => makePrivateDirectory(folder),
      isTrusted: () => true,
    },
    ...runtimeDirs.map((directory) => ({ directory, prefix, make: () => {}, isTrusted: () => true })),
    {
      directory: temporary,
      prefix,
      make() {
        attempt(() => mkdirSync(temporary, { mode: 0o700 }));
        if (!isOwnAndPrivate(temporary)) throw new UntrustedDirectoryError();
      },
      isTrusted: () => isOwnAndPrivate(temporary),
    },
  ];
}

/** Somebody else may have made the directory, because every user can write to the directory around it. */
class UntrustedDirectoryError extends Error {
  override name = 'UntrustedDirectoryError';
  readonly code = 'EACCES';
}

const isOwnAndPrivate = (directory: string): boolean =>
  attempt(() => {
    const it = lstatSync(directory);
    return it.isDirectory() && it.uid === ownUid() && (it.mode & 0o077) === 0;
  }) === true;

const ownUid = (): number => process.getuid?.() ?? 0;

/** The inode of this process's pid namespace, and a hyphen. Empty on systems other than Linux. */
const pidNamespace = (): string =>
  attempt(() => `${/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'}-`) ?? '';

const MAX_BYTES = 4 * 1024;

/** @returns null unless the file is valid, and only its owner, who is this user or root, can read and write it. */
function readRecord(path: string): { record: TokenRecord; writtenAt: number } | null {
  // Without O_NONBLOCK, a named pipe would block the command for ever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = attempt(() => openSync(path, flags));
  if (file === null) return null;
  try {
    const { uid, mode, size, mtimeMs } = fstatSync(file);
    const isTrusted = (uid === ownUid() || uid === 0) && mode === (constants.S_IFREG | 0o600);
    if (!isTrusted || size > MAX_BYTES) return null;
    const buffer = Buffer.alloc(size);
    const text = buffer.toString('utf8', 0, readSync(file, buffer));
    return { record: v.parse(TokenRecord, JSON.parse(text)), writtenAt: mtimeMs };
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}

/** Does not fail if the directory has become read-only, because the token is worth nothing once its process has ended. */
function remove(path: string, token: string): void {
  if (readRecord(path)?.record.token === token) attempt(() => rmSync(path, { force: true }));
}

/** @returns null when the system refuses, for example with EACCES or EROFS. */
function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
