import { createHash, timingSafeEqual } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import { every, except } from 'hono/combine';
import type { Runtime } from '../../database/runtime.ts';
import { createMiddleware, nameClient } from '../../http/app.ts';
import { createQuota, tooManyRequests } from '../../http/quotas.ts';
import type { Config } from '../../platform/config.ts';
import { isLoopback } from '../../platform/config.ts';
import { Problem } from '../../platform/problem.ts';

type Admin = NonNullable<Config['admin']>;

/** Wrong passwords that one client may send in a minute. */
const GUESSES = 10;
const WINDOW_SECONDS = 60;

/**
 * Lets operators through. Asks for ADMIN_USER and ADMIN_PASSWORD (basic auth). If they are not set, only this machine has access, and
 * only with the password that the process has made, because a proxy on this machine may forward requests from anywhere. Prometheus on
 * this machine needs no password for the metrics.
 */
export function requireOperator({ config, redis, prefix }: Pick<Runtime, 'config' | 'redis' | 'prefix'>) {
  const { admin } = config;
  if (admin === undefined) return requireLoopback;
  const asksForPassword = requirePassword(admin, { redis, prefix });
  return admin.isOneTime ? every(requireLoopback, except('/metrics', asksForPassword)) : asksForPassword;
}

const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/**
 * Refuses requests that are not from this machine. Checking the address is not enough, because a proxy on this machine also connects
 * from loopback. So does a local browser when a foreign page uses a host name that resolves to this machine.
 */
const requireLoopback = createMiddleware(async (c, next) => {
  const local =
    isLoopback(getConnInfo(c).remote.address ?? '') &&
    LOOPBACK_HOST.test(c.req.header('host') ?? '') &&
    FORWARDED.every((name) => c.req.header(name) === undefined);
  if (!local) {
    throw new Problem(
      'forbidden',
      'This page answers only requests from the machine itself. To use it from elsewhere, set ADMIN_USER and ADMIN_PASSWORD.',
    );
  }
  await next();
});

/**
 * Asks for the password. A client that has sent ten wrong passwords within a minute is answered 429 until the minute is over. The
 * password is not compared during that time, so that a correct guess looks like a wrong one. As with API keys, all processes share the
 * count, and a client is an IPv4 address or an IPv6 /64.
 */
function requirePassword(
  { user, password, isOneTime }: Admin,
  { redis, prefix }: Pick<Runtime, 'redis' | 'prefix'>,
) {
  const expected = digest(`${user}:${password}`);
  const wrongPasswords = createQuota({
    redis,
    prefix: `${prefix}:passwords`,
    limit: GUESSES,
    windowSeconds: WINDOW_SECONDS,
  });
  return createMiddleware(async (c, next) => {
    const header = c.req.header('authorization');
    // A browser asks its user only after a 401, so a request without a password is not a guess.
    if (header === undefined) throw unauthenticated(isOneTime);
    const client = nameClient(c.get('clientAddress'));
    const left = wrongPasswords.look(client);
    if (left.exhausted) {
      throw tooManyRequests(
        'too-many-passwords',
        left,
        `${GUESSES} wrong passwords came from this address within a minute.`,
      );
    }
    const [, encoded = ''] = /^Basic\s+(\S+)$/i.exec(header) ?? [];
    // Digests have equal lengths, as timingSafeEqual requires.
    if (!timingSafeEqual(digest(Buffer.from(encoded, 'base64').toString('utf8')), expected)) {
      wrongPasswords.take(client);
      throw unauthenticated(isOneTime);
    }
    await next();
  });
}

const digest = (text: string) => createHash('sha256').update(text).digest();

const unauthenticated = (isOneTime = false) =>
  new Problem(
    'unauthenticated',
    isOneTime
      ? 'Sign in as admin with the password that this process printed when it started.'
      : 'Sign in with the name and password that the operator has set.',
    { headers: { 'WWW-Authenticate': 'Basic realm="Ledgerbell operations", charset="UTF-8"' } },
  );

/**
 * Refuses changes that a page of another site requests through the operator's browser (CSRF). The browser would send the password
 * along. Without a password, any page could send requests to this machine. Browsers send `Origin` with every request that is not GET or
 * HEAD, and on secure pages also `Sec-Fetch-Site`. Programs that are not browsers send neither.
 */
export const refuseForeignPages = createMiddleware(async (c, next) => {
  const origin = c.req.header('origin');
  const foreign =
    origin !== undefined &&
    URL.parse(origin)?.host !== c.req.header('host') &&
    c.req.header('sec-fetch-site') !== 'same-origin';
  if (foreign && c.req.method !== 'GET' && c.req.method !== 'HEAD') {
    throw new Problem('forbidden', 'A page of another site may not change anything here.');
  }
  await next();
});
