import { expect, it } from 'vitest';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import { dayStatement } from '../support/day-statement.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useOwnService } from '../support/service.ts';
import { webhook } from '../support/webhooks.ts';

const service = useOwnService({
  because: 'its limits are low',
  roles: ['api', 'importer'],
  config: { webhooksPerCustomer: 2, keysPerCustomer: 3 },
});

it('a customer has a limited number of webhooks, without deleted ones and those of other customers', async () => {
  const { api_key: key } = await service.customer();
  const create = () => service.call('POST', '/v1/webhooks', { key, body: webhook() });
  const made = await Promise.all([create(), create(), create(), create()]);
  expect(made.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409]);
  expectProblem(await create(), 409, 'webhook-limit-reached');
  const [first] = (await service.call('GET', '/v1/webhooks', { key })).body.webhooks;
  await service.call('DELETE', `/v1/webhooks/${first.id}`, { key });
  expect((await create()).status).toBe(200);
  const { api_key: other } = await service.customer();
  expect((await service.call('POST', '/v1/webhooks', { key: other, body: webhook() })).status).toBe(200);
});

it('a customer has a limited number of API keys', async () => {
  const { api_key: key } = await service.customer();
  const create = () => service.call('POST', '/v1/apikeys', { key, body: { title: 'x', account: 'all' } });
  const made = await Promise.all([create(), create(), create(), create()]);
  expect(made.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409]);
  expectProblem(await create(), 409, 'api-key-limit-reached');
});

it('a customer has at most 1,000 sources, without deleted ones, and 100,000 accounts', async () => {
  const { api_key: key, customer } = await service.customer();
  const { database } = service.runtime;
  const { id: account } = await createAccount(service, key);
  const numbers = (most: number) => `
    WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
    SELECT one.n FROM numbers one JOIN numbers other ON other.n <= ${most / 1_000}`;
  await database.query(
    `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts)
     SELECT ?, 'Banka', 'folder', '{}', '{"every":"31d"}', 'auto', 0 FROM (${numbers(1_000)}) it`,
    [customer.id],
  );
  const source = {
    title: 'Banka',
    kind: 'http',
    settings: { url: 'https://8.8.8.8/x' },
    schedule: { every: '1h' },
  };
  const createSource = () => service.call('POST', '/v1/sources', { key, body: source });
  expectProblem(await createSource(), 409, 'source-limit-reached');
  await database.query("UPDATE sources SET status = 'deleted' WHERE customer_id = ? LIMIT 1", [customer.id]);
  expect((await createSource()).status).toBe(200);

  await database.query(
    `INSERT INTO accounts (customer_id, bank_id, title, currency)
     SELECT ?, bank_id, title, currency FROM accounts JOIN (${numbers(99_000)}) it WHERE id = ?`,
    [customer.id, account],
  );
  await database.query(
    `INSERT INTO accounts (customer_id, bank_id, title, currency)
     SELECT ?, bank_id, title, currency FROM accounts JOIN (${numbers(1_000)}) it WHERE id = ? AND it.n < 1000`,
    [customer.id, account],
  );
  const body = { bank: 'Banka', title: 'Yeni', currency: 'TRY' };
  expectProblem(await service.call('POST', '/v1/accounts', { key, body }), 409, 'account-limit-reached');
  const file = await service.call('POST', '/v1/imports?create_accounts=true', {
    key,
    body: dayStatement(1, 2, 100, [50]),
    type: 'application/octet-stream',
  });
  const { id, inserted } = await importDone(service, key, file.body.import.id);
  expect(inserted).toBe(0);
  const { errors } = (await service.call('GET', `/v1/imports/${id}/errors`, { key })).body;
  expect(errors).toMatchObject([
    { path: 'account', message: expect.stringContaining('You have 100000 accounts, which is the limit.') },
  ]);
});

it('a key without the scope read cannot have past movements sent again', async () => {
  const { api_key: key, customer } = await service.customer();
  const { id: account } = await createAccount(service, key);
  const { id } = (await service.call('POST', '/v1/webhooks', { key, body: webhook() })).body.webhook;
  await importMovements(service, key, [movement(account)]);
  const [delivery] = (await service.call('GET', `/v1/webhooks/${id}/deliveries`, { key })).body.deliveries;
  const keyWith = async (...scopes: ('read' | 'webhooks')[]) =>
    (
      await insertApiKey(service.runtime.database, {
        customerId: customer.id,
        title: 'Sender',
        accountIds: 'all',
        scopes,
      })
    ).apikey;
  const [sender, both] = [await keyWith('webhooks'), await keyWith('webhooks', 'read')];
  for (const [path, body] of [
    [`/v1/webhooks/${id}/replay`, { since: '2026-01-01 00:00:00' }],
    [`/v1/deliveries/${delivery.id}/redeliver`, undefined],
  ] as const) {
    expectProblem(await service.call('POST', path, { key: sender, body }), 403, 'missing-scope');
    expect((await service.call('POST', path, { key: both, body })).status).toBe(202);
  }
});
