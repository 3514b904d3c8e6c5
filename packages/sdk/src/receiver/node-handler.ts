import { BODY_LIMIT, readBody } from './read-body.ts';
import type { Answer, Receiver } from './receiver.ts';

/** What is needed of node:http's IncomingMessage. Its own type would need the types of Node in every program. */
interface NodeRequest {
  method?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  /** Whether something has read of the body, or all of it. */
  readableDidRead: boolean;
  readableEnded: boolean;
  /** What `setEncoding` has set. */
  readableEncoding?: string | null;
  /** What a body parser has left. */
  body?: unknown;
  rawBody?: unknown;
  iterator(options: { destroyOnReturn: boolean }): AsyncIterable<unknown>;
  resume(): unknown;
}

/** What is needed of its ServerResponse. */
interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): { end(body?: string): unknown };
  destroy(): unknown;
}

/**
 * Makes a handler for a server of node:http, and a route of Express. In Express, the route comes before `express.json()`, or has
 * `express.raw({ type: () => true, limit: '1mb' })` before it.
 * @param limit the largest body, in bytes. A larger one is answered with 413.
 * @returns a function that answers a POST, and any other method with 405. Its promise does not reject.
 */
export function toNodeHandler(
  receiver: Receiver,
  { limit = BODY_LIMIT }: { limit?: number } = {},
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async function handle(request, response) {
    try {
      const { status, headers, body } = await answer(request);
      response.writeHead(status, { ...headers }).end(body);
    } catch {
      // The stream of the body failed, usually because the connection broke.
      response.destroy();
    }
  };

  async function answer(request: NodeRequest): Promise<Answer> {
    if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' } };
    const { headers, rawBody, readableEncoding } = request;
    const isRead = rawBody !== undefined || request.readableEnded || request.readableDidRead;
    // The receiver refuses what is not bytes.
    if (isRead) return receiver.handle({ headers, rawBody, body: request.body });
    const encode =
      readableEncoding == null ? undefined : (text: string) => Buffer.from(text, readableEncoding);
    const body = await readBody(request.iterator({ destroyOnReturn: false }), { limit, encode });
    if (body === null) {
      // What is left of it must be read, and is not kept.
      request.resume();
      return { status: 413, headers: { connection: 'close' } };
    }
    return receiver.handle({ headers, body });
  }
}

/** Node's. Its types would be needed in every program. */
declare const Buffer: { from(text: string, encoding: string): Uint8Array };
