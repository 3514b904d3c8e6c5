import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { collect, measure, readText } from './collect.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { useHttpSource } from './http-source.ts';
import { sendFile, startWebServer } from './web-server.ts';

const MIB = 1024 * 1024;
const connect = useHttpSource();

describe('an HTTP source', () => {
  it('collects a file once, and again when its ETag changes', async () => {
    let [text, etag] = ['first', '"1"'];
    const server = await startWebServer((request, response) => sendFile(request, response, text, etag));
    const url = `${server.origin}/export/statement.sta?token=gizli`;
    const [first] = await collect(connect({ url }));
    expect(first).toEqual({ name: 'statement.sta', version: 'etag:"1"', cursor: undefined, text: 'first' });
    expect(await collect(connect({ url }), { since: 'etag:"1"' })).toEqual([]);
    expect(server.requests[1]?.headers['if-none-match']).toBe('"1"');
    [text, etag] = ['second', 'W/"2"'];
    expect(await collect(connect({ url }), { since: 'etag:"1"' })).toMatchObject([
      { version: 'etag:W/"2"', text: 'second' },
    ]);
  });

  it('asks with the time of the last change when the server sends no ETag', async () => {
    const modified = 'Sun, 01 Nov 2026 07:00:00 GMT';
    const server = await startWebServer((request, response) => {
      if (request.headers['if-modified-since'] === modified) response.writeHead(304).end();
      else response.setHeader('Last-Modified', modified).end('movements');
    });
    const [file] = await collect(connect({ url: server.origin }));
    expect(file).toMatchObject({
      name: `127.0.0.1:${server.port}`,
      version: `modified:${modified}`,
      text: 'movements',
    });
    expect(await collect(connect({ url: server.origin }), { since: file?.version ?? null })).toEqual([]);
  });

  it('compares the content when the server sends no version', async () => {
    let text = 'first';
    const server = await startWebServer((_request, response) => response.end(text));
    const [file] = await collect(connect({ url: server.origin }));
    expect(file).toMatchObject({ text: 'first', version: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
    const since = file?.version ?? null;
    expect(await collect(connect({ url: server.origin }), { since })).toEqual([]);
    text = 'second';
    expect(await collect(connect({ url: server.origin }), { since })).toMatchObject([{ text: 'second' }]);
  });

  it('reads a file without a version once, and says what arrives before it can be offered', async () => {
    let finish = () => {};
    const server = await startWebServer((_request, response) => {
      response.writeHead(200, { 'transfer-encoding': 'chunked' });
      for (let i = 0; i < 1_000; i += 1) response.write('x');
      response.write(Buffer.alloc(MIB, 'y'));
      finish = () => response.end('z');
    });
    let arrived = 0;
    const files = connect({ url: server.origin })
      .files(null, new AbortController().signal, (bytes) => {
        arrived += bytes;
      })
      [Symbol.asyncIterator]();
    const offered = files.next();
    await until('everything but the end has arrived', () => arrived === MIB + 1_000);
    finish();
    const { value: file } = await offered;
    expect(await readText(file)).toBe(`${'x'.repeat(1_000)}${'y'.repeat(MIB)}z`);
    await files.return?.();
    expect(server.requests).toHaveLength(1);
  });

  it('reads of a file without a version and an end no more than is needed to refuse it', async () => {
    const part = Buffer.alloc(64 * 1024, 'x');
    let open = 0;
    const server = await startWebServer((_request, response) => {
      open += 1;
      response.on('close', () => {
        open -= 1;
      });
      const write = () => {
        while (!response.destroyed) if (!response.write(part)) return void response.once('drain', write);
      };
      write();
    });
    const options = { mostBytes: 5 * MIB };
    const { bytes } = await measure(connect({ url: server.origin }, options));
    expect(bytes).toBe(5 * MIB + 1);
    await until('the connection is closed', () => open === 0);
    // The beginning tells that it is the same file.
    const [file] = await collect(connect({ url: server.origin }, options));
    expect(await collect(connect({ url: server.origin }, options), { since: file?.version ?? null })).toEqual(
      [],
    );
  });

  it('offers nothing when the server ignores the condition and sends the same version', async () => {
    const server = await startWebServer((_request, response) =>
      response.setHeader('ETag', '"1"').end('same'),
    );
    expect(await collect(connect({ url: server.origin }), { since: 'etag:"1"' })).toEqual([]);
  });

  it('offers a compressed answer as gzip, to be unpacked like any file', async () => {
    const server = await startWebServer((request, response) => {
      expect(request.headers['accept-encoding']).toBe('gzip');
      response.writeHead(200, { 'content-encoding': 'gzip', etag: '"1"' }).end(gzipSync('movements'));
    });
    const connector = connect({ url: server.origin });
    for await (const file of connector.files(null, new AbortController().signal)) {
      const parts: Uint8Array[] = [];
      for await (const part of file.open(new AbortController().signal)) parts.push(part);
      expect(gunzipSync(Buffer.concat(parts)).toString()).toBe('movements');
    }
    expect.assertions(2);
  });

  it.each([
    ['a bearer token', { bearer: 'abc.def' }, { authorization: 'Bearer abc.def' }],
    ['a password', { user: 'ayşe', password: 'şifre:1' }, { authorization: 'Basic YXnFn2U6xZ9pZnJlOjE=' }],
    ['headers', { headers: { 'X-Api-Key': 'k1' } }, { 'x-api-key': 'k1' }],
  ])('authenticates with %s', async (_what, credentials, expected) => {
    const server = await startWebServer((_request, response) => response.end('movements'));
    await collect(connect({ url: server.origin }, { credentials }));
    expect(server.requests[0]?.headers).toMatchObject(expected);
  });

  it('reads 100 MB in constant memory', async () => {
    const part = Buffer.alloc(MIB, 'x');
    const server = await startWebServer((_request, response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': 100 * MIB });
      let left = 100;
      const write = () => {
        while (left > 0) {
          left -= 1;
          if (!response.write(part)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
    });
    const { bytes, memory } = await measure(connect({ url: server.origin }));
    expect(bytes).toBe(100 * MIB);
    expect(memory).toBeLessThan(64 * MIB);
  });

  it('leaves no connection open when nobody reads the file', async () => {
    const server = await startWebServer((_request, response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': 10 * MIB }).write('begin');
    });
    const connector = connect({ url: server.origin });
    for await (const file of connector.files(null, new AbortController().signal))
      expect(file.name).not.toBe('');
    await connector.close();
    expect(server.requests).toHaveLength(1);
  });
});

describe('an HTTP source fails', () => {
  it.each([
    [401, 'refuses the credentials (401)'],
    [403, 'does not allow access (403)'],
    [404, 'has nothing at this URL (404)'],
    [429, 'asks to come back later (429)'],
    [500, 'status 500 instead of 200'],
    [206, 'status 206 instead of 200'],
  ])('when the server answers %i', async (status, reason) => {
    const server = await startWebServer((_request, response) =>
      response.writeHead(status).end('<h1>error</h1>'),
    );
    await expect(collect(connect({ url: server.origin }))).rejects.toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining(reason),
    });
  });

  it.each([
    [429, '120', 120_000],
    [503, '99999999', 99_999_999_000],
    [503, 'soon', 0],
  ])(
    'when the server answers %i with Retry-After: %s, with the time to wait',
    async (status, header, wait) => {
      const server = await startWebServer((_request, response) =>
        response.writeHead(status, { 'retry-after': header }).end(),
      );
      await expect(collect(connect({ url: server.origin }))).rejects.toMatchObject({
        name: 'SourceError',
        wait,
      });
    },
  );

  it.each([
    ['ends', 'end', 'broke off'],
    ['is reset', 'reset', 'broke off'],
    ['goes silent', 'stall', 'sent nothing for 0.5 s'],
  ] as const)('when the connection %s in the middle of a file', async (_what, kind, reason) => {
    for (const headers of [{ 'content-length': 4 * MIB }, { 'transfer-encoding': 'chunked' }]) {
      const server = await startWebServer((_request, response) => {
        response.writeHead(200, { etag: '"1"', ...headers }).end(Buffer.alloc(4 * MIB, 'x'));
      });
      const port = await startFaultProxy(server.port, { kind, afterBytes: MIB });
      const connector = connect(
        { url: `http://127.0.0.1:${port}` },
        { limits: { connect: 5_000, idle: 500 } },
      );
      await expect(collect(connector)).rejects.toMatchObject({
        name: 'SourceError',
        message: expect.stringContaining(reason),
      });
    }
  });

  it('when the end of a file could also be a broken connection', async () => {
    const server = await startWebServer((_request, response) => {
      response.socket?.end('HTTP/1.1 200 OK\r\nETag: "1"\r\nConnection: close\r\n\r\nhalf a fi');
    });
    await expect(collect(connect({ url: server.origin }))).rejects.toThrow(
      'neither Content-Length nor a chunked body',
    );
  });

  it('when the server compresses with a method other than gzip', async () => {
    const server = await startWebServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'br' }).end('x'),
    );
    await expect(collect(connect({ url: server.origin }))).rejects.toThrow('compresses the file with br');
  });

  it('when the certificate is invalid, or the port does not use TLS', async () => {
    const server = await startWebServer((_request, response) => response.end('x'));
    await expect(collect(connect({ url: `https://127.0.0.1:${server.port}` }))).rejects.toThrow(
      'does not speak TLS',
    );
  });
});
