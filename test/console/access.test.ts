import { describe, expect, it } from 'vitest';
import { createOneTimeAdmin } from '../../src/platform/config.ts';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { useOwnService } from '../support/service.ts';

const open = useOwnService({ because: 'the console counts failed sign-ins', roles: ['api'] });
const closed = useOwnService({
  because: 'the console has a password',
  roles: ['api'],
  config: { admin: { user: 'yönetici', password: 'gizli:MARKER' } },
});

const PATHS = [
  '/ops',
  '/ops/',
  '/ops/movements?customer=1&format=csv',
  '/ops/queues',
  '/ops/queues/',
  '/ops/queues/api/queues',
  '/ops/nothing',
  '/metrics',
];

/** Wrong passwords are counted by address. */
let addresses = 0;
function newAddress(): string {
  addresses += 1;
  return `127.0.3.${addresses}`;
}

const basic = (credentials: string) => ({
  Authorization: `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`,
});

describe('the listeners of the API and of operators', () => {
  it.each(PATHS)("show %s on the operators' listener only", async (path) => {
    expect((await send(open.opsUrl + path, {})).status).not.toBe(403);
    expectProblem(await send(open.url + path, {}), 404);
    expectProblem(await send(closed.url + path, { headers: basic('yönetici:gizli:MARKER') }), 404);
  });

  it.each(['/healthz', '/readyz', '/problems/forbidden'])(
    'show %s to everybody, on both listeners',
    async (path) => {
      for (const url of [closed.url, closed.opsUrl]) {
        const answer = await send(url + path, {
          headers: { Host: '10.0.0.1', 'X-Forwarded-For': '10.0.0.2' },
        });
        expect(answer.status).toBe(200);
      }
    },
  );

  it("ask for an operator's token on the operators' listener, and for an API key on the API's", async () => {
    for (const { callOps } of [open, closed])
      expectProblem(await callOps('GET', '/v1/banks'), 401, 'missing-operator-token');
    expectProblem(await open.call('GET', '/v1/banks'), 401, 'missing-api-key');
  });

  it('have documents of their own', async () => {
    const title = async (answer: Promise<{ body: { info: { title: string } } }>) =>
      (await answer).body.info.title;
    expect(await title(open.call('GET', '/openapi.json'))).toBe('Ledgerbell');
    expect(await title(closed.callOps('GET', '/openapi.json'))).toBe('Ledgerbell for operators');
    expect((await closed.callOps('GET', '/docs')).status).toBe(200);
  });
});

describe('the console without a password', () => {
  it.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]'])('answers on this machine as %s', async (name) => {
    const { port } = new URL(open.opsUrl);
    for (const host of [name, `${name}:${port}`]) {
      expect((await send(`${open.opsUrl}/ops`, { headers: { Host: host } })).status).toBe(200);
    }
  });

  it.each([
    { 'X-Forwarded-For': '127.0.0.1' },
    { 'x-forwarded-for': '' },
    { 'X-Real-IP': '127.0.0.1' },
    { Forwarded: 'for=127.0.0.1' },
    { Via: '1.1 proxy' },
    { Host: 'rebound.example' },
    { Host: 'localhost.example' },
    { Host: '127.0.0.1.example:3000' },
    { Host: '10.0.0.1' },
  ])('answers 403 to a request that only seems to come from this machine: %j', async (headers) => {
    for (const path of PATHS) expectProblem(await send(open.opsUrl + path, { headers }), 403);
  });
});

describe('the console with a password made by its process', () => {
  const made = useOwnService({
    because: 'the console has a password',
    roles: ['api'],
    config: { admin: createOneTimeAdmin() },
  });
  const signIn = () => basic(`admin:${made.runtime.config.admin?.password}`);

  it('accepts the password only on this machine', async () => {
    expect((await send(`${made.opsUrl}/ops`, { headers: signIn() })).status).toBe(200);
    const forwarded = { 'X-Forwarded-For': '127.0.0.1', ...signIn() };
    expectProblem(await send(`${made.opsUrl}/ops`, { headers: forwarded }), 403);
  });

  it.each(PATHS.filter((path) => path !== '/metrics'))('asks for the password at %s', async (path) => {
    const answer = await send(made.opsUrl + path, {});
    expectProblem(answer, 401);
    expect(answer.body.detail).toMatch(/printed when it started/);
  });

  it('shows the metrics without the password, only on this machine', async () => {
    expect((await send(`${made.opsUrl}/metrics`, {})).status).toBe(200);
    expectProblem(await send(`${made.opsUrl}/metrics`, { headers: { Host: 'rebound.example' } }), 403);
  });
});

describe('the console with a configured password', () => {
  it('accepts the password from any address', async () => {
    for (const headers of [{}, { 'X-Forwarded-For': '93.184.216.34' }, { Host: 'ops.example' }]) {
      const answer = await send(`${closed.opsUrl}/ops`, {
        headers: { ...headers, ...basic('yönetici:gizli:MARKER') },
      });
      expect(answer.status).toBe(200);
    }
  });

  it.each([
    {},
    basic('yönetici:'),
    basic('yönetici:gizli'),
    basic('yönetici:gizli:MARKER '),
    basic('Yönetici:gizli:MARKER'),
    basic(':'),
    basic(''),
    { Authorization: 'Basic' },
    { Authorization: 'Basic %%%' },
    { Authorization: 'Bearer gizli:MARKER' },
  ])('answers 401 to any other credentials: %j', async (headers) => {
    for (const path of PATHS) {
      const answer = await send(closed.opsUrl + path, { headers, from: newAddress() });
      expectProblem(answer, 401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
      expect(JSON.stringify(answer.body)).not.toContain('MARKER');
    }
  });

  it('answers 429 after ten wrong passwords in a minute, also to the right one, but not at other addresses', async () => {
    const ask = (from: string, headers: Record<string, string>) =>
      send(`${closed.opsUrl}/ops`, { from, headers });
    const [guesser, operator] = ['127.0.2.1', '127.0.2.2'];
    const wrong = await Promise.all(
      Array.from({ length: 30 }, (_, i) => ask(guesser, basic(`yönetici:${i}`))),
    );
    const refused = wrong.filter(({ status }) => status === 429);
    expect([wrong.length - refused.length, refused.length]).toEqual([10, 20]);
    for (const answer of [...refused, await ask(guesser, basic('yönetici:gizli:MARKER'))]) {
      expectProblem(answer, 429);
      expect(answer.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    }
    // A browser's first request, without a password, is no guess.
    for (let i = 0; i < 20; i += 1) expectProblem(await ask(operator, {}), 401);
    expect((await ask(operator, basic('yönetici:gizli:MARKER'))).status).toBe(200);
  });

  it('does not accept an API key', async () => {
    const { api_key: key } = await closed.customer();
    expectProblem(await closed.callOps('GET', '/ops', { key }), 401);
  });
});
