import type { Answer } from './post.ts';
import { parseRetryAfter } from './schedule.ts';

/**
 * How one attempt ended.
 * - delivered: a 2xx.
 * - failed: anything else. `tells` says of what: of the endpoint (it is down: everything owed to it would fail as well),
 *   or of this one body only.
 * - throttled: 429, or 503 with Retry-After: the endpoint lives, and says when to come back.
 * - gone: 410, the endpoint wants no more of this.
 * - refused: the address guard did not let us connect.
 */
export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'failed'; tells: 'endpoint' | 'body' }
  | { kind: 'throttled'; retryAfter: number | null }
  | { kind: 'gone' }
  | { kind: 'refused' };

/** Judges the answer to one POST. `now` is in milliseconds, to read a Retry-After that is a date. */
export function judge(answer: Answer, now: number): Outcome {
  if (answer.refused) return { kind: 'refused' };
  const { status } = answer;
  // Refused, reset, timed out, TLS, DNS, or no HTTP at all: no answer tells of the endpoint.
  if (status === null) return { kind: 'failed', tells: 'endpoint' };
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const retryAfter = parseRetryAfter(answer.retryAfter, now);
  if (status === 429 || (status === 503 && retryAfter !== null)) return { kind: 'throttled', retryAfter };
  return { kind: 'failed', tells: status >= 500 || status === 408 ? 'endpoint' : 'body' };
}
