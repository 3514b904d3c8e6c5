import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { STATEMENT_FORMATS } from '../../packages/statements/src/formats.ts';
import { documentOf, reasonOf, runHere } from './command.ts';

const MINE = {
  bank: 'My Bank',
  country: 'TR',
  source: 'its manual',
  delimiter: ';',
  decimalSign: ',',
  dateFormats: ['DD.MM.YYYY'],
  heading: ['My day', 'My amount'],
  columns: { date: 'My day', amount: 'My amount' },
};

function folderWith(profile: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'formats-'));
  writeFileSync(join(folder, 'mine.json'), JSON.stringify(profile));
  return folder;
}

describe('ledgerbell formats', () => {
  it('shows every format and profile, without a service', async () => {
    const { code, stdout, stderr } = await runHere(['formats']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of [...STATEMENT_FORMATS, 'json', 'ndjson'])
      expect(stdout).toMatch(new RegExp(`^${name} .*\\.${name === 'camt' ? 'xml' : ''}`, 'm'));
    expect(stdout).toMatch(/^garanti-bbva +TR +Garanti BBVA +-$/m);
  });

  it('names the file of a profile in PROFILES_DIR', async () => {
    const folder = folderWith(MINE);
    const { formats, profiles } = documentOf(await runHere(['formats', '--json'], { PROFILES_DIR: folder }));
    expect(formats).toContainEqual({
      name: 'csv',
      title: 'CSV',
      extensions: ['.csv'],
      recognised_by: expect.any(String),
    });
    expect(profiles).toContainEqual({
      name: 'mine',
      bank: 'My Bank',
      country: 'TR',
      file: join(folder, 'mine.json'),
    });
    expect(profiles).toContainEqual({ name: 'akbank', bank: 'Akbank', country: 'TR', file: null });
    for (const { country } of profiles) expect(country).toMatch(/^[A-Z]{2}$/);
  });

  it('says which key of a profile is wrong', async () => {
    const folder = folderWith({ ...MINE, country: 'Turkey' });
    expect(reasonOf(await runHere(['formats'], { PROFILES_DIR: folder }))).toBe(
      'error: PROFILES_DIR: mine.json: country must be a country code of two letters, such as "TR".',
    );
  });
});
