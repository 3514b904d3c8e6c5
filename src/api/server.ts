import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createAddressGuard } from '../delivering/address-guard.ts';
import type { Role, Runtime } from '../runtime.ts';
import { createApp } from './app.ts';

const SECOND = 1_000;

/** Long enough for any honest client's headers, short enough that slow ones cannot collect connections. */
const HEADERS_TIMEOUT = 15 * SECOND;
/** For a whole request: an import of a gigabyte over a modest line. */
const REQUEST_TIMEOUT = 600 * SECOND;

/** How long a shutdown waits for requests in hand before their connections are closed. */
const SHUTDOWN_GRACE = 5 * SECOND;

/**
 * Serves the API. Port 0 is any free one; `url` says which.
 * @throws when the port is taken or not allowed, with a sentence that says what to do.
 */
export async function startApi(runtime: Runtime): Promise<Role & { url: string }> {
  const { config } = runtime;
  const app = createApp(runtime, createAddressGuard({ allow: config.allowPrivateEndpoints }));
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT, requestTimeout: REQUEST_TIMEOUT },
    getRequestListener(app.fetch, { errorHandler: () => answerUnreadable() }),
  );
  answerBrokenRequests(server);
  server.listen(config.port, config.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new Error(
        `PORT ${config.port} on ${config.host} is taken: set PORT to another one, or to 0 for any free one.`,
      );
    }
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    name: 'api',
    url: `http://${host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host}:${port}`,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), SHUTDOWN_GRACE);
      await closed;
      clearTimeout(cut);
    },
  };
}

/** What Node's HTTP parser refuses never reaches the app; it gets the same kind of answer all the same. */
function answerBrokenRequests(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
    const [status, detail] =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'The headers must be at most 16 KiB in all.']
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? ['408 Request Timeout', 'The request did not arrive in time.']
          : ['400 Bad Request', 'The request is not valid HTTP/1.1.'];
    const body = describeBroken(status, detail);
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
}

/** What Node's parser lets through, but no URL can be made of (its target or Host header), does not reach the app either. */
function answerUnreadable(): Response {
  const body = describeBroken(
    '400 Bad Request',
    'The target or the Host header of the request is not valid.',
  );
  return new Response(body, { status: 400, headers: { 'Content-Type': PROBLEM_TYPE } });
}

const PROBLEM_TYPE = 'application/problem+json';

function describeBroken(status: string, detail: string): string {
  return JSON.stringify({
    type: 'about:blank',
    title: status.slice(4),
    status: Number(status.slice(0, 3)),
    detail,
    message: detail,
    request_id: randomUUID(),
  });
}
