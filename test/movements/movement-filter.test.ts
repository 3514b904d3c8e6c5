import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FilteredMovement, fold, matches, wordsOf } from '../../src/movements/movement-filter.ts';

const movement = (fields: Partial<FilteredMovement> = {}): FilteredMovement => ({
  amount: '10.000',
  description: null,
  name: null,
  opponent_id: null,
  opponent_iban: null,
  code: null,
  ...fields,
});

describe('folding', () => {
  it.each([
    ['IŞIK ışık İşİk', 'ISIK ISIK ISIK'],
    ['Straße STRASSE STRAẞE', 'STRASSE STRASSE STRASSE'],
    ['ὀδός ΟΔΟΣ', 'ΟΔΟΣ ΟΔΟΣ'],
    ['e\u0301 é', 'E E'],
    ['ﬁ ① ｆｕｌｌ', 'FI 1 FULL'],
    ['Łódź', 'ŁODZ'],
    ['กำ', fold('ก\u0e32')],
    ['\ud800 a', '\ud800 A'],
  ])('of %s', (text, folded) => {
    expect(fold(text)).toBe(folded);
  });

  it('is that of the whole text, and folding again changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const whole = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase().toUpperCase();
        expect(fold(text)).toBe(whole);
        expect(fold(text.toLowerCase())).toBe(fold(text.toUpperCase()));
      }),
      { numRuns: 2_000, seed: 7 },
    );
  });
});

describe('a filter', () => {
  it('finds no word across two fields, and each word in any field', () => {
    const it = movement({ description: 'ab', name: 'cd', opponent_iban: 'DE89 3704' });
    const finds = (text: string) => matches({ words: wordsOf(text) }, it);
    expect(['ab cd', 'CD de893704', 'b d'].map(finds)).toEqual([true, true, true]);
    expect(['abcd', 'bc', 'ab x'].map(finds)).toEqual([false, false, false]);
  });

  it.each([
    ['9.999', false],
    ['10.000', true],
    ['10.001', false],
    ['-10.000', false],
    ['999999999999999999.999', false],
  ])('compares the amount %s exactly', (amount, isFound) => {
    expect(matches({ least: 10_000n, most: 10_000n }, movement({ amount }))).toBe(isFound);
  });

  it('takes linear time for hostile texts', () => {
    const words = wordsOf(Array.from({ length: 20 }, (_, n) => `${'a'.repeat(8)}${n}`).join(' '));
    const texts = [
      'a'.repeat(4_000),
      '\ufdfa'.repeat(4_000),
      `a${'\u0301'.repeat(3_999)}`,
      'é'.repeat(4_000),
    ];
    for (const description of texts)
      for (let n = 0; n < 50; n += 1) matches({ words }, movement({ description }));
    expect(fold('a\u0301'.repeat(100_000)).length).toBe(100_000);
  });
});
