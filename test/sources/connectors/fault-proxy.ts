import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * The fate of each connection once the server has sent so many bytes: its end arrives, it is reset, or nothing arrives any more.
 */
export interface Fault {
  kind: 'end' | 'reset' | 'stall';
  afterBytes: number;
}

/** Starts a proxy on loopback that breaks connections. It runs until the test ends. @returns its port. */
export async function startFaultProxy(target: number, { kind, afterBytes }: Fault): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    let bytes = 0;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => (socket === client ? upstream : client).destroy());
    }
    client.pipe(upstream);
    upstream.on('data', (part: Buffer) => {
      const room = afterBytes - bytes;
      bytes += part.length;
      if (room > 0) client.write(part.subarray(0, room));
      if (bytes < afterBytes) return;
      upstream.pause();
      if (kind === 'end') client.end();
      if (kind === 'reset') client.resetAndDestroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
