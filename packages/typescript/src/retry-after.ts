/** @returns the seconds that a response asks to wait before the next attempt; null, if it asks for none or gives a date. */
export function retryAfter({ headers }: Response): number | null {
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN);
  return Number.isNaN(seconds) ? null : seconds;
}
