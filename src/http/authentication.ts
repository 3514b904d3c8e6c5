import { createHash } from 'node:crypto';
import type { Runtime } from '../runtime.ts';
import type { CallerCache } from './caller-cache.ts';
import { createCallerFinder } from './callers.ts';
import { createMiddleware } from './environment.ts';
import { limitGuesses } from './guesses.ts';
import { Problem } from './problem.ts';

/**
 * Identifies the caller by the API key in `Authentication` (with or without "Bearer "), or in `Authorization: Bearer`.
 * Answers 401 when the key is missing or unknown, and 429 to a client that has sent too many unknown keys.
 */
export function authenticate(
  { database, redis, prefix }: Pick<Runtime, 'database' | 'redis' | 'prefix'>,
  callers: CallerCache,
) {
  const attempt = limitGuesses({ redis, prefix });
  const findCaller = createCallerFinder(database);
  return createMiddleware(async (c, next) => {
    const key =
      bearer(c.req.header('authentication')) ??
      bearer(c.req.header('authorization'), { schemeRequired: true });
    if (key === null) {
      throw unauthenticated(
        'missing-api-key',
        'Send your API key in the header Authentication, or as Authorization: Bearer <api key>.',
      );
    }
    const hash = createHash('sha256').update(key).digest();
    const find = () => callers.find(hash, () => findCaller(hash));
    const caller = await attempt({ hash, address: c.get('clientAddress'), find });
    if (caller === null) throw unknownKey();
    c.set('caller', caller);
    c.set('requireKey', async () => {
      if ((await find()) === null) throw unknownKey();
    });
    await next();
  });
}

function bearer(header: string | undefined, { schemeRequired = false } = {}): string | null {
  const [, scheme, key] = /^\s*(Bearer\s+)?(\S+)\s*$/i.exec(header ?? '') ?? [];
  return key === undefined || (schemeRequired && scheme === undefined) ? null : key;
}

const unauthenticated = (problem: 'missing-api-key' | 'unknown-api-key', detail: string) =>
  // RFC 9110, section 11.6.1: a 401 must name an accepted scheme.
  new Problem(problem, detail, { headers: { 'WWW-Authenticate': 'Bearer realm="ledgerbell"' } });

/** 401 for an unknown key, and for one that was deleted while its request was being handled. */
export const unknownKey = () =>
  unauthenticated('unknown-api-key', 'This API key does not exist. It may be mistyped, or it was deleted.');
