/** What is needed of bytes in Node.js and in browsers alike. */

/** Joins parts to one. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0] as Uint8Array;
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Reads bytes as one character each, to look for ASCII in them. */
export const toLatin1 = (bytes: Uint8Array): string => new TextDecoder('latin1').decode(bytes);

/** The bytes cannot be unpacked. */
export class BrokenGzipError extends Error {
  override name = 'BrokenGzipError';
}

/**
 * Unpacks gzip (RFC 1952) as its bytes arrive, and checks its checksum.
 * @throws {BrokenGzipError} when the bytes are broken or cut off.
 * @throws errors of `packed`.
 */
export async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream('gzip');
  let sourceError: { error: unknown } | null = null;
  void write(packed, writable.getWriter(), (error) => {
    sourceError = { error };
  });
  try {
    // When the caller stops early, the writing ends too, as soon as the part that is awaited has come.
    yield* readStream(readable);
  } catch (error) {
    if (sourceError !== null) throw (sourceError as { error: unknown }).error;
    throw new BrokenGzipError('the gzip is broken', { cause: error });
  }
}

/** Reads a stream, and cancels it when the caller stops early. Not every browser can iterate over a stream. */
export async function* readStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Writes all parts. The reader of the other side gets each error. */
async function write(
  parts: AsyncIterable<Uint8Array>,
  writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>,
  onSourceError: (error: unknown) => void,
): Promise<void> {
  const iterator = parts[Symbol.asyncIterator]();
  let isSource = true;
  try {
    for (let part = await iterator.next(); part.done !== true; part = await iterator.next()) {
      isSource = false;
      await writer.write(part.value as Uint8Array<ArrayBuffer>);
      isSource = true;
    }
    isSource = false;
    await writer.close();
  } catch (error) {
    if (isSource) onSourceError(error);
    await writer.abort(error).catch(() => {});
    await iterator.return?.();
  }
}
