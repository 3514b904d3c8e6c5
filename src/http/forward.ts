import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Writable } from 'node:stream';
import type { Context } from 'hono';
import { Problem } from '../platform/problem.ts';
import { type ApiEnv, sealOrigin } from './app.ts';
import { requireChunks } from './input.ts';

/** Passes requests on to another process of this machine, part by part, so that this process never holds a body. */

/** Headers of one connection (RFC 9110, section 7.6.1), and `Expect`, which this process has answered. */
const OF_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
];

/**
 * Creates a function that passes a request on to a URL, and its answer back. It tells the other process from where the request comes.
 * @param secret that both processes know.
 * @throws {Problem} 503 when the process does not answer.
 */
export const createForwarder =
  (secret: string) =>
  async (c: Context<ApiEnv>, url: string): Promise<Response> => {
    const answer = await pass(c, url, secret);
    // Without its length, a client of HTTP/1.0 would take an answer that breaks off for a whole one.
    if (answer.headers['content-length'] === undefined) requireChunks(c);
    const { statusCode: status = 502, headers } = answer;
    const body = hasBody(c.req.method, status) ? relay(answer, c.env.outgoing) : null;
    if (body === null) answer.resume();
    return new Response(body, {
      status,
      headers: { 'x-request-id': c.get('requestId'), ...toHeaders(headers) },
    });
  };

/** The body of another process's answer. If it breaks off, so does the answer to the client. */
export function relay(body: AsyncIterable<Uint8Array>, outgoing: Writable): ReadableStream<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      } catch {
        outgoing.destroy();
      }
    },
    cancel: () => void parts.return?.(undefined),
  });
}

async function pass(c: Context<ApiEnv>, url: string, secret: string): Promise<IncomingMessage> {
  const { incoming, outgoing } = c.env;
  const { pathname, search } = new URL(c.req.url);
  const headers = withoutConnection(incoming.headers);
  // Without this, Node would send the body of a GET without saying where it ends.
  if (incoming.headers['transfer-encoding'] !== undefined) headers['transfer-encoding'] = 'chunked';
  const sent = request(`${url}${pathname}${search}`, {
    method: c.req.method,
    headers: { ...headers, ...sealOrigin(c, secret), 'x-request-id': c.get('requestId') },
  });
  // Errors after the answer are those of the answer's body.
  sent.on('error', () => {});
  outgoing.once('close', () => sent.destroy());
  incoming.pipe(sent);
  try {
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    // An early answer, such as a 413, comes while the client is still sending. What follows is dropped.
    answer.once('end', () => {
      incoming.unpipe(sent);
      incoming.resume();
    });
    return answer;
  } catch (error) {
    incoming.unpipe(sent);
    incoming.resume();
    throw toProblem(error);
  }
}

export const noProcess = (detail: string) =>
  new Problem('no-api-process', detail, { headers: { 'Retry-After': '1' } });

/** @param error of a request to the process with the role api. @returns whether that process may have carried out the request. */
export function toProblem(error: unknown): Problem {
  const wasSent = !(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED');
  if (!wasSent)
    return noProcess(
      'The process with the role api is being started again. Nothing was done. Try again in a second.',
    );
  return new Problem(
    'unanswered',
    'The process with the role api ended before it answered. Look whether the request was carried out, or send a POST again with the same Idempotency-Key.',
    { headers: { 'Retry-After': '1' } },
  );
}

function withoutConnection(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !OF_CONNECTION.includes(name) && !named.includes(name)),
  );
}

/** No header of the API comes twice, apart from cookies, which it never sets. */
const toHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(withoutConnection(headers)).map(([name, value]) => [name, String(value)]),
  );

/** RFC 9110, section 6.4.1. */
const hasBody = (method: string, status: number): boolean =>
  method !== 'HEAD' && status !== 204 && status !== 304;
