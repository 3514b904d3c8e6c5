/** The account of the statements. */
export const ACCOUNT_IBAN = 'TR330006100519786457841326';

/** The same as a report of the day so far, without balances. */
export const dayReport = (day: number, entries: readonly number[]): string =>
  dayStatement(1, day, 0, entries)
    .replace(/:6[02]F:.*\r\n/g, '')
    .replace(':61:', ':34F:TRY0,\r\n:61:');

/** A statement of a day in March 2026, as MT940. @param entries signed amounts. */
export function dayStatement(
  number: number,
  day: number,
  opening: number,
  entries: readonly number[],
): string {
  const date = `2603${String(day).padStart(2, '0')}`;
  const balance = (tag: string, amount: number) =>
    `:${tag}:${amount < 0 ? 'D' : 'C'}${date}TRY${Math.abs(amount).toFixed(2).replace('.', ',')}`;
  const closing = entries.reduce((sum, amount) => sum + amount, opening);
  return [
    ':20:X',
    `:25:${ACCOUNT_IBAN}`,
    `:28C:${number}/1`,
    balance('60F', opening),
    ...entries.map(
      (amount) =>
        `:61:${date}${amount < 0 ? 'D' : 'C'}${Math.abs(amount).toFixed(2).replace('.', ',')}NMSCNONREF`,
    ),
    balance('62F', closing),
    '-',
    '',
  ].join('\r\n');
}
