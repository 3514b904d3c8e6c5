import { createHash, timingSafeEqual } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import type { Config } from '../config.ts';
import { type ApiEnv, createMiddleware } from '../http/environment.ts';
import { Problem } from '../http/problem.ts';

/**
 * Protects the console and the dashboard. If ADMIN_USER and ADMIN_PASSWORD are set, it asks for them (basic auth). If not,
 * only a browser on this machine has access.
 */
export function requireOperator(admin: Config['admin']) {
  return createMiddleware(async (c, next) => {
    if (admin === undefined) requireLoopback(c);
    else requirePassword(c, admin);
    await next();
  });
}

const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/**
 * Refuses requests that are not from this machine. Checking the address is not enough. A proxy on this machine connects from
 * loopback too, and so does a local browser when a foreign page uses a host name that resolves to this machine.
 */
function requireLoopback(c: Context<ApiEnv>): void {
  const local =
    LOOPBACK_ADDRESS.test(getConnInfo(c).remote.address ?? '') &&
    LOOPBACK_HOST.test(c.req.header('host') ?? '') &&
    FORWARDED.every((name) => c.req.header(name) === undefined);
  if (!local) {
    throw new Problem(
      'forbidden',
      'This page answers only on the machine itself, until ADMIN_USER and ADMIN_PASSWORD are set.',
    );
  }
}

function requirePassword(c: Context<ApiEnv>, { user, password }: NonNullable<Config['admin']>): void {
  const [, encoded = ''] = /^Basic\s+(\S+)$/i.exec(c.req.header('authorization') ?? '') ?? [];
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const given = digest(Buffer.from(encoded, 'base64').toString('utf8'));
  if (!timingSafeEqual(given, digest(`${user}:${password}`))) {
    throw new Problem('unauthenticated', 'Sign in with the name and password that the operator has set.', {
      headers: { 'WWW-Authenticate': 'Basic realm="Ledgerbell operations", charset="UTF-8"' },
    });
  }
}
