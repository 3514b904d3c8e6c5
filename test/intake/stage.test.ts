import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { stageImport } from '../../src/intake/stage.ts';
import { createAccount, importDone, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService({ roles: ['api', 'importer'] });

const send = (key: string, idempotencyKey: string, body: unknown, type?: string) =>
  service.call('POST', '/v1/imports', {
    key,
    body,
    headers: { 'Idempotency-Key': idempotencyKey },
    ...(type === undefined ? {} : { type }),
  });

const customerWithAccount = async () => {
  const { api_key: key } = await service.customer();
  return { key, account: (await createAccount(service, key)).id };
};

/** Rows for a body of several parts of 1 MiB. */
const longBody = (account: string) =>
  Array.from({ length: 6_000 }, (_, i) =>
    JSON.stringify(movement(account, { unique_id: `${i}`, description: 'x'.repeat(500) })),
  ).join('\n');

describe('an Idempotency-Key', () => {
  it.each(['application/json', 'application/x-ndjson'])(
    'leads to one import, however often a body of %s is sent',
    async (type) => {
      const { key, account } = await customerWithAccount();
      const row = movement(account);
      const body = JSON.stringify(type === 'application/json' ? { transactions: [row] } : row);
      const first = await send(key, 'once', body, type);
      const again = await send(key, 'once', body, type);
      expect([first.status, again.status]).toEqual([202, 202]);
      expect(again.body.import.id).toBe(first.body.import.id);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      await importDone(service, key, first.body.import.id);
      const late = await send(key, 'once', body, type);
      expect(late.body.import).toMatchObject({ id: first.body.import.id, status: 'done', inserted: 1 });
      expect((await service.call('GET', '/v1/imports', { key })).body.imports).toHaveLength(1);
    },
  );

  it.each([
    ['unidentified', 'unidentified=store', '/v1/imports', 'application/json'],
    ['account', 'account_id=ACCOUNT', '/v1/imports?create_accounts=true', 'application/octet-stream'],
    ['format', 'format=mt940', '/v1/imports?create_accounts=true', 'application/octet-stream'],
  ])('is refused for the same body with another %s', async (_, parameter, path, type) => {
    const { key, account } = await customerWithAccount();
    const body =
      type === 'application/json'
        ? JSON.stringify({ transactions: [movement(account)] })
        : ':20:A\n:25:TR330006100519786457841326\n:28C:1\n:60F:C260101TRY0,\n:61:2601020102C5,NTRFNONREF//B1\n:62F:C260102TRY5,\n-\n';
    const post = (query: string) =>
      service.call('POST', query, { key, body, type, headers: { 'Idempotency-Key': 'same' } });
    const first = await post(path);
    expect(first.status).toBe(202);
    const other = `${path}${path.includes('?') ? '&' : '?'}${parameter.replace('ACCOUNT', String(account))}`;
    expectProblem(await post(other), 409, 'idempotency-key-reused');
    expect((await post(path)).body.import.id).toBe(first.body.import.id);
  });

  it('is refused for another body', async () => {
    const { key, account } = await customerWithAccount();
    const first = await send(key, 'taken', { transactions: [movement(account)] });
    await importDone(service, key, first.body.import.id);
    const answer = await send(key, 'taken', { transactions: [movement(account, { amount: '1' })] });
    expectProblem(answer, 409, 'idempotency-key-reused');
    const other = await send(key, 'taken', longBody(account), 'application/x-ndjson');
    expectProblem(other, 409, 'idempotency-key-reused');
    const { body } = await service.call('GET', '/v1/imports', { key });
    expect(body.imports).toEqual([expect.objectContaining({ id: first.body.import.id, inserted: 1 })]);
  });

  it('is not used up by a body that was refused', async () => {
    const { key, account } = await customerWithAccount();
    expectProblem(await send(key, 'again', { transactions: [movement(account, { amount: 1 })] }), 422);
    expect((await send(key, 'again', { transactions: [movement(account)] })).status).toBe(202);
  });

  it.each([
    ['short', (account: string) => JSON.stringify(movement(account))],
    ['long', longBody],
  ])('lets one of several simultaneous %s requests through', async (_length, bodyOf) => {
    const { key, account } = await customerWithAccount();
    const body = bodyOf(account);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => send(key, 'race', body, 'application/x-ndjson')),
    );
    const ids = new Set<string>();
    for (const answer of answers) {
      if (answer.status === 202) ids.add(answer.body.import.id);
      else {
        expectProblem(answer, 409);
        expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      }
    }
    expect(ids.size).toBe(1);
    expect((await service.call('GET', '/v1/imports', { key })).body.imports).toHaveLength(1);
  });

  it('of two simultaneous requests with different bodies keeps one import', async () => {
    const { key, account } = await customerWithAccount();
    const answers = await Promise.all(
      ['1', '2', '3', '4'].map((amount) =>
        send(key, 'odd', { transactions: [movement(account, { amount })] }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses.filter((status) => status === 202)).toEqual([202]);
    for (const status of statuses) expect([202, 409, 422]).toContain(status);
    expect((await service.call('GET', '/v1/imports', { key })).body.imports).toHaveLength(1);
  });

  it('is free again after 24 hours', async () => {
    const { key, account } = await customerWithAccount();
    const first = await send(key, 'old', { transactions: [movement(account)] });
    const age = (hours: number) =>
      service.runtime.database.query(
        'UPDATE imports SET received_at = NOW(6) - INTERVAL ? MINUTE WHERE id = ?',
        [hours * 60, first.body.import.id],
      );
    await age(23.9);
    expect((await send(key, 'old', { transactions: [movement(account)] })).body.import.id).toBe(
      first.body.import.id,
    );
    await age(24.1);
    const second = await send(key, 'old', { transactions: [movement(account, { amount: '1' })] });
    expect(second.status).toBe(202);
    expect(second.body.import.id).not.toBe(first.body.import.id);
  });

  it('is compared byte by byte', async () => {
    const { key } = await customerWithAccount();
    const keys = ['a', 'A', '"a"', 'a a'];
    const ids = await Promise.all(
      keys.map(async (it) => (await send(key, it, { transactions: [] })).body.import.id),
    );
    expect(new Set(ids).size).toBe(keys.length);
  });

  it.each(['', 'x'.repeat(256), 'ÿ'])('is refused when it is invalid: %j', async (idempotencyKey) => {
    const { key } = await customerWithAccount();
    const answer = await send(key, idempotencyKey, { transactions: [] });
    expect(expectProblem(answer, 422)).toEqual(['Idempotency-Key']);
    expect((await service.call('GET', '/v1/imports', { key })).body).toEqual({ imports: [] });
  });
});

describe('an upload that breaks off', () => {
  it.each([
    ['in its first part', 1_000],
    ['after several parts', 4 * 1024 * 1024],
  ])('%s leaves nothing behind, and its Idempotency-Key free', async (_when, bytes) => {
    const { api_key: key, customer } = await service.customer();
    const { id: account } = await createAccount(service, key);
    /** Number of stored parts of the customer's upload. null: there is no upload. */
    const storedParts = async () => {
      const [row] = await service.runtime.database.query<{ parts: string }[]>(
        `SELECT COUNT(p.seq) AS parts FROM imports i LEFT JOIN import_parts p ON p.import_id = i.id
         WHERE i.customer_id = ? GROUP BY i.id`,
        [customer.id],
      );
      return row === undefined ? null : Number(row.parts);
    };
    const idempotencyKey = `broken ${bytes}`;
    const upload = request(`${service.url}/v1/imports`, {
      method: 'POST',
      headers: {
        Authentication: key,
        'Content-Type': 'application/x-ndjson',
        'Idempotency-Key': idempotencyKey,
      },
    });
    upload.on('error', () => {});
    upload.write(Buffer.alloc(bytes, `${JSON.stringify(movement(account))}\n`));
    if (bytes > 1024 * 1024) {
      await until('its first parts stored', async () => Number(await storedParts()) > 0);
      expect((await service.call('GET', '/v1/imports', { key })).body).toEqual({ imports: [] });
    }
    upload.destroy();
    await until('nothing left', async () => (await storedParts()) === null);
    const again = await send(key, idempotencyKey, JSON.stringify(movement(account)), 'application/x-ndjson');
    expect(again.status).toBe(202);
    expect(await importDone(service, key, again.body.import.id)).toMatchObject({ received: 1, inserted: 1 });
  });

  it('because its source fails leaves nothing behind', async () => {
    const { customer } = await service.customer();
    const { database } = service.runtime;
    async function* failing() {
      for (let i = 0; i < 3; i += 1) yield Buffer.alloc(1024 * 1024, '\n');
      throw new Error('the source failed');
    }
    const staging = stageImport(database, {
      customerId: customer.id,
      sender: { apiKeyId: '1' },
      format: 'ndjson',
      received: null,
      idempotencyKey: null,
      body: failing(),
    });
    await expect(staging).rejects.toThrow('the source failed');
    expect(
      await database.query<object[]>('SELECT id FROM imports WHERE customer_id = ?', [customer.id]),
    ).toEqual([]);
  });
});
