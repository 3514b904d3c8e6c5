/**
 * Calls `probe` again and again until it gives something other than undefined, null or false.
 * @throws after `timeout` milliseconds; `what` then says what did not happen.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  timeout = 90_000,
): Promise<T> {
  const end = performance.now() + timeout;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > end) throw new Error(`did not happen within ${timeout / 1_000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
