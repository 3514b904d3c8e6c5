import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { findOtherKind, listOtherKinds } from '../../packages/statements/src/other-kinds.ts';
import { readBuiltInProfiles } from '../../packages/statements/src/parse-profile.ts';
import {
  type MemberOutcome,
  type Recognition,
  START_BYTES,
} from '../../packages/statements/src/read-files.ts';
import { UnreadableFileError } from '../../packages/statements/src/unreadable.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { OTHER_FILES } from './other-kinds.ts';
import { testProfile } from './profiles/profile.fixture.ts';

const formats = createStatementFormats(readBuiltInProfiles(), READ_SETTINGS);
const MT940 = ':20:X\r\n:25:1\r\n:28C:1/1\r\n:60F:C261101EUR1,00\r\n:62F:C261101EUR1,00\r\n-';

async function* inParts(bytes: Uint8Array, size = 1_000) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Reads a file. @returns what came of the files of a zip, and the error. */
async function read(bytes: Uint8Array, recognition: Partial<Recognition> = {}, size?: number) {
  const members: MemberOutcome[] = [];
  try {
    const events = formats.read(inParts(bytes, size), { format: 'auto', profile: null, ...recognition });
    for await (const event of events) if ('member' in event) members.push(event.member);
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    return { members, message: error.message, kind: error.kind };
  }
  return { members, message: null, kind: null };
}

const kindOf = (title: string) => {
  const kind = listOtherKinds().find((it) => it.title.startsWith(title));
  if (kind === undefined) throw new Error(`there is no kind ${title}`);
  return kind;
};

describe('a file that is no statement is named, with what to do', () => {
  it.each(OTHER_FILES)('%s %s', async (title, _, file) => {
    const { title: whole, advice, inZip = 'no statements' } = kindOf(title);
    const message = `The file is ${whole}: ${advice}.`;
    for (const bytes of [file, gzipSync(file)])
      expect(await read(bytes)).toEqual({ members: [], message, kind: inZip });
    expect(await read(file, {}, 7)).toMatchObject({ message });
    const checked = formats.check(inParts(file), { format: 'auto', profile: null });
    await expect(checked).rejects.toThrow(message);
  });

  it.each(OTHER_FILES)('%s %s, beside a statement in a zip', async (title, _, file) => {
    const { title: whole, advice, inZip } = kindOf(title);
    const outcome = inZip === 'statements' ? 'failed' : 'skipped';
    // A file that does not get smaller is stored as it is.
    for (const level of [0, 6] as const) {
      const { members, message } = await read(zipSync({ a: file, 'b.sta': Buffer.from(MT940) }, { level }));
      expect(message).toBeNull();
      expect(members).toMatchObject([
        { name: 'a', outcome, message: `The file a in the zip is ${whole}: ${advice}.` },
        { name: 'b.sta', outcome: 'read', statements: 1 },
      ]);
    }
  });

  it('each kind has a file here', () => {
    const unused = listOtherKinds().filter(
      ({ title }) => !OTHER_FILES.some(([beginning]) => title.startsWith(beginning)),
    );
    expect(unused).toEqual([]);
  });

  it.each(['a PDF', 'an Excel', 'a confirmation'])('%s is named whatever its sender says', async (title) => {
    const [, , file] = OTHER_FILES.find(([it]) => it.startsWith(title)) ?? [];
    for (const format of ['mt940', 'csv', 'xlsx'] as const)
      expect((await read(file as Uint8Array, { format })).message).toContain(`The file is ${title}`);
  });

  it('a file that its sender calls a table is read as one', async () => {
    const [, , file] = OTHER_FILES.find(([title]) => title === 'a MultiCash file') ?? [];
    const { message } = await read(file as Uint8Array, { profile: 'n26' });
    expect(message).not.toContain('MultiCash');
  });
});

const HEADING = 'Date;Amount;Text;Balance\n';

