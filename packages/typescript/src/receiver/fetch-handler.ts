import { BODY_LIMIT, readBody } from './read-body.ts';
import type { Receiver } from './receiver.ts';

/**
 * Makes a handler of web requests, for Hono, Next.js, Bun, Deno and Cloudflare Workers.
 * @param limit the largest body, in bytes. A larger one is answered with 413.
 * @returns a function that answers a POST, and any other method with 405.
 */
export function toFetchHandler(
  receiver: Receiver,
  { limit = BODY_LIMIT }: { limit?: number } = {},
): (request: Request) => Promise<Response> {
  return async function handle(request) {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
    const read = await readBody(request.body ?? [], limit);
    if (read === null) return new Response(null, { status: 413 });
    const { status, headers, body } = await receiver.handle({ headers: request.headers, body: read });
    return new Response(body ?? null, headers === undefined ? { status } : { status, headers });
  };
}
