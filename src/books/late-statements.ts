import type { Sql } from '../database/transaction.ts';

/** Finds when the next statement of an account is late: at a time that was set, or that is learnt from its last statements. */

/** Index: statements_time, from its end. */
const READ_LAST_DAYS = `
  SELECT to_date, MIN(received_at) AS received_at FROM statements FORCE INDEX (statements_time)
  WHERE account_id = ? AND kind = 'final' AND to_date IS NOT NULL
  GROUP BY account_id, kind, to_date ORDER BY account_id DESC, kind DESC, to_date DESC LIMIT ?`;

/** @returns when the next statement of an account is late; null: too few statements have come. */
export async function readLateAt(
  sql: Sql,
  { id, lateAfterDays }: { id: string; lateAfterDays: number | null },
): Promise<Date | null> {
  const rows = await sql.query<{ to_date: string; received_at: Date }[]>(READ_LAST_DAYS, [id, LEARNED_FROM]);
  const arrivals = rows.map((row): Arrival => ({ to: row.to_date, receivedAt: row.received_at }));
  return findLateAt(arrivals, lateAfterDays);
}

/** The most statements that are looked at, and the fewest that allow a conclusion. A year of monthly statements is enough. */
export const LEARNED_FROM = 60;
const LEAST = 8;

/** Public holidays may close banks for nine days. */
const GRACE_DAYS = 8;

/** From this many of the last statements, the usual delay is learnt. Older statements may all have come on one day. */
const DELAYS = 5;

const DAY = 86_400_000;

/** A final statement of an account. */
export interface Arrival {
  /** YYYY-MM-DD */
  to: string;
  receivedAt: Date;
}

const endOf = ({ to }: Arrival): number => Date.parse(to) + DAY;

/**
 * Finds out when the next statement is late.
 * @param arrivals the last statements, of different days, the newest day first.
 * @param lateAfterDays the next statement is late this many days after the last day of the newest. null: learnt. The time is then the sum
 * of the longest time between two of these statements, 8 days, and the usual delay with which a statement comes.
 * @returns null when too few statements have come.
 */
export function findLateAt(arrivals: readonly Arrival[], lateAfterDays: number | null): Date | null {
  const [newest] = arrivals;
  if (newest === undefined) return null;
  if (lateAfterDays !== null) return new Date(endOf(newest) + lateAfterDays * DAY);
  if (arrivals.length < LEAST) return null;
  const longest = Math.max(
    ...arrivals.slice(1).map((it, index) => endOf(arrivals[index] as Arrival) - endOf(it)),
  );
  const delays = arrivals.slice(0, DELAYS).map((it) => it.receivedAt.getTime() - endOf(it));
  const usual = delays.toSorted((one, other) => one - other)[Math.floor(DELAYS / 2)] ?? 0;
  return new Date(endOf(newest) + longest + GRACE_DAYS * DAY + Math.max(0, usual));
}
