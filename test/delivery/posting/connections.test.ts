import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPoster, type Poster } from '../../../src/delivery/posting/post.ts';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';

const guard = createAddressGuard({ allow: ['127.0.0.0/8'] });
const servers: Server[] = [];
afterAll(() => servers.forEach((server) => void server.close()));

/** A receiver records each complete POST, with the number of its connection. */
interface Receiver {
  origin: string;
  posts: { connection: number; headers: string; body: string }[];
}

type React = (socket: Socket, post: { connection: number; index: number }) => void;

/** A receiver on bare sockets, which reads POSTs of a Content-Length and answers what it likes. */
async function receive(react: React, host = '127.0.0.1'): Promise<Receiver> {
  const posts: Receiver['posts'] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const connection = connections;
    let read = '';
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      read += bytes.toString('latin1');
      for (;;) {
        const end = read.indexOf('\r\n\r\n');
        const headers = read.slice(0, Math.max(0, end));
        const length = Number(/^content-length: *(\d+)/im.exec(headers)?.[1] ?? 0);
        if (end === -1 || read.length < end + 4 + length) return;
        posts.push({ connection, headers, body: read.slice(end + 4, end + 4 + length) });
        read = read.slice(end + 4 + length);
        react(socket, { connection, index: posts.length });
      }
    });
  });
  servers.push(server);
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, posts };
}

let poster: Poster;
/** Long enough for every answer on a busy machine, and not much longer, because some tests wait for it. */
const TIMEOUT = 5_000;

beforeEach(() => {
  poster = createPoster({ guard, totalTimeout: TIMEOUT });
});
afterEach(() => poster.close());

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const send = (origin: string) =>
  poster.post({ origin, path: '/in?a=1', headers: { 'webhook-id': 'msg_1-1' }, body: '{"a":"ä"}' });
/** undici makes a connection available again one pass of the event loop after its answer. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Answers the first POST, and does something else with the second on the same connection. */
const afterOneAnswer =
  (react: React): React =>
  (socket, post) => {
    if (post.connection === 1 && post.index === 2) react(socket, post);
    else socket.write(OK);
  };

