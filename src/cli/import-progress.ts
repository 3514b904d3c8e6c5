import { type Params, SingleBar } from 'cli-progress';
import { formatCount } from '../counts.ts';

/** The progress bar of an import: how much, how fast, and how long it still takes. */

export type Unit = 'bytes' | 'rows';

export interface Progress {
  /** @param total undefined: not known. */
  start(total: number | undefined): void;
  update(value: number): void;
  setTotal(total: number): void;
  stop(): void;
}

/** Creates a progress bar. It is drawn on standard error, and only if that is a terminal. */
export function createProgress(title: string, unit: Unit): Progress {
  const bar = new SingleBar({
    format: (_options, params) => renderProgress(title, unit, toAmount(params)),
    hideCursor: true,
    stream: process.stderr,
  });
  return {
    start: (total) => bar.start(total ?? 0, 0),
    update: (value) => bar.update(value),
    setTotal: (total) => bar.setTotal(total),
    stop: () => bar.stop(),
  };
}

const toAmount = ({ value, total, startTime, stopTime }: Params & { stopTime?: number | null }): Amount => ({
  value,
  total: total === 0 ? undefined : total,
  elapsed: (stopTime ?? Date.now()) - startTime,
});

interface Amount {
  value: number;
  /** Undefined: not known. */
  total: number | undefined;
  /** Milliseconds since the start. */
  elapsed: number;
}

const SECOND = 1_000;
const BAR = 24;

/** Before that, a rate says little. */
const FIRST_RATE = SECOND / 2;

/** Renders the line: `Sending  ██████░░░░░░  50%  16.0 of 32.0 MiB  8.0 MiB/s  2 s left`. */
export function renderProgress(title: string, unit: Unit, { value, total, elapsed }: Amount): string {
  const perSecond = (value / Math.max(elapsed, 1)) * SECOND;
  const hasRate = elapsed >= FIRST_RATE && value > 0;
  const left = hasRate && total !== undefined && total > value ? (total - value) / perSecond : null;
  const share = total === undefined ? null : Math.min(1, value / total);
  return [
    title,
    share === null
      ? null
      : `${'█'.repeat(Math.round(share * BAR)).padEnd(BAR, '░')} ${String(Math.floor(share * 100)).padStart(3)}%`,
    total === undefined ? format(value, unit) : `${format(value, unit, total)} of ${format(total, unit)}`,
    hasRate ? `${format(perSecond, unit)}/s` : null,
    left === null ? null : `${formatDuration(left)} left`,
  ]
    .filter((part) => part !== null)
    .join('  ');
}

const KIB = 1024;

/** @param beside another amount, which has the unit for both. */
function format(amount: number, unit: Unit, beside?: number): string {
  if (unit === 'rows') return `${formatCount(Math.round(amount))}${beside === undefined ? ' rows' : ''}`;
  const largest = beside ?? amount;
  const power = largest < KIB ? 0 : largest < KIB ** 2 ? 1 : largest < KIB ** 3 ? 2 : 3;
  const number = (amount / KIB ** power).toFixed(power === 0 ? 0 : 1);
  return beside === undefined ? `${number} ${['bytes', 'KiB', 'MiB', 'GiB'][power]}` : number;
}

/** @param seconds `45 s`, `2 min 05 s` or `1 h 02 min`. */
function formatDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const two = (number: number) => String(number).padStart(2, '0');
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${two(whole % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}
