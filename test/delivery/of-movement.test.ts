import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });

const ENDPOINT = 'http://127.0.0.1:9/';

describe('GET /v1/transactions/:id/deliveries', () => {
  it('shows one delivery for each webhook that matches, sent or pending', async () => {
    const debits = { event: 'NEW_DEBIT' };
    const subscriber = await createSubscriber(service, ENDPOINT, {}, {}, debits);
    const { key, customerId, webhookIds, store } = subscriber;
    const [sent = '', waiting = ''] = webhookIds;
    const [id = ''] = await store([{ dc: 'Credit' }]);
    await recordDeliveries(service.runtime.database, { id: sent, customerId }, [
      { transactionId: id, status: 'failed', statusCode: 400 },
    ]);
    const { status, body } = await service.call('GET', `/v1/transactions/${id}/deliveries`, { key });
    expect([status, body]).toMatchObject([
      200,
      {
        deliveries: [
          { id: `${sent}-${id}`, webhook_id: Number(sent), status: 'failed', last_error: 'answered 400' },
          { id: `${waiting}-${id}`, webhook_id: Number(waiting), status: 'pending', last_error: null },
        ],
      },
    ]);
  });

  it('answers 404 for a movement that the key does not see', async () => {
    const { key, store } = await createSubscriber(service, ENDPOINT);
    const [id = ''] = await store(1);
    const stranger = await service.customer();
    expectProblem(
      await service.call('GET', `/v1/transactions/${id}/deliveries`, { key: stranger.api_key }),
      404,
    );
    expectProblem(await service.call('GET', '/v1/transactions/999999999/deliveries', { key }), 404);
  });
});

describe('GET /v1/webhooks/:id/deliveries', () => {
  /** Movements of two accounts, a second apart. */
  async function subscriber() {
    const made = await createSubscriber(service, ENDPOINT);
    const { id: other } = await createAccount(service, made.key);
    const ids = [
      ...(await made.store([{ dateReaded: '2026-03-01 10:00:00.400' }])),
      ...(await made.store([{ dateReaded: '2026-03-01 10:00:01.400' }], other)),
      ...(await made.store([{ dateReaded: '2026-03-01 10:00:02.400' }])),
    ];
    const list = async (query: string) => {
      const path = `/v1/webhooks/${made.webhook.id}/deliveries?${query}`;
      const { status, body } = await service.call('GET', path, { key: made.key });
      expect({ status, body }).toMatchObject({ status: 200 });
      return body.deliveries.map(({ transaction_id }: { transaction_id: number }) =>
        ids.indexOf(String(transaction_id)),
      );
    };
    return { ...made, other, ids, list };
  }

  it('filters by account, by movement and by when the movement was stored, whole seconds included', async () => {
    const { other, ids, list, webhook, customerId } = await subscriber();
    for (const recorded of [false, true]) {
      if (recorded) {
        const all = ids.map((transactionId) => ({ transactionId, status: 'delivered' as const }));
        await recordDeliveries(service.runtime.database, { id: webhook.id, customerId }, all);
      }
      expect(await list('')).toEqual([2, 1, 0]);
      expect(await list(`account=${other}`)).toEqual([1]);
      expect(await list(`movement=${ids[2]}`)).toEqual([2]);
      expect(await list(`movement=${ids[2]}&account=${other}`)).toEqual([]);
      expect(await list('since=2026-03-01 10:00:01Z')).toEqual([2, 1]);
      expect(await list('until=2026-03-01 10:00:01Z')).toEqual([1, 0]);
      expect(await list('since=2026-03-01 10:00:01Z&until=2026-03-01 10:00:01Z')).toEqual([1]);
      expect(await list('account=999999999')).toEqual([]);
    }
  });

  it('refuses an invalid filter, and a since that is later than until', async () => {
    const { key, webhook } = await subscriber();
    for (const [query, path] of [
      ['account=x', 'account'],
      ['movement=0', 'movement'],
      ['since=yesterday', 'since'],
      ['since=2026-03-02 10:00:00&until=2026-03-01 10:00:00', 'since'],
      ['per_page=0', 'per_page'],
      ['webhook=1', 'webhook'],
    ]) {
      const answer = await service.call('GET', `/v1/webhooks/${webhook.id}/deliveries?${query}`, { key });
      expect(expectProblem(answer, 422)).toEqual([path]);
    }
  });
});
