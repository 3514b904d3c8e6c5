import { expect, it } from 'vitest';
import { findPeriods } from '../../packages/reconcile/src/periods.ts';
import { monthsOf } from '../../src/console/books/account-page.tsx';
import { chainStatement } from '../reconcile/chain-statement.ts';

const statement = (id: string, from: string, to: string, opening: bigint, closing: bigint) =>
  chainStatement({ id, from, to, opening, closing });

it('the calendar shows the days of complete periods and of gaps, the newest month first', () => {
  const months = monthsOf(
    findPeriods([
      statement('1', '2026-02-27', '2026-02-28', 100n, 200n),
      statement('2', '2026-03-03', '2026-03-03', 300n, 400n),
    ]),
  );
  expect(months.map(({ month }) => month)).toEqual(['2026-03', '2026-02']);
  const statusOf = (date: string) =>
    months.flatMap(({ days }) => days).find((day) => day.date === date)?.status;
  expect(statusOf('2026-02-28')).toBe('complete');
  expect(statusOf('2026-03-01')).toBe('gap');
  expect(statusOf('2026-03-02')).toBe('gap');
  expect(statusOf('2026-03-03')).toBe('complete');
  expect(statusOf('2026-03-04')).toBeNull();
  expect(months[1]?.days).toHaveLength(28);
});

it('the calendar of an account with many years shows twelve months', () => {
  const months = monthsOf(findPeriods([statement('1', '2020-01-01', '2026-03-31', 100n, 200n)]));
  expect(months).toHaveLength(12);
  expect(months.at(-1)?.month).toBe('2025-04');
});

it('an account without statements has no calendar', () => {
  expect(monthsOf([])).toEqual([]);
});
