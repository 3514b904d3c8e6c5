import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

describe('authentication', () => {
  it.each([
    ['Authentication: <key>', (key: string) => ({ Authentication: key })],
    ['Authentication: Bearer <key>', (key: string) => ({ Authentication: `Bearer ${key}` })],
    ['Authorization: Bearer <key>', (key: string) => ({ Authorization: `Bearer ${key}` })],
    ['authorization: bearer <key>', (key: string) => ({ authorization: `bearer ${key}` })],
  ])('accepts %s', async (_form, headers) => {
    const { api_key } = await service.customer();
    expect((await service.call('GET', '/v1/accounts', { headers: headers(api_key) })).status).toBe(200);
  });

  it.each([
    ['no header', () => ({})],
    ['an empty header', () => ({ Authentication: '' })],
    ['an unknown key', () => ({ Authentication: 'lb_unknownMARKER' })],
    ['a key cut short', (key: string) => ({ Authentication: key.slice(0, -1) })],
    ['a key in another case', (key: string) => ({ Authentication: key.toUpperCase() })],
    ['a key with text after it', (key: string) => ({ Authentication: `${key} MARKER` })],
    ['Authorization without Bearer', (key: string) => ({ Authorization: key })],
    ['Authorization: Basic', (key: string) => ({ Authorization: `Basic ${btoa(`${key}:`)}` })],
    [
      "the key's SHA-256",
      () => ({ Authentication: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' }),
    ],
  ])('answers 401 to %s', async (_case, headers) => {
    const { api_key } = await service.customer();
    const answer = await service.call('GET', '/v1/accounts', { headers: headers(api_key) });
    expectProblem(answer, 401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect(JSON.stringify(answer.body)).not.toMatch(/MARKER|lb_/);
  });

  it('requires a key before it reveals what exists, whatever the method, path and body', async () => {
    for (const [method, path] of [
      ['GET', '/v1/webhooks/1'],
      ['GET', '/v1/nothing'],
      ['PUT', '/v1/webhooks'],
      ['DELETE', '/v1/webhooks/1'],
    ] as const) {
      expectProblem(await service.call(method, path), 401);
    }
    expectProblem(await service.call('POST', '/v1/imports', { body: '{', type: 'text/csv' }), 401);
  });

  it('stores only the SHA-256 of a key and a prefix that is not accepted as a key', async () => {
    const { api_key, customer } = await service.customer();
    const [row] = await service.runtime.database.query<{ prefix: string; key_hash: Buffer }[]>(
      'SELECT prefix, key_hash FROM api_keys WHERE customer_id = ?',
      [customer.id],
    );
    expect(row?.key_hash).toHaveLength(32);
    expect(api_key.startsWith(row?.prefix ?? '-')).toBe(true);
    expectProblem(await service.call('GET', '/v1/accounts', { key: row?.prefix ?? '' }), 401);
  });
});
