import type { Receiver } from './receiver.ts';

/** The largest body that an adapter reads, in bytes: 1 MiB. A notification has a few kilobytes. */
export const BODY_LIMIT = 1_048_576;

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
    const read = await readBody(request.body, limit);
    if (read === null) return new Response(null, { status: 413 });
    const { status, headers, body } = await receiver.handle({ headers: request.headers, body: read });
    return new Response(body ?? null, headers === undefined ? { status } : { status, headers });
  };
}

/** @returns null when it is larger than `limit` bytes. */
async function readBody(
  stream: ReadableStream<Uint8Array> | null,
  limit: number,
): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  const reader = stream?.getReader();
  let length = 0;
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    length += part.value.length;
    if (length > limit) {
      await reader?.cancel();
      return null;
    }
    chunks.push(part.value);
  }
  return concat(chunks, length);
}

/** Joins chunks of `length` bytes altogether. */
export function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
