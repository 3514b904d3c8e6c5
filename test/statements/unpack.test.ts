import { randomBytes } from 'node:crypto';
import { setImmediate as nextPass } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../packages/statements/src/settings.ts';
import { unpack } from '../../packages/statements/src/shared/unpack.ts';
import { UnreadableFileError } from '../../packages/statements/src/unreadable.ts';

async function* inParts(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function unpacked(bytes: Uint8Array, size = 65_536) {
  const files: { name: string | null; text: string }[] = [];
  for await (const { name, bytes: content } of unpack(inParts(bytes, size), DEFAULT_SETTINGS.limits)) {
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(part);
    files.push({ name, text: Buffer.concat(parts).toString('utf8') });
  }
  return files;
}

const bytesOf = (text: string) => Buffer.from(text);
const STATEMENT = ':20:STARTUMS\n:25:1/2\n'.repeat(5_000);

describe('the unpacking of an upload', () => {
  it.each<[string, Uint8Array, { name: string | null; text: string }[]]>([
    ['a file that is not packed', bytesOf(STATEMENT), [{ name: null, text: STATEMENT }]],
    ['nothing', Buffer.alloc(0), [{ name: null, text: '' }]],
    ['gzip', gzipSync(STATEMENT), [{ name: null, text: STATEMENT }]],
    ['gzip in gzip', gzipSync(gzipSync(STATEMENT)), [{ name: null, text: STATEMENT }]],
    [
      'a zip with a folder and several files',
      zipSync({ march: { 'a.sta': bytesOf('a'), 'empty.sta': bytesOf('') }, 'b.xml': bytesOf(STATEMENT) }),
      [
        { name: 'march/a.sta', text: 'a' },
        { name: 'march/empty.sta', text: '' },
        { name: 'b.xml', text: STATEMENT },
      ],
    ],
    [
      'a zip that is not compressed',
      zipSync({ 'a.sta': bytesOf(STATEMENT) }, { level: 0 }),
      [{ name: 'a.sta', text: STATEMENT }],
    ],
    ['gzip in a zip', zipSync({ 'a.sta.gz': gzipSync('a') }), [{ name: 'a.sta.gz', text: 'a' }]],
  ])('reads %s', async (_, bytes, files) => {
    expect(await unpacked(bytes)).toEqual(files);
    expect(await unpacked(bytes, 7)).toEqual(files);
  });

  it('leaves a spreadsheet packed, although it is a zip too', async () => {
    const xlsx = zipSync({ '[Content_Types].xml': bytesOf('<Types/>'), 'xl/workbook.xml': bytesOf('<w/>') });
    const files: Uint8Array[] = [];
    for await (const { bytes } of unpack(inParts(xlsx, 10), DEFAULT_SETTINGS.limits))
      for await (const part of bytes) files.push(part);
    expect(Buffer.concat(files).equals(xlsx)).toBe(true);
  });

  const encrypted = Buffer.from(zipSync({ 'a.sta': bytesOf('a') }));
  encrypted[6] = (encrypted[6] ?? 0) | 1;
  const cut = (bytes: Uint8Array) => bytes.subarray(0, Math.floor(bytes.length / 2));
  it.each<[string, Uint8Array, RegExp]>([
    ['gzip that is cut off', cut(gzipSync(STATEMENT)), /gzip, and is broken/],
    ['a zip that is cut off', cut(zipSync({ 'a.sta': bytesOf(STATEMENT) })), /zip, and is empty, broken/],
    ['an encrypted zip', encrypted, /encrypted/],
    ['a path outside', zipSync({ '../a.sta': bytesOf('a') }), /outside of its own folder/],
    ['an absolute path', zipSync({ '/etc/passwd': bytesOf('a') }), /outside of its own folder/],
    ['gzip in gzip in gzip', gzipSync(gzipSync(gzipSync('a'))), /packed more than twice/],
    ['a gzip bomb', gzipSync(Buffer.alloc(64 * 1024 * 1024)), /more than 200 times/],
    ['a zip bomb', zipSync({ 'a.sta': Buffer.alloc(64 * 1024 * 1024) }), /more than 200 times/],
    [
      'a bomb in a gzip',
      gzipSync(zipSync({ 'a.sta': Buffer.alloc(64 * 1024 * 1024) })),
      /more than 200 times/,
    ],
  ])('refuses %s', async (_, bytes, reason) => {
    await expect(unpacked(bytes)).rejects.toThrow(reason);
    await expect(unpacked(bytes)).rejects.toBeInstanceOf(UnreadableFileError);
  });

  it('ends or fails with UnreadableFileError, however the bytes are damaged', async () => {
    const packed = [gzipSync(STATEMENT), zipSync({ 'a.sta': bytesOf(STATEMENT), 'b.sta': bytesOf('b') })];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...packed),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 5 }),
        fc.nat(),
        async (original, flips, end) => {
          const bytes = Buffer.from(original);
          for (const [at, value] of flips) bytes[at % bytes.length] = value;
          const damaged = end % 3 === 0 ? bytes.subarray(0, end % bytes.length) : bytes;
          await unpacked(damaged, 100).catch((error: unknown) => {
            expect(error).toBeInstanceOf(UnreadableFileError);
          });
        },
      ),
    );
  });
});

/** A zip with a file of 96 MiB before a small one. A separate function, so that nothing keeps its input in memory. */
const zipOfLargeAndSmall = (mebibyte: number): Uint8Array =>
  zipSync({ 'large.sta': Buffer.alloc(96 * mebibyte, randomBytes(4_096)), 'small.sta': bytesOf('b') });

it('the rest of a zipped file is not kept in memory when its reader stops early', async () => {
  const MIB = 1024 * 1024;
  const zip = zipOfLargeAndSmall(MIB);
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const used = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  // The content of the zip is freed in the next pass of the event loop.
  used();
  await nextPass();
  const before = used();
  let most = before;
  let parts = 0;
  async function* watched() {
    // Small parts, because the unpacked content of one part may be held.
    for await (const part of inParts(zip, 4_096)) {
      if (parts % 8 === 0) most = Math.max(most, used());
      parts += 1;
      yield part;
    }
  }
  const names: (string | null)[] = [];
  for await (const { name, bytes } of unpack(watched(), DEFAULT_SETTINGS.limits)) {
    for await (const _ of bytes) break;
    names.push(name);
  }
  expect(names).toEqual(['large.sta', 'small.sta']);
  expect(most - before).toBeLessThan(32 * MIB);
});
