import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isUnfinished, matchesPattern, numberedName } from '../../../src/sources/connectors/file-names.ts';

describe('a file name pattern', () => {
  it.each([
    ['*', 'a.sta', true],
    ['*', '', true],
    ['*.sta', 'a.sta', true],
    ['*.sta', '.sta', true],
    ['*.sta', 'a.STA', false],
    ['*.sta', 'a.sta.txt', false],
    ['AC_??????_*.csv', 'AC_261101_7.csv', true],
    ['AC_??????_*.csv', 'AC_26110_7.csv', false],
    ['a*b*c', 'aXbYbZc', true],
    ['a*b*c', 'aXcYb', false],
    ['a.b', 'aXb', false],
    ['[a]', '[a]', true],
    ['[a]', 'a', false],
    ['a', 'ab', false],
    ['ab', 'a', false],
  ])('%j matches the name %j: %s', (pattern, name, fits) => {
    expect(matchesPattern(name, pattern)).toBe(fits);
  });

  it('matches like the equivalent regular expression', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 });
    const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), maxLength: 8 });
    fc.assert(
      fc.property(letters, patterns, (name, pattern) => {
        const meant = pattern.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.');
        expect(matchesPattern(name, pattern)).toBe(new RegExp(`^${meant}$`).test(name));
      }),
    );
  });

  it('with many stars is matched in a short time', () => {
    expect(matchesPattern('a'.repeat(255), `${'*a'.repeat(99)}b`)).toBe(false);
  });
});

describe('a file name', () => {
  it.each([
    '.hidden',
    'a.part',
    'a.PART',
    'a.partial',
    'a.sta.tmp',
    'a.temp',
    'a.filepart',
    'a.crdownload',
    'a.writing',
    'a.uploading',
    'a~',
  ])('%s is unfinished', (name) => {
    expect(isUnfinished(name)).toBe(true);
  });

  it.each(['a.sta', 'part', 'tmp.csv', 'a.part.csv', 'a'])('%s is finished', (name) => {
    expect(isUnfinished(name)).toBe(false);
  });

  it.each([
    ['a.sta', 1, 'a.sta'],
    ['a.sta', 2, 'a.2.sta'],
    ['a', 3, 'a.3'],
    ['.a', 2, '.a.2'],
    ['a.b.sta', 2, 'a.b.2.sta'],
  ])('%s with the number %i becomes %s', (name, n, numbered) => {
    expect(numberedName(name, n)).toBe(numbered);
  });
});
