import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Role } from '../runtime.ts';
import {
  answerBrokenRequests,
  answerUnreadable,
  HEADER_BYTES,
  refuseManyHeaders,
} from './broken-requests.ts';
import { oneAtATime } from './one-at-a-time.ts';

const SECOND = 1_000;

/** Long enough for any honest client's headers, short enough that slow senders cannot hold many connections open. */
const HEADERS_TIMEOUT = 15 * SECOND;
/** For a whole request. Enough for an import of a gigabyte over a modest connection. */
const REQUEST_TIMEOUT = 600 * SECOND;
/** How often connections are checked against these two timeouts. */
const TIMEOUT_CHECKS = 5 * SECOND;

/** How long a shutdown waits for running requests before it closes their connections. */
const SHUTDOWN_GRACE = 5 * SECOND;

/** Another program is using the port. */
export class PortTakenError extends Error {
  override name = 'PortTakenError';
}

export interface ServerOptions {
  name: string;
  host: string;
  /** 0: any free port. */
  port: number;
  /** The environment variable that sets the port, for the message of a PortTakenError. */
  variable: 'PORT' | 'OPS_PORT';
}

/**
 * Starts an HTTP server with the limits and timeouts that all listeners of the service share.
 * @param fetch answers a request: the `fetch` of a Hono app.
 * @returns the server, with the URL at which this machine reaches it.
 * @throws {PortTakenError} when the port is taken, with a sentence that says what to do.
 */
export async function startServer(
  fetch: Parameters<typeof getRequestListener>[0],
  { name, host, port, variable }: ServerOptions,
): Promise<Role & { url: string }> {
  const listener = getRequestListener(fetch, { errorHandler: () => answerUnreadable() });
  const receive = oneAtATime((request, answer) => {
    if (!refuseManyHeaders(request, answer)) void listener(request, answer);
  });
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT,
      requestTimeout: REQUEST_TIMEOUT,
      connectionsCheckingInterval: TIMEOUT_CHECKS,
      maxHeaderSize: HEADER_BYTES,
      // Node's own 400 has no body. Without a Host no URL can be formed, which answerUnreadable answers.
      requireHostHeader: false,
    },
    receive,
  );
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1). Node's own answer, a 417, has no body either.
  server.on('checkExpectation', receive);
  answerBrokenRequests(server);
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new PortTakenError(
        `${variable} ${port} on ${host} is taken: set ${variable} to another one, or to 0 for any free one.`,
      );
    }
    throw error;
  }
  return {
    name,
    url: urlOf(host, server.address() as AddressInfo),
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

function urlOf(host: string, { port }: AddressInfo): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
