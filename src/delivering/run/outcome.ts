import type { Answer } from '../posting/post.ts';
import { parseRetryAfter } from './schedule.ts';

/**
 * How one attempt ended.
 * - delivered: a 2xx.
 * - failed: anything else. `concerns` is 'endpoint' if every other delivery would fail as well (the endpoint is down, has moved, or
 *   locks us out), and 'body' if only this one does.
 * - throttled: 429, or 503 with Retry-After. The endpoint is up, and asks us to come back later.
 * - gone: 410. The endpoint wants no more notifications.
 * - refused: the address guard did not allow the connection.
 */
export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'failed'; concerns: 'endpoint' | 'body' }
  | { kind: 'throttled'; retryAfter: number | null }
  | { kind: 'gone' }
  | { kind: 'refused' };

/** Client errors that concern the endpoint and not the body: it has moved, or it does not let us in. */
const LOCKED_OUT = new Set([401, 403, 404, 405]);

/** Decides what the answer to one POST means. `now` is milliseconds since 1970, for a Retry-After that is a date. */
export function toOutcome(answer: Answer, now: number): Outcome {
  if (answer.refused) return { kind: 'refused' };
  const { status } = answer;
  // Connection refused or reset, timeout, TLS, DNS, or no HTTP at all.
  if (status === null) return { kind: 'failed', concerns: 'endpoint' };
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const retryAfter = parseRetryAfter(answer.retryAfter, now);
  if (status === 429 || (status === 503 && retryAfter !== null)) return { kind: 'throttled', retryAfter };
  const concernsEndpoint = status >= 500 || status === 408 || status < 400 || LOCKED_OUT.has(status);
  return { kind: 'failed', concerns: concernsEndpoint ? 'endpoint' : 'body' };
}
