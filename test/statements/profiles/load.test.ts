import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { detectProfile } from '../../../packages/statements/src/csv/parse.ts';
import { layoutsOf } from '../../../packages/statements/src/profile.ts';
import { matchProfile } from '../../../packages/statements/src/profiles/headings.ts';
import { loadProfiles } from '../../../src/intake/load-profiles.ts';
import { ConfigError, readConfig } from '../../../src/platform/config.ts';
import { createLog } from '../../../src/platform/log.ts';
import { startService } from '../../../src/service.ts';

const VALID = {
  bank: 'My Bank',
  source: 'my bank’s manual',
  delimiter: ';',
  decimalSign: ',',
  dateFormats: ['DD.MM.YYYY'],
  heading: ['Date', 'Amount'],
  columns: { date: 'Date', amount: 'Amount' },
};

function folderWith(files: Record<string, unknown>): string {
  const dir = mkdtempSync(join(tmpdir(), 'profiles-'));
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content));
  return dir;
}

const load = (content: unknown, name = 'mine.json') => loadProfiles(folderWith({ [name]: content }));

describe('the built-in profiles', () => {
  const profiles = loadProfiles(undefined);

  it('are at least twenty, each with the source of its format', () => {
    expect(profiles.length).toBeGreaterThanOrEqual(20);
    for (const { source } of profiles) expect(source).toMatch(/^https:\/\//);
  });

  it.each(
    layoutsOf(profiles).map(
      (layout) => [layout.name, layout.heading?.slice(0, 3).join(', '), layout] as const,
    ),
  )('include %s, which is found by its heading %s, …', (_, __, { name, heading = [], delimiter }) => {
    const found = matchProfile([{ line: 1, cells: heading }], profiles);
    expect(found).toMatchObject({ name, heading });
    expect(detectProfile(`${heading.join(delimiter)}\n`, profiles)).toMatchObject({
      name,
      heading,
      delimiter,
    });
  });

  it('are named in docs/formats/csv.md, with the source of each variant', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/formats/csv.md'), 'utf8');
    for (const { name, source, variants } of profiles) {
      expect(page).toContain(`\`${name}\``);
      for (const variant of variants)
        if (variant.source !== source) expect(page).toContain(`](${variant.source.replace(/ \(.*/, '')})`);
    }
  });
});

describe('profiles in PROFILES_DIR', () => {
  it('are added to the built-in profiles', () => {
    const names = load(VALID).map(({ name }) => name);
    expect(names).toContain('mine');
    expect(names).toContain('akbank');
  });

  it('replace a built-in profile of the same name', () => {
    const profiles = load(VALID, 'akbank.json').filter(({ name }) => name === 'akbank');
    expect(profiles.map(({ bank }) => bank)).toEqual(['My Bank']);
  });

  it('may stand beside files that are not .json, which are ignored', () => {
    expect(() => loadProfiles(folderWith({ 'README.md': 'no JSON', 'mine.json': VALID }))).not.toThrow();
  });

  it.each<[string, unknown, string]>([
    ['a missing key', { ...VALID, bank: undefined }, 'mine.json: bank is missing.'],
    ['an unknown key', { ...VALID, delimeter: ';' }, 'mine.json: delimeter is not a key of a profile.'],
    [
      'an unknown column',
      { ...VALID, columns: { ...VALID.columns, memo: 'Memo' } },
      'mine.json: columns.memo is not a key of a profile.',
    ],
    [
      'a wrong delimiter',
      { ...VALID, delimiter: ':' },
      'mine.json: delimiter must be ",", ";", "|" or a tab.',
    ],
    [
      'a date format that does not exist',
      { ...VALID, dateFormats: ['DD.MM.JJJJ'] },
      'mine.json: dateFormats.0 must be one of DD.MM.YYYY, ',
    ],
    [
      'an encoding that does not exist',
      { ...VALID, encoding: 'turkish' },
      'mine.json: encoding must be an encoding, such as "windows-1250" or "ibm852"',
    ],
    [
      'neither heading nor skipRows',
      { ...VALID, heading: undefined, columns: { date: 1, amount: 2 } },
      'mine.json: heading or skipRows must be set, and not both.',
    ],
    [
      'a column that is not in the heading',
      { ...VALID, columns: { date: 'Datum', amount: 'Amount' } },
      'mine.json: columns.date must be one of the headings in "heading", or a position.',
    ],
    [
      'no amount',
      { ...VALID, columns: { date: 'Date' } },
      'mine.json: columns.amount or columns.debit and columns.credit must be set, and not all.',
    ],
    [
      'a debit without a credit',
      { ...VALID, columns: { date: 'Date', debit: 'Amount' } },
      'mine.json: columns.debit and columns.credit go together.',
    ],
    [
      'a position of zero',
      { ...VALID, columns: { date: 0, amount: 2 } },
      'mine.json: columns.date must be a heading',
    ],
    [
      'a wrong key of a variant',
      { ...VALID, variants: [{ delimiter: ',' }, { heading: ['Datum', 'Amount'] }] },
      'mine.json: variants.1.columns.date must be one of the headings in "heading", or a position.',
    ],
    [
      'an unknown key of a variant',
      { ...VALID, variants: [{ delimeter: ',' }] },
      'mine.json: variants.0.delimeter is not a key of a profile.',
    ],
    [
      'variants that are no list',
      { ...VALID, variants: {} },
      'mine.json: variants must be a list of objects.',
    ],
    ['an empty list of delimiters', { ...VALID, delimiter: [] }, 'mine.json: delimiter must be ",", ";"'],
    ['invalid JSON', '{ "bank": ', 'mine.json must be valid JSON.'],
  ])('with %s cause one error that names the file and the key', (_, content, message) => {
    expect(() => load(content)).toThrow(ConfigError);
    expect(() => load(content)).toThrow(`PROFILES_DIR: ${message}`);
  });

  it('with a file name that cannot be sent as ?profile= cause an error', () => {
    expect(() => load(VALID, 'My Bank.json')).toThrow(
      'PROFILES_DIR: My Bank.json: the name must be up to 40 lower-case letters',
    );
  });

  it('stop the start of the service before any server starts when a profile is wrong', async () => {
    const config = readConfig({ PROFILES_DIR: folderWith({ 'mine.json': { ...VALID, decimalSign: ' ' } }) });
    const start = startService({ config, roles: ['api'], log: createLog('silent'), announce: () => {} });
    await expect(start).rejects.toThrow('PROFILES_DIR: mine.json: decimalSign must be "," or ".".');
  });

  it('cause an error when the folder does not exist', () => {
    expect(() => loadProfiles('/nowhere/profiles')).toThrow(
      'PROFILES_DIR must be the path of a readable folder (ENOENT).',
    );
  });
});
