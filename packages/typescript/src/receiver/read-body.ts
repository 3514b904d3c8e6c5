/** The largest body that an adapter reads, in bytes: 1 MiB. A notification has a few kilobytes. */
export const BODY_LIMIT = 1_048_576;

/** @returns null when the body is larger than `limit` bytes. The rest is not read. */
export async function readBody(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit: number,
): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > limit) return null;
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
