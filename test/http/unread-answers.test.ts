import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../src/http/listener.ts';
import { until } from '../support/until.ts';

/** Milliseconds. In the service, it is half a minute. */
const LIMIT = 3_000;
/** Bytes that the client takes between two pauses. */
const PART = 2 * 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 'a');

const cancelled = new Set<string>();
let answerLate = () => {};
let server: Awaited<ReturnType<typeof startServer>>;

/** /endless/… never ends; /late answers when the test says so; anything else has 32 MiB. */
function answer(request: Request): Response | Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === '/late') {
    return new Promise((resolve) => {
      answerLate = () => resolve(new Response('late'));
    });
  }
  let left = pathname.startsWith('/endless') ? Number.POSITIVE_INFINITY : 512;
  return new Response(
    new ReadableStream({
      pull(controller) {
        left -= 1;
        if (left < 0) controller.close();
        else controller.enqueue(CHUNK);
      },
      cancel: () => void cancelled.add(pathname),
    }),
  );
}

beforeAll(async () => {
  server = await startServer(answer, {
    ...{ name: 'test', host: '127.0.0.1', port: 0, variable: 'PORT', keepAlive: 1, unreadLimit: LIMIT },
  });
});
afterAll(() => server.stop());

function get(path: string): Socket {
  const { hostname, port, host } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  onTestFinished(() => void socket.destroy());
  return socket;
}

it('an answer of which the client takes nothing ends', async () => {
  get('/endless/unread').pause();
  await until('the answer has ended', () => cancelled.has('/endless/unread'));
});

it('an answer that the client takes slowly, but steadily, is sent as a whole', async () => {
  const socket = get('/whole');
  let bytes = 0;
  let untilPause = PART;
  // Longer than the limit in all, and far shorter between two parts. The kernel shows progress of a megabyte or so, not of single bytes.
  socket.on('data', (data: Buffer) => {
    bytes += data.length;
    untilPause -= data.length;
    if (untilPause > 0) return;
    untilPause = PART;
    socket.pause();
    setTimeout(() => socket.resume(), LIMIT / 10);
  });
  await once(socket, 'close');
  expect(bytes).toBeGreaterThan(512 * CHUNK.length);
  expect(cancelled).not.toContain('/whole');
});

it('a connection stays open for as long as it is set, and is closed then', async () => {
  const { hostname, port, host } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.resume();
  const began = performance.now();
  socket.write(`HEAD /whole HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await once(socket, 'close');
  expect(performance.now() - began).toBeGreaterThan(900);
});

it('an answer that has nothing to send yet waits for longer than the limit', async () => {
  const socket = get('/late');
  let text = '';
  socket.on('data', (part) => {
    text += part;
  });
  await new Promise((resolve) => setTimeout(resolve, 2.5 * LIMIT));
  answerLate();
  await once(socket, 'end');
  expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*late/);
});
