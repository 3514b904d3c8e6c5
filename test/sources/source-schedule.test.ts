import { describe, expect, it } from 'vitest';
import { backoff, isCron, isTimeZone, nextSlot, parseInterval } from '../../src/sources/source-schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it.each([
  ['10s', 10_000],
  ['90s', 90_000],
  ['15m', 15 * MINUTE],
  ['6h', 6 * HOUR],
  ['31d', 31 * 24 * HOUR],
  ['9s', null],
  ['32d', null],
  ['0m', null],
  ['1.5h', null],
  ['15', null],
  ['15 m', null],
  ['1w', null],
  ['', null],
  ['99999999s', null],
])('the interval %j is read as %j ms', (text, expected) => {
  expect(parseInterval(text)).toBe(expected);
});

it.each([
  ['0 7 * * 1-5', true],
  ['*/15 * * * *', true],
  ['@daily', false],
  ['0 0 7 * * 1-5', false],
  ['0 7 * *', false],
  ['61 * * * *', false],
  ['0 0 30 2 *', false],
  ['', false],
])('the check for five cron fields answers for %j with %j', (text, expected) => {
  expect(isCron(text)).toBe(expected);
});

it('a schedule accepts the IANA time zones', () => {
  expect(['UTC', 'Europe/Istanbul', 'America/New_York'].map(isTimeZone)).toEqual([true, true, true]);
  expect(['Istanbul', 'Europe/Nowhere', ''].map(isTimeZone)).toEqual([false, false, false]);
});

describe('the next time of a schedule', () => {
  const start = new Date('2026-03-01T09:07:00Z');
  const next = (schedule: Parameters<typeof nextSlot>[0], after: string) =>
    nextSlot(schedule, start, new Date(after)).toISOString();

  it.each([
    ['2026-03-01T09:07:00Z', '2026-03-01T09:22:00.000Z'],
    ['2026-03-01T09:21:59.999Z', '2026-03-01T09:22:00.000Z'],
    ['2026-03-01T09:22:00Z', '2026-03-01T09:37:00.000Z'],
    ['2026-03-05T00:00:00Z', '2026-03-05T00:07:00.000Z'],
  ])(
    'with an interval is counted from the start, however late a run was: after %s, %s',
    (after, expected) => {
      expect(next({ every: '15m' }, after)).toBe(expected);
    },
  );

  it.each([
    // Istanbul is three hours ahead of UTC.
    ['Europe/Istanbul', '2026-03-02T03:59:59Z', '2026-03-02T04:00:00.000Z'],
    // Friday, so Monday is next.
    ['Europe/Istanbul', '2026-03-06T04:00:00Z', '2026-03-09T04:00:00.000Z'],
    // Berlin changes to summer time on 29 March 2026.
    ['Europe/Berlin', '2026-03-27T07:00:00Z', '2026-03-30T05:00:00.000Z'],
  ])('with cron is in its time zone: %s after %s, %s', (time_zone, after, expected) => {
    expect(next({ cron: '0 7 * * 1-5', time_zone }, after)).toBe(expected);
  });
});

describe('the wait of a failing source', () => {
  const middle = () => 0.5;
  const waits = (schedule: Parameters<typeof backoff>[0]) =>
    [1, 2, 3, 10, 1_000].map((failures) => backoff(schedule, failures, middle));

  it('doubles from its interval up to 6 h', () => {
    expect(waits({ every: '15m' })).toEqual([15 * MINUTE, 30 * MINUTE, HOUR, 6 * HOUR, 6 * HOUR]);
    expect(waits({ every: '10s' })).toEqual([MINUTE, 2 * MINUTE, 4 * MINUTE, 6 * HOUR, 6 * HOUR]);
    expect(waits({ every: '1d' })).toEqual([6 * HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR]);
  });

  it('doubles from a minute for a cron schedule', () => {
    const schedule = { cron: '0 7 * * *', time_zone: 'UTC' };
    expect(waits(schedule)).toEqual([MINUTE, 2 * MINUTE, 4 * MINUTE, 6 * HOUR, 6 * HOUR]);
  });

  it('is at least as long as the server asks, up to 6 h', () => {
    const wait = (asked: number) => backoff({ every: '10m' }, 1, middle, asked);
    expect([wait(0), wait(MINUTE), wait(HOUR), wait(9 * HOUR)]).toEqual([
      10 * MINUTE,
      10 * MINUTE,
      HOUR,
      6 * HOUR,
    ]);
  });

  it('varies by a fifth, so that sources that fail together do not return together', () => {
    const wait = (random: number) => backoff({ every: '10m' }, 1, () => random);
    expect([wait(0), wait(1)]).toEqual([8 * MINUTE, 12 * MINUTE]);
  });
});
