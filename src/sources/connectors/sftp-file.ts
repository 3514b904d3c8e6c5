import { FileError } from './connector.ts';
import { isDenied, isMissing, type SftpSession } from './sftp-session.ts';

/** Reads a file from an SFTP server in constant memory, and checks that it is complete. */

/** All servers answer requests of this size (draft-ietf-secsh-filexfer-02, section 3). */
const READ_BYTES = 32 * 1024;
/** Requests under way at a time. Together they ask for 512 KiB, so that a server 100 ms away still sends 5 MB/s. */
export const READ_AHEAD = 16;

/**
 * Yields the bytes of a file. Its size and time must be the same before and after. So neither a file that is still being written nor a
 * transfer that breaks off counts as complete.
 * @param file.path where the file is now.
 * @param file.original where its owner has put it. Errors name this path.
 * @param file.size when it was listed.
 * @throws {SourceError}
 */
export async function* readWhole(
  session: SftpSession,
  { path, original, size }: { path: string; original: string; size: number },
): AsyncGenerator<Uint8Array> {
  const handle = await session.open(path).catch((error: unknown) => {
    throw explainOpening(error, original);
  });
  try {
    const before = await session.statOpen(handle);
    if (before.size !== size) throw changed(original);
    const underWay: Promise<Buffer>[] = [];
    let next = 0;
    for (;;) {
      while (underWay.length < READ_AHEAD && next < size) {
        const part = readPart(session, handle, next, Math.min(READ_BYTES, size - next), original);
        part.catch(() => {}); // Awaited below, unless an earlier part fails.
        underWay.push(part);
        next += READ_BYTES;
      }
      const first = underWay.shift();
      if (first === undefined) break;
      yield await first;
    }
    const after = await session.statOpen(handle);
    if (after.size !== before.size || after.changedAt !== before.changedAt) throw changed(original);
  } finally {
    await session.closeHandle(handle).catch(() => {});
  }
}

/** Repeats requests until the part is complete, because a server may answer with fewer bytes than requested. */
async function readPart(
  session: SftpSession,
  handle: Buffer,
  position: number,
  length: number,
  path: string,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  while (bytes < length) {
    const part = await session.read(handle, position + bytes, length - bytes);
    if (part.length === 0) throw changed(path);
    parts.push(part);
    bytes += part.length;
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
}

const changed = (path: string) =>
  new FileError(`"${path}" changed while it was being read. The next run reads it again.`);

function explainOpening(error: unknown, path: string): unknown {
  if (path.includes('\uFFFD')) {
    return new FileError(
      `The name "${path}" is not UTF-8, so the file cannot be opened. Rename it on the server.`,
    );
  }
  if (isMissing(error))
    return new FileError(`"${path}" was removed before it was read. Upload it again if it is missing.`);
  if (isDenied(error))
    return new FileError(
      `The user of the source may not read "${path}". Have the server give the user the right to read this file, or upload the file again. The next run tries again.`,
    );
  return error;
}
