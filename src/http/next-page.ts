import type { Context } from 'hono';
import type { ApiEnv } from './environment.ts';

/** Says where the same listing goes on: Link, rel="next" (RFC 8288). A path alone: behind a proxy we do not know our own name. */
export function linkNext(c: Context<ApiEnv>, cursor: string): void {
  const { pathname, searchParams } = new URL(c.req.url);
  searchParams.delete('page');
  searchParams.set('cursor', cursor);
  c.header('Link', `<${pathname}?${searchParams}>; rel="next"`);
}
