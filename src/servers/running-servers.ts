import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findOwner } from './ownership.ts';

/** URLs of the servers; absent for a server that is not wanted. */
export interface ServerUrls {
  databaseUrl?: string;
  redisUrl?: string;
}

/** URLs of the embedded servers of the service on this DATA_DIR; null when none is running, or they do not answer yet. */
export async function findRunning(dataDir: string): Promise<ServerUrls | null> {
  const owner = findOwner(ownerRecord(resolve(dataDir)));
  if (owner === null || (owner.databaseUrl === undefined && owner.redisUrl === undefined)) {
    return null;
  }
  const { databaseUrl, redisUrl } = owner;
  return {
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    ...(redisUrl === undefined ? {} : { redisUrl }),
  };
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
