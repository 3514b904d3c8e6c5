import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { countRows } from '../support/rows.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { mt940, type TestEntry } from './statement-files.ts';

const service = useOwnService({ because: 'it counts the rows of all tables', roles: ['api', 'importer'] });

const LETTER = Buffer.from('Dear Sir or Madam,\n'.repeat(2_000));
const MARCH = mt940([{ day: 2, amount: 10 }]);
const zip = (files: Record<string, string | Uint8Array>) =>
  zipSync(
    Object.fromEntries(
      Object.entries(files).map(([name, content]) => [name, Buffer.from(content as string)]),
    ),
  );

/** Bytes that do not compress. */
const noise = (length: number) => {
  let state = 1;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (state * 48_271) % 2_147_483_647;
      return state & 0xff;
    }),
  );
};

async function customer() {
  const { api_key: key } = await service.customer();
  await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  return key;
}

const post = (key: string, body: Uint8Array, query = '') =>
  service.call('POST', `/v1/imports${query}`, { key, body, type: 'application/octet-stream' });

async function finished(key: string, id: number) {
  return until('the import to end', async () => {
    const { body } = await service.call('GET', `/v1/imports/${id}`, { key });
    return ['done', 'failed'].includes(body.import.status) && body.import;
  });
}

describe('a file whose beginning shows that it cannot be read', () => {
  it.each<[string, Uint8Array, string, string]>([
    ['nothing', Buffer.alloc(0), '', 'The file is empty.'],
    ['an empty gzip', gzipSync(''), '', 'The file is empty.'],
    ['a letter', LETTER, '', 'The file is in no format that is supported.'],
    ['a gzipped letter', gzipSync(LETTER), '', 'The file is in no format that is supported.'],
    ['noise in gzip', gzipSync(noise(400_000)), '', 'The file is in no format that is supported.'],
    ['a letter in a zip', zip({ 'a.txt': LETTER }), '', 'The file a.txt in the zip is in no format'],
    ['a gzip in a zip', zip({ 'a.gz': gzipSync(LETTER) }), '', 'The file a.gz in the zip is in no format'],
    [
      'a page of HTML',
      Buffer.from('\ufeff\n<!-- x -->\n<html><body><form>Password</form></body></html>'),
      '',
      '(HTML) without a table: download the statement again',
    ],
    [
      'an old Excel file',
      Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), noise(4_000)]),
      '',
      'an Excel file of the old kind (.xls): open it in a spreadsheet program and save it as XLSX or CSV.',
    ],
    [
      'a still older Excel file',
      Buffer.concat([Buffer.from('0908080000051000', 'hex'), noise(4_000)]),
      '',
      'an Excel file of the old kind (.xls):',
    ],
    ['an empty zip', zip({}), '', 'The file is in no format that is supported.'],
    [
      'a gzip that breaks off',
      gzipSync(MARCH).subarray(0, 60),
      '',
      'The file is gzip, and is broken or cut off.',
    ],
    [
      'a path out of a zip',
      zip({ '../a.sta': MARCH }),
      '',
      'The zip names a file outside of its own folder.',
    ],
    [
      'headings of no profile',
      Buffer.from('a;b\n1;2\n'),
      '?format=csv',
      'The headings of the file fit no profile',
    ],
    [
      'a table of an unknown bank',
      Buffer.from('Gün;Tutar;Yazı\n2026-03-02;1;a\n'),
      '',
      'The headings of the file fit no profile: "Gün", "Tutar", "Yazı". docs/formats/csv.md says how',
    ],
    [
      'an unknown profile',
      Buffer.from('a;b\n1;2\n'),
      '?format=csv&profile=nosuch',
      'There is no profile of that name.',
    ],
    [
      'an unknown profile, whose file is then taken for a table',
      Buffer.from('a;b\n1;2\n'),
      '?profile=nosuch',
      'There is no profile of that name.',
    ],
  ])('is refused: %s', async (_, body, query, sentence) => {
    const key = await customer();
    const before = await countRows(service);
    const answer = await post(key, body, query);
    expect(expectProblem(answer, 422, 'unreadable-file')).toEqual(['file']);
    expect(answer.body.detail).toContain(sentence);
    expect(await countRows(service)).toEqual(before);
  });

  it('is refused with the supported formats and the next step', async () => {
    const { body } = await post(await customer(), LETTER);
    expect(body.detail).toMatch(
      / Supported are MT940, .* send format=NAME with the file\. For a CSV or XLSX file of another bank, write a profile/,
    );
    expect(body.errors).toEqual([{ path: 'file', message: 'The file is in no format that is supported.' }]);
  });

  it('is refused before the rest of it arrives', async () => {
    const key = await customer();
    const outgoing = request(`${service.url}/v1/imports`, {
      method: 'POST',
      headers: { Authentication: key, 'Content-Type': 'application/gzip', 'Content-Length': 1_000_000 },
    });
    onTestFinished(() => void outgoing.destroy());
    const status = new Promise((resolve, reject) => {
      outgoing.on('error', reject);
      outgoing.on('response', (response) => resolve(response.statusCode));
    });
    outgoing.write(gzipSync(noise(400_000)).subarray(0, 200_000));
    expect(await status).toBe(422);
  });
});

