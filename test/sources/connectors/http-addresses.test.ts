import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import { answering } from '../../platform/addresses/fixed-answers.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { collect } from './collect.ts';
import { useHttpSource } from './http-source.ts';
import { startWebServer } from './web-server.ts';

const connect = useHttpSource();
const strict = createAddressGuard({ allow: [], subject: 'source' });

describe('the address of an HTTP source', () => {
  it.each(['http://127.0.0.1/', 'http://[::1]/', 'http://localhost/', 'http://10.0.0.1/', 'http://0x7f.1/'])(
    'is refused when it is %s',
    async (url) => {
      await expect(collect(connect({ url }, { guard: strict }))).rejects.toThrow(
        'Sources are read from public addresses only',
      );
    },
  );

  it('is refused when a name leads to it, even if the name led elsewhere when the source was created', async () => {
    const { resolve } = answering(['93.184.216.34'], ['127.0.0.1']);
    const guard = createAddressGuard({ allow: [], subject: 'source', resolve });
    const url = 'http://bank.example/statement.sta';
    expect(await guard.checkEndpoint(new URL(url))).toBeNull();
    await expect(collect(connect({ url }, { guard }))).rejects.toThrow(
      'leads to an address that is loopback',
    );
  });

  it('gives an error that says whether nobody listens or the name does not exist', async () => {
    const port = await reservePort();
    await expect(collect(connect({ url: `http://127.0.0.1:${port}/` }))).rejects.toThrow(
      'refuses connections',
    );
    await expect(collect(connect({ url: 'http://bank.invalid/' }))).rejects.toThrow(/DNS/);
  });
});

describe('a redirect of an HTTP source', () => {
  it('is followed three times at most', async () => {
    const server = await startWebServer((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('movements');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    expect(await collect(connect({ url: `${server.origin}/3` }))).toMatchObject([{ text: 'movements' }]);
    await expect(collect(connect({ url: `${server.origin}/4` }))).rejects.toThrow(
      'redirects more than 3 times',
    );
  });

  it('to a private address is refused', async () => {
    const inside = await startWebServer((_request, response) => response.end('internal'));
    const bank = await startWebServer((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.2:${inside.port}/` }).end(),
    );
    const guard = createAddressGuard({ allow: ['127.0.0.1/32'], subject: 'source' });
    await expect(collect(connect({ url: bank.origin }, { guard }))).rejects.toThrow('loopback');
    expect(inside.requests).toEqual([]);
  });

  it('to a name that leads to a private address is refused', async () => {
    const inside = await startWebServer((_request, response) => response.end('internal'));
    const bank = await startWebServer((_request, response) =>
      response.writeHead(307, { location: `http://inside.example:${inside.port}/` }).end(),
    );
    const { resolve } = answering(['127.0.0.2']);
    const guard = createAddressGuard({ allow: ['127.0.0.1/32'], subject: 'source', resolve });
    await expect(collect(connect({ url: bank.origin }, { guard }))).rejects.toThrow(
      'leads to an address that is loopback',
    );
    expect(inside.requests).toEqual([]);
  });

  it('keeps the credentials within one origin, and drops them to another origin', async () => {
    const other = await startWebServer((_request, response) =>
      response.setHeader('ETag', '"1"').end('movements'),
    );
    const bank = await startWebServer((request, response) => {
      const location = request.url === '/away' ? `${other.origin}/file` : `/away`;
      response.writeHead(302, { location }).end();
    });
    const credentials = { bearer: 'gizli', headers: { 'X-Api-Key': 'gizli' } };
    expect(await collect(connect({ url: `${bank.origin}/here` }, { credentials }))).toHaveLength(1);
    expect(bank.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer gizli',
      'Bearer gizli',
    ]);
    expect(JSON.stringify(other.requests[0]?.headers)).not.toContain('gizli');
  });

  it.each(['ftp://bank.example/file', 'file:///etc/passwd', 'http://user:secret@bank.example/'])(
    'to %s is refused',
    async (location) => {
      const server = await startWebServer((_request, response) =>
        response.writeHead(301, { location }).end(),
      );
      await expect(collect(connect({ url: server.origin }))).rejects.toMatchObject({ name: 'SourceError' });
    },
  );
});
