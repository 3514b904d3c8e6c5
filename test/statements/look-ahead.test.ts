import fc from 'fast-check';
import { expect, it } from 'vitest';
import { lookAhead } from '../../packages/statements/src/peek.ts';

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

async function* streamOf(parts: readonly Uint8Array[]) {
  for (const part of parts) {
    await Promise.resolve();
    yield part;
  }
}

const parts = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 20 });

it('looking ahead returns the whole stream, however much of it was looked at', () =>
  fc.assert(
    fc.asyncProperty(parts, fc.nat(25), fc.boolean(), async (all, count, isAhead) => {
      const stream = await lookAhead(
        streamOf(all),
        async (beginning) => {
          const iterator = beginning[Symbol.asyncIterator]();
          for (let at = 0; at < count; at += 1) await iterator.next();
          // A decompressor also reads ahead.
          if (isAhead) iterator.next().catch(() => {});
        },
        150,
      );
      expect(await collect(stream)).toEqual(Buffer.concat(all));
    }),
  ));

it('looking ahead stops at the limit, and throws neither then nor later', async () => {
  const all = Array.from({ length: 100 }, (_, at) => Buffer.from([at]));
  let seen = 0;
  const stream = await lookAhead(
    streamOf(all),
    async (beginning) => {
      for await (const part of beginning) seen += part.length;
    },
    10,
  );
  expect(seen).toBe(10);
  expect(await collect(stream)).toEqual(Buffer.concat(all));
});

it('looking ahead throws the errors of the look and of the stream', async () => {
  const look = async (beginning: AsyncIterable<Uint8Array>) => void (await collect(beginning));
  async function* broken() {
    yield Buffer.from('a');
    throw new Error('reset');
  }
  await expect(lookAhead(broken(), look, 100)).rejects.toThrow('reset');
  const fault = async () => {
    throw new Error('seen');
  };
  await expect(lookAhead(streamOf([]), fault, 100)).rejects.toThrow('seen');
});
