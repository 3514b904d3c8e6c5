import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { inject, onTestFinished } from 'vitest';
import { redisOptions } from '../../src/platform/queues/connection.ts';

/**
 * Stands between a connection and the Redis of the tests, until the test ends. While it hangs, Redis gets nothing: connections stay
 * open, and commands are not answered. What was held back is sent on afterwards.
 */
export async function startRedisRelay(): Promise<{ url: string; hang(hangs: boolean): void }> {
  const { path, host, port } = redisOptions(inject('redisUrl'));
  let hanging = false;
  const passOn = new Set<() => void>();
  const relay = createServer((client) => {
    const server = path === undefined ? connect(port ?? 6379, host) : connect({ path });
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
  onTestFinished(() => void relay.close());
  await once(relay, 'listening');
  const url = new URL(inject('redisUrl'));
  url.search = '';
  url.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  return {
    url: url.href,
    hang(hangs) {
      hanging = hangs;
      if (!hangs) for (const send of passOn) send();
    },
  };
}
