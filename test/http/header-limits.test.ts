import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { sendBytes } from '../support/raw-http.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService({ roles: ['api'] });

afterEach(async () => {
  expect((await service.call('GET', '/healthz')).status).toBe(200);
});

const request = (target: string, headers: string[] = []) =>
  [`GET ${target} HTTP/1.1`, 'Host: a', ...headers, '', ''].join('\r\n');

/** Checks that the first answer in `text` is an error in the shape of all others. */
function expectRawProblem(text: string, status: number): string {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} \\S`));
  expect(head).toMatch(/^content-type: application\/problem\+json$/im);
  const [, requestId] = /^x-request-id: (.+)$/im.exec(head) ?? [];
  const problem = JSON.parse(body.slice(0, Number(/^content-length: (\d+)$/im.exec(head)?.[1])));
  expect(problem).toEqual({
    type: expect.stringMatching(/^\/problems\/[a-z-]+$/),
    title: expect.stringMatching(/./),
    status,
    detail: expect.stringMatching(/./),
    message: problem.detail,
    request_id: requestId,
  });
  expect(text).not.toContain('MARKER');
  return problem.type;
}

const marker = (length: number) => 'MARKER'.padEnd(length, 'x');

describe('the API answers with a problem and closes the connection on', () => {
  it.each([
    ['a header of 17 KiB', request('/healthz', [`X: ${marker(17 * 1024)}`]), 431],
    ['headers of 8 MiB', request('/healthz', Array(8 * 1024).fill(`X: ${marker(1024)}`)), 431],
    ['a header name of 17 KiB', request('/healthz', [`${marker(17 * 1024)}: x`]), 431],
    ['a URL of 17 KiB', request(`/${marker(17 * 1024)}`), 431],
    ['a query of 8 MiB', request(`/v1/banks?${marker(8 * 1024 * 1024)}`), 431],
    ['a line that is no request', 'MARKER\r\n\r\n', 400],
    ['an unknown method', 'MARKER / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['another protocol', 'GET / MARKER/2.0\r\nHost: a\r\n\r\n', 400],
    ['no Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two lengths', request('/', ['Content-Length: 1', 'Content-Length: 2']), 400],
    ['a length and chunks', request('/', ['Content-Length: 1', 'Transfer-Encoding: chunked']), 400],
    ['a folded header', request('/', ['X: a', ' MARKER: b']), 400],
  ])('%s', async (_case, bytes, status) => {
    expectRawProblem(await sendBytes(service.url, bytes), status);
  });
});

it('the API answers 431 to a request with 101 headers, and keeps the connection open', async () => {
  const headers = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: MARKER`);
  // With Host: 100, 101, 3001; the last one closes the connection.
  const answer = await sendBytes(
    service.url,
    request('/healthz', headers(99)) +
      request('/healthz', headers(100)) +
      request('/healthz', ['Connection: close', ...headers(1_500)]),
  );
  const [first = '', ...others] = answer.split(/(?=HTTP\/1\.1 )/);
  expect(first).toMatch(/^HTTP\/1\.1 200 /);
  expect(others.map((other) => expectRawProblem(other, 431))).toEqual([
    '/problems/headers-too-large',
    '/problems/headers-too-large',
  ]);
});

it('a URL of 15 KiB reaches the route', async () => {
  const { api_key: key } = await service.customer();
  const long = marker(15 * 1024);
  expect((await service.call('GET', `/v1/${long}`, { key })).status).toBe(404);
  expect((await service.call('GET', `/v1/transactions?starts=${long}`, { key })).status).toBe(422);
});

it('the API cuts the connection of a client that keeps sending after its answer', async () => {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  let answer = '';
  let cut = false;
  socket.on('data', (bytes) => {
    answer += String(bytes);
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    cut = true;
  });
  await until('the connection is cut', () => {
    if (!socket.destroyed) socket.write(`X: ${marker(1024)}\r\n`);
    return cut;
  });
  expectRawProblem(answer, 400);
});

it('the API explains the problems of headers that are too long or too slow', async () => {
  for (const name of ['headers-too-large', 'request-timeout', 'rate-limited']) {
    expect((await service.call('GET', `/problems/${name}`)).status).toBe(200);
  }
});
