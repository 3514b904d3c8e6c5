/** Statuses that pass: the service, its database or a proxy is not there, or the API key has sent too much. */
const PASSING = new Set([429, 502, 503, 504]);

export interface Repeating {
  fetch: typeof fetch;
  /** How many times a request is sent again. */
  retries: number;
}

/**
 * Sends a request until its response is one that another attempt would not change. Between attempts it waits as long as Retry-After says, or
 * twice as long each time, from half a second to ten seconds. All attempts of a POST have one Idempotency-Key, so it is carried out once.
 * @param make the request of an attempt. Its body must be new each time.
 * @throws what fetch throws, after the last attempt or when the request's signal is aborted.
 */
export async function sendRepeatedly(make: () => Request, { fetch, retries }: Repeating): Promise<Response> {
  const key = crypto.randomUUID();
  for (let attempt = 0; ; attempt += 1) {
    const request = make();
    if (request.method === 'POST' && !request.headers.has('Idempotency-Key'))
      request.headers.set('Idempotency-Key', key);
    const isLast = attempt >= retries;
    const { signal } = request;
    const backoff = Math.min(500 * 2 ** attempt, 10_000);
    try {
      const response = await fetch(request);
      const told = Number(response.headers.get('Retry-After') ?? Number.NaN);
      // 409 with Retry-After: the first attempt is still being carried out.
      const passes = PASSING.has(response.status) || (response.status === 409 && !Number.isNaN(told));
      if (isLast || !passes) return response;
      await response.body?.cancel();
      await pause(Number.isNaN(told) ? backoff : told * 1_000, signal);
    } catch (error) {
      if (isLast || signal.aborted) throw error;
      await pause(backoff, signal);
    }
  }
}

/** Waits. @throws the signal's reason when it is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
