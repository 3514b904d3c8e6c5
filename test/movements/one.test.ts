import { describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'it sets the next id', roles: ['api'] });

describe('GET /v1/transactions/:id', () => {
  it('shows the movement as the listing does, and only to keys that may see it', async () => {
    const [{ api_key: key }, stranger] = [await service.customer(), await service.customer()];
    const { id: accountId } = await createAccount(service, key);
    await importMovements(service, key, [movement(accountId, { code: null, balance: null })]);
    const { body } = await service.call('GET', '/v1/transactions?starts=2000-01-01', { key });
    const [listed] = body.transactions;
    expect(listed).toMatchObject({ id: expect.any(Number), code: '', balance: '', name: null });
    const one = await service.call('GET', `/v1/transactions/${listed.id}`, { key });
    expect([one.status, one.body]).toEqual([200, { transaction: listed }]);
    expectProblem(await service.call('GET', `/v1/transactions/${listed.id}`, { key: stranger.api_key }), 404);
    expectProblem(await service.call('GET', '/v1/transactions/999999999', { key }), 404);
    expectProblem(await service.call('GET', '/v1/transactions/abc', { key }), 404);
  });

  it('shows ids exactly, up to the largest that every JSON parser reads exactly', async () => {
    const { api_key: key } = await service.customer();
    const { id: accountId } = await createAccount(service, key);
    await service.runtime.database.query(
      `ALTER TABLE transactions AUTO_INCREMENT = ${Number.MAX_SAFE_INTEGER}`,
    );
    await importMovements(service, key, [movement(accountId)]);
    const { body } = await service.call('GET', '/v1/transactions?starts=2000-01-01', { key });
    const [{ id }] = body.transactions;
    expect(id).toBe(2 ** 53 - 1);
    const one = await service.call('GET', `/v1/transactions/${id}`, { key });
    expect(one.body.transaction.id).toBe(id);
  });
});