describe('a file whose beginning can be read', () => {
  const many = mt940(
    Array.from({ length: 5_000 }, (_, at): TestEntry => ({ day: (at % 28) + 1, amount: at + 1 })),
  );

  it.each<[string, Uint8Array]>([
    ['as it is', Buffer.from(many)],
    ['in gzip', gzipSync(many)],
    ['in a zip', zip({ 'march.sta': many })],
    ['in a zip in gzip', gzipSync(zip({ 'march.sta': many }))],
  ])('is accepted %s, for any split of its bytes, and stored completely', async (_, body) => {
    const key = await customer();
    function* parts() {
      for (let at = 0, size = 1; at < body.length; at += size, size = (size * 3) % 10_007)
        yield body.subarray(at, at + size);
    }
    const headers = { Authentication: key, 'Content-Type': 'application/octet-stream' };
    const answer = await send(`${service.url}/v1/imports`, { method: 'POST', headers, body: parts() });
    expect(answer.status).toBe(202);
    expect(await finished(key, answer.body.import.id)).toMatchObject({ status: 'done', inserted: 5_000 });
  });

  it.each<[string, Uint8Array, string]>([
    [
      'a zip that breaks off in its second file',
      zip({ 'a.sta': MARCH, 'b.txt': noise(200_000) }).subarray(0, 100_000),
      'The file is a zip, and is empty, broken or cut off.',
    ],
    [
      'a long gzip that breaks off',
      gzipSync(many).subarray(0, 20_000),
      'The file is gzip, and is broken or cut off.',
    ],
  ])('is accepted, and its import fails when the rest is broken: %s', async (_, body, sentence) => {
    const key = await customer();
    const answer = await post(key, body);
    expect(answer.status).toBe(202);
    const { status, error } = await finished(key, answer.body.import.id);
    expect(status).toBe('failed');
    expect(error).toContain(sentence);
  });
});

it('the error of a file that cannot be read to its end counts the rows that are stored, and no rejected ones', async () => {
  const key = await customer();
  const rejected = MARCH.replace('260302', '269902');
  for (const [first, count] of [
    [MARCH, ' 1 row before that is stored.'],
    [rejected, ''],
  ] as const) {
    const whole = zip({ 'a.sta': first, 'b.txt': noise(200_000) });
    const { body } = await post(key, whole.subarray(0, 100_000));
    const ended = await finished(key, body.import.id);
    expect(ended.status).toBe('failed');
    expect(ended.error.endsWith(`cut off.${count}`)).toBe(true);
  }
});

describe('the files of a zip', () => {
  const APRIL = mt940([{ day: 3, amount: 20 }], { opening: 1_010 });
  const PDF = Buffer.from('%PDF-1.7\n');
  const NONE = { outcome: 'skipped', format: null, statements: 0, entries: 0 };

  it('are read each for itself, and are listed with what came of them', async () => {
    const key = await customer();
    const files: Record<string, string | Uint8Array> = {
      '__MACOSX/._a.sta': 'x',
      '.DS_Store': 'x',
      'march\\a.sta': MARCH,
      'terms.pdf': PDF,
      'letter.txt': LETTER,
      'empty.sta': '',
      'page.xls': '<html>',
      'broken.xlsx': zip({ '[Content_Types].xml': 'x' }),
      'april/b.sta': APRIL,
    };
    const { status, body } = await post(key, zip(files));
    expect(status).toBe(202);
    const { id } = body.import;
    expect(await finished(key, id)).toMatchObject({ status: 'done', inserted: 2, warnings: 5, rejected: 2 });
    const listed = await service.call('GET', `/v1/imports/${id}/files`, { key });
    const read = { outcome: 'read', format: 'mt940', statements: 1, entries: 1, message: null };
    expect(listed.body.files).toMatchObject([
      { name: '__MACOSX/._a.sta', ...NONE, message: expect.stringContaining('macOS') },
      { name: '.DS_Store', ...NONE },
      { name: 'march/a.sta', ...read },
      {
        name: 'terms.pdf',
        ...NONE,
        message: expect.stringContaining('The file terms.pdf in the zip is a PDF: ask'),
      },
      { name: 'letter.txt', ...NONE, message: expect.stringContaining('no format') },
      { name: 'empty.sta', ...NONE, message: expect.stringContaining('empty') },
      { name: 'page.xls', outcome: 'failed', message: expect.stringContaining('HTML') },
      { name: 'broken.xlsx', outcome: 'failed', format: 'xlsx', message: expect.any(String) },
      { name: 'april/b.sta', ...read },
    ]);
    const page = await service.callOps('GET', `/ops/imports/${id}`);
    expect(String(page.body)).toMatch(/Files of the zip.*terms\.pdf.*skipped.*broken\.xlsx.*failed/s);
    const errors = await service.call('GET', `/v1/imports/${id}/errors`, { key });
    expect(errors.body.warnings).toHaveLength(5);
    expect(errors.body.errors).toMatchObject([
      { path: 'file', message: expect.stringContaining('broken.xlsx') },
      { path: 'file', message: expect.stringContaining('page.xls') },
    ]);
  });

  it.each<[string, Record<string, string | Uint8Array>, string]>([
    ['nothing but files of the system', { '__MACOSX/a': 'x', 'Thumbs.db': 'x' }, 'of macOS or Windows'],
    ['nothing but a PDF', { 'a.pdf': PDF }, 'The file a.pdf in the zip is a PDF: ask the bank for'],
    ['a path of Windows out of its folder', { '..\\a.sta': MARCH }, 'outside of its own folder'],
    ['a drive of Windows', { 'C:\\a.sta': MARCH }, 'outside of its own folder'],
  ])('cannot be read if there is %s', async (_, files, sentence) => {
    const answer = await post(await customer(), zip(files));
    expectProblem(answer, 422, 'unreadable-file');
    expect(JSON.stringify(answer.body)).toContain(sentence);
  });

  it('are none of an import that is no zip', async () => {
    const key = await customer();
    const { body } = await post(key, Buffer.from(MARCH));
    await finished(key, body.import.id);
    const listed = await service.call('GET', `/v1/imports/${body.import.id}/files`, { key });
    expect(listed).toMatchObject({ status: 200, body: { files: [] } });
  });
});
