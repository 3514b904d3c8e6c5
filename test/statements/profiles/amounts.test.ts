import { describe, expect, it } from 'vitest';
import { createAmountReader } from '../../../packages/statements/src/profiles/values.ts';

const comma = createAmountReader({ decimalSign: ',', currencyTexts: ['TL', '₺', 'EUR'] });
const point = createAmountReader({ decimalSign: '.', currencyTexts: [] });

describe('an amount with a decimal comma', () => {
  it.each<[string, string, bigint | null]>([
    ['thousands with points', '1.234,56', 1234560n],
    ['several groups of thousands', '-1.234.567,89', -1234567890n],
    ['a minus before', '-5,00', -5000n],
    ['a minus behind', '5,00-', -5000n],
    ['a plus', '+5,00', 5000n],
    ['the minus of typographers', '\u22125,00', -5000n],
    ['parentheses', '(5,00)', -5000n],
    ['a space between thousands', '1 234,56', 1234560n],
    ['a non-breaking space', '1\u00a0234,56', 1234560n],
    ['a narrow non-breaking space', '1\u202f234,56', 1234560n],
    ['an apostrophe', "1'234,56", 1234560n],
    ['no fraction', '1.234', 1234000n],
    ['one fraction digit', '6,5', 6500n],
    ['no whole part', ',50', 500n],
    ['TL behind', '1.250,00 TL', 1250000n],
    ['the sign of the lira before', '₺-5,00', -5000n],
    ['a minus before the sign of the lira', '-₺5,00', -5000n],
    ['spaces around', '  5,00 ', 5000n],
    ['zeros beyond the cents', '5,0000', 5000n],
    ['thousands in the wrong place', '1.23,45', null],
    ['a group of four digits', '1.2345,00', null],
    ['different separators of thousands', '1.234 567,00', null],
    ['two signs', '--5,00', null],
    ['a sign before and behind', '-5,00-', null],
    ['an English amount', '1,234.56', null],
    ['three digits', '5,000', 5000n],
    ['a third digit that counts', '5,0010', 5001n],
    ['a fourth digit that counts', '5,0001', null],
    ['a currency that the profile does not name', '5,00 USD', null],
    ['an exponent', '1e5', null],
    ['a word', 'beş', null],
    ['nothing', '', null],
    ['a sign alone', '-', null],
    ['a decimal sign alone', ',', null],
    ['a decimal sign at the end', '5,', null],
    ['more than DECIMAL(21,3) holds', `1${'0'.repeat(18)},00`, null],
  ])('is read or refused correctly for %s: %j', (_, text, expected) => {
    expect(comma(text)).toBe(expected);
  });
});

describe('an amount with a decimal point', () => {
  it.each<[string, bigint | null]>([
    ['1,234.56', 1234560n],
    ['(5.00)', -5000n],
    ['-10', -10000n],
    ["5'000.00", 5000000n],
    ['1.234,56', null],
    ['5.000', 5000n],
    ['1,234.567', 1234567n],
  ])('is read or refused correctly: %j', (text, expected) => {
    expect(point(text)).toBe(expected);
  });
});

describe('a number of an XLSX file', () => {
  it.each<[string, bigint | null]>([
    ['1067.98', 1067980n],
    ['-1067.9799999999999', -1067980n],
    ['1234567.8899999999', 1234567890n],
    ['5E3', 5000000n],
    ['-45000', -45000000n],
    ['0.125', 125n],
    ['0.1255', null],
    ['1E20', null],
    ['abc', null],
  ])('is read or refused correctly, whatever the decimal sign of the profile is: %j', (number, expected) => {
    expect(comma({ number, epoch: 1900 })).toBe(expected);
  });
});
