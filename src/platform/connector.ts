import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { connectFirst, connectTimeoutError } from './addresses/connect-first.ts';
import { watchTls } from './tls-errors.ts';

/** Connects to servers: undici's connector, and the errors of several addresses in words. */

/**
 * How long Node tries one of several addresses of a host before it ends that attempt and tries the next one. Node's 250 ms are too short
 * for a far host: an address without a route behind it would fail every connection. Milliseconds.
 */
const ADDRESS_TIMEOUT = 2_000;

/** Sets `ADDRESS_TIMEOUT` for all connections of this thread that do not come from `createConnector`: to MySQL, Redis, S3 and SFTP. */
export const useAddressTimeout = (): void => setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_TIMEOUT);

/**
 * Creates what undici's `new Agent({ connect })` connects with. As undici's own, but the first address of a host that accepts is used, and
 * errors of TLS can be explained.
 * @param options.timeout for connecting, including TLS. Milliseconds.
 * @param options.lookup of an address guard.
 */
export function createConnector({
  timeout,
  lookup,
}: {
  timeout: number;
  lookup: LookupFunction;
}): buildConnector.connector {
  // It returns the socket, which undici's types leave out. The timer below limits it.
  const startTls = buildConnector({ timeout: 0 }) as (
    ...args: Parameters<buildConnector.connector>
  ) => TLSSocket;
  return (target, callback) => {
    const { hostname, protocol, localAddress } = target;
    const port = Number(target.port || (protocol === 'https:' ? 443 : 80));
    const connect = (addresses: LookupAddress[]) => {
      const deadline = performance.now() + timeout;
      connectFirst({ addresses, port, timeout, localAddress }, (error, socket) => {
        if (error !== null) return callback(error, null);
        if (protocol !== 'https:') return callback(null, socket);
        const secured = startTls({ ...target, httpSocket: socket }, callback);
        watchTls(secured);
        const timer = setTimeout(
          () => secured.destroy(connectTimeoutError(hostname, port)),
          deadline - performance.now(),
        );
        for (const event of ['secureConnect', 'close']) secured.once(event, () => clearTimeout(timer));
      });
    };
    const family = isIP(hostname);
    if (family !== 0) return connect([{ address: hostname, family }]);
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error !== null) callback(error, null);
      else connect(addresses as LookupAddress[]);
    });
  };
}

/**
 * Says on one line which addresses of a host could not be connected to, and why.
 * @returns null when the error is none of several addresses.
 */
export function explainAddressErrors(error: unknown): string | null {
  if (error instanceof Error && !(error instanceof AggregateError)) return explainAddressErrors(error.cause);
  if (!(error instanceof AggregateError) || error.errors.length === 0) return null;
  const each = error.errors.map(
    (it: Partial<NodeJS.ErrnoException> & { address?: string; port?: number }) => {
      const { code = 'unknown error', address = 'an address', port } = it;
      return `${code} ${address.includes(':') ? `[${address}]` : address}${port === undefined ? '' : `:${port}`}`;
    },
  );
  return `no address could be connected to: ${each.join(', ')}`;
}
