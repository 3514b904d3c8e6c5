import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createAccount, largeImport, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

// No importer: a large import stays queued until the test itself ends it.
const service = useService({ roles: ['api'] });

const make = (key: string, body: unknown) => service.call('POST', '/v1/apikeys', { key, body });
const remove = (key: string, id: string) => service.call('DELETE', `/v1/apikeys/${id}`, { key });
const accountsOf = async (key: string) => {
  const { status, body } = await service.call('GET', '/v1/accounts', { key });
  return status === 200 ? body.accounts.map(({ id }: { id: number }) => String(id)) : status;
};
const countKeys = async () =>
  (await service.runtime.database.query<{ n: string }[]>('SELECT COUNT(*) AS n FROM api_keys'))[0]?.n;

describe('the list of API keys', () => {
  it("shows each key's beginning, scopes and last use, but never the key", async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const scopes = ['webhooks', 'read', 'read'];
    const made = (await make(key, { title: 'Dar', account: [account.id], scopes })).body.apikey;
    const { body } = await service.call('GET', '/v1/apikeys', { key });
    expect(body.apikeys).toEqual([
      {
        id: expect.any(Number),
        prefix: key.slice(0, 9),
        title: 'First key',
        account: 'all',
        scopes: ['read', 'import', 'webhooks', 'admin'],
        created_at: expect.any(String),
        last_used_at: expect.any(String),
      },
      {
        id: made.id,
        prefix: made.apikey.slice(0, 9),
        title: 'Dar',
        account: [Number(account.id)],
        scopes: ['read', 'webhooks'],
        created_at: expect.any(String),
        last_used_at: null,
      },
    ]);
    expect(JSON.stringify(body)).not.toContain(made.apikey);
    expectProblem(await service.call('GET', '/v1/apikeys', { key: made.apikey }), 403);
  });

  it('continues where Link says, and has a last page', async () => {
    const { api_key: key } = await service.customer();
    for (const title of ['one', 'two']) await make(key, { title, account: 'all' });
    const first = await service.call('GET', '/v1/apikeys?per_page=2', { key });
    const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(first.headers.get('link') ?? '') ?? [];
    const second = await service.call('GET', next, { key });
    const titles = [first, second].map(({ body }) =>
      body.apikeys.map(({ title }: { title: string }) => title),
    );
    expect(titles).toEqual([['First key', 'one'], ['two']]);
    expect(second.headers.get('link')).toBeNull();
  });
});

describe('the scopes of an API key', () => {
  it.each([
    ['read', 'POST', '/v1/webhooks'],
    ['read', 'POST', '/v1/imports'],
    ['read', 'POST', '/v1/accounts'],
    ['import', 'GET', '/v1/transactions?starts=2026-01-01'],
    ['import', 'DELETE', '/v1/webhooks/1'],
    ['webhooks', 'GET', '/v1/settings/api'],
    ['webhooks', 'POST', '/v1/apikeys'],
    ['admin', 'GET', '/v1/webhooks'],
  ])('limited to %s do not allow %s %s', async (scope, method, path) => {
    const { api_key: key } = await service.customer();
    const { apikey } = (await make(key, { title: scope, account: 'all', scopes: [scope] })).body.apikey;
    const refused = await service.call(method, path, {
      key: apikey,
      body: method === 'GET' ? undefined : {},
    });
    expectProblem(refused, 403);
    expect(refused.body.detail).toContain('lacks the scope');
  });

  it('are refused if they are empty or invalid', async () => {
    const { api_key: key } = await service.customer();
    for (const scopes of [[], ['write'], 'read', [1]]) {
      const [path] = expectProblem(await make(key, { title: 'x', account: 'all', scopes }), 422) ?? [];
      expect(path).toMatch(/^scopes/);
    }
  });
});

