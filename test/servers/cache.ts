import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { claim, DataDirInUseError, release } from '../../src/servers/running-servers.ts';

const SYSTEM = '/var/cache/ledgerbell-servers';

/**
 * The folders that may hold installed servers, first the one to install into. TEST_SERVERS_CACHE names another one. Servers
 * that root has installed are available to all users.
 */
export function cacheFolders(): [string, ...string[]] {
  const { TEST_SERVERS_CACHE } = process.env;
  if (TEST_SERVERS_CACHE) return [resolve(TEST_SERVERS_CACHE)];
  if (process.getuid?.() === 0) return [SYSTEM];
  return [join(homedir(), '.cache', 'ledgerbell-servers'), SYSTEM];
}

/** The folder that was installed under this name, or null. */
export function findInstalled(name: string, folders: readonly string[] = cacheFolders()): string | null {
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/**
 * The folder `name` of the cache. If it is missing, `build` fills an empty folder, which is renamed when `build` is done. So a
 * folder of that name is complete. If several processes need it, one builds and the others wait.
 * @param build Its first argument is the folder to fill, its second the path of that folder when it is complete.
 */
export async function installOnce(
  name: string,
  build: (folder: string, home: string) => Promise<void>,
  { folders = cacheFolders(), signal }: { folders?: [string, ...string[]]; signal?: AbortSignal } = {},
): Promise<string> {
  const installed = findInstalled(name, folders);
  if (installed !== null) return installed;
  const [cache] = folders;
  await mkdir(cache, { recursive: true });
  return withLock(join(cache, `${name}.lock`), signal, async () => {
    const home = join(cache, name);
    if (existsSync(home)) return home;
    const unfinished = `${name}.unfinished-`;
    for (const left of (await readdir(cache)).filter((entry) => entry.startsWith(unfinished))) {
      await remove(join(cache, left));
    }
    const folder = await mkdtemp(join(cache, unfinished));
    try {
      await build(folder, home);
      signal?.throwIfAborted();
      await chmod(folder, 0o755);
      await rename(folder, home);
    } catch (error) {
      await remove(folder);
      throw error;
    }
    return home;
  });
}

const remove = (folder: string) =>
  rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });

async function withLock<T>(path: string, signal: AbortSignal | undefined, work: () => Promise<T>) {
  for (;;) {
    try {
      claim(path);
      break;
    } catch (error) {
      if (!(error instanceof DataDirInUseError)) throw error;
      await sleep(200, undefined, signal === undefined ? {} : { signal });
    }
  }
  try {
    return await work();
  } finally {
    release(path);
  }
}
