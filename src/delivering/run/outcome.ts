import type { Answer } from '../posting/post.ts';
import { parseRetryAfter } from './schedule.ts';

/**
 * How one attempt ended.
 * - delivered: a 2xx.
 * - failed: anything else. It `concerns` the endpoint, which would fail for every other delivery as well (down, moved, or we are
 *   locked out), or this delivery's body only.
 * - throttled: 429, or 503 with Retry-After: the endpoint lives, and says when to come back.
 * - gone: 410, the endpoint wants no more of this.
 * - refused: the address guard did not let us connect.
 */
export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'failed'; concerns: 'endpoint' | 'body' }
  | { kind: 'throttled'; retryAfter: number | null }
  | { kind: 'gone' }
  | { kind: 'refused' };

/** Not of the endpoint's server, but of the way to it: it has moved, or it does not let us in. */
const LOCKED_OUT = new Set([401, 403, 404, 405]);

/** Judges the answer to one POST. `now` is in milliseconds, to read a Retry-After that is a date. */
export function judge(answer: Answer, now: number): Outcome {
  if (answer.refused) return { kind: 'refused' };
  const { status } = answer;
  // Refused, reset, timed out, TLS, DNS, or no HTTP at all.
  if (status === null) return { kind: 'failed', concerns: 'endpoint' };
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const retryAfter = parseRetryAfter(answer.retryAfter, now);
  if (status === 429 || (status === 503 && retryAfter !== null)) return { kind: 'throttled', retryAfter };
  const concernsEndpoint = status >= 500 || status === 408 || status < 400 || LOCKED_OUT.has(status);
  return { kind: 'failed', concerns: concernsEndpoint ? 'endpoint' : 'body' };
}
