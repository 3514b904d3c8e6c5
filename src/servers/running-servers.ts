import { existsSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as v from 'valibot';
import { identify, isAlive, ProcessIdentity } from './embedded/process-identity.ts';
import { createPrivate, readIfThere, writePrivate } from './private-file.ts';

const OwnerRecord = v.object({
  ...ProcessIdentity.entries,
  databaseUrl: v.optional(v.string()),
  redisUrl: v.optional(v.string()),
});
/** The process that owns a DATA_DIR. The URLs are set once its servers answer. */
type OwnerRecord = v.InferOutput<typeof OwnerRecord>;

/** Another process is using this DATA_DIR. */
export class DataDirInUseError extends Error {
  override name = 'DataDirInUseError';
}

/**
 * Makes this process the only owner of the record file `path`. Replaces the record of a process that has ended. If several
 * processes try at the same time, exactly one succeeds.
 * @throws {DataDirInUseError} naming the directory and the owner's pid.
 */
export function claim(path: string): void {
  const content = JSON.stringify(ownIdentity());
  while (!createPrivate(path, content)) {
    const found = readIfThere(path);
    const owner = parse(found);
    if (owner !== null && isAlive(owner)) {
      throw new DataDirInUseError(
        `DATA_DIR ${dirname(path)} is in use by process ${owner.pid}. Stop that one first, or give this one a DATA_DIR of its own.`,
      );
    }
    // Deleting a stale record could delete the record of a faster process. So the right to replace it is claimed first, in the same
    // way. A process that dies with that right is replaced in turn.
    const right = `${path}.takeover`;
    claim(right);
    try {
      if (found !== null && readIfThere(path) === found) {
        writePrivate(path, content);
        return;
      }
    } finally {
      release(right);
    }
  }
}

/** Adds the servers' URLs to the record of this process, for {@link findOwner}. */
export function publish(path: string, urls: Pick<OwnerRecord, 'databaseUrl' | 'redisUrl'>): void {
  writePrivate(path, JSON.stringify({ ...ownIdentity(), ...urls }));
}

export function release(path: string): void {
  rmSync(path, { force: true });
}

/** The running owner of a record file, or null. */
export function findOwner(path: string): OwnerRecord | null {
  const owner = parse(readIfThere(path));
  return owner !== null && isAlive(owner) ? owner : null;
}

function ownIdentity(): ProcessIdentity {
  return identify(process.pid) ?? { pid: process.pid, startTime: '' };
}

/** A record that cannot be parsed has no owner, because every owner writes its record atomically. */
function parse(text: string | null): OwnerRecord | null {
  try {
    return text === null ? null : v.parse(OwnerRecord, JSON.parse(text));
  } catch {
    return null;
  }
}

/** URLs of the servers; absent for a server that is not wanted. */
export interface ServerUrls {
  databaseUrl?: string | undefined;
  redisUrl?: string | undefined;
}

/** URLs of the embedded servers of the service on this DATA_DIR; null when none is running, or they do not answer yet. */
export async function findRunning(dataDir: string): Promise<ServerUrls | null> {
  const owner = findOwner(ownerRecord(resolve(dataDir)));
  if (owner === null || (owner.databaseUrl === undefined && owner.redisUrl === undefined)) {
    return null;
  }
  return { databaseUrl: owner.databaseUrl, redisUrl: owner.redisUrl };
}

/**
 * Whether DATA_DIR has an embedded database, or a process is making one there. If not, a server started there has a new, empty
 * database.
 */
export function hasDatabase(dataDir: string): boolean {
  const folder = resolve(dataDir);
  // In Docker the data is in a volume, and only its password is here.
  const has = ['mysql', 'mysql.password'].some((name) => existsSync(join(folder, name)));
  return has || findOwner(ownerRecord(folder)) !== null;
}

/** The file in DATA_DIR that names its owner. @param dataDir absolute. */
export function ownerRecord(dataDir: string): string {
  return join(dataDir, 'service.json');
}
