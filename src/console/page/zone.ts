import { AsyncLocalStorage } from 'node:async_hooks';
import { Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { createMiddleware } from 'hono/factory';
import type { ApiEnv } from '../../http/app.ts';
import { formatMoment, type ZoneOffset } from '../../platform/moment.ts';

/** The zone in which the console shows times: UTC, or that of the API and the command line. The browser remembers it. */

const UTC: ZoneOffset = { text: ' UTC', minutes: 0 };

const COOKIE = 'ledgerbell-zone';
const YEAR_SECONDS = 365 * 24 * 60 * 60;

const chosen = new AsyncLocalStorage<ZoneOffset>();

/** The zone of the page that is being made. */
export const shownZone = (): ZoneOffset => chosen.getStore() ?? UTC;

/** `2026-01-31 12:00:00 UTC`, or `2026-01-31 15:00:00+03`. */
export const formatExact = (moment: Date): string => formatMoment(moment, shownZone());

/** Makes each page in the zone that its reader has chosen. @param own the zone of the service. */
export const inChosenZone = (own: ZoneOffset) =>
  createMiddleware((c, next) => {
    c.set('ownZone', own);
    return chosen.run(getCookie(c, COOKIE) === 'own' ? own : UTC, next);
  });

/** Where the other zone is chosen, and its name; null: the service has no other. @param back the path to which the reader returns. */
export function otherZone(own: ZoneOffset, back: string): { href: string; name: string } | null {
  if (own.minutes === 0) return null;
  const isUtc = shownZone() === UTC;
  const query = new URLSearchParams({ to: isUtc ? 'own' : 'utc', back });
  return { href: `/ops/zone?${query}`, name: isUtc ? own.text : 'UTC' };
}

/** GET /ops/zone: remembers a zone in the browser, and leads back to the page. */
export const zoneRoute = (): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/', (c) => {
    const { to, back = '' } = c.req.query();
    setCookie(c, COOKIE, to === 'own' ? 'own' : 'utc', {
      path: '/ops',
      maxAge: YEAR_SECONDS,
      httpOnly: true,
      sameSite: 'Lax',
    });
    // Only to a page of the console.
    return c.redirect(/^\/ops(?:[/?]|$)/.test(back) ? back : '/ops');
  });
