/**
 * Reads the beginning of a stream of bytes.
 * @param length bytes to read at least, if there are as many.
 * @returns what was read, and `bytes`, which yields the whole stream, the beginning included.
 */
export async function peek(
  stream: AsyncIterable<Uint8Array>,
  length: number,
): Promise<{ start: Buffer; bytes: AsyncIterable<Uint8Array> }> {
  const iterator = stream[Symbol.asyncIterator]();
  const parts: Uint8Array[] = [];
  let read = 0;
  while (read < length) {
    const { value, done } = await iterator.next();
    if (done) break;
    parts.push(value);
    read += value.length;
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* parts;
    for (;;) {
      const { value, done } = await iterator.next();
      if (done) return;
      yield value;
    }
  }
  return { start: Buffer.concat(parts), bytes: all() };
}
