import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import type { Caller } from '../../src/customers/caller.ts';
import { createBaseApp } from '../../src/http/app.ts';
import { startServer } from '../../src/http/listener.ts';
import { readConfig } from '../../src/platform/config.ts';
import { send } from '../support/raw-http.ts';

it('the request log names the client of each request, also behind a trusted proxy, and its route, and nothing of its path and query', async () => {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) });
  const app = createBaseApp({ config: readConfig({ TRUSTED_PROXIES: '127.0.0.1/32' }), log });
  app.use('/*', async (c, next) => {
    c.set('caller', { customerId: '7' } as Caller);
    await next();
  });
  app.get('/webhooks/:id', (c) => c.text('here'));
  const server = await startServer(app.fetch, {
    name: 'api',
    variable: 'PORT',
    keepAlive: 75,
    host: '127.0.0.1',
    port: 0,
  });
  onTestFinished(() => server.stop());

  const headers = { 'X-Forwarded-For': '198.51.100.1, 203.0.113.7' };
  await send(`${server.url}/webhooks/MARKER?iban=MARKER`, { headers });
  await send(`${server.url}/MARKER`, { headers, from: '127.0.0.9' });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      msg: 'request',
      method: 'GET',
      route: '/webhooks/:id',
      status: 200,
      durationMs: expect.any(Number),
      customerId: '7',
      requestId: expect.any(String),
      clientAddress: '203.0.113.7',
    },
    { status: 404, clientAddress: '127.0.0.9' },
  ]);
  expect(lines[1]).not.toContain('"route"');
  expect(lines.join('')).not.toContain('MARKER');
});
