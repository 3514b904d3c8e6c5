import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { useService } from '../support/service.ts';

const open = useService({ roles: ['api'] });
const closed = useService({
  roles: ['api'],
  config: { admin: { user: 'yönetici', password: 'gizli:MARKER' } },
});

const PATHS = ['/ops', '/ops/', '/ops/queues', '/ops/queues/', '/ops/queues/api/queues', '/ops/nothing'];

const basic = (credentials: string) => ({
  Authorization: `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`,
});

describe('the console without a password', () => {
  it.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]'])('answers on this machine as %s', async (name) => {
    const { port } = new URL(open.url);
    for (const host of [name, `${name}:${port}`]) {
      expect((await send(`${open.url}/ops`, { headers: { Host: host } })).status).toBe(200);
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
  ])('answers 403 to what only seems to come from it: %j', async (headers) => {
    for (const path of PATHS) expectProblem(await send(open.url + path, { headers }), 403);
  });
});

describe('the console with a password', () => {
  it('answers to it, from wherever', async () => {
    for (const headers of [{}, { 'X-Forwarded-For': '93.184.216.34' }, { Host: 'ops.example' }]) {
      const answer = await send(`${closed.url}/ops`, {
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
  ])('answers 401 to anything else: %j', async (headers) => {
    for (const path of PATHS) {
      const answer = await send(closed.url + path, { headers });
      expectProblem(answer, 401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
      expect(JSON.stringify(answer.body)).not.toContain('MARKER');
    }
  });

  it('does not answer to an API key', async () => {
    const { api_key: key } = await closed.customer();
    expectProblem(await closed.call('GET', '/ops', { key }), 401);
  });
});
