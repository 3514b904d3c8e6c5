import { findDecimalsFault, formatAmount } from '../amounts.ts';
import type { StatementEvent } from '../statement.ts';
import { type Movement, toEntry } from './movements.ts';

/** A movement with the detail number 0000, and the details that follow it. */
export interface Booking {
  total: Movement;
  details: Movement[];
  /** Its movement that was read last, to which further records belong. */
  last: Movement;
  /** The detail number of its record that was read last. */
  lastNumber: string;
  lines: number;
  /** It has too many details, which were left out. */
  isTooLong: boolean;
}

/** Most records of one booking. Its details are held until their sum is known. */
const MAX_LINES = 50_000;

export const createBooking = (total: Movement): Booking => ({
  ...{ total, details: [], last: total, lastNumber: '0000', lines: 1, isTooLong: false },
});

/** Counts a record of a booking. Of a booking with too many of them, only the total is kept. */
export function countLine(booking: Booking): void {
  booking.lines += 1;
  if (booking.lines <= MAX_LINES || booking.details.length === 0) return;
  booking.isTooLong = true;
  booking.details = [];
}

/** Adds a detail. */
export function addDetail(booking: Booking, detail: Movement): void {
  booking.last = detail;
  if (!booking.isTooLong) booking.details.push(detail);
}

/**
 * Maps a booking to one entry, or to one entry for each detail if their amounts add up to its amount (Febelfin, CODA 2.6, enclosure II: the
 * types 5 to 8 are the details of the types 1 to 3, and 9 those of a detail of type 7).
 * @param currency of the account; null: it is not known
 * @param isBroken the file ends inside the booking, so that further records may be missing
 */
export function mapBooking(booking: Booking, currency: string | null, isBroken: boolean): StatementEvent[] {
  const { total, isTooLong } = booking;
  const { line, fault } = total;
  if (fault !== null) return [{ type: 'issue', line, ...fault }];
  const details = booking.details.filter(({ first }) => !first.code.startsWith('9'));
  const problem = isTooLong
    ? 'The globalisation has too many details'
    : findProblem(total, details, currency);
  const isWhole = details.length === 0 || problem !== null;
  if (isBroken && isWhole && (isTooLong || booking.details.length > 0 || /^[123]/.test(total.first.code)))
    return [
      {
        ...{ type: 'issue', line, path: 'record' },
        message:
          'The file ends inside this globalisation, before its details are complete, so it was not read.',
      },
    ];
  const entry = toEntry(total, null, currency);
  if (!isWhole) {
    const whole = { movement: total, entry, isBatch: details.length > 1 };
    return details.map((detail) => ({ type: 'entry', entry: toEntry(detail, whole, currency) }));
  }
  const warning: StatementEvent[] =
    problem === null ? [] : [{ type: 'warning', line, message: `${problem}. It is read as one entry.` }];
  return [...warning, { type: 'entry', entry }];
}

/** @returns why the details are not the whole booking; null: they are, or there are none */
function findProblem(total: Movement, details: readonly Movement[], currency: string | null): string | null {
  if (details.length === 0) return null;
  let sum = 0n;
  for (const { line, fault, amount } of details) {
    if (fault !== null || amount === null)
      return `The detail of the globalisation at line ${line} cannot be read. ${fault?.message ?? ''}`.replace(
        /\.$/,
        '',
      );
    const decimals = findDecimalsFault({ amount }, currency);
    if (decimals !== null) return `The detail of the globalisation at line ${line} ${decimals}`;
    sum += amount;
  }
  const whole = total.amount ?? 0n;
  if (sum === whole) return null;
  return `The details of the globalisation add up to ${formatAmount(sum, null)}, but its amount is ${formatAmount(whole, null)}: a difference of ${formatAmount(whole - sum, null)}`;
}
