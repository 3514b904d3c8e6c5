import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import type { ApiEnv, Caller } from './environment.ts';
import { invalid, Problem } from './problem.ts';

/** Printable ASCII, without a space at either end: HTTP does not transmit these. */
export const IDEMPOTENCY_KEY = /^[!-~](?:[ -~]{0,253}[!-~])?$/;

/**
 * Reads the Idempotency-Key: a string of RFC 8941 in quotes, as the draft for this header has it, or the bare text that most
 * clients send. An API key limited to accounts has its idempotency keys to itself: a shared one would lead to what it may not see.
 * @returns null when there is none.
 * @throws {Problem} 422.
 */
export function readIdempotencyKey(c: Context<ApiEnv>): string | null {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw invalid([
      {
        path: 'Idempotency-Key',
        message: 'must be 1 to 255 printable ASCII characters, without a space at either end',
      },
    ]);
  }
  return scopeOf(c.get('caller'), key);
}

function scopeOf({ accountIds, apiKeyId }: Caller, key: string): string {
  if (accountIds === 'all') return key;
  return createHash('sha256').update(`${apiKeyId}:${key}`).digest('hex');
}

/** 409 while the first request with a key has no response yet. */
export const requestInProgress = () =>
  new Problem(
    'request-in-progress',
    'A request with this Idempotency-Key is in progress. Wait for its answer.',
    {
      headers: { 'Retry-After': '1' },
    },
  );

/** 409 for a key that came with another request before. */
export const keyReused = () =>
  new Problem(
    'idempotency-key-reused',
    'This Idempotency-Key was used for another request within 24 hours. Use a new key for a new request.',
  );
