/** How the console writes numbers, times and durations. */

export { countOf, formatCount, timesInARow } from '../../counts.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in its two largest units: `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function formatDuration(milliseconds: number): string {
  const length = Math.max(0, milliseconds);
  if (length < SECOND) return `${Math.round(length)} ms`;
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`;
  if (length < HOUR) return two(length, MINUTE, 'min', SECOND, 's');
  if (length < DAY) return two(length, HOUR, 'h', MINUTE, 'min');
  return two(length, DAY, 'd', HOUR, 'h');
}

function two(length: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((length % large) / small);
  return `${Math.floor(length / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`;
}

/** UTC, as in the logs: `2026-01-31 12:00:00 UTC`. */
export const formatUtc = (moment: Date): string =>
  `${moment.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** `3 min ago`, or `in 20 s` for a moment in the future. */
export function formatDistance(moment: Date, now: Date): string {
  const ago = now.getTime() - moment.getTime();
  if (Math.abs(ago) < SECOND) return 'now';
  return ago > 0 ? `${formatDuration(ago)} ago` : `in ${formatDuration(-ago)}`;
}

/** `99.8 %`; null: `–`. */
export const formatShare = (share: number | null): string =>
  share === null ? '–' : `${(Math.floor(share * 1000) / 10).toString()} %`;
