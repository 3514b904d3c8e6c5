import { execFile } from 'node:child_process';
import { mkdir, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Enough for half an hour of load, and small enough to be filled in a second. */
const SIZE = '1536m';

/** A small file system of its own, which can be filled to the last byte. */
export interface Disk {
  fill(): Promise<void>;
  /** Makes room again. */
  free(): Promise<void>;
  unmount(): Promise<void>;
}

/** Mounts a file system in memory on a new directory. @returns null where this user may not mount. */
export async function mountDisk(directory: string): Promise<Disk | null> {
  await mkdir(directory, { mode: 0o700 });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=0700`, 'tmpfs', directory]);
  } catch {
    return null;
  }
  const filler = join(directory, 'filler');
  return {
    async fill() {
      const file = await open(filler, 'w');
      try {
        for (;;) {
          const { bavail, bsize } = await statfs(directory);
          if (bavail === 0) return;
          await file.write(Buffer.alloc(Math.min(bavail * bsize, 16 * 1024 * 1024)));
        }
      } catch (error) {
        // The server may have taken the last block first.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        await file.close();
      }
    },
    free: () => rm(filler, { force: true }),
    unmount: async () => {
      await run('umount', ['--lazy', directory]);
    },
  };
}
