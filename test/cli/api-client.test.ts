import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import * as v from 'valibot';
import { expect, it, onTestFinished } from 'vitest';
import { createApi } from '../../src/cli/api-client.ts';

/** A client of a server that answers as it is told. */
async function serve(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  return createApi(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'key');
}

const Anything = v.looseObject({});

it('the API client reads an answer that comes before the end of an upload, and does not send the rest', async () => {
  const api = await serve((_request, response) => {
    response.writeHead(413).end(JSON.stringify({ detail: 'The file is too large.' }));
  });
  const body = new Readable({ read() {} });
  body.push('[');
  const upload = { type: 'application/json', bytes: undefined, body };
  await expect(api.upload('/v1/imports', upload, Anything)).rejects.toMatchObject({
    name: 'RefusedError',
    status: 413,
    message: 'The file is too large.',
  });
});

it('the API client says that an answer broke off when its connection breaks in the middle', async () => {
  const api = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '10' }).write('{', () => response.destroy());
  });
  await expect(api.get('/v1/banks', Anything)).rejects.toMatchObject({
    name: 'BrokenOffError',
    message: 'The answer of the service broke off (ECONNRESET).',
  });
});

it('the API client fails an upload whose file cannot be read to its end', async () => {
  const api = await serve(() => {});
  const body = Readable.from(
    (async function* () {
      yield Buffer.from('[');
      throw Object.assign(new Error('read failed'), { code: 'EIO' });
    })(),
  );
  const upload = { type: 'application/json', bytes: undefined, body };
  await expect(api.upload('/v1/imports', upload, Anything)).rejects.toMatchObject({
    name: 'UnreachableError',
    message: expect.stringContaining('(EIO)'),
  });
});

it('the API client downloads only a file of the type that it asks for', async () => {
  const api = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).write('<html>');
  });
  const { signal } = new AbortController();
  await expect(api.download('/v1/transactions', 'text/csv', signal).next()).rejects.toMatchObject({
    name: 'Failure',
    message: expect.stringContaining('is that really the service?'),
  });
});

it('the API client ends a list and a download when their signal is aborted', async () => {
  const ending = new AbortController();
  const reason = new Error('ended by SIGINT');
  const api = await serve((request, response) => {
    if (request.url?.startsWith('/file') === true) response.writeHead(200, { 'content-type': 'text/csv' });
    response.write('id\r\n', () => ending.abort(reason));
  });
  const { signal } = ending;
  await expect(api.list('/list', 'rows', Anything, 5, signal)).rejects.toBe(reason);
  await expect(api.list('/list', 'rows', Anything, 5, signal)).rejects.toBe(reason);
  await expect(api.download('/file', 'text/csv', signal).next()).rejects.toBe(reason);
});
