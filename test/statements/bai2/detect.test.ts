import { describe, expect, it } from 'vitest';
import { looksLikeBai2 } from '../../../src/statements/bai2/parse.ts';
import { ACCOUNT, FILE, GROUP } from './records.ts';

describe('a file is taken for BAI2', () => {
  it.each([
    ['BAI2', FILE],
    ['blank lines first', `\r\n\r\n${FILE}`],
    ['a byte order mark', `\uFEFF${FILE}`],
    ['dates with the century', '01,BANKEX,ACME,20260302,0600,1,,,2/'],
    ['empty sender and receiver', '01,,,260302,0600,1,,,2/'],
    ['no file header', GROUP],
  ])('%s', (_, start) => {
    expect(looksLikeBai2(start)).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['a CSV with a date', '01,02,2026,100.00,Kira\n'],
    ['a CSV with numbers', '01,1,2,3,4,5'],
    ['MT940', ':20:START\r\n:25:123\r\n'],
    ['an account alone', ACCOUNT],
    ['JSON', '{"transactions":[]}'],
  ])('but not: %s', (_, start) => {
    expect(looksLikeBai2(start)).toBe(false);
  });
});
