import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { hasNginx, startNginx, startNodeProxy } from '../support/proxies.ts';
import { send } from '../support/raw-http.ts';
import { type Answer, useOwnService } from '../support/service.ts';

const admin = { user: 'ops', password: 'gizli' };
const service = useOwnService({
  because: 'a proxy is trusted',
  roles: ['api'],
  config: { trustedProxies: ['127.0.0.1/32'] },
});
const withPassword = useOwnService({
  because: 'a proxy is trusted',
  roles: ['api'],
  config: { trustedProxies: ['127.0.0.1/32'], admin },
});

beforeAll(() => {
  if (!hasNginx())
    console.error('nginx is not installed: its tests are left out (apt-get install nginx-light).');
});

const count = (answers: Answer[], status: number) => answers.filter((it) => it.status === status).length;

describe.each([
  { name: 'a proxy', start: startNodeProxy, left: false, network: '127.0.5' },
  { name: 'nginx', start: startNginx, left: !hasNginx(), network: '127.0.6' },
])('behind $name', ({ start, left, network }) => {
  const proxy = async (upstream: string, options: { forwards: boolean }) => {
    const started = await start(upstream, options);
    onTestFinished(() => started.close());
    return started.url;
  };

  it.skipIf(left)(
    "the API shows none of the operators' pages, although the proxy passes everything on",
    async () => {
      const url = await proxy(service.url, { forwards: false });
      expect((await send(`${url}/healthz`, {})).status).toBe(200);
      for (const path of [
        '/ops',
        '/ops/',
        '/ops/queues',
        '/ops/queues/api/queues',
        '/ops/../ops',
        '/%6fps',
      ]) {
        expectProblem(await send(url + path, {}), 404);
      }
    },
  );

  it.skipIf(left)('clients that guess API keys are throttled one by one', async () => {
    const url = await proxy(service.url, { forwards: true });
    const ask = (from: string, key: string, headers: Record<string, string> = {}) =>
      send(`${url}/v1/banks`, { from, headers: { ...headers, Authentication: key } });
    const guess = (headers: Record<string, string>) =>
      ask(`${network}.1`, `lb_${randomBytes(32).toString('base64url')}`, headers);
    const guesses = await Promise.all(
      Array.from({ length: 110 }, (_, i) => guess({ 'X-Forwarded-For': `203.0.113.${i}` })),
    );
    expect([count(guesses, 401), count(guesses, 429)]).toEqual([100, 10]);
    const { api_key: key } = await service.customer();
    expect((await ask(`${network}.2`, key)).status).toBe(200);
  });

  it.skipIf(left)('clients that guess the password are throttled one by one', async () => {
    const url = await proxy(withPassword.opsUrl, { forwards: true });
    const ask = (from: string, password: string) =>
      send(`${url}/ops`, { from, headers: { Authorization: `Basic ${btoa(`ops:${password}`)}` } });
    const guesses = await Promise.all(Array.from({ length: 12 }, (_, i) => ask(`${network}.1`, String(i))));
    expect([count(guesses, 401), count(guesses, 429)]).toEqual([10, 2]);
    expect((await ask(`${network}.2`, admin.password)).status).toBe(200);
  });
});
