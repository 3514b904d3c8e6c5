import { request as startRequest } from 'node:http';
import type { buildConnector } from 'undici';
import type { PostHandler, PostRequest } from './types.ts';

/** Sends a POST to an endpoint whose answers break the rules of HTTP. */

/** An answer that is no answer to a POST. As undici calls it. */
class UpgradeError extends Error {
  override message = 'bad upgrade';
}

/**
 * Sends one POST with Node's own client, on a connection of its own. Node reads answers that undici refuses: one after an
 * unexpected `100 Continue` (RFC 9110, section 15.2), one with Content-Length beside Transfer-Encoding, which then counts (RFC 9112,
 * section 6.3), and one whose headers are folded into several lines (section 5.2). Being lenient is safe because nothing else is ever read from this connection.
 * @param connect the connector of undici's clients, so that the same addresses are allowed and the same time is given.
 */
export function postLeniently(
  connect: buildConnector.connector,
  { origin, path, headers, body }: PostRequest,
  { handler, maxHeaderSize }: { handler: PostHandler; maxHeaderSize: number },
): void {
  const { protocol, hostname, host, port } = new URL(origin);
  const request = startRequest({
    method: 'POST',
    path,
    headers: { ...headers, host, connection: 'close' },
    maxHeaderSize,
    insecureHTTPParser: true,
    createConnection: (_options, done) => {
      // A URL has an address of IPv6 in brackets, and a connector takes it without, as undici's clients give it.
      const bare = hostname.replace(/^\[|\]$/g, '');
      connect({ protocol, hostname: bare, host, port }, (error, socket) => {
        // undici gives an error without a socket: undefined, whatever its types say.
        if (!socket) return done(error, undefined as never);
        handler.onConnection(socket);
        done(null, socket);
      });
      return undefined;
    },
  });
  const controller = { abort: (reason: Error) => void request.destroy(reason) };
  request.on('error', (error) => handler.onResponseError(controller, error));
  request.on('upgrade', (_response, socket) => {
    socket.destroy();
    handler.onResponseError(controller, new UpgradeError());
  });
  request.on('response', (response) => {
    handler.onResponseStart(controller, response.statusCode ?? 0, response.headers);
    response.on('data', (chunk: Buffer) => handler.onResponseData(controller, chunk));
    response.on('end', () => handler.onResponseEnd());
    response.on('error', (error) => handler.onResponseError(controller, error));
  });
  handler.onRequestStart(controller);
  request.end(body);
}
