import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A copy of a download, for a server that says nothing about the version of its file. */

export interface TemporaryCopy {
  /** SHA-256 of the bytes, as hexadecimal digits. */
  sha256: string;
  read(): AsyncGenerator<Uint8Array>;
  /** Frees the space on the disk. */
  close(): Promise<void>;
}

const BLOCK = 256 * 1024;

/**
 * Copies a body into a temporary file. The file has no name, so the operating system frees its space however the process ends.
 * @param options.most the copy ends after so many bytes, even if the body goes on.
 * @param options.onProgress called with the length of each piece that arrives.
 */
export async function copyToDisk(
  body: AsyncIterable<Uint8Array>,
  { most, onProgress }: { most: number; onProgress: (bytes: number) => void },
): Promise<TemporaryCopy> {
  const file = await openNameless();
  const sum = createHash('sha256');
  // A block at a time, because a server may send single bytes.
  const block = Buffer.allocUnsafe(BLOCK);
  let used = 0;
  let left = most;
  const flush = async () => {
    const full = block.subarray(0, used);
    sum.update(full);
    await file.writeFile(full);
    used = 0;
  };
  try {
    for await (const part of body) {
      onProgress(part.length);
      let rest = part.subarray(0, left);
      left -= rest.length;
      while (rest.length > 0) {
        const piece = rest.subarray(0, BLOCK - used);
        block.set(piece, used);
        used += piece.length;
        rest = rest.subarray(piece.length);
        if (used === BLOCK) await flush();
      }
      if (left === 0) break;
    }
    await flush();
  } catch (error) {
    await file.close();
    throw error;
  }
  return { sha256: sum.digest('hex'), read: () => readWhole(file), close: () => file.close() };
}

/** Opens a new file that only this process can reach. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `ledgerbell-${randomBytes(16).toString('hex')}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  return file;
}

async function* readWhole(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(BLOCK), 0, BLOCK, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
