import { describe, expect, it } from 'vitest';
import { type Arrival, findLateAt, LEARNED_FROM } from '../../src/books/late-statements.ts';

const DAY = 86_400_000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Statements of these days, each of which comes six hours after its day. */
const arrivals = (days: readonly string[]): Arrival[] =>
  days.map((to) => ({ to, receivedAt: new Date(Date.parse(to) + 1.25 * DAY) }));

/** The working days of 2026, without the days on which banks are closed. */
function workingDays(holidays: readonly string[]): string[] {
  const days: string[] = [];
  for (let time = Date.parse('2026-01-01'); time < Date.parse('2027-01-01'); time += DAY) {
    const weekday = new Date(time).getUTCDay();
    if (weekday !== 0 && weekday !== 6 && !holidays.includes(dayOf(time))) days.push(dayOf(time));
  }
  return days;
}

const every = (days: number): string[] =>
  Array.from({ length: Math.floor(365 / days) }, (_, index) =>
    dayOf(Date.parse('2026-01-05') + index * days * DAY),
  );

const monthEnds = Array.from({ length: 24 }, (_, month) => dayOf(Date.UTC(2025, month + 1, 0)));

/** Turkish banks in 2026: Ramazan Bayramı, and Kurban Bayramı with the days around it, from Saturday to Sunday of the next week. */
const HOLIDAYS = ['2026-01-01', '2026-03-19', '2026-03-20', '2026-04-23', '2026-05-01', '2026-05-19'].concat([
  '2026-05-25',
  '2026-05-26',
  '2026-05-27',
  '2026-05-28',
  '2026-05-29',
  '2026-07-15',
  '2026-10-29',
]);

describe('a statement', () => {
  it.each([
    ['every working day', workingDays(HOLIDAYS)],
    ['every week', every(7)],
    ['at the end of every month', monthEnds],
  ])('is never late when statements come regularly %s', (_, days) => {
    for (let count = 1; count < days.length; count += 1) {
      const known = arrivals(days.slice(Math.max(0, count - LEARNED_FROM), count).toReversed());
      const next = arrivals([days[count] as string])[0] as Arrival;
      expect(findLateAt(known, null)?.getTime() ?? Number.POSITIVE_INFINITY).toBeGreaterThan(
        next.receivedAt.getTime(),
      );
    }
  });

  it.each([
    ['every working day', workingDays([]), 14],
    ['every week', every(7), 17],
    ['at the end of every month', monthEnds, 41],
  ])('is late soon enough when statements came %s', (_, days, within) => {
    const known = arrivals(days.slice(-LEARNED_FROM).toReversed());
    const last = Date.parse(known[0]?.to ?? '');
    expect((findLateAt(known, null)?.getTime() ?? Number.POSITIVE_INFINITY) - last).toBeLessThan(
      within * DAY,
    );
  });

  it('is late after the configured days', () => {
    expect(findLateAt(arrivals(['2026-03-06']), 4)).toEqual(new Date('2026-03-11T00:00:00Z'));
  });

  it('is not late when too few statements have come', () => {
    expect(findLateAt([], 4)).toBeNull();
    expect(findLateAt(arrivals(every(1).slice(0, 7).toReversed()), null)).toBeNull();
  });

  it('is not late when an archive was sent long after its last day', () => {
    const archive = every(1).map((to): Arrival => ({ to, receivedAt: new Date('2027-06-01T00:00:00Z') }));
    const lateAt = findLateAt(archive.toReversed().slice(0, LEARNED_FROM), null);
    expect(lateAt?.getTime()).toBeGreaterThan(Date.parse('2027-06-01'));
  });
});
