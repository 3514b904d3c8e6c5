import { toBytes } from './request.ts';

/** The largest body that an adapter reads, in bytes: 1 MiB, as large as a batch can be. */
export const BODY_LIMIT = 1_048_576;

/**
 * Reads a body to its end.
 * @param encode gives back the bytes of chunks that came as text. Default: UTF-8, which Ledgerbell sends.
 * @returns null when the body is larger than `limit` bytes. The rest is not read.
 * @throws {TypeError} when the stream has neither bytes nor text.
 */
export async function readBody(
  stream: AsyncIterable<unknown> | Iterable<unknown>,
  {
    limit,
    encode = (text) => new TextEncoder().encode(text),
  }: { limit: number; encode?: ((text: string) => Uint8Array) | undefined },
): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? encode(chunk) : toBytes(chunk);
    if (bytes === null) throw new TypeError('The stream of the body has neither bytes nor text.');
    length += bytes.length;
    if (length > limit) return null;
    chunks.push(bytes);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const bytes of chunks) {
    whole.set(bytes, at);
    at += bytes.length;
  }
  return whole;
}
