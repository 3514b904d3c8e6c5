import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { countOf, entriesOf } from '../statement-events.ts';
import { read } from './records.ts';

const file = readFileSync(new URL('../../samples/bai2/two-accounts.bai', import.meta.url), 'utf8');

it('a BAI2 file with a changed digit of an amount has a warning that totals differ', async () => {
  for (const match of file.matchAll(/^16,\d{3},(\d+)/gm)) {
    const at = match.index + match[0].length - 1;
    const events = await read(`${file.slice(0, at)}7${file.slice(at + 1)}`);
    expect(countOf(events, 'warning'), match[0]).toBeGreaterThan(0);
  }
});

it('a BAI2 file with a damaged record code loses no transaction without an issue', async () => {
  const count = entriesOf(await read(file)).length;
  for (const match of file.matchAll(/^16,/gm)) {
    for (const damaged of ['1X,', '61,', 'X16,', ',']) {
      const events = await read(file.slice(0, match.index) + damaged + file.slice(match.index + 3));
      expect(entriesOf(events).length, `${match.index} ${damaged}`).toBe(count - 1);
      expect(countOf(events, 'issue'), `${match.index} ${damaged}`).toBe(1);
    }
  }
});
