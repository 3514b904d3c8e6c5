import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Headers } from './verification.ts';

/** A small HTTP server that receives notifications for the commands and the demo. */

/** The limit for a body. A notification has only a few hundred bytes. */
const MAX_BYTES = 1024 * 1024;

/** A POST as it was received. */
export interface Received {
  path: string;
  headers: Headers;
  body: Buffer;
}

/** A status to answer with, or `drop` to close the connection without an answer. */
export type Reply = number | 'drop';

export interface Receiver {
  /** `http://127.0.0.1:4000/` */
  url: string;
  close(): Promise<void>;
}

/**
 * Listens for POSTs on any path, passes each POST to `receive`, and answers with its result. Other methods get 405. A body of more than
 * 1 MiB gets 413.
 * @param port 0: any free port.
 * @throws {Error} with a sentence for a person when it cannot listen on the port.
 */
export async function startReceiver(
  { port, host }: { port: number; host: string },
  receive: (received: Received) => Reply | Promise<Reply>,
): Promise<Receiver> {
  const server = createServer((request, response) => {
    answer(request, response, receive).catch(() => response.destroy());
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(describeListenError(error, port, host), { cause: error });
  }
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}/`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  receive: (received: Received) => Reply | Promise<Reply>,
): Promise<void> {
  if (request.method !== 'POST') {
    request.resume();
    response.writeHead(405, { allow: 'POST' }).end();
    return;
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > MAX_BYTES) {
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    parts.push(part);
  }
  const reply = await receive({
    path: request.url ?? '/',
    headers: request.headers,
    body: Buffer.concat(parts),
  });
  if (reply === 'drop') response.destroy();
  else response.writeHead(reply).end();
}

function describeListenError(error: unknown, port: number, host: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return `Port ${port} of ${host} is taken by another program: choose another one.`;
  if (code === 'EACCES') return `Port ${port} may not be used without more rights: choose one above 1023.`;
  return `Cannot listen on port ${port} of ${host} (${String(code)}).`;
}
