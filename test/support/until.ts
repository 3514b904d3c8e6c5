/**
 * Calls `probe` again and again until it gives something other than undefined, null or false. The longer it waits, the less often it asks,
 * because tests of other files need the processors: after a second, every 50 ms.
 * @throws after `timeout` milliseconds; `what` then says what did not happen.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  timeout = 90_000,
): Promise<T> {
  const begin = performance.now();
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value;
    const waited = performance.now() - begin;
    if (waited > timeout) throw new Error(`did not happen within ${timeout / 1_000} s: ${what}`);
    const pause = Math.min(200, Math.max(10, waited / 20));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