describe('API keys', () => {
  it('are created for all accounts or for some, and shown once', async () => {
    const { api_key: key } = await service.customer();
    const [one, two] = [await createAccount(service, key), await createAccount(service, key)];
    const all = await make(key, { title: 'Hepsi', account: 'all' });
    expect([all.status, all.body]).toEqual([
      200,
      { apikey: { id: expect.any(Number), apikey: expect.stringMatching(/^lb_/) } },
    ]);
    expect(await accountsOf(all.body.apikey.apikey)).toEqual([one.id, two.id]);
    const some = await make(key, { title: 'Biri', account: [Number(two.id), two.id] });
    expect(await accountsOf(some.body.apikey.apikey)).toEqual([two.id]);
    const rows = await service.runtime.database.query<object[]>('SELECT * FROM api_keys');
    expect(JSON.stringify(rows)).not.toContain(all.body.apikey.apikey);
  });

  it('are refused for accounts of others and for invalid fields, and then no key is created', async () => {
    const [{ api_key: key }, other] = [await service.customer(), await service.customer()];
    const mine = await createAccount(service, key);
    const foreign = await createAccount(service, other.api_key);
    const before = await countKeys();
    for (const [body, path] of [
      [{ title: 'x', account: [mine.id, foreign.id] }, 'account.1'],
      [{ title: 'x', account: ['999999'] }, 'account.0'],
      [{ title: 'x', account: [] }, 'account'],
      [{ title: 'x', account: mine.id }, 'account'],
      [{ title: 'x' }, 'account'],
      [{ title: '', account: 'all' }, 'title'],
      [{ account: 'all' }, 'title'],
      [{ title: 'x', account: 'all', admin: true }, 'admin'],
    ] as const) {
      expect(expectProblem(await make(key, body), 422)).toEqual([path]);
    }
    expect(await countKeys()).toBe(before);
  });

  it('limited to accounts cannot create keys, and can delete only themselves', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const limited = (await make(key, { title: 'Dar', account: [account.id] })).body.apikey;
    const another = (await make(key, { title: 'Dar', account: [account.id] })).body.apikey;
    expectProblem(await make(limited.apikey, { title: 'x', account: [account.id] }), 403);
    expectProblem(await remove(limited.apikey, another.id), 403);
    expect((await remove(limited.apikey, limited.id)).body).toEqual({ status: 'success' });
    expect(await accountsOf(limited.apikey)).toBe(401);
    expect(await accountsOf(another.apikey)).toEqual([account.id]);
  });

  it("can be deleted, also by themselves, and another customer's key is answered like an unknown one", async () => {
    const [{ api_key: key }, other] = [await service.customer(), await service.customer()];
    const { id, apikey } = (await make(key, { title: 'x', account: 'all' })).body.apikey;
    expectProblem(await remove(other.api_key, id), 404);
    expectProblem(await remove(other.api_key, '999999'), 404);
    expect(await accountsOf(apikey)).toEqual([]);
    const answer = await remove(apikey, id);
    expect([answer.status, answer.body]).toEqual([200, { status: 'success' }]);
    expect(await accountsOf(apikey)).toBe(401);
    expectProblem(await remove(key, id), 404);
  });

  it('cannot be deleted while an import that was sent with them is unfinished', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const { id, apikey } = (await make(key, { title: 'x', account: 'all' })).body.apikey;
    const { status, body } = await service.call('POST', '/v1/imports', {
      key: apikey,
      body: largeImport(account.id),
    });
    expect(status).toBe(202);
    const refused = await remove(key, id);
    expectProblem(refused, 409);
    expect(refused.body.detail).toContain(`Import ${body.import.id}`);
    expect(await accountsOf(apikey)).toEqual([account.id]);
    await service.runtime.database.query("UPDATE imports SET status = 'done' WHERE id = ?", [body.import.id]);
    expect((await remove(key, id)).status).toBe(200);
  });

  it.each([
    ['application/json', 0],
    ['application/x-ndjson', 0],
    ['application/x-ndjson', 1_500],
  ])(
    'that are deleted during an upload make its answer 401, and nothing is kept: %s, %i rows before',
    async (type, before) => {
      const { api_key: key, customer } = await service.customer();
      const account = await createAccount(service, key);
      const { id, apikey } = (await make(key, { title: 'x', account: 'all' })).body.apikey;
      const row = JSON.stringify(movement(account.id));
      const body = type === 'application/json' ? `{"transactions":[${row}]}` : `${row}\n`;
      const upload = startUpload(apikey, type);
      // The import gets its row after two parts, and this is less.
      upload.write(`${row}\n`.repeat(before) + body.slice(0, 10));
      await until('the upload has begun', () => upload.socket?.bytesWritten);
      // The key is looked up before the body is read, and so before the key of this later request.
      await service.call('GET', '/v1/accounts', { key: apikey });
      expect((await remove(key, id)).status).toBe(200);
      upload.end(body.slice(10));
      const [answer] = (await once(upload, 'response')) as [IncomingMessage];
      expect(answer.statusCode).toBe(401);
      answer.resume();
      expect(await importsOf(customer.id)).toEqual([]);
    },
  );

  it('that are being deleted while an upload is staged make its answer 401', async () => {
    const { database } = service.runtime;
    const { api_key: key, customer } = await service.customer();
    const account = await createAccount(service, key);
    const { id, apikey } = (await make(key, { title: 'x', account: 'all' })).body.apikey;
    const row = JSON.stringify(movement(account.id));
    const deletion = database.createQueryRunner();
    await deletion.startTransaction();
    await deletion.query('DELETE FROM api_keys WHERE id = ?', [id]);
    const answer = service.call('POST', '/v1/imports', {
      key: apikey,
      type: 'application/x-ndjson',
      body: row,
    });
    await until('the import waits for the key', async () => {
      const waiting = await database.query<object[]>(
        `SELECT id FROM information_schema.processlist
           WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%INSERT INTO imports%'`,
      );
      return waiting.length > 0;
    });
    await deletion.commitTransaction();
    await deletion.release();
    expectProblem(await answer, 401);
    expect(await importsOf(customer.id)).toEqual([]);
  });

  it('cannot be deleted while a long upload with them comes in', async () => {
    const { api_key: key, customer } = await service.customer();
    const { id, apikey } = (await make(key, { title: 'x', account: 'all' })).body.apikey;
    const upload = startUpload(apikey, 'application/x-ndjson');
    upload.write('\n'.repeat(3 * 1024 * 1024));
    await until('it has its row', async () => (await importsOf(customer.id)).length === 1);
    expectProblem(await remove(key, id), 409);
    upload.end();
    const [answer] = (await once(upload, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(202);
    answer.resume();
  });
});

const startUpload = (key: string, type: string) =>
  request(`${service.url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: key, 'Content-Type': type },
  });

const importsOf = (customerId: string) =>
  service.runtime.database.query<object[]>('SELECT id, status FROM imports WHERE customer_id = ?', [
    customerId,
  ]);
