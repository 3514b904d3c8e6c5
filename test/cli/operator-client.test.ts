import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createOperatorApi, findOperatorAccess, findOwner } from '../../src/cli/operator-client.ts';
import { readClientConfig, readConfig } from '../../src/platform/config.ts';
import { createOperatorToken } from '../../src/platform/tokens.ts';
import { publishLocalToken } from '../../src/servers/local-token.ts';
import { temporaryDirectory } from '../servers/embedded/directory.ts';

const Anything = v.looseObject({});
const token = createOperatorToken();

let dataDir: string;
beforeEach(async () => {
  dataDir = await temporaryDirectory();
  vi.stubEnv('TMPDIR', await temporaryDirectory());
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Starts a server that plays the service. @returns its URL and what it is asked. */
async function serve(answer: RequestListener) {
  const asked: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    asked.push({ url: request.url, headers: request.headers });
    answer(request, response);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const answering =
  (status: number, body: object): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

const access = (env: Record<string, string> = {}) =>
  findOperatorAccess({
    readConfig: () => readConfig({ DATA_DIR: dataDir, ...env }),
    readClientConfig: () => readClientConfig(env),
  });

describe('the access of an operator', () => {
  const ofToken = { LEDGERBELL_OPERATOR_TOKEN: token };

  it.each([
    [{}, 'http://127.0.0.1:3001'],
    [{ PORT: '8000' }, 'http://127.0.0.1:8001'],
    [{ OPS_PORT: '9000', OPS_HOST: '::1' }, 'http://[::1]:9000'],
    [{ LEDGERBELL_OPS_URL: 'https://ops.example/bank' }, 'https://ops.example/bank'],
  ])('with a token and %j is at %s', (env, url) => {
    expect(access({ ...ofToken, ...env })).toEqual({ url, token, isLocal: false });
  });

  it('can be in files', async () => {
    await writeFile(join(dataDir, 'token'), `${token}\n`);
    await writeFile(join(dataDir, 'url'), 'http://ops.example:1/\n');
    const env = {
      LEDGERBELL_OPERATOR_TOKEN_FILE: join(dataDir, 'token'),
      LEDGERBELL_OPS_URL_FILE: join(dataDir, 'url'),
    };
    expect(access(env)).toEqual({ url: 'http://ops.example:1/', token, isLocal: false });
  });

  it('reads no other configuration when both variables are set', () => {
    const env = { ...ofToken, LEDGERBELL_OPS_URL: 'http://ops.example', PORT: 'wrong' };
    expect(access(env)).toMatchObject({ url: 'http://ops.example/' });
  });

  it.each([[{ PORT: '0' }], [{ PORT: '65535' }], [{ OPS_PORT: '0' }]])(
    'needs a URL with %j, because the port is not known',
    (env) => {
      expect(() => access({ ...ofToken, ...env })).toThrow(
        /^LEDGERBELL_OPS_URL must be set .* says no port\.$/,
      );
    },
  );

  it('is that of a service on this machine when there is no token', () => {
    const withdraw = publishLocalToken({ dataDir, runtimeDirs: [], token, url: 'http://127.0.0.1:4711' });
    expect(access()).toEqual({ url: 'http://127.0.0.1:4711', token, isLocal: true });
    withdraw?.();
    expect(() => access()).toThrow(
      `No running service has left a token for this user and DATA_DIR ${dataDir}: start one (ledgerbell start), or set LEDGERBELL_OPERATOR_TOKEN, and LEDGERBELL_OPS_URL if the service is not at http://127.0.0.1:3001.`,
    );
    expect(() => access({ PORT: '0' })).toThrow('LEDGERBELL_OPS_URL to say where the service is.');
  });

  it('is not that of a service on this machine when another one is named', () => {
    publishLocalToken({ dataDir, runtimeDirs: [], token, url: 'http://127.0.0.1:4711' });
    expect(() => access({ LEDGERBELL_OPS_URL: 'http://ops.example' })).toThrow(
      'LEDGERBELL_OPERATOR_TOKEN must be set when LEDGERBELL_OPS_URL is: it is the token for http://ops.example/.',
    );
  });

  it.each([
    ['LEDGERBELL_OPERATOR_TOKEN', `${token}x`],
    ['LEDGERBELL_OPERATOR_TOKEN', `lbop_\r\n${'x'.repeat(41)}`],
    ['LEDGERBELL_OPS_URL', 'http://operator:secret@ops.example'],
    ['LEDGERBELL_OPS_URL', 'ops.example:3001'],
  ])('says that %s is wrong, and does not show it', (name, value) => {
    const fail = () => access({ ...ofToken, [name]: value });
    expect(fail).toThrow(new RegExp(`^${name} must be `));
    expect(fail).not.toThrow(value);
  });
});

describe("the client of the operators' API", () => {
  it('sends the token, and no API key, customer or user that it does not have', async () => {
    const { url, asked } = await serve(answering(200, { status: 'ok' }));
    const api = createOperatorApi({ url: `${url}/`, token, isLocal: false });
    expect(await api.get('/v1/customers', Anything)).toEqual({ status: 'ok' });
    expect(asked).toMatchObject([{ url: '/v1/customers', headers: { authorization: `Bearer ${token}` } }]);
    for (const name of ['authentication', 'ledgerbell-customer', 'ledgerbell-user'])
      expect(asked[0]?.headers).not.toHaveProperty(name);
  });

  it.each([
    ['17', '17'],
    ['external_id:şube 1/a', 'external_id:%C5%9Fube%201%2Fa'],
    ['external_id:external_id:1', 'external_id:external_id%3A1'],
    ['17\r\nX-Other: 1', '17%0D%0AX-Other%3A%201'],
  ])('names the customer %j as %j', async (customer, header) => {
    const { url, asked } = await serve(answering(200, {}));
    await createOperatorApi({ url, token, isLocal: false }, customer).post('/v1/webhooks', {}, Anything);
    expect(asked[0]?.headers).toMatchObject({
      'ledgerbell-customer': header,
      'content-type': 'application/json',
    });
  });

  it('names the person with the token of this machine', async () => {
    const { url, asked } = await serve(answering(200, {}));
    await createOperatorApi({ url, token, isLocal: true }).get('/v1/customers', Anything);
    expect(asked[0]?.headers['ledgerbell-user']).toBe(encodeURIComponent(userInfo().username));
  });

  it.each([true, false])('says which address does not answer, local or not (%s)', async (isLocal) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Promise((closed) => server.close(closed));
    const asking = createOperatorApi({ url, token, isLocal }).get('/v1/customers', Anything);
    const error = await asking.catch((it: Error) => it);
    expect(error).toMatchObject({
      name: 'UnreachableError',
      message: expect.stringMatching(
        `^Nothing answers at ${url} \\(ECONNREFUSED\\)\\. .*\\(ledgerbell start\\)`,
      ),
    });
    expect(String(error)).not.toContain(token);
  });

  it('says which address does not know the token, and does not show it', async () => {
    const { url } = await serve(answering(401, { detail: 'The token is not known.' }));
    const asking = createOperatorApi({ url, token, isLocal: true }).get('/v1/customers', Anything);
    await expect(asking).rejects.toMatchObject({
      name: 'RefusedError',
      status: 401,
      message: `The token is not known. The request went to ${url}.`,
    });
  });

  it('waits while the process with the role api is started again, and sends what may have been done only once', async () => {
    let asked = 0;
    const { url } = await serve((request, response) => {
      asked += 1;
      const refuse = (type: string) => answering(503, { type: `/problems/${type}`, detail: type });
      const isLost = request.url === '/v1/lost';
      const answer = isLost
        ? refuse('unanswered')
        : asked < 3
          ? refuse('no-api-process')
          : answering(200, { asked });
      answer(request, response);
    });
    const api = createOperatorApi({ url, token, isLocal: true });
    expect(await api.post('/v1/customers', { name: 'x' }, Anything)).toEqual({ asked: 3 });
    await expect(api.post('/v1/lost', {}, Anything)).rejects.toMatchObject({ problem: 'unanswered' });
    expect(asked).toBe(4);
  });

  it('does not follow a redirect with the token', async () => {
    const other = await serve(answering(200, {}));
    const { url } = await serve((_request, response) => {
      response.writeHead(307, { location: other.url }).end('{}');
    });
    await createOperatorApi({ url, token, isLocal: false }).get('/v1/customers', Anything);
    expect(other.asked).toEqual([]);
  });
});

describe('the owner of an object', () => {
  it('is asked from the service', async () => {
    const { url, asked } = await serve(answering(200, { customers: [{ id: 7, name: 'Örnek', more: 1 }] }));
    const api = createOperatorApi({ url, token, isLocal: false });
    expect(await findOwner(api, 'webhook', '17')).toBe('7');
    expect(await findOwner(api, 'api_key', '18')).toBe('7');
    expect(await findOwner(api, 'withdrawal', '1&x=2')).toBe('7');
    expect(asked.map((it) => it.url)).toEqual([
      '/v1/customers?owner_of=webhook:17',
      '/v1/customers?owner_of=api_key:18',
      '/v1/customers?owner_of=withdrawal:1%26x%3D2',
    ]);
  });

  it.each([
    ['webhook', 'There is no webhook of that id, or it was deleted.'],
    ['api_key', 'There is no API key of that id.'],
    ['movement', 'There is no movement of that id.'],
  ] as const)('of a %s that does not exist: %s', async (kind, message) => {
    const { url } = await serve(answering(200, { customers: [] }));
    const asking = findOwner(createOperatorApi({ url, token, isLocal: false }), kind, '1');
    await expect(asking).rejects.toMatchObject({ name: 'Failure', message });
  });

  it('is not taken from another answer', async () => {
    const { url } = await serve(answering(200, { customers: [{ id: '7' }] }));
    await expect(
      findOwner(createOperatorApi({ url, token, isLocal: false }), 'import', '1'),
    ).rejects.toMatchObject({ name: 'Failure', message: expect.stringContaining('is that really') });
  });
});
