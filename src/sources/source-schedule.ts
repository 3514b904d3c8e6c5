import { CronExpressionParser } from 'cron-parser';

/** When a source runs: intervals, and cron expressions in a time zone. */

/** When a source is due: at equal intervals, or at times in a time zone. */
export type SourceSchedule = { every: string } | { cron: string; time_zone: string };

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const MINUTE = UNITS.m;
const SHORTEST = 10 * UNITS.s;
const LONGEST = 31 * UNITS.d;

/** The longest time that a failing source waits. */
const LONGEST_BACKOFF = 6 * UNITS.h;

/** Parses an interval such as `15m`. @returns milliseconds; null when it is not an interval from 10 s to 31 days. */
export function parseInterval(text: string): number | null {
  const [, count, unit] = /^([1-9][0-9]{0,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) return null;
  const interval = Number(count) * UNITS[unit as keyof typeof UNITS];
  return interval >= SHORTEST && interval <= LONGEST ? interval : null;
}

/** Says whether a name is the name of a time zone, such as `Europe/Istanbul`. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Says whether an expression has the five fields of cron and ever matches a date. */
export function isCron(expression: string): boolean {
  if (expression.trim().split(/\s+/).length !== 5) return false;
  try {
    CronExpressionParser.parse(expression, { tz: 'UTC' }).next();
    return true;
  } catch {
    return false;
  }
}

/**
 * Finds the first time after `after` at which a source is due. Intervals are counted from a fixed moment, so that they do not drift.
 * @param start the moment from which intervals are counted.
 * @throws {Error} when the schedule is not valid.
 */
export function nextSlot(schedule: SourceSchedule, start: Date, after: Date): Date {
  if ('cron' in schedule) {
    const { cron, time_zone: tz } = schedule;
    return CronExpressionParser.parse(cron, { tz, currentDate: after }).next().toDate();
  }
  const interval = intervalOf(schedule);
  const passed = Math.floor((after.getTime() - start.getTime()) / interval);
  return new Date(start.getTime() + (passed + 1) * interval);
}

/**
 * Says whether a moment is further ahead than a source can wait. It was then set before the clock was set back.
 * @param start the moment from which intervals are counted.
 */
export function isTooFarAhead(
  schedule: SourceSchedule,
  { start, now, next }: { start: Date; now: Date; next: Date },
): boolean {
  const longestBackoff = now.getTime() + 1.2 * LONGEST_BACKOFF;
  return next.getTime() > Math.max(longestBackoff, nextSlot(schedule, start, now).getTime()) + MINUTE;
}

/** Milliseconds. @throws {Error} when the schedule is not valid. */
export function intervalOf({ every }: { every: string }): number {
  const interval = parseInterval(every);
  if (interval === null) throw new Error('the schedule of a source has no valid interval');
  return interval;
}

/**
 * How long a source waits after a failed run: its interval (at least a minute), or a minute if it has a cron expression. The wait doubles
 * with each further failure, up to 6 h, ± 20 %.
 * @param failures in a row, from 1.
 * @param random from 0 to 1.
 * @param asked how long the server asks to wait (RFC 9110, section 10.2.3), in milliseconds. At least this long, but at most 6 h.
 * @returns milliseconds.
 */
export function backoff(schedule: SourceSchedule, failures: number, random: () => number, asked = 0): number {
  const first = 'cron' in schedule ? MINUTE : Math.max(MINUTE, intervalOf(schedule));
  const wait = Math.min(LONGEST_BACKOFF, first * 2 ** Math.min(failures - 1, 20));
  return Math.max(Math.round(wait * (0.8 + 0.4 * random())), Math.min(asked, LONGEST_BACKOFF));
}
