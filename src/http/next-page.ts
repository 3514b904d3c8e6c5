import type { Context } from 'hono';
import type { ApiEnv } from './environment.ts';

/**
 * Sets the header `Link` with rel="next" (RFC 8288) to the next page of the same listing. The target has no host, because
 * behind a proxy the service does not know its public name.
 */
export function linkNext(c: Context<ApiEnv>, cursor: string): void {
  const { pathname, searchParams } = new URL(c.req.url);
  searchParams.delete('page');
  searchParams.set('cursor', cursor);
  c.header('Link', `<${pathname}?${searchParams}>; rel="next"`);
}
