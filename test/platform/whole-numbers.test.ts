import * as v from 'valibot';
import { expect, it } from 'vitest';
import { IdText, parseWholeNumber, WholeNumber } from '../../src/platform/whole-numbers.ts';

it('a whole number in a text has only digits, and lies within its bounds', () => {
  for (const text of ['', ' 5', '+5', '-5', '5.0', '5e0', '0x5', '٥', '11', '9'.repeat(16)])
    expect(parseWholeNumber(text, 0, 10)).toBeNull();
  expect(['0', '5', '05', '10'].map((text) => parseWholeNumber(text, 0, 10))).toEqual([0, 5, 5, 10]);
});

it('the rule of a whole number names its bounds', () => {
  const { issues } = v.safeParse(WholeNumber(2, 7), '8');
  expect(issues?.map(({ message }) => message)).toEqual(['must be a whole number from 2 to 7']);
});

it('an id in a text has up to 18 digits, and does not begin with 0', () => {
  expect(['1', '9'.repeat(18)].every((text) => v.is(IdText, text))).toBe(true);
  expect(['', '0', '01', '1 ', '-1', '9'.repeat(19)].some((text) => v.is(IdText, text))).toBe(false);
});
