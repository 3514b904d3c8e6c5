import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createPoster, type Poster } from '../../../src/delivery/posting/post.ts';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import { reservePort } from '../../support/reserved-port.ts';

const guard = createAddressGuard({ allow: ['127.0.0.0/8'] });
const servers: Server[] = [];
let poster: Poster;
afterEach(() => poster.close());
afterAll(() => servers.forEach((server) => void server.close()));

/** A server that answers on the bare socket, so that it can break every rule of HTTP. */
async function serve(answer: (socket: Socket, connection: number) => void): Promise<string> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const connection = connections;
    socket.on('error', () => {});
    socket.on('data', () => answer(socket, connection));
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const post = (origin: string, totalTimeout = 1_500) => {
  poster = createPoster({ guard, totalTimeout });
  return poster.post({ origin, path: '/', headers: { 'content-type': 'application/json' }, body: '{}' });
};

describe('a POST', () => {
  it('reports the status and the beginning of the answer', async () => {
    const origin = await serve((socket) =>
      socket.end('HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello'),
    );
    expect(await post(origin)).toMatchObject({
      status: 201,
      body: 'hello',
      error: null,
      refused: false,
      aborted: false,
    });
  });

  it('does not follow a redirect', async () => {
    const elsewhere = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    const origin = await serve((socket) =>
      socket.end(`HTTP/1.1 307 Temporary Redirect\r\nLocation: ${elsewhere}\r\nContent-Length: 0\r\n\r\n`),
    );
    expect(await post(origin)).toMatchObject({ status: 307, error: null });
  });

  it('ends when a receiver hangs', async () => {
    const answer = await post(await serve(() => {}), 300);
    expect(answer).toMatchObject({ status: null, error: 'no complete answer within 0.3 s' });
  });

  it('ends when a receiver answers byte by byte', async () => {
    const origin = await serve((socket) => {
      const timer = setInterval(() => socket.write('H'), 50);
      socket.on('close', () => clearInterval(timer));
    });
    expect((await post(origin, 400)).status).toBeNull();
  });

  it('ends when a receiver sends interim answers for ever', async () => {
    const origin = await serve((socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    const answer = await post(origin, 400);
    expect(answer.status).toBeNull();
    expect(answer.error).not.toBeNull();
  });

  it('counts a 2xx as an answer, and cuts off a body that does not end', async () => {
    let closed = false;
    const origin = await serve((socket) => {
      socket.on('close', () => {
        closed = true;
      });
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n');
      const chunk = Buffer.alloc(16_384, 'x');
      const more = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', more);
      more();
    });
    const answer = await post(origin);
    expect(answer).toMatchObject({ status: 200, error: null });
    expect(answer.body).toBe('x'.repeat(4_096));
    await expect.poll(() => closed).toBe(true);
  });

  it('goes by the status line when the body breaks off', async () => {
    const origin = await serve((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
      setTimeout(() => socket.destroy(), 50);
    });
    const answer = await post(origin);
    expect(answer.status).toBe(200);
    expect(answer.error).not.toBeNull();
  });

  it.each([
    ['garbage', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['nothing', ''],
    ['half a status line', 'HTTP/1.1 20'],
  ])('fails with a reason when a receiver answers %s', async (_, bytes) => {
    const answer = await post(await serve((socket) => socket.end(bytes)));
    expect(answer.status).toBeNull();
    expect(answer.error).not.toBeNull();
  });

  it('fails with a reason when nothing listens', async () => {
    const port = await reservePort();
    expect((await post(`http://127.0.0.1:${port}`)).error).toMatch(/ECONNREFUSED/);
  });

  it('is tried once more on a new connection when a kept connection was closed under it', async () => {
    const seen: number[] = [];
    const origin = await serve((socket, connection) => {
      seen.push(connection);
      // The first connection answers once, stays open, and is closed as soon as it is used again.
      if (connection === 1 && seen.length === 2) return void socket.end();
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    await post(origin);
    // undici makes a connection available again one pass of the event loop after its answer.
    await new Promise((resolve) => setImmediate(resolve));
    const second = await poster.post({ origin, path: '/', headers: {}, body: '{}' });
    expect(second).toMatchObject({ status: 200, error: null });
    expect(seen).toEqual([1, 1, 2]);
  });

  it('does not even connect to an address that is not allowed', async () => {
    poster = createPoster({ guard: createAddressGuard({ allow: [] }) });
    const connections: number[] = [];
    const origin = await serve((_, connection) => void connections.push(connection));
    for (const host of [
      origin,
      origin.replace('127.0.0.1', '[::ffff:127.0.0.1]'),
      origin.replace('127.0.0.1', 'localhost'),
    ]) {
      const answer = await poster.post({ origin: host, path: '/', headers: {}, body: '{}' });
      expect(answer).toMatchObject({ status: null, refused: true });
    }
    expect(connections).toEqual([]);
  });

  it('that is cut short by abort reports that, and nothing else', async () => {
    const arrived: number[] = [];
    const origin = await serve((_, connection) => void arrived.push(connection));
    const answer = post(origin, 10_000);
    await expect.poll(() => arrived.length).toBe(1);
    poster.abort();
    expect(await answer).toMatchObject({ status: null, aborted: true });
  });
});
