import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Row, readNdjson } from '../../src/intake/importer/rows.ts';

async function* cut(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0;
  for (const length of lengths) {
    yield bytes.subarray(start, start + length);
    start += length;
  }
  if (start < bytes.length) yield bytes.subarray(start);
}

async function read(text: string | Buffer, lengths: readonly number[] = []): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const some of readNdjson(cut(Buffer.from(text as string), lengths))) rows.push(...some);
  return rows;
}

/** Fragments with everything that can be cut in two: byte order marks, line ends, characters of one to four bytes, broken UTF-8. */
const part = fc.oneof(
  fc
    .constantFrom('\uFEFF', '\n', '\r\n', ' ', '{}', '{"a":"ğ🙂"}', '"', '\u2028', '{', '1', 'null')
    .map((text) => Buffer.from(text)),
  fc.constantFrom([0xff], [0xf0, 0x9f], [0xef, 0xbb], [0]).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(1, 65_535, 65_536, 65_537).map((length) => Buffer.alloc(length, '7')),
);

describe('the NDJSON reader', () => {
  it('reads the same rows, however the bytes are split', async () => {
    const files = fc.array(part, { maxLength: 12 }).map((parts) => Buffer.concat(parts));
    const cuts = fc.array(fc.oneof({ weight: 3, arbitrary: fc.nat(4) }, fc.nat(70_000)), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(files, cuts, async (bytes, lengths) => {
        expect(await read(bytes, lengths)).toEqual(await read(bytes));
      }),
      { numRuns: 300 },
    );
  });

  it('returns every value with its line number', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue({ maxDepth: 2 })),
        fc.constantFrom('\n', '\r\n'),
        async (values, end) => {
          const text = values.map((value) => JSON.stringify(value)).join(end);
          expect(await read(text)).toEqual(
            values.map((value, index) => ({ line: index + 1, value: JSON.parse(JSON.stringify(value)) })),
          );
        },
      ),
    );
  });

  it('skips blank lines, but counts them', async () => {
    expect(await read('\n \r\n\t\n1\n\n2')).toEqual([
      { line: 4, value: 1 },
      { line: 6, value: 2 },
    ]);
  });

  it('accepts a byte order mark only at the very beginning', async () => {
    expect(await read('\uFEFF1\n\uFEFF2')).toEqual([
      { line: 1, value: 1 },
      { line: 2, issue: expect.stringMatching(/JSON/) },
    ]);
    expect(await read('\uFEFF\uFEFF1')).toEqual([{ line: 1, issue: expect.stringMatching(/JSON/) }]);
  });

  it('accepts a line of 64 KiB, and rejects only the longer line', async () => {
    const line = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
    const rows = await read(`1\n${line(65_536)}\n${line(65_537)}\n${line(10_000_000)}\n2`);
    expect(rows.map((row) => ('issue' in row ? row.issue : row.line))).toEqual([
      1,
      2,
      expect.stringMatching(/64 KiB/),
      expect.stringMatching(/64 KiB/),
      5,
    ]);
  });

  it('never quotes a line that it cannot read', async () => {
    const rows = await read('{"MARKER\n{"MARKER": MARKER}\n');
    expect(rows).toHaveLength(2);
    expect(JSON.stringify(rows)).not.toContain('MARKER');
  });
});
