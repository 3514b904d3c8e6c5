import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { send, sendBytes } from '../support/raw-http.ts';
import { countRows } from '../support/rows.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

/** The routes that take a body. Each must refuse the bad ones. */
const BODY_ROUTES = ['/v1/webhooks', '/v1/accounts', '/v1/imports'];

describe('the API', () => {
  it.each([
    ['/v1/nothing', 'GET'],
    ['/nothing', 'GET'],
    ['/', 'GET'],
    ['/problems/MARKER', 'GET'],
    ['/docs/MARKER', 'GET'],
    ['/v1/accounts/%zz', 'GET'],
    ['/v1/accounts/%00', 'GET'],
    ['/v1/accounts/%C4', 'GET'],
    ['/v1/imports/1/nothing', 'POST'],
  ])('answers 404 to %s', async (path, method) => {
    const { api_key: key } = await service.customer();
    const answer = await service.call(method, path, { key });
    expectProblem(answer, 404);
    expect(JSON.stringify(answer.body)).not.toContain('MARKER');
  });

  it.each([
    ['PUT', '/v1/webhooks', ['GET', 'POST']],
    ['POST', '/v1/webhooks/1', ['DELETE', 'GET']],
    ['DELETE', '/v1/transactions', ['GET']],
    ['POST', '/v1/accounts/1/transactions', ['GET']],
    ['PATCH', '/v1/imports', ['GET', 'POST']],
    ['OPTIONS', '/v1/banks', ['GET']],
    ['POST', '/healthz', ['GET']],
    ['DELETE', '/docs', ['GET']],
  ])('answers 405 to %s %s, with Allow', async (method, path, allowed) => {
    const { api_key: key } = await service.customer();
    const answer = await service.call(method, path, { key });
    expectProblem(answer, 405);
    const allow = (answer.headers.get('allow') ?? '').split(/, */);
    expect(allow).toEqual(expect.arrayContaining(allowed));
    expect(allow).not.toContain(method);
  });

  it.each(BODY_ROUTES)(
    'answers 415 on %s to a body that is not declared as JSON, and 400 to broken JSON',
    async (path) => {
      const { api_key: key } = await service.customer();
      const before = await countRows(service);
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonMARKER']) {
        const answer = await service.call('POST', path, { key, body: '{}', type });
        expectProblem(answer, 415);
        expect(answer.body.detail).toContain('application/json');
        expect(answer.headers.get('accept')).toContain('application/json');
        expect(answer.body.detail.length).toBeLessThan(250);
        expect(JSON.stringify(answer.body)).not.toContain('MARKER');
      }
      expectProblem(
        await send(service.url + path, { method: 'POST', headers: { Authentication: key } }),
        415,
      );
      expectProblem(
        await service.call('POST', path, { key, body: '{}', headers: { 'Content-Encoding': 'gzip' } }),
        415,
      );
      const malformed = [
        '',
        ' ',
        '{',
        '{"MARKER":}',
        "{'a':1}",
        '{} {}',
        'NaN',
        '{"a":1,}',
        '['.repeat(200_000),
      ];
      for (const body of [
        ...malformed,
        Buffer.from('7b22c3287d', 'hex'),
        Buffer.from('{"a":"MARKER\xff"}', 'latin1'),
      ]) {
        const answer = await send(service.url + path, {
          method: 'POST',
          headers: { Authentication: key, 'Content-Type': 'application/json; charset=utf-8' },
          body: [body],
        });
        expectProblem(answer, 400);
        expect(JSON.stringify(answer.body)).not.toContain('MARKER');
      }
      expect(await countRows(service)).toEqual(before);
    },
  );

  it.each(BODY_ROUTES)('answers 422 on %s to JSON that is no object', async (path) => {
    const { api_key: key } = await service.customer();
    for (const body of ['null', '[]', '"MARKER"', '1', 'true', '{}']) {
      const answer = await service.call('POST', path, { key, body });
      expect(expectProblem(answer, 422).length).toBeGreaterThan(0);
      expect(JSON.stringify(answer.body)).not.toContain('MARKER');
    }
  });

  it("gives every answer a request id, which is the caller's own if it is plain", async () => {
    const { api_key: key } = await service.customer();
    const own = await service.call('GET', '/v1/banks', { key, headers: { 'X-Request-Id': 'my-id-1' } });
    expect(own.headers.get('x-request-id')).toBe('my-id-1');
    const refused = await service.call('GET', '/v1/no', {
      key,
      headers: { 'X-Request-Id': '<b>MARKER</b>' },
    });
    expectProblem(refused, 404);
    expect(refused.headers.get('x-request-id')).not.toContain('MARKER');
    const two = await Promise.all([1, 2].map(() => service.call('GET', '/healthz')));
    expect(new Set(two.map(({ headers }) => headers.get('x-request-id'))).size).toBe(2);
  });

  it.each([
    ['no HTTP at all', 'MARKER\r\n\r\n', 400],
    ['a broken header', 'GET /healthz HTTP/1.1\r\nHost: a\r\nMARKER\x00: b\r\n\r\n', 400],
    [
      'headers that are too large',
      `GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${'MARKER'.repeat(9_000)}\r\n\r\n`,
      431,
    ],
    ['no host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    [
      'an unknown expectation, which is passed over',
      'GET /v1/banks HTTP/1.1\r\nHost: a\r\nExpect: MARKER\r\nConnection: close\r\n\r\n',
      401,
    ],
    ['a host that is none', 'GET /healthz HTTP/1.1\r\nHost: MAR KER/\r\nConnection: close\r\n\r\n', 400],
    ['a target that is none', 'GET http://[MARKER/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 400],
    ['a backslash', 'GET /v1\\MARKER HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 400],
  ])('answers with a problem to %s', async (_case, bytes, status) => {
    const answer = await sendBytes(service.url, bytes);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/content-type: application\/problem\+json/i);
    expect(JSON.parse(body)).toMatchObject({ status, request_id: expect.stringMatching(/./) });
    expect(answer).not.toMatch(/MARKER|MAR KER/);
  });
});
