import { RedirectError } from './redirect-error.ts';
import { retryAfter } from './retry-after.ts';
import { requireJson, UnexpectedAnswerError } from './unexpected-answer-error.ts';

/** Statuses that pass: the service, its database or a proxy is not there, or the API key has sent too much. */
const PASSING = new Set([429, 502, 503, 504]);

/** https://fetch.spec.whatwg.org/#redirect-status */
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface Repeating {
  fetch: typeof fetch;
  /** How many times a request is sent again. */
  retries: number;
  /** The longest time that Retry-After may ask for, in seconds. */
  maxRetryAfterSeconds: number;
}

/**
 * Sends a request until its response is one that another attempt would not change. Between attempts it waits
 * twice as long each time, from half a second to ten seconds, or as long as Retry-After says if that is longer. A connection that is lost within the
 * body of a success is lost. All attempts of a POST have one Idempotency-Key, so it is carried out once.
 * No redirect is followed.
 * @param make the request of an attempt. Its body must be new each time.
 * @param requireAnswer checks that a success is one of the API.
 * @returns the response. It is one that passes after the last attempt, and when Retry-After asks for more than is allowed.
 * @throws what fetch throws, after the last attempt or when the request's signal is aborted. @throws {RedirectError} @throws {UnexpectedAnswerError}
 */
export async function sendRepeatedly(
  make: () => Request,
  { fetch, retries, maxRetryAfterSeconds }: Repeating,
  requireAnswer = requireJson,
): Promise<Response> {
  const key = crypto.randomUUID();
  for (let attempt = 0; ; attempt += 1) {
    // fetch takes Authorization away when it follows a redirect to another origin, but not the header with the API key. `error` would not
    // follow it either, but then fetch throws what it throws for a lost connection, and the request would be sent again.
    const request = new Request(make(), { redirect: 'manual' });
    if (request.method === 'POST' && !request.headers.has('Idempotency-Key'))
      request.headers.set('Idempotency-Key', key);
    const isLast = attempt >= retries;
    const { signal } = request;
    let wait = Math.min(500 * 2 ** attempt, 10_000);
    try {
      const response = await fetch(request);
      if (isRedirect(response)) {
        await discard(response);
        throw new RedirectError(request, response);
      }
      const told = retryAfter(response);
      // 409 with Retry-After: the first attempt is still being carried out.
      const passes = PASSING.has(response.status) || (response.status === 409 && told !== null);
      if (isLast || !passes || (told ?? 0) > maxRetryAfterSeconds)
        return await requireAnswer(request, response);
      await discard(response);
      wait = Math.max(wait, (told ?? 0) * 1_000);
    } catch (error) {
      if (isLast || signal.aborted || isAnswered(error)) throw error;
    }
    await pause(wait, signal);
  }
}

/** Whether there was an answer, which another attempt would get again. */
const isAnswered = (error: unknown): boolean =>
  error instanceof RedirectError || error instanceof UnexpectedAnswerError;

/** Frees the connection. A body that was interrupted meanwhile is of no interest either. */
const discard = async ({ body }: Response): Promise<void> => body?.cancel().catch(() => {});

/** A browser hides the status and the headers of a redirect that it does not follow. */
const isRedirect = ({ type, status }: Response): boolean =>
  type === 'opaqueredirect' || REDIRECTS.has(status);

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
