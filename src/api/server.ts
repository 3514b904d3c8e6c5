import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createAddressGuard } from '../delivering/posting/address-guard.ts';
import {
  answerBrokenRequests,
  answerUnreadable,
  HEADER_BYTES,
  refuseManyHeaders,
} from '../http/broken-requests.ts';
import { oneAtATime } from '../http/one-at-a-time.ts';
import type { Role, Runtime } from '../runtime.ts';
import { createApp } from './app.ts';

const SECOND = 1_000;

/** Long enough for any honest client's headers, short enough that slow senders cannot hold many connections open. */
const HEADERS_TIMEOUT = 15 * SECOND;
/** For a whole request. Enough for an import of a gigabyte over a modest connection. */
const REQUEST_TIMEOUT = 600 * SECOND;
/** How often connections are checked against these two timeouts. */
const TIMEOUT_CHECKS = 5 * SECOND;

/** How long a shutdown waits for running requests before it closes their connections. */
const SHUTDOWN_GRACE = 5 * SECOND;

/** Another program is using PORT. */
export class PortTakenError extends Error {
  override name = 'PortTakenError';
}

/**
 * Starts the API's server. With PORT 0 it takes any free port, which `url` names.
 * @throws {PortTakenError} when the port is taken, with a sentence that says what to do.
 */
export async function startApi(runtime: Runtime): Promise<Role & { url: string }> {
  const { config } = runtime;
  const app = createApp(runtime, createAddressGuard({ allow: config.allowPrivateEndpoints }));
  const listener = getRequestListener(app.fetch, { errorHandler: () => answerUnreadable() });
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
  server.listen(config.port, config.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new PortTakenError(
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
