import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const HOST = '127.0.0.1';
const [FIRST, LAST] = [10_000, 65_535];

/** `fetch` refuses to call it (Fetch Standard, "bad port"). The other ports that it refuses are below FIRST. */
const REFUSED_BY_FETCH = 10_080;

/** From and to; both included. */
export type PortRange = readonly [from: number, to: number];

/** The ports that the system gives to outgoing connections, and to servers that listen on port 0. */
export function readEphemeralPorts(): PortRange {
  try {
    const text = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8');
    const [from = 0, to = 0] = text.trim().split(/\s+/).map(Number);
    return [from, to];
  } catch {
    // The range that IANA suggests, and that macOS and the BSDs use.
    return [49_152, 65_535];
  }
}

/**
 * Reserves a port of 127.0.0.1 for a server that is started later, or is stopped and started again. The system does not give
 * it to outgoing connections, and until this process ends, this function gives it to no other process.
 * @param ranges where to search.
 * @throws when no port in them is free.
 */
export async function reservePort(
  ranges: readonly PortRange[] = beside(readEphemeralPorts()),
): Promise<number> {
  const ports = ranges
    .flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i))
    .filter((port) => port !== REFUSED_BY_FETCH);
  // Starts at a random port. Processes that start at the same time would otherwise try the same ports.
  const start = Math.floor(Math.random() * ports.length);
  for (const port of [...ports.slice(start), ...ports.slice(0, start)]) {
    if (await tryToReserve(port)) return port;
  }
  throw new Error(`no port is free in ${JSON.stringify(ranges)}`);
}

function beside([from, to]: PortRange): PortRange[] {
  const ranges = [
    [FIRST, from - 1],
    [to + 1, LAST],
  ] as const;
  const usable = ranges.filter(([first, last]) => first <= last);
  if (usable.length === 0)
    throw new Error('outgoing connections may have every port: nothing can be reserved');
  return usable;
}

/** The UDP port of the same number is the reservation: the system gives it to one process, until that process ends. */
async function tryToReserve(port: number): Promise<boolean> {
  const reservation = createSocket('udp4');
  const server = createServer();
  try {
    reservation.bind({ port, address: HOST, exclusive: true });
    await once(reservation, 'listening');
    server.listen(port, HOST);
    await once(server, 'listening');
    reservation.unref();
    return true;
  } catch {
    reservation.close();
    return false;
  } finally {
    if (server.listening) {
      server.close();
      await once(server, 'close');
    }
  }
}
