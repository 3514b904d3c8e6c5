import { describe, expect, it } from 'vitest';
import { createDateReader, type DateFormat } from '../../../packages/statements/src/profiles/values.ts';

describe('the date reader of a profile', () => {
  it.each<[DateFormat, string, string | null]>([
    ['DD.MM.YYYY', '27.01.2026', '2026-01-27'],
    ['DD.MM.YYYY', '7.1.2026', '2026-01-07'],
    ['DD.MM.YYYY', '27.01.2026 10:21', '2026-01-27'],
    ['DD.MM.YYYY', '31.11.2026', null],
    ['DD.MM.YYYY', '29.02.2025', null],
    ['DD.MM.YYYY', '27.01.26', null],
    ['DD.MM.YYYY', '27.01.20261', null],
    ['DD.MM.YYYY', '27.01.2026 something', null],
    ['DD.MM.YY', '27.01.26', '2026-01-27'],
    ['DD.MM.YY', '27.01.85', '1985-01-27'],
    ['DD/MM/YYYY', '26/08/2026-14:58:47', '2026-08-26'],
    ['MM/DD/YYYY', '08/26/2026', '2026-08-26'],
    ['DD/MM/YYYY', '08/26/2026', null],
    ['YYYY-MM-DD', '2018-02-25 12:34:56 +0000', '2018-02-25'],
    ['YYYY-MM-DD', '2026-01-31T23:59:59.999Z', '2026-01-31'],
    ['YYYY-MM-DD', '2026-01-31 11:59 PM', '2026-01-31'],
    ['YYYY.MM.DD', '2018.02.01.', '2018-02-01'],
    ['YYYYMMDD', '20260131', '2026-01-31'],
    ['DDMMYYYY', '31012026', '2026-01-31'],
    ['DD MMM YYYY', '3 Feb 2026', '2026-02-03'],
    ['DD-MMM-YYYY', '03-FEB-2026', '2026-02-03'],
    ['YYYY/MM/DD', '1111/11/11', null],
    ['YYYY-MM-DD', '2100-01-01', null],
    ['YYYY-MM-DD', '', null],
  ])('reads or refuses a date by the format %s: %j', (format, text, expected) => {
    expect(createDateReader([format])(text)).toBe(expected);
  });

  it.each<[string, 1900 | 1904, string | null]>([
    ['46049', 1900, '2026-01-27'],
    ['46049.4312', 1900, '2026-01-27'],
    ['44587', 1904, '2026-01-27'],
    ['5', 1900, null],
    ['20260127', 1900, null],
    ['1E9', 1900, null],
  ])('reads or refuses the XLSX day number %s, counted from %i', (number, epoch, expected) => {
    expect(createDateReader(['DD.MM.YYYY'])({ number, epoch })).toBe(expected);
  });

  it('also reads a number as the digits of a date', () => {
    expect(createDateReader(['YYYYMMDD'])({ number: '20260127', epoch: 1900 })).toBe('2026-01-27');
  });
});
