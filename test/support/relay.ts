import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { inject, onTestFinished } from 'vitest';

interface Relay {
  /** The server's URL, at the relay's port of 127.0.0.1. */
  url: string;
  /** While it hangs, the server gets nothing: connections stay open, and requests are not answered. What was held back is sent afterwards. */
  hang(hangs: boolean): void;
  close(): void;
}

/** Stands between connections and the Redis of the tests, until the test ends. */
export async function startRedisRelay(): Promise<Relay> {
  const relay = await startRelay(inject('redisUrl'));
  onTestFinished(() => relay.close());
  return relay;
}

/** Stands between connections and a server, which may listen on a socket alone: `…?socketPath=`. */
export async function startRelay(to: string): Promise<Relay> {
  const url = new URL(to);
  const path = url.searchParams.get('socketPath');
  const { hostname: host, port } = url;
  let hanging = false;
  const passOn = new Set<() => void>();
  const relay = createServer((client) => {
    const server = path === null ? connect(Number(port), host) : connect({ path });
    const held: Buffer[] = [];
    const send = () => {
      for (const bytes of held.splice(0)) server.write(bytes);
    };
    passOn.add(send);
    client.on('data', (bytes) => {
      held.push(bytes);
      if (!hanging) send();
    });
    client
      .on('error', () => {})
      .on('close', () => {
        passOn.delete(send);
        server.destroy();
      });
    server.on('error', () => {}).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  url.search = '';
  url.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  return {
    url: url.href,
    hang(hangs) {
      hanging = hangs;
      if (!hangs) for (const send of passOn) send();
    },
    close: () => void relay.close(),
  };
}
