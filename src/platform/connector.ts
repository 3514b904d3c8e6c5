import type { LookupFunction, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { watchTls } from './tls-errors.ts';

/**
 * Creates what undici's `new Agent({ connect })` connects with. As undici's own, and errors of TLS can be explained.
 * @param options.timeout for connecting, including TLS. Milliseconds.
 * @param options.lookup of an address guard.
 */
export function createConnector(options: {
  timeout: number;
  lookup: LookupFunction;
}): buildConnector.connector {
  // It returns the socket, which undici's types leave out.
  const connect = buildConnector(options) as (...args: Parameters<buildConnector.connector>) => Socket;
  return (target, callback) => {
    const socket = connect(target, callback);
    if (socket instanceof TLSSocket) watchTls(socket);
    return socket;
  };
}
