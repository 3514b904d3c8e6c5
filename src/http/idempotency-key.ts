import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import type { ApiEnv, Caller } from './environment.ts';
import type { Parameter } from './openapi.ts';
import { invalid, Problem } from './problem.ts';

/** The header of every POST, for /openapi.json. */
export const IDEMPOTENCY_KEY_PARAMETER: Record<string, Parameter> = {
  'Idempotency-Key': {
    description:
      'Up to 255 printable ASCII characters. For 24 h, the same request with the same key is carried out once: repeated, it gets the first response. With another request it is a 422, and while the first request is in progress a 409. See draft-ietf-httpapi-idempotency-key-header.',
    example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
  },
};

/**
 * Reads the Idempotency-Key: a string of RFC 8941 in quotes, as the draft for this header has it, or the bare text that most
 * clients send. An API key limited to accounts has its idempotency keys to itself: a shared one would lead to what it may not see.
 * @returns null when there is none.
 * @throws {Problem} 422.
 */
export function readIdempotencyKey(c: Context<ApiEnv>): string | null {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return null;
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw invalid([{ path: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' }]);
  }
  return scopeOf(c.get('caller'), key);
}

function scopeOf({ accountIds, apiKeyId }: Caller, key: string): string {
  if (accountIds === 'all') return key;
  return createHash('sha256').update(`${apiKeyId}:${key}`).digest('hex');
}

/** 409 while the first request with a key has no response yet. */
export const requestInProgress = () =>
  new Problem('conflict', 'A request with this Idempotency-Key is in progress: wait for its response.', {
    headers: { 'Retry-After': '1' },
  });

/** 422 for a key that came with another request before. */
export const keyReused = () =>
  invalid([
    {
      path: 'Idempotency-Key',
      message: 'was used for another request within 24 h: use a new key for a new request',
    },
  ]);
