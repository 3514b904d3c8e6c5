import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { requireDocumented } from '../../support/document.ts';
import type { Answer } from '../../support/service.ts';

/** No request here is slow, so one that takes longer hangs, also on a busy machine, where it first waits for one of the connections. */
const HANG = 60_000;

/** How long the API keeps a connection without a request: what Node does by default. */
const KEPT = 5_000;

/** A request as it is sent, without corrections. */
export interface WireRequest {
  method: string;
  /** Path and query. */
  target: string;
  /** In order. A name may occur several times. */
  headers: readonly (readonly [name: string, value: string])[];
  /** A character of `latin1` is a byte. Null: no body. */
  body: { text: string; encoding: 'utf8' | 'latin1' } | null;
  /** In chunks instead of with a Content-Length. */
  chunked: boolean;
}

export interface Wire {
  /** @throws when there is no complete answer in time, or it says that it is JSON and is not. */
  exchange(it: WireRequest): Promise<Answer>;
  close(): void;
}

/** Sends over kept-alive connections, so that what one request leaves behind would spoil the next. */
export function openWire(url: string): Wire {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  /** When the last request of each connection was sent. */
  const used = new WeakMap<Socket, number>();
  /** Whether a connection was kept for so long without a request that the API closes it, as it may at any time from then on. */
  const isExpired = (before: number | undefined) =>
    before !== undefined && performance.now() - before >= KEPT;
  const wire: Wire = {
    async exchange(it) {
      const { method, target, headers, body, chunked } = it;
      const bytes = body === null ? null : Buffer.from(body.text, body.encoding);
      const named = headers.some(([name]) => name.toLowerCase() === 'host');
      const outgoing = request({
        agent,
        hostname,
        port,
        method,
        path: target,
        // Headers as an array are sent as they are, so what Node would add is added here.
        headers: [
          ...(named ? [] : [['Host', `${hostname}:${port}`]]),
          ...headers,
          ...(bytes === null
            ? []
            : chunked
              ? [['Transfer-Encoding', 'chunked']]
              : [['Content-Length', String(bytes.length)]]),
        ].flat(),
        signal: AbortSignal.timeout(HANG),
      });
      // A server that has refused may close before it has read everything; then its answer counts.
      const answered = once(outgoing, 'response');
      outgoing.on('error', () => {});
      let before: number | undefined;
      outgoing.once('socket', (socket) => {
        before = used.get(socket);
        used.set(socket, performance.now());
      });
      outgoing.end(bytes ?? undefined);
      let response: IncomingMessage;
      try {
        [response] = await answered;
      } catch (error) {
        // The API has closed the connection while the request was on its way, and has not read it. A client sends it again. A reset of
        // any other connection is a defect.
        const isReset = error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
        if (isReset && outgoing.reusedSocket && isExpired(before)) return wire.exchange(it);
        throw error;
      }
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part);
      const answer = read(response.statusCode ?? 0, response.headers, Buffer.concat(parts));
      await requireDocumented(url + target, method, answer);
      return answer;
    },
    close: () => agent.destroy(),
  };
  return wire;
}

function read(status: number, headers: Record<string, unknown>, bytes: Buffer): Answer {
  const text = bytes.toString('utf8');
  const isJson = /json/.test(String(headers['content-type'] ?? '')) && text !== '';
  return {
    status,
    headers: new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body: isJson ? JSON.parse(text) : text,
  };
}

/** Sends bytes that need not be HTTP, and ends its side. @returns what came back before the server closed. */
export async function sendAndEnd(url: string, latin1: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const hangs = setTimeout(() => socket.destroy(new Error(`no end within ${HANG} ms`)), HANG);
  socket.end(latin1, 'latin1');
  let answer = '';
  try {
    for await (const part of socket.setEncoding('latin1')) answer += part;
  } finally {
    clearTimeout(hangs);
  }
  return answer;
}
