import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Profile } from '../../../packages/statements/src/profile.ts';
import { createXlsxParser } from '../../../packages/statements/src/xlsx/parse.ts';
import { READ_SETTINGS } from '../../../src/intake/advice.ts';
import { collect, entriesOf, show } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';
import { inBytes, workbook } from './workbook.fixture.ts';

const HEADING = ['Date', 'Amount', 'Text', 'Balance'];

const parse = (bytes: Uint8Array, profiles: readonly Profile[] = [testProfile()]) =>
  collect(createXlsxParser(profiles, READ_SETTINGS)(inBytes(bytes)));

const read = async (bytes: Uint8Array, profiles?: readonly Profile[]) =>
  entriesOf(await parse(bytes, profiles)).map(show);

describe('an XLSX file', () => {
  it.each(['http://[', 'file://%', '\\\\[', '%zz'])(
    'with the target %j is refused in a sentence',
    async (target) => {
      const bytes = workbook({
        parts: {
          'xl/_rels/workbook.xml.rels': `<Relationships><Relationship Id="rId1" Target="${target}"/></Relationships>`,
        },
      });
      expect(await parse(bytes)).toEqual([
        { type: 'issue', line: 1, path: expect.any(String), message: expect.any(String) },
      ]);
    },
  );

  const withSheet = (sheet: string | Uint8Array) =>
    workbook({ parts: { 'xl/worksheets/sheet1.xml': sheet } });
  const valid = workbook({ rows: [HEADING, [46049, 1, 'a', '']] });

  it.each<[string, () => Uint8Array, string]>([
    ['what is no zip', () => Buffer.from('PK\u0003\u0004 nothing'), 'the file is a broken or cut off zip'],
    [
      'a zip that is cut off',
      () => valid.subarray(0, valid.length - 40),
      'the file is a broken or cut off zip',
    ],
    [
      'another zip',
      () => workbook({ parts: { 'xl/workbook.xml': null } }),
      'the file is a zip, and not an XLSX file',
    ],
    [
      'a workbook without its sheet',
      () => workbook({ parts: { 'xl/worksheets/sheet1.xml': null } }),
      'the file has no sheet',
    ],
    [
      'a cell of many texts',
      () =>
        workbook({
          rows: [[{ xml: `<c t="inlineStr"><is>${`<t>${'x'.repeat(1_000)}</t>`.repeat(2_000)}</is></c>` }]],
        }),
      'a row has more than 1 Mi characters',
    ],
    [
      'a sheet that unpacks to far more than its size',
      () => withSheet(Buffer.alloc(64 * 1024 * 1024, ' ')),
      'the file unpacks to more than 200 times its size',
    ],
    [
      'a document type, with which entities could grow',
      () => withSheet('<!DOCTYPE a [<!ENTITY b "bb">]><worksheet/>'),
      'the file has an XML document type, which is not allowed',
    ],
    ['an unknown entity', () => withSheet('<worksheet>&b;</worksheet>'), 'the file has broken XML'],
    [
      'a text without an end',
      () => withSheet(`<worksheet><c>${noise(2_000_000)}`),
      'a text or a tag is longer than 256 KiB',
    ],
    [
      'a text that is not there',
      () => withSheet('<worksheet><row><c t="s"><v>7</v></c></row></worksheet>'),
      'row 1 refers to a text that the file does not have',
    ],
  ])('is refused with one issue for %s', async (_, make, message) => {
    expect(await parse(make())).toEqual([{ type: 'issue', line: 1, path: 'file', message }]);
  });

  it('that is too large is refused with one issue', async () => {
    const parser = createXlsxParser([testProfile()], READ_SETTINGS);
    async function* endless() {
      for (;;) yield new Uint8Array(1024 * 1024);
    }
    expect(await collect(parser(endless()))).toEqual([
      {
        type: 'issue',
        line: 1,
        path: 'file',
        message: `the file has more than ${READ_SETTINGS.limits.xlsxBytes / 1024 / 1024} MiB`,
      },
    ]);
  });

  it("whose bytes fail to arrive throws the sender's error", async () => {
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield valid.subarray(0, 10);
      throw new Error('connection lost');
    }
    await expect(collect(createXlsxParser([testProfile()], READ_SETTINGS)(breaking()))).rejects.toThrow(
      'connection lost',
    );
  });

  it('with a byte changed, removed or repeated gives an issue or the same movements', async () => {
    const expected = await read(valid);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(valid.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.constantFrom('flip', 'cut', 'repeat'),
        async (at, mask, kind) => {
          const events = await parse(damage(valid, at, mask, kind));
          const hasIssue = events.some(({ type }) => type === 'issue' || type === 'warning');
          if (!hasIssue) expect(entriesOf(events).map(show)).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Letters that do not pack well. */
function noise(length: number): string {
  let state = 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += state.toString(36);
  }
  return text;
}

function damage(bytes: Uint8Array, at: number, mask: number, kind: string): Uint8Array {
  if (kind === 'cut') return bytes.subarray(0, at);
  if (kind === 'repeat')
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at - 10), bytes.subarray(at)]);
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ mask;
  return copy;
}
