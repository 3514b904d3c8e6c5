import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseProfile } from '../../packages/statements/src/parse-profile.ts';
import { type CellReference, type Layout, layoutsOf } from '../../packages/statements/src/profile.ts';
import { BANKS } from '../../packages/statements/src/profiles/bank-profiles.ts';

/** The table of docs/formats/csv.md about the built-in profiles says what their definitions say. */

const page = readFileSync(new URL('../../docs/formats/csv.md', import.meta.url), 'utf8');

const rows = page
  .split('\n')
  .filter((line) => /^\| `[a-z0-9-]+` \|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .map(([, name, ...cells]) => [name, ...cells.slice(0, 4)]);

const isIn = (place: CellReference | undefined, key: 'column' | 'label') =>
  place !== undefined && key in place;

function describeProfile(name: string, file: unknown): string[] {
  const layouts = layoutsOf([parseProfile(name, file)]);
  const has = (test: (layout: Layout) => boolean) => layouts.some(test);
  const hasBalances = [
    has(({ columns }) => columns.balance !== undefined) && 'each row',
    has((it) => it.openingBalance !== undefined && it.closingBalance !== undefined) && 'opening, closing',
  ].filter((it) => it !== false);
  return [
    name,
    has(({ account }) => isIn(account.number, 'column'))
      ? 'in rows'
      : has(({ account }) => isIn(account.number, 'label'))
        ? 'in tables'
        : 'no',
    has(({ account }) => isIn(account.currency, 'column')) ? 'yes' : 'no',
    hasBalances.join('; ') || 'no',
    has(({ columns }) => columns.reference !== undefined) ? 'yes' : 'no',
  ];
}

it('the table has a row for each built-in profile, and the row says what the profile reads', () => {
  expect(rows).toEqual(Object.entries(BANKS).map(([name, file]) => describeProfile(name, file)));
});

it('a profile that reads the currency of a row says by it in which currency the statement is', () => {
  const silent = Object.entries(BANKS).flatMap(([name, file]) =>
    layoutsOf([parseProfile(name, file)]).filter(
      ({ columns, account }) => columns.currency !== undefined && account.currency === undefined,
    ),
  );
  expect(silent.map(({ name }) => name)).toEqual([]);
});