describe('a connection that has brought an answer', () => {
  it.each([
    ['closed', (socket: Socket) => void socket.end()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ])('has the next POST sent once more if it is %s under that POST', async (_, end) => {
    const receiver = await receive(afterOneAnswer(end));
    expect(await send(receiver.origin)).toMatchObject({ status: 200, posts: 1 });
    await settle();
    expect(await send(receiver.origin)).toMatchObject({ status: 200, error: null, body: 'ok', posts: 2 });
    expect(receiver.posts.map((it) => it.connection)).toEqual([1, 1, 2]);
    expect(new Set(receiver.posts.map((it) => it.body)).size).toBe(1);
    expect(receiver.posts[2]?.headers).toMatch(/^POST \/in\?a=1 HTTP\/1\.1\r\n/);
    expect(receiver.posts[2]?.headers).toMatch(/^host: 127\.0\.0\.1:\d+$/im);
    expect(receiver.posts[2]?.headers).toMatch(/^webhook-id: msg_1-1$/im);
  });

  it('does not have a POST sent again after half an answer', async () => {
    const receiver = await receive(afterOneAnswer((socket) => socket.end('HTTP/1.1 20')));
    await send(receiver.origin);
    await settle();
    expect(await send(receiver.origin)).toMatchObject({
      status: null,
      posts: 1,
      error: expect.stringMatching(/: the endpoint broke off its answer$/),
    });
    expect(receiver.posts).toHaveLength(2);
  });

  it('does not have a POST sent again after an interim answer', async () => {
    const receiver = await receive(afterOneAnswer((socket) => socket.end('HTTP/1.1 102 Processing\r\n\r\n')));
    await send(receiver.origin);
    await settle();
    expect(await send(receiver.origin)).toMatchObject({ status: null, posts: 1 });
    expect(receiver.posts).toHaveLength(2);
  });

  it('does not extend the deadline when the second POST hangs', async () => {
    const receiver = await receive((socket, { index }) => {
      if (index === 1) socket.write(OK);
      if (index === 2) setTimeout(() => socket.end(), 0.7 * TIMEOUT);
    });
    await send(receiver.origin);
    await settle();
    const began = performance.now();
    expect(await send(receiver.origin)).toMatchObject({
      status: null,
      posts: 2,
      error: 'no complete answer within 5 s',
    });
    expect(performance.now() - began).toBeLessThan(1.6 * TIMEOUT);
    expect(receiver.posts).toHaveLength(3);
  });

  it('counts both POSTs when a shutdown aborts the second one', async () => {
    const receiver = await receive((socket, { index }) => {
      if (index === 1) socket.write(OK);
      if (index === 2) socket.end();
    });
    await send(receiver.origin);
    await settle();
    const answer = send(receiver.origin);
    await expect.poll(() => receiver.posts.length).toBe(3);
    poster.abort();
    expect(await answer).toMatchObject({ status: null, aborted: true, posts: 2 });
  });
});

describe('a new connection', () => {
  it.each([
    ['closed', (socket: Socket) => void socket.end()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ])('gets one POST if it is %s without an answer', async (_, end) => {
    const receiver = await receive(end);
    expect(await send(receiver.origin)).toMatchObject({
      status: null,
      posts: 1,
      error: expect.stringMatching(/: the endpoint closed the connection without an answer$/),
    });
    expect(receiver.posts).toHaveLength(1);
  });

  it.each([
    ['half a status line', 'HTTP/1.1 20', 'UND_ERR_SOCKET: the endpoint broke off its answer'],
    [
      'half of the headers',
      'HTTP/1.1 200 OK\r\nDate: to',
      'UND_ERR_SOCKET: the endpoint broke off its answer',
    ],
    [
      'something else',
      'SSH-2.0-OpenSSH_9.2\r\n',
      'the answer of the endpoint is not HTTP/1.1 (Expected HTTP/, RTSP/ or ICE/)',
    ],
    [
      '101',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      expect.stringContaining(
        'the endpoint answered 101 (Switching Protocols), which Ledgerbell did not ask for',
      ),
    ],
  ])('gets one POST if it brings %s, and the error says so', async (_, bytes, error) => {
    const receiver = await receive((socket) => socket.end(bytes));
    expect(await send(receiver.origin)).toMatchObject({ status: null, posts: 1, error });
    expect(receiver.posts).toHaveLength(1);
  });

  it('gets no POST if it is refused', async () => {
    const receiver = await receive(() => {});
    await new Promise((resolve) => servers.at(-1)?.close(resolve));
    expect(await send(receiver.origin)).toMatchObject({ status: null, posts: 0 });
  });

  it('ends with an error that names HTTP/2 if the server speaks only HTTP/2', async () => {
    const server = createHttp2Server();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { error } = await send(`http://127.0.0.1:${port}`);
    server.close();
    expect(error).toBe('the endpoint speaks only HTTP/2; Ledgerbell needs HTTP/1.1');
  });
});

describe('an answer that undici does not read', () => {
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const withBoth = (first: string, second: string) =>
    `HTTP/1.1 200 OK\r\n${first}\r\n${second}\r\n\r\n2\r\nok\r\n0\r\n\r\n`;
  const CHUNKED = 'Transfer-Encoding: chunked';
  const LENGTH = 'Content-Length: 2';

  it.each([
    ['comes after 100 Continue that nobody asked for', CONTINUE + OK],
    ['has Content-Length after Transfer-Encoding', withBoth(CHUNKED, LENGTH)],
    ['has Content-Length before Transfer-Encoding', withBoth(LENGTH, CHUNKED)],
    ['has a header in two lines', `HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n${LENGTH}\r\n\r\nok`],
    ['has a header in two lines after its length', `HTTP/1.1 200 OK\r\n${LENGTH}\r\nX-A: b\r\n\tc\r\n\r\nok`],
  ])('counts if it %s, and the endpoint gets one POST per attempt from then on', async (_, bytes) => {
    const receiver = await receive((socket) => socket.write(bytes));
    const delivered = { status: 200, body: 'ok', error: null };
    expect(await send(receiver.origin)).toMatchObject({ ...delivered, posts: 2 });
    expect(receiver.posts).toHaveLength(2);
    expect(await send(receiver.origin)).toMatchObject({ ...delivered, posts: 1 });
    expect(receiver.posts).toHaveLength(3);
    expect(new Set(receiver.posts.map((it) => it.body)).size).toBe(1);
  });

  it('has its headers read with the lines joined by a space', async () => {
    const receiver = await receive((socket) =>
      socket.end('HTTP/1.1 503 Busy\r\nRetry-After: Wed,\r\n  21 Oct 2026 07:28:00 GMT\r\n\r\n'),
    );
    const { retryAfter } = await send(receiver.origin);
    expect(retryAfter).toMatch(/^Wed, +21 Oct 2026 07:28:00 GMT$/);
  });

  it('is read from an address of IPv6, too', async () => {
    const { origin } = await receive((socket) => socket.write(CONTINUE + OK), '::1');
    await poster.close();
    poster = createPoster({ guard: createAddressGuard({ allow: ['::1/128'] }), totalTimeout: TIMEOUT });
    expect(await send(origin)).toMatchObject({ status: 200, body: 'ok', posts: 2 });
  });

  it('is refused if its header of a thousand lines is longer than 64 KiB', async () => {
    const lines = Array.from({ length: 1_000 }, () => ` ${'x'.repeat(100)}\r\n`).join('');
    const receiver = await receive((socket) => socket.write(`HTTP/1.1 200 OK\r\nX-A: b\r\n${lines}\r\n`));
    expect(await send(receiver.origin)).toMatchObject({
      status: null,
      posts: 2,
      error: 'HPE_HEADER_OVERFLOW: the headers of the answer are longer than 64 KiB',
    });
  });

  it('makes later attempts fail with an error, not a crash, if the origin refuses connections', async () => {
    const receiver = await receive((socket) => socket.end(CONTINUE + OK));
    expect(await send(receiver.origin)).toMatchObject({ status: 200, posts: 2 });
    await new Promise((resolve) => servers.at(-1)?.close(resolve));
    expect(await send(receiver.origin)).toMatchObject({
      status: null,
      posts: 0,
      error: expect.stringMatching(/^ECONNREFUSED: /),
    });
  });

  it('is given up at the first deadline if it never ends', async () => {
    const receiver = await receive((socket) => socket.write(CONTINUE));
    const began = performance.now();
    expect(await send(receiver.origin)).toMatchObject({ status: null, posts: 2 });
    expect(performance.now() - began).toBeLessThan(1.6 * TIMEOUT);
  });

  it('makes Ledgerbell connect only to allowed addresses', async () => {
    let allowed = true;
    const receiver = await receive((socket) => socket.write(CONTINUE + OK));
    const { port } = new URL(receiver.origin);
    await poster.close();
    poster = createPoster({
      guard: createAddressGuard({
        allow: ['127.0.0.1/32'],
        resolve: (_name, _options, answer) =>
          answer(null, [{ address: allowed ? '127.0.0.1' : '127.0.0.2', family: 4 }] as never),
      }),
      totalTimeout: TIMEOUT,
    });
    const origin = `http://changes.example:${port}`;
    expect(await send(origin)).toMatchObject({ status: 200, posts: 2 });
    allowed = false;
    expect(await send(origin)).toMatchObject({ status: null, refused: true, posts: 0 });
  });

  it('counts if it is too long, but only its beginning is kept', async () => {
    const receiver = await receive((socket) => {
      socket.write(`${CONTINUE}HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n`);
      socket.write(Buffer.alloc(1_048_576, 'x'));
    });
    expect(await send(receiver.origin)).toMatchObject({ status: 200, error: null, body: 'x'.repeat(4_096) });
  });
});

describe('an answer', () => {
  it('counts if it is 204 with a Content-Length', async () => {
    const receiver = await receive((socket) =>
      socket.write('HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n'),
    );
    expect(await send(receiver.origin)).toMatchObject({ status: 204, body: '', error: null, posts: 1 });
    expect(receiver.posts).toHaveLength(1);
  });

  it('may have 20 KiB of headers, and at most 64 KiB', async () => {
    const withHeaders = (kib: number) =>
      receive((socket) => {
        const lines = Array.from({ length: kib }, (_, i) => `X-${i}: ${'x'.repeat(1_010)}\r\n`).join('');
        socket.write(`HTTP/1.1 200 OK\r\n${lines}Content-Length: 2\r\n\r\nok`);
      });
    expect(await send((await withHeaders(20)).origin)).toMatchObject({ status: 200, body: 'ok', posts: 1 });
    expect(await send((await withHeaders(80)).origin)).toMatchObject({
      status: null,
      posts: 1,
      error: expect.stringMatching(/: the headers of the answer are longer than 64 KiB$/),
    });
  });

  const text = `{"detail":"The hash is wrong. ä","more":"${'x'.repeat(20_000)}"}`;
  it.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
  ])('in %s is shown as text', async (coding, bytes) => {
    const receiver = await receive((socket) => {
      socket.write(
        `HTTP/1.1 400 Bad Request\r\nContent-Encoding: ${coding}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
      );
      socket.write(bytes);
    });
    const { body } = await send(receiver.origin);
    expect(body).toMatch(/^\{"detail":"The hash is wrong\. ä","more":"x+$/);
    expect(Buffer.byteLength(body)).toBe(4_096);
  });

  it.each([
    ['zstd', Buffer.from('(\xb5/\xfd', 'latin1')],
    ['gzip', Buffer.from('not gzip')],
    ['gzip', gzipSync(Buffer.alloc(10_000_000))],
  ])('in %s that cannot be read is named instead', async (coding, bytes) => {
    const receiver = await receive((socket) => {
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
      );
      socket.write(bytes);
    });
    expect(await send(receiver.origin)).toMatchObject({
      status: 200,
      error: null,
      body: `(an answer in the coding ${coding}, which cannot be shown)`,
    });
  });
});
