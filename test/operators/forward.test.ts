import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, request as sendRequest } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBaseApp, isFromThisMachine } from '../../src/http/app.ts';
import { createForwarder } from '../../src/http/forward.ts';
import { startServer } from '../../src/http/listener.ts';
import { readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { until } from '../support/until.ts';

const SECRET = 'lbop_secret';
const MIB = 1024 * 1024;

/** Answers in place of a process with the role api. */
let answer: RequestListener;
const upstream = createServer((request, response) => answer(request, response));
let target: string;
let front: Awaited<ReturnType<typeof startServer>>;

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const app = createBaseApp({
    config: { ...readConfig({}), localToken: SECRET },
    log: createLog('silent'),
  });
  const pass = createForwarder(SECRET);
  app.all('*', (c) => pass(c, target));
  front = await startServer(app.fetch, {
    ...{ name: 'test', variable: 'OPS_PORT', host: '127.0.0.1', port: 0, keepAlive: 5 },
  });
});
afterAll(async () => {
  upstream.closeAllConnections();
  upstream.close();
  await front?.stop();
});
beforeEach(() => {
  target = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});

/** Sends bytes as they are. @returns the socket, and what it has received so far. */
function sendRaw(...parts: string[]): { socket: Socket; received: () => string } {
  const socket = connect(Number(new URL(front.url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data.toString('latin1');
  });
  socket.on('error', () => {});
  for (const part of parts) socket.write(part);
  return { socket, received: () => text };
}

describe('a request that is passed on', () => {
  it('arrives with its method, path, headers and body, and its answer comes back', async () => {
    answer = async (request, response) => {
      const hash = createHash('sha256');
      for await (const part of request) hash.update(part);
      const { method, url, headers } = request;
      response.writeHead(202, { 'content-type': 'application/json', link: '</x>; rel="next"' });
      response.end(JSON.stringify({ method, url, headers, hash: hash.digest('hex') }));
    };
    const body = Buffer.alloc(5 * MIB, 'ş');
    const got = await fetch(`${front.url}/v1/a%20b?c=d&e=%C5%9F`, {
      method: 'POST',
      body,
      headers: { 'idempotency-key': 'k', 'x-request-id': 'mine', 'ledgerbell-origin': 'forged' },
    });
    expect([got.status, got.headers.get('link'), got.headers.get('x-request-id')]).toEqual([
      ...[202, '</x>; rel="next"', 'mine'],
    ]);
    expect(await got.json()).toMatchObject({
      ...{ method: 'POST', url: '/v1/a%20b?c=d&e=%C5%9F' },
      hash: createHash('sha256').update(body).digest('hex'),
      headers: {
        ...{ 'idempotency-key': 'k', 'x-request-id': 'mine', 'content-length': String(body.length) },
        'ledgerbell-origin': expect.stringMatching(/^[0-9a-f]{64} local 127\.0\.0\.1$/),
      },
    });
  });

  it('keeps no header of the connection, and a body in chunks stays one request', async () => {
    const seen: { url: string | undefined; headers: object; body: string }[] = [];
    answer = async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      seen.push({ url: request.url, headers: request.headers, body });
      response.end('ok');
    };
    const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n';
    const { received } = sendRaw(
      'GET /v1/one HTTP/1.1\r\nHost: x\r\nConnection: x-secret, keep-alive\r\nX-Secret: 1\r\nTE: trailers\r\n',
      `Transfer-Encoding: chunked\r\n\r\n${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
    );
    await until('the answer', () => received().endsWith('\r\n\r\nok') || received().includes('ok\r\n'));
    expect(seen.map(({ url, body }) => [url, body])).toEqual([['/v1/one', hidden]]);
    expect(seen[0]?.headers).not.toHaveProperty('x-secret');
    expect(seen[0]?.headers).not.toHaveProperty('te');
  });

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('may have an answer without a body: %s %i', async (method, status) => {
    answer = (_, response) => response.writeHead(status).end();
    expect((await fetch(`${front.url}/v1/x`, { method })).status).toBe(status);
  });

  it('may be answered while its client still sends', async () => {
    answer = (_, response) => response.writeHead(413, { 'content-type': 'text/plain' }).end('too large');
    const got = await fetch(`${front.url}/v1/x`, { method: 'POST', body: Buffer.alloc(3 * MIB) });
    expect([got.status, await got.text()]).toEqual([413, 'too large']);
  });

  it('waits while the other process reads nothing, and is not kept in memory', async () => {
    let read = () => {};
    answer = (request, response) => {
      read = () => request.resume().on('end', () => response.end('read'));
    };
    const size = 64;
    const headers = { 'content-length': size * MIB };
    const sent = sendRequest(`${front.url}/v1/x`, { method: 'POST', headers });
    let taken = 0;
    const sending = (async () => {
      for (; taken < size; taken += 1) await new Promise((resolve) => sent.write(Buffer.alloc(MIB), resolve));
    })();
    let [last, same] = [-1, 0];
    await until('the client cannot send more', async () => {
      await sleep(50);
      same = taken === last ? same + 1 : 0;
      last = taken;
      return last > 0 && same >= 10;
    });
    expect(last).toBeLessThan(size);
    read();
    await sending;
    sent.end();
    const [got] = await once(sent, 'response');
    expect(got.statusCode).toBe(200);
    got.resume();
  });

  it('ends when its client leaves', async () => {
    let isClosed = false;
    let hasCome = false;
    answer = (request) => {
      hasCome = true;
      request.on('close', () => {
        isClosed = true;
      });
    };
    const { socket } = sendRaw('GET /v1/feed HTTP/1.1\r\nHost: x\r\n\r\n');
    await until('the request', () => hasCome);
    socket.destroy();
    await until('the end', () => isClosed);
  });

  it('whose answer breaks off does not look whole', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/csv' });
      response.write('half', () => response.destroy());
    };
    const got = await fetch(`${front.url}/v1/x`);
    await expect(got.text()).rejects.toThrow();
  });

  it('of HTTP/1.0 gets no answer of unknown length', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/csv' });
      response.write('half');
    };
    const { received } = sendRaw('GET /v1/x HTTP/1.0\r\nHost: x\r\n\r\n');
    await until('the answer', () => received().includes('HTTP/1.0'));
    expect(received()).toMatch(/^HTTP\/1\.1 422 /);
  });

  it('gets 503 if the process has gone', async () => {
    target = 'http://127.0.0.1:1';
    const got = await fetch(`${front.url}/v1/x`, { method: 'POST', body: Buffer.alloc(MIB) });
    expect([got.status, got.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await got.json()).toMatchObject({ type: '/problems/no-api-process' });
  });
});

it('only a process that knows the secret may say from where a request comes', async () => {
  const app = createBaseApp({
    config: { ...readConfig({}), localToken: SECRET },
    log: createLog('silent'),
  });
  app.get('*', (c) => c.json([isFromThisMachine(c), c.get('clientAddress')]));
  const inner = await startServer(app.fetch, {
    ...{ name: 'test', variable: 'OPS_PORT', host: '127.0.0.1', port: 0, keepAlive: 5 },
  } as const);
  try {
    const ask = async (headers: Record<string, string>) =>
      (await fetch(`${inner.url}/x`, { headers })).json();
    target = inner.url;
    const passed = await fetch(`${front.url}/x`, { headers: { 'x-forwarded-for': '10.0.0.1' } });
    expect(await passed.json()).toEqual([false, '127.0.0.1']);
    for (const origin of ['', 'x local 10.9.9.9', `${'a'.repeat(64)} local 10.9.9.9`])
      expect(await ask({ 'ledgerbell-origin': origin, via: 'x' })).toEqual([false, '127.0.0.1']);
  } finally {
    await inner.stop();
  }
});
