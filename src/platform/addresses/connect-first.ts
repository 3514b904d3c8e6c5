import type { LookupAddress } from 'node:dns';
import { connect, type Socket } from 'node:net';

/**
 * Connects to the first address of a host that accepts ("happy eyeballs", RFC 8305). Node's `autoSelectFamily` ends the attempt at one
 * address before it tries the next one, so an address that accepts slowly is lost when the others are dead.
 */

/** How long an address is tried alone before the next one is tried, too (RFC 8305, section 5). Milliseconds. */
const ATTEMPT_DELAY = 250;

/** How many addresses of a host are tried. A DNS answer has room for thousands, and their owner chooses whose they are. */
const MAX_ATTEMPTS = 20;

/** As undici's own connector. */
const SOCKET_OPTIONS = {
  highWaterMark: 64 * 1_024,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
};

/**
 * @param options.addresses in the order of preference.
 * @param options.timeout for all attempts together. Milliseconds.
 * @param done called once, with a connected socket. All other attempts are closed then. Or with the error of the only address, or with an
 * AggregateError of those of all addresses, whose `code` is the first one's.
 */
export function connectFirst(
  {
    addresses,
    port,
    timeout,
    localAddress,
  }: {
    addresses: readonly LookupAddress[];
    port: number;
    timeout: number;
    localAddress?: string | null | undefined;
  },
  done: (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void,
): void {
  const untried = alternating(addresses).slice(0, MAX_ATTEMPTS);
  const attempts = new Map<Socket, LookupAddress>();
  const errors: NodeJS.ErrnoException[] = [];
  let nextAttempt: NodeJS.Timeout | undefined;

  const end: typeof done = (...result) => {
    clearTimeout(nextAttempt);
    clearTimeout(deadline);
    for (const loser of attempts.keys()) loser.destroy();
    attempts.clear();
    done(...result);
  };

  const attempt = () => {
    clearTimeout(nextAttempt);
    const address = untried.shift();
    if (address === undefined) return;
    const socket = connect({
      host: address.address,
      family: address.family,
      port,
      ...(typeof localAddress === 'string' && { localAddress }),
      ...SOCKET_OPTIONS,
    });
    attempts.set(socket, address);
    socket.once('connect', () => {
      if (attempts.delete(socket)) end(null, socket);
    });
    socket.on('error', (error) => {
      if (!attempts.delete(socket)) return;
      errors.push(error);
      if (attempts.size === 0 && untried.length === 0) end(together(errors), null);
      else attempt();
    });
    nextAttempt = setTimeout(attempt, ATTEMPT_DELAY);
  };

  const deadline = setTimeout(() => {
    untried.length = 0;
    for (const [socket, { address }] of attempts) socket.destroy(connectTimeoutError(address, port));
  }, timeout);
  attempt();
}

/** The addresses of both families by turns, beginning with the family of the first address (RFC 8305, section 4). */
function alternating(addresses: readonly LookupAddress[]): LookupAddress[] {
  const first = addresses.filter(({ family }) => family === addresses[0]?.family);
  const second = addresses.filter(({ family }) => family !== addresses[0]?.family);
  const turns = Array.from({ length: Math.max(first.length, second.length) }, (_, i) => [
    first[i],
    second[i],
  ]);
  return turns.flat().filter((address) => address !== undefined);
}

/** As Node reports the errors of several addresses. */
function together(errors: readonly NodeJS.ErrnoException[]): Error {
  const [first] = errors;
  if (first !== undefined && errors.length === 1) return first;
  return Object.assign(new AggregateError(errors), { code: first?.code });
}

/** @param host a name or an address. */
export const connectTimeoutError = (host: string, port: number): NodeJS.ErrnoException =>
  Object.assign(new Error(`connect ETIMEDOUT ${host}:${port}`), { code: 'ETIMEDOUT', address: host, port });
