import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createCsvParser } from '../../../packages/statements/src/csv/parse.ts';
import { loadProfiles } from '../../../src/intake/load-profiles.ts';
import { collect, entriesOf, inParts, show } from '../profiles/events.ts';

const PUBLIC = join(import.meta.dirname, '../../../../shared/samples/csv');

it.skipIf(!existsSync(PUBLIC))('the columns of the public file with anonymous dates are mapped', async () => {
  const path = join(PUBLIC, 'TH_20180101-20180523_page_1.csv');
  const profile = loadProfiles(undefined).find(({ name }) => name === 'ceska-sporitelna');
  if (profile === undefined) throw new Error('no profile');
  const text = new TextDecoder('windows-1250')
    .decode(readFileSync(path))
    .replaceAll('1111/11/11', '2018/05/11');
  const entries = entriesOf(await collect(createCsvParser(profile)(inParts(text))));
  expect(entries).toHaveLength(9);
  expect(entries.map(show)[0]).toBe(
    '2018-05-11 Debit 111.11 | XXXXXX XXXXXX 1111 | XXXXXXXXXXXX1111 | XXXXX XXXXX XXXX XXXXX 11 | 1111111111111',
  );
});
