import { concat } from './shared/bytes.ts';

/** Bytes at the beginning of a file by which its format is recognised. */
export const START_BYTES = 8 * 1024;

/** More bytes would have to be read. */
class LimitReachedError extends Error {
  override name = 'LimitReachedError';
}

/**
 * Lets `look` read as much of the beginning of a stream as it needs.
 * @param limit bytes that `look` may read. It is stopped at the limit, and later errors do not count.
 * @returns the whole stream, the beginning included.
 * @throws errors of `look`.
 */
export async function lookAhead(
  stream: AsyncIterable<Uint8Array>,
  look: (beginning: AsyncIterable<Uint8Array>) => Promise<void>,
  limit: number,
): Promise<AsyncIterable<Uint8Array>> {
  const iterator = stream[Symbol.asyncIterator]();
  const parts: Uint8Array[] = [];
  let read = 0;
  let isOver = false;
  /** The part that is being read. A decompressor reads ahead, and may still wait for a part when `look` has ended. */
  let reading: Promise<boolean> = Promise.resolve(true);
  const readPart = async (): Promise<boolean> => {
    const { value, done } = await iterator.next();
    if (done) return false;
    parts.push(value);
    read += value.length;
    return true;
  };

  async function* beginning(): AsyncGenerator<Uint8Array> {
    while (!isOver) {
      if (read >= limit) throw new LimitReachedError('the limit is reached');
      reading = readPart();
      if (!(await reading)) return;
      yield parts.at(-1) as Uint8Array;
    }
  }

  async function* all(): AsyncGenerator<Uint8Array> {
    let isMore = await reading;
    yield* parts.splice(0);
    while (isMore) {
      isMore = await readPart();
      yield* parts.splice(0);
    }
  }

  try {
    await look(beginning());
  } catch (error) {
    if (!(error instanceof LimitReachedError)) throw error;
  } finally {
    isOver = true;
    // The reader of the whole stream gets this error too, so it is ignored here.
    reading.catch(() => {});
  }
  return all();
}

/**
 * Reads the beginning of a stream of bytes.
 * @param length bytes to read at least, if there are as many.
 * @returns the bytes that were read, and `bytes`, which yields the whole stream, including them.
 */
export async function peek(
  stream: AsyncIterable<Uint8Array>,
  length: number,
): Promise<{ start: Uint8Array; bytes: AsyncIterable<Uint8Array> }> {
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
  return { start: concat(parts), bytes: all() };
}
