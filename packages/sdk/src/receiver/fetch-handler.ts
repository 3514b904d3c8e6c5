import { BODY_LIMIT, readBody } from './read-body.ts';
import type { Answer, Receiver } from './receiver.ts';

/**
 * Makes a handler of web requests, for Hono, Next.js, Bun, Deno and Cloudflare Workers.
 * @param limit the largest body, in bytes. A larger one is answered with 413.
 * @returns a function that answers a POST, and any other method with 405. Its promise does not reject.
 */
export function toFetchHandler(
  receiver: Receiver,
  { limit = BODY_LIMIT }: { limit?: number } = {},
): (request: Request) => Promise<Response> {
  return async function handle(request) {
    const { status, headers, body } = await answer(request);
    return new Response(body ?? null, headers === undefined ? { status } : { status, headers });
  };

  async function answer(request: Request): Promise<Answer> {
    if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' } };
    const { headers } = request;
    // The receiver says what is wrong.
    if (request.bodyUsed || request.body?.locked) return receiver.handle({ headers });
    try {
      const body = await readBody(request.body ?? [], { limit });
      return body === null ? { status: 413 } : await receiver.handle({ headers, body });
    } catch {
      // The stream of the body failed, usually because the connection broke.
      return { status: 400 };
    }
  }
}
