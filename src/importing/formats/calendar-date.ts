/** @returns YYYY-MM-DD; null if the calendar has no such day */
export function calendarDate(year: number, month: number, day: number): string | null {
  if (year < 1900 || year > 2999 || month < 1 || month > 12 || day < 1) return null;
  // Day 0 of the month after is the last day of this one.
  if (day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return null;
  return new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10);
}
