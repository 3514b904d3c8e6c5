import { SourceError } from '../connector.ts';
import { isDenied, isMissing, type SftpSession } from './sftp-session.ts';

/** Reads a file from an SFTP server in constant memory, and knows whether it is whole. */

/** All servers answer requests of this size (draft-ietf-secsh-filexfer-02, section 3). */
const READ_BYTES = 32 * 1024;
/** Requests under way at a time: 512 KiB, so that a server 100 ms away still sends 5 MB/s. */
const READ_AHEAD = 16;

/**
 * Yields the bytes of a file. Its size and time must be the same before and after, so that neither a file that is still being
 * written nor a connection that breaks off is taken for a whole one.
 * @param size of the file when it was listed.
 * @throws {SourceError}
 */
export async function* readWhole(
  session: SftpSession,
  path: string,
  size: number,
): AsyncGenerator<Uint8Array> {
  const handle = await session.open(path).catch((error: unknown) => {
    throw explainOpening(error, path);
  });
  try {
    const before = await session.statOpen(handle);
    if (before.size !== size) throw changed(path);
    const underWay: Promise<Buffer>[] = [];
    let next = 0;
    for (;;) {
      while (underWay.length < READ_AHEAD && next < size) {
        const part = readPart(session, handle, next, Math.min(READ_BYTES, size - next), path);
        part.catch(() => {}); // Awaited below, unless an earlier part fails.
        underWay.push(part);
        next += READ_BYTES;
      }
      const first = underWay.shift();
      if (first === undefined) break;
      yield await first;
    }
    const after = await session.statOpen(handle);
    if (after.size !== before.size || after.changedAt !== before.changedAt) throw changed(path);
  } finally {
    await session.closeHandle(handle).catch(() => {});
  }
}

/** A server may answer with less than it was asked for. */
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
  new SourceError(`"${path}" changed while it was being read. The next run reads it again.`);

function explainOpening(error: unknown, path: string): unknown {
  if (path.includes('\uFFFD')) {
    return new SourceError(
      `The name "${path}" is not UTF-8, so the file cannot be opened. Rename it on the server.`,
    );
  }
  if (isMissing(error)) return new SourceError(`"${path}" was removed before it was read.`);
  if (isDenied(error))
    return new SourceError(`The user may not read "${path}". Give it the right on the server.`);
  return error;
}