describe('a file that is read is of none of these kinds', () => {
  const ROOT = join(import.meta.dirname, '..');
  const files = ['samples', 'cases/files', 'intake/bank-files/files'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name))),
  );
  const startOf = (file: string) => readFileSync(join(ROOT, file)).subarray(0, START_BYTES);
  const known = files.filter((file) => formats.detect(startOf(file)) !== null);

  it('among the files of the tests', () => {
    expect(known.length).toBeGreaterThan(100);
    const taken = known.filter((file) => findOtherKind(startOf(file), 'before the formats') !== null);
    expect(taken).toEqual([]);
    const tables = known.filter((file) => formats.detect(startOf(file)) === 'csv');
    expect(tables.filter((file) => findOtherKind(startOf(file), 'after the formats') !== null)).toEqual([]);
  });

  it.each([
    [
      'a statement after a confirmation',
      `{2:O900X}{4:\n:20:A\n:25:1\n:32A:260302EUR5,\n-}\n${MT940}`,
      'mt940',
    ],
    ['MT950', `{1:F01BANKXXXX}{2:O9501200X}{4:\n${MT940}}`, 'mt940'],
    ['a table whose cell names a PDF', `${HEADING}2026-03-02;1;"x\n%PDF-1.4";1\n`, 'csv'],
    ['a table whose cell names a kind', `${HEADING}2026-03-02;1;!Type:Bank;1\n`, 'csv'],
    ['a table whose cell is a record', `${HEADING}074;1;x;1\n`, 'csv'],
    ['a table whose cell has a payment', `${HEADING}2026-03-02;1;"\n:20:A\n:32A:260302EUR5,";1\n`, 'csv'],
    ['a table after lines of MultiCash', `99988877;1234;12;02.03.26;EUR;1;1;1;1;\n${HEADING}`, 'csv'],
    ['a table of an unknown bank', 'Day;Sum;Note\n2026-03-02;1;x\n2026-03-03;2;y\n', 'csv'],
  ])('%s', (_, text, format) => {
    const bytes = Buffer.from(text);
    expect(createStatementFormats([testProfile()], READ_SETTINGS).detect(bytes)).toBe(format);
    expect(findOtherKind(bytes, 'before the formats')).toBeNull();
  });

  it.each<[string, Record<string, Uint8Array>]>([
    ['a spreadsheet of Apple in it', { 'a.numbers': zipSync({ 'Index/Document.iwa': Buffer.from('x') }) }],
    ['the folder of a spreadsheet of Apple in it', { 'a.numbers/Index/Document.iwa': Buffer.from('x') }],
    ['a folder of the name of a program', { 'word/a.sta': Buffer.from(MT940) }],
    ['a zip named Index.zip in it', { 'Index.zip': zipSync({ 'a.sta': Buffer.from(MT940) }) }],
    ['a file named mimetype', { mimetype: Buffer.from('text/plain') }],
    ['a name like a path of a document', { 'Index/Document.iwa.txt': Buffer.from('x') }],
  ])('a zip of statements with %s', async (_, others) => {
    for (const level of [0, 6] as const) {
      const { members, message } = await read(zipSync({ ...others, 'b.sta': Buffer.from(MT940) }, { level }));
      expect(message).toBeNull();
      expect(members.at(-1)).toMatchObject({ name: 'b.sta', outcome: 'read' });
    }
  });
});

describe('a hostile beginning', () => {
  const CODA_HEADER = '0000002032699905 '.padEnd(128);
  it.each([
    ...[' ', '\u0000', '\n', '<', '{', '"', ';', '0', 'x', '%', '!', '\u00ff'],
    ...[
      ':20:\n',
      '\n:32A:',
      '@@:20:',
      '!Type',
      '{2:O900',
      '{1:',
      '{4:',
      '<!--',
      '<?mso-application ',
      '<Workbook ',
    ],
    ...[
      '{ ',
      '[ ',
      '<a',
      '%PDF',
      'PK\u0003\u0004',
      '99988877;1;1;02.03.26;',
      `${CODA_HEADER}\n`,
      ' RH',
      '1\n',
    ],
  ])('of %j costs no time', (piece) => {
    const latin1 = Buffer.from(piece.repeat(Math.ceil(START_BYTES / piece.length)), 'latin1');
    const begun = process.cpuUsage();
    for (const bytes of [latin1, Buffer.concat([latin1.subarray(0, START_BYTES - 1), Buffer.from('x')])])
      for (const isAsked of ['before the formats', 'after the formats'] as const)
        findOtherKind(bytes, isAsked);
    expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(500);
  });

  /** A header of a part of a zip, whatever it says. */
  const part = (
    name: string,
    { flags = 0, method = 0, size = 0, nameLength = name.length, extra = 0 } = {},
  ) => {
    const header = Buffer.alloc(30);
    header.write('PK\u0003\u0004', 'latin1');
    header.writeUInt16LE(flags, 6);
    header.writeUInt16LE(method, 8);
    header.writeUInt32LE(size, 18);
    header.writeUInt16LE(nameLength, 26);
    header.writeUInt16LE(extra, 28);
    return Buffer.concat([header, Buffer.from(name, 'latin1')]);
  };

  it.each<[string, Buffer]>([
    ['of a size beyond its end', part('a', { size: 0xffff_ffff })],
    ['of a name beyond its end', part('mimetype', { nameLength: 0xffff, extra: 0xffff })],
    ['of many empty parts', Buffer.concat(Array(300).fill(part('')))],
    ['of many parts without sizes', Buffer.concat(Array(300).fill(part('x', { flags: 8, method: 8 })))],
    ['that breaks off in a header', part('a').subarray(0, 20)],
    ['of a name of control characters', part('\u0000/../\u0001\uFFFD')],
    ['of a mimetype of another program', part('mimetypeapplication/vnd.oasis', { nameLength: 8 })],
  ])('of a zip %s is of no kind, and fails with a sentence', async (_, bytes) => {
    expect(findOtherKind(bytes, 'before the formats')).toBeNull();
    const { message } = await read(bytes);
    expect(message).toMatch(/\.$/);
  });

  it('looks at no more than the first bytes', () => {
    const bytes = Buffer.concat([Buffer.alloc(START_BYTES, ' '), Buffer.from('!Type:Bank\n')]);
    expect(findOtherKind(bytes, 'after the formats')).toBeNull();
  });
});

it('docs/formats/other-files.md has a row for each kind', () => {
  const page = readFileSync(new URL('../../docs/formats/other-files.md', import.meta.url), 'utf8');
  const rows = listOtherKinds().map(
    ({ title, recognisedBy, inZip }) =>
      `| ${title} | ${recognisedBy} | ${inZip === undefined ? 'skipped' : 'an error'} |`,
  );
  expect(page.split('\n').filter((line) => /^\| an? |^\| (?:XML|JSON)|^\| another /.test(line))).toEqual(
    rows,
  );
});
