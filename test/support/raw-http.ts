import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { requireDocumented } from './document.ts';
import type { Answer } from './service.ts';

/** Sends a request that `fetch` cannot send: with any Host header, a chunked body without a length, or another local address. */
export async function send(
  url: string,
  {
    method = 'GET',
    headers = {},
    body = [],
    from = '127.0.0.1',
  }: {
    method?: string;
    headers?: Record<string, string>;
    body?: Iterable<Uint8Array | string>;
    from?: string;
  },
): Promise<Answer> {
  // Each request on a connection of its own: the server may just be closing one that was kept.
  const outgoing = request(url, { method, headers, localAddress: from, agent: false });
  const answered = once(outgoing, 'response');
  // A server that has refused the request may close the connection before everything is sent.
  outgoing.on('error', () => {});
  Readable.from(body).pipe(outgoing);
  const [response] = await answered;
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  const text = Buffer.concat(parts).toString('utf8');
  const answer: Answer = {
    status: response.statusCode,
    headers: new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
    body: /json/.test(response.headers['content-type'] ?? '') ? JSON.parse(text) : text,
  };
  await requireDocumented(url, method, answer);
  return answer;
}

/** Sends raw bytes to a server. @returns what it answers until it closes the connection. */
export async function sendBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes, 'latin1');
  let answer = '';
  for await (const part of socket) answer += String(part);
  return answer;
}
