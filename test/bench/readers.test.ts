import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkReader } from '../../bench/readers/check.ts';
import type { BankFile } from '../../bench/readers/files.ts';
import type { LoadedReader, ReadEntry, ReadFile } from '../../bench/readers/reader.ts';
import { READERS } from '../../bench/readers/readers.ts';
import { labelOf, readTables, replaceTables } from '../../bench/readers/table.ts';

const readPage = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const tables = readTables(readPage('packages/statements/README.md'));

describe('the tables of readers', () => {
  it('name every reader with its version, and no other', () => {
    const named = [...tables.matchAll(/^\| (\S+ \d+\.[^|]*) \|/gm)].map(([, label]) => label);
    expect(named.toSorted()).toEqual(READERS.map(labelOf).toSorted());
  });

  it('replace what is between the two lines of a page', () => {
    const page = 'before\n<!-- readers -->\n\nold\n\n<!-- /readers -->\nafter\n';
    expect(replaceTables(page, 'new')).toBe('before\n<!-- readers -->\n\nnew\n\n<!-- /readers -->\nafter\n');
    expect(() => replaceTables('a page without the two lines', 'new')).toThrow('needs a line');
  });
});

describe('what a reader makes of a file', () => {
  const entry = (amount: number): ReadEntry => ({ date: '2026-03-02', amount, isBooked: true });
  const reading = (file: Partial<ReadFile>): LoadedReader => ({
    read: async () => ({ seconds: 1, file: { statements: [], isWarned: false, ...file } }),
  });
  const file: BankFile = {
    name: 'a.sta',
    bytes: Buffer.of(),
    rows: [
      { date: '2026-03-02', dc: 'Debit', amount: '5.00' },
      { date: '2026-03-02', dc: 'Debit', amount: '5.00' },
    ],
  };
  const check = (reader: LoadedReader) => checkReader(reader, [file]);
  const statement = (...entries: ReadEntry[]) => ({ opening: null, closing: null, entries });

  it('is right if all rows are there, and no others', async () => {
    expect(await check(reading({ statements: [statement(entry(-5), entry(-5))] }))).toEqual({
      files: 1,
      read: 1,
      rows: 2,
      right: 2,
      silent: [],
      loud: [],
    });
  });

  it.each([
    ['a row is missing', [entry(-5)], 1],
    ['a row has the other direction', [entry(-5), entry(5)], 1],
    ['a row is too many', [entry(-5), entry(-5), entry(-5)], 2],
    ['nothing is read', [], 0],
  ])('is a silent fault if %s, unless the reader warns', async (_, entries, right) => {
    const statements = entries.length === 0 ? [] : [statement(...entries)];
    expect(await check(reading({ statements }))).toMatchObject({ right, silent: [expect.any(String)] });
    expect(await check(reading({ statements, isWarned: true }))).toMatchObject({ right, silent: [] });
  });

  it('is a silent fault if the entries do not lead to the closing balance', async () => {
    const statements = [{ ...statement(entry(-5), entry(-5)), opening: 20, closing: 11 }];
    expect(await check(reading({ statements }))).toMatchObject({ silent: ['a.sta: balances differ'] });
    const announced = { ...entry(-1), isBooked: false };
    const right = [{ opening: 20, closing: 10, entries: [entry(-5), entry(-5), announced] }];
    expect(await checkReader(reading({ statements: right }), [{ ...file, rows: null }])).toMatchObject({
      silent: [],
    });
  });

  it('is not read, and no silent fault, if the reader throws', async () => {
    const throwing: LoadedReader = { read: () => Promise.reject(new Error('no such tag')) };
    expect(await check(throwing)).toMatchObject({
      read: 0,
      right: 0,
      silent: [],
      loud: ['a.sta: Error: no such tag'],
    });
  });
});
