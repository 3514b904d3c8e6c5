import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMoment, parseMoment, parseOffset } from '../../src/platform/moment.ts';

const ISTANBUL = parseOffset('+03');
const NEWFOUNDLAND = parseOffset('-03:30');

describe('a moment', () => {
  it.each([
    ['2019-10-24 18:39:16', '2019-10-24 15:39:16'],
    ['2019-10-24T18:39:16', '2019-10-24 15:39:16'],
    ['2019-10-24 18:39:16+03', '2019-10-24 15:39:16'],
    ['2019-10-24 18:39:16 03', '2019-10-24 15:39:16'],
    ['2019-10-24 18:39:16 +03', '2019-10-24 15:39:16'],
    ['2019-10-24 18:39:16+03:00', '2019-10-24 15:39:16'],
    ['2019-10-24 18:39:16+0530', '2019-10-24 13:09:16'],
    ['2019-10-24 18:39:16-03:30', '2019-10-24 22:09:16'],
    ['2019-10-24 18:39:16Z', '2019-10-24 18:39:16'],
    ['2019-10-24 18:39:16.999999', '2019-10-24 15:39:16'],
    ['2024-02-29 00:00:00', '2024-02-28 21:00:00'],
    ['2026-01-01 01:00:00+14', '2025-12-31 11:00:00'],
    ['1000-01-01 00:00:00', '1000-01-01 00:00:00'],
    ['9999-12-31 23:59:59-12', '9999-12-30 00:00:00'],
  ])('is read: %s', (text, utc) => {
    expect(parseMoment(text, ISTANBUL)).toBe(utc);
  });

  it.each([
    '2026-02-30 00:00:00',
    '2026-13-01 00:00:00',
    '2026-01-01 24:00:00',
    '2026-01-01 00:60:00',
    '2026-01-01 00:00:60',
    '2026-01-01',
    '2026-1-1 0:0:0',
    '2026-01-01 00:00',
    '2026-01-01 00:00:00+15',
    '2026-01-01 00:00:00+03:60',
    '2026-01-01 00:00:00 EET',
    '2026-01-01 00:00:00; DROP TABLE transactions',
    ' 2026-01-01 00:00:00',
    '0999-12-31 00:00:00',
    'now',
    '',
  ])('is refused when it does not exist or has another notation: %j', (text) => {
    expect(parseMoment(text, ISTANBUL)).toBeNull();
  });

  it.each([
    [ISTANBUL, '2019-10-24 18:39:16+03'],
    [NEWFOUNDLAND, '2019-10-24 12:09:16-03:30'],
    [parseOffset('+00:00'), '2019-10-24 15:39:16+00'],
    [parseOffset('Z'), '2019-10-24 15:39:16+00'],
  ])('is written in the zone of the service: %j', (zone, text) => {
    expect(formatMoment(new Date('2019-10-24T15:39:16.789Z'), zone)).toBe(text);
  });

  it('is read back as it was written, in any zone, with "+" or a space', () => {
    const zones = fc
      .record({ sign: fc.constantFrom('+', '-'), hours: fc.nat(13), minutes: fc.nat(59) })
      .map(({ sign, hours, minutes }) =>
        parseOffset(`${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`),
      );
    const moments = fc.date({
      min: new Date('1001-01-01'),
      max: new Date('9998-12-31'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moments, zones, zones, (moment, zone, other) => {
        const utc = new Date(Math.floor(moment.getTime() / 1_000) * 1_000).toISOString();
        const text = formatMoment(moment, zone);
        for (const pasted of [text, text.replace('+', ' ')]) {
          expect(parseMoment(pasted, other)).toBe(utc.slice(0, 19).replace('T', ' '));
        }
      }),
    );
  });
});
