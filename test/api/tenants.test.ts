import { beforeAll, describe, expect, it } from 'vitest';
import type { NewCustomer } from '../../src/database/customers.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem, withoutRequestId } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { deliveriesOf, webhook } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });

describe('two customers', () => {
  let one: NewCustomer;
  let two: NewCustomer;
  let own: Record<'account' | 'webhook' | 'import' | 'delivery', string>;

  beforeAll(async () => {
    [one, two] = [await service.customer('Bir'), await service.customer('İki')];
    const account = await createAccount(service, one.api_key);
    const made = await service.call('POST', '/v1/webhooks', { key: one.api_key, body: webhook() });
    const stored = await importMovements(service, one.api_key, [movement(account.id)]);
    const [delivery] = await deliveriesOf(service, made.body.webhook.id);
    own = {
      account: account.id,
      webhook: made.body.webhook.id,
      import: stored.id,
      delivery: delivery?.id ?? '',
    };
  });

  it.each([
    ['GET', (it: typeof own) => `/v1/accounts/${it.account}`, '/v1/accounts/999999'],
    [
      'GET',
      (it: typeof own) => `/v1/accounts/${it.account}/transactions?starts=2026-01-01`,
      '/v1/accounts/999999',
    ],
    ['GET', (it: typeof own) => `/v1/webhooks/${it.webhook}`, '/v1/webhooks/999999'],
    ['DELETE', (it: typeof own) => `/v1/webhooks/${it.webhook}`, '/v1/webhooks/999999'],
    ['GET', (it: typeof own) => `/v1/webhooks/${it.webhook}/deliveries`, '/v1/webhooks/999999/deliveries'],
    ['GET', (it: typeof own) => `/v1/deliveries/${it.delivery}`, '/v1/deliveries/999999'],
    ['GET', (it: typeof own) => `/v1/imports/${it.import}`, '/v1/imports/999999'],
    ['GET', (it: typeof own) => `/v1/imports/${it.import}/errors`, '/v1/imports/999999'],
  ])(
    "find each other's objects no more than ones that do not exist: %s %s",
    async (method, path, missing) => {
      const foreign = await service.call(method, path(own), { key: two.api_key });
      expectProblem(foreign, 404);
      expect(withoutRequestId(foreign)).toEqual(
        withoutRequestId(await service.call(method, missing, { key: two.api_key })),
      );
      const { status } = await service.call(method === 'DELETE' ? 'GET' : method, path(own), {
        key: one.api_key,
      });
      expect(status).toBe(200);
    },
  );

  it.each([
    ['PATCH', (id: string) => `/v1/webhooks/${id}`, { title: 'theirs', status: 'paused' }],
    ['POST', (id: string) => `/v1/webhooks/${id}/test`, undefined],
    ['POST', (id: string) => `/v1/webhooks/${id}/rotate-secret`, undefined],
    ['POST', (id: string) => `/v1/webhooks/${id}/replay`, { since: '2000-01-01 00:00:00' }],
    ['POST', (_: string, delivery: string) => `/v1/deliveries/${delivery}/redeliver`, undefined],
  ])("change nothing of each other's, nor learn that it exists: %s %s", async (method, path, body) => {
    const stateOf = () =>
      service.runtime.database.query(
        'SELECT w.title, w.status, w.secret, w.revision, d.status AS delivery, d.due_at FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id WHERE w.id = ?',
        [own.webhook],
      );
    await service.runtime.database.query(
      "UPDATE deliveries SET status = 'failed', due_at = NULL WHERE id = ?",
      [own.delivery],
    );
    const before = await stateOf();
    const foreign = await service.call(method, path(own.webhook, own.delivery), { key: two.api_key, body });
    expectProblem(foreign, 404);
    expect(withoutRequestId(foreign)).toEqual(
      withoutRequestId(await service.call(method, path('999999', '999999'), { key: two.api_key, body })),
    );
    expect(await stateOf()).toEqual(before);
    const mine = await service.call(method, path(own.webhook, own.delivery), { key: one.api_key, body });
    expect([200, 202]).toContain(mine.status);
  });

  it.each(['/v1/accounts', '/v1/webhooks', '/v1/imports', '/v1/transactions?starts=2000-01-01'])(
    'see nothing of each other in %s',
    async (path) => {
      const mine = await service.call('GET', path, { key: one.api_key });
      const theirs = await service.call('GET', path, { key: two.api_key });
      expect(Object.values(mine.body)).toEqual([[expect.objectContaining({ id: expect.any(String) })]]);
      expect(Object.values(theirs.body)).toEqual([[]]);
    },
  );

  it("cannot import into each other's accounts, nor store under each other's ids", async () => {
    const before = await service.call('GET', '/v1/imports', { key: two.api_key });
    const answer = await service.call('POST', '/v1/imports', {
      key: two.api_key,
      body: { transactions: [movement(own.account)] },
    });
    expect(expectProblem(answer, 422)).toEqual(['transactions.0.account_id']);
    expect((await service.call('GET', '/v1/imports', { key: two.api_key })).body).toEqual(before.body);

    const account = await createAccount(service, two.api_key);
    const same = movement(account.id, { unique_id: 'same' });
    expect(await importMovements(service, two.api_key, [same])).toMatchObject({ inserted: 1 });
    expect(await importMovements(service, one.api_key, [{ ...same, account_id: own.account }])).toMatchObject(
      { inserted: 1 },
    );
  });

  it('may use the same Idempotency-Key', async () => {
    const send = (key: string) =>
      service.call('POST', '/v1/imports', {
        key,
        body: { transactions: [] },
        headers: { 'Idempotency-Key': 'both' },
      });
    const [mine, theirs] = [await send(one.api_key), await send(two.api_key)];
    expect([mine.status, theirs.status]).toEqual([202, 202]);
    expect(mine.body.import.id).not.toBe(theirs.body.import.id);
  });
});
