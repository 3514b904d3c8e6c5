import { readdir, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { endOrphan } from './child.ts';
import { claim, release } from './ownership.ts';
import { makePrivateDirectory } from './private-file.ts';
import { ownerRecord } from './servers.ts';

/**
 * Deletes everything in a DATA_DIR. Servers that a killed owner left running are ended first. Volumes of Docker stay, and are not
 * used again.
 * @throws {DataDirInUseError} when a running process owns this DATA_DIR. Nothing is deleted then.
 */
export async function clearDataDir(dataDir: string): Promise<void> {
  const directory = resolve(dataDir);
  makePrivateDirectory(directory);
  const record = ownerRecord(directory);
  claim(record);
  try {
    await Promise.all([endOrphan(directory, 'mysql'), endOrphan(directory, 'redis')]);
    const names = (await readdir(directory)).filter((name) => name !== basename(record));
    await Promise.all(names.map((name) => rm(join(directory, name), { recursive: true, force: true })));
  } finally {
    release(record);
  }
}
