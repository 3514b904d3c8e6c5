import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import {
  listFormats,
  parseProfile,
  type ReadOptions,
  readBuiltInProfiles,
  readStatements,
  type Source,
  type Statement,
} from '../../packages/statements/src/index.ts';

const SAMPLES = join(import.meta.dirname, '../samples');
const bytesOf = (path: string) => readFileSync(join(SAMPLES, path));

async function readAll(source: Source, options?: ReadOptions): Promise<Statement[]> {
  const statements: Statement[] = [];
  for await (const statement of readStatements(source, options)) statements.push(statement);
  return statements;
}

const MT940 = Buffer.from(`:20:A
:25:TR330006100519786457841326
:28C:7/1
:60F:C260101TRY10,00
:61:2601020102C5,NTRFNONREF//B1
:86:FIRST
:61:26013X0102D1,NTRFNONREF
:61:2601050105D20,25NTRFNONREF//B2
:86:SECOND
:62F:D260105TRY5,25
-
`);

describe('readStatements', () => {
  it('gives amounts as decimal numbers, with balances, warnings and rejected rows', async () => {
    const [statement, ...others] = await readAll(MT940);
    expect(others).toEqual([]);
    expect(statement).toMatchObject({
      file: null,
      format: 'mt940',
      line: 2,
      kind: 'final',
      account: { iban: 'TR330006100519786457841326', number: null },
      currency: 'TRY',
      number: '7',
      sequence: '1',
      opening: { amount: '10.00', date: '2026-01-01' },
      closing: { amount: '-5.25', date: '2026-01-05' },
      difference: '0.00',
      entries: [
        { line: 5, date: '2026-01-02', amount: '5.00', balance: '15.00', reference: 'B1' },
        { line: 8, date: '2026-01-05', amount: '-20.25', balance: '-5.25', description: 'SECOND' },
      ],
      rejected: [{ line: 7, path: ':61:' }],
    });
  });

  it('says by how much the entries miss the closing balance', async () => {
    const [statement] = await readAll(Buffer.from(MT940.toString().replace('D20,25', 'D20,20')));
    expect(statement?.difference).toBe('-0.05');
  });

  it('reads the same from bytes, a Blob, a stream of the web and a stream of Node.js', async () => {
    const path = 'camt/statement.xml';
    const bytes = bytesOf(path);
    const expected = await readAll(bytes);
    expect(expected).not.toEqual([]);
    expect(await readAll(new Blob([bytes]))).toEqual(expected);
    expect(await readAll(new Blob([bytes]).stream())).toEqual(expected);
    expect(await readAll(createReadStream(join(SAMPLES, path), { highWaterMark: 100 }))).toEqual(expected);
    expect(await readAll(new Blob([gzipSync(bytes)]))).toEqual(expected);
  });

  it('closes the source when the caller stops early', async () => {
    let isClosed = false;
    async function* source() {
      try {
        for (;;) yield MT940;
      } finally {
        isClosed = true;
      }
    }
    for await (const _ of readStatements(source())) break;
    await expect.poll(() => isClosed).toBe(true);
  });

  it('refuses a stream of texts, and says what to do', async () => {
    const texts = createReadStream(join(SAMPLES, 'camt/statement.xml'), { encoding: 'utf8' });
    await expect(readAll(texts)).rejects.toThrow('open it without an encoding');
    await expect(readAll('march.sta' as never)).rejects.toThrow('For a file, pass createReadStream(path).');
    await expect(readAll({} as never)).rejects.toThrow('The source has no bytes');
    await expect(readAll(MT940, { format: 'swift' as never })).rejects.toThrow(
      'The option format must be auto, mt940,',
    );
  });

  it('names the file in a zip', async () => {
    const zip = zipSync({ 'a.sta': MT940, 'b.xml': bytesOf('camt/statement.xml') });
    const files = (await readAll(zip)).map(({ file, format }) => [file, format]);
    expect(files[0]).toEqual(['a.sta', 'mt940']);
    expect(files.at(-1)).toEqual(['b.xml', 'camt']);
  });

  it('throws after the other statements when a file in a zip has rows and no statement', async () => {
    const zip = zipSync({ 'a.sta': MT940, 'b.xlsx': zipSync({ 'xl/a.xml': new Uint8Array() }) });
    const read: string[] = [];
    const reading = (async () => {
      for await (const { file } of readStatements(zip)) read.push(String(file));
    })();
    await expect(reading).rejects.toThrow(
      'The file b.xlsx in the zip contains no statement. Line 1, file: the file is a zip, and not an XLSX file',
    );
    expect(read).toEqual(['a.sta']);
  });

  it('reads a table with a profile of your own', async () => {
    const profile = parseProfile('mine', {
      bank: 'Mine',
      source: 'my bank',
      delimiter: ',',
      decimalSign: '.',
      dateFormats: ['YYYY-MM-DD'],
      heading: ['Day', 'Sum'],
      columns: { date: 'Day', amount: 'Sum' },
      account: { currency: { value: 'EUR' }, number: { value: '42' } },
    });
    const [statement] = await readAll(Buffer.from('Day,Sum\n2026-02-03,-4.20\n'), { profiles: [profile] });
    expect(statement).toMatchObject({
      format: 'csv',
      currency: 'EUR',
      account: { number: '42' },
      entries: [{ date: '2026-02-03', amount: '-4.20' }],
    });
  });

  it('gives advice in the words of its options', async () => {
    await expect(readAll(Buffer.from('hello'))).rejects.toMatchObject({
      message: 'The file is in no format that is supported.',
      hint: expect.stringMatching(/set the option format\. .*csv\.md in @ledgerbell\/statements\.$/),
    });
    await expect(readAll(Buffer.from('a;b\n'), { profile: 'nobody' })).rejects.toMatchObject({
      message: 'There is no profile of that name.',
      hint: expect.stringContaining('readBuiltInProfiles()'),
    });
  });

  it('has limits, which are options', async () => {
    const zip = zipSync({ 'a.sta': MT940, 'b.sta': MT940 });
    await expect(readAll(zip, { limits: { files: 1 } })).rejects.toThrow('more than 1 files');
    const packed = gzipSync(Buffer.concat([MT940, Buffer.alloc(3 * 1024 * 1024, '\n')]));
    const limits = { unpackedBytes: 1024 * 1024 };
    await expect(readAll(packed, { limits })).rejects.toThrow('The file has more than 1 MiB when unpacked.');
    expect(await readAll(packed)).toHaveLength(1);
  });

  it.each(['bai2', 'camt', 'cfonb120', 'coda', 'mt940', 'norma43', 'ofx'])(
    'reads the samples of %s',
    async (folder) => {
      for (const name of readdirSync(join(SAMPLES, folder)).filter((it) => !/\.md$|refused/.test(it))) {
        const statements = await readAll(bytesOf(join(folder, name)));
        expect(statements.length, name).toBeGreaterThan(0);
        for (const { entries } of statements)
          for (const { amount } of entries) expect(amount).toMatch(/^-?\d+\.\d\d\d?$/);
      }
    },
  );
});

it('listFormats and readBuiltInProfiles say what is read', () => {
  expect(
    listFormats()
      .map(({ format }) => format)
      .toSorted(),
  ).toEqual(['bai2', 'camt', 'cfonb120', 'coda', 'csv', 'mt940', 'mt942', 'norma43', 'ofx', 'xlsx']);
  expect(readBuiltInProfiles().map(({ name }) => name)).toContain('ing-nl');
});
