import { describe, expect, it } from 'vitest';
import { parseDate, parseSignedAmount } from '../../../packages/statements/src/ofx/map.ts';
import { decodeEntities } from '../../../packages/statements/src/ofx/tokens.ts';

describe('a date of an OFX file', () => {
  it.each([
    ['20260301', '2026-03-01'],
    ['202603011200', '2026-03-01'],
    ['20260301120000', '2026-03-01'],
    ['20260301120000.000', '2026-03-01'],
    ['20260301235959.999[-11:SST]', '2026-03-01'],
    ['20260301000000[+14:LINT]', '2026-03-01'],
    ['20260301120000[-5:EST', '2026-03-01'],
    ['20260301120000 [0:GMT]', '2026-03-01'],
    ['20260301[+3]', '2026-03-01'],
    ['20180804093914:014', '2018-08-04'],
    ['2026-03-01', '2026-03-01'],
    ['2026-03-01T12:00:00', '2026-03-01'],
    ['20280229', '2028-02-29'],
  ])('is read as the day it shows: %s', (text, date) => {
    expect(parseDate(text)).toBe(date);
  });

  it.each([
    '',
    '2026',
    '202603',
    '20260229',
    '20261301',
    '20260300',
    '00000000',
    '201120000000',
    '2026030112000',
    '01.03.2026',
    '2026-0301',
    'yesterday',
  ])('is refused when it is "%s"', (text) => {
    expect(parseDate(text)).toBeNull();
  });
});

describe('a signed amount of an OFX file', () => {
  it.each<[string, bigint]>([
    ['12.34', 12340n],
    ['-12.34', -12340n],
    ['+12.34', 12340n],
    ['- 12.34', -12340n],
    ['12.34-', -12340n],
    ['\u221212.34', -12340n],
    ['-12,34', -12340n],
    ['-,5', -500n],
    ['.5', 500n],
    ['5.', 5000n],
    ['0', 0n],
    ['-00000000001500.0000', -1500000n],
    ['1,234.56', 1234560n],
    ['1.234,56', 1234560n],
    ['-1 234 567,89', -1234567890n],
    ['1 234', 1234000n],
    ['1,234,567.8', 1234567800n],
    ['12,3', 12300n],
    ['12.340', 12340n],
    ['12.345', 12345n],
  ])('is read: %s', (text, amount) => {
    expect(parseSignedAmount(text)).toBe(amount);
  });

  it.each([
    ['', 'nothing'],
    ['$120', 'a currency sign'],
    ['1,234', 'a comma that separates thousands or decimals'],
    ['-115.8331', 'four decimals'],
    ['--5', 'two signs'],
    ['-5-', 'a sign at both ends'],
    ['(5.00)', 'parentheses'],
    ['1e3', 'an exponent'],
    ['1,23,456.00', 'groups that are not of three digits'],
    ['12 34', 'a blank that separates nothing'],
    ['1.2.3', 'two points'],
    ['NaN', 'no number'],
    ['1'.repeat(19), 'more than DECIMAL(20,2) holds'],
  ])('is refused when it is "%s" (%s)', (text) => {
    expect(parseSignedAmount(text)).toBeNull();
  });
});

it.each([
  ['Tom &amp; Jerry', 'Tom & Jerry'],
  ['&lt;5&gt;', '<5>'],
  ['a&nbsp;b', 'a b'],
  ['&#305;&#x15F;&#X15e;', 'ışŞ'],
  ['&quot;x&apos;', `"x'`],
  ['AT&T', 'AT&T'],
  ['Caf&eacute; &copy; M&uuml;ller &Uuml; &euro;5 &ndash; &nbsp;x', 'Café © Müller Ü €5 –  x'],
  ['&EACUTE; &Eacute;', 'é É'],
  ['&unknown; &a; &;', '&unknown; &a; &;'],
  ['&amp;lt;', '&lt;'],
  ['&#0;&#1114112;', ''],
  ['&#xD800;', '\ufffd'],
])('the OFX reader decodes entities once: %s', (text, decoded) => {
  expect(decodeEntities(text)).toBe(decoded);
});
