import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { subscribe } from '../support/webhooks.ts';
import { createPausedWebhook } from './paused-webhook.ts';

// The rows of delivery runs are written by SQL here; sent.test.ts has them run.
const service = useService({ roles: ['api'] });

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('GET /v1/deliveries/:id', () => {
  it('shows a delivery that was never attempted, and as cancelled when its webhook is deleted', async () => {
    const { key, webhook, store } = await createPausedWebhook(service);
    const [transaction] = await store([{}]);
    const path = `/v1/deliveries/${webhook}-${transaction}`;
    const shown = await service.call('GET', path, { key });
    expect(shown.status).toBe(200);
    expect(shown.body.delivery).toEqual({
      id: `${webhook}-${transaction}`,
      webhook_id: Number(webhook),
      transaction_id: Number(transaction),
      event_id: null,
      status: 'pending',
      attempts: 0,
      due_at: expect.stringMatching(ISO),
      created_at: expect.stringMatching(ISO),
      finished_at: null,
      last_error: null,
      log: [],
      rejected_batches: [],
    });
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    const later = await service.call('GET', path, { key });
    expect(later.body.delivery).toEqual({ ...shown.body.delivery, status: 'cancelled', due_at: null });
    const [after] = await store([{}]);
    expectProblem(await service.call('GET', `/v1/deliveries/${webhook}-${after}`, { key }), 404);
  });

  it('shows every attempt once, in order, and keeps a delivery that has ended as it is when its webhook is deleted', async () => {
    const { key, webhook, store, record, customerId } = await createPausedWebhook(service);
    const [failed = '', delivered = ''] = await store([{}, {}]);
    await record([
      { transactionId: failed, status: 'failed', attempts: 2, response: 'no such book', statusCode: 400 },
      { transactionId: delivered, status: 'delivered', attempts: 2 },
    ]);
    await service.runtime.database.query(
      `INSERT INTO attempts (webhook_id, transaction_id, number, customer_id, outcome, started_at, duration_ms, error)
       VALUES ?`,
      [[failed, delivered].map((id) => [webhook, id, 1, customerId, 'failed', '2026-02-01', 5, 'no answer'])],
    );
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    const logOf = async (id: string) => {
      const { body } = await service.call('GET', `/v1/deliveries/${webhook}-${id}`, { key });
      return [body.delivery.status, body.delivery.last_error, body.delivery.log];
    };
    const first = { number: 1, outcome: 'failed', status_code: null, error: 'no answer', response: null };
    expect(await logOf(failed)).toMatchObject([
      'failed',
      'answered 400',
      [first, { number: 2, outcome: 'failed', status_code: 400, error: null, response: 'no such book' }],
    ]);
    expect(await logOf(delivered)).toMatchObject([
      'delivered',
      null,
      [first, { number: 2, outcome: 'delivered', status_code: 200, started_at: '2026-02-01T12:00:00.000Z' }],
    ]);
  });

  it('answers 404 for a movement that the webhook does not match or that was stored before the webhook', async () => {
    const { key, webhook, store } = await createPausedWebhook(service, { event: 'NEW_DEBIT' });
    const [credit] = await store([{ dc: 'Credit' }]);
    const later = (await subscribe(service, key, 'http://127.0.0.1:9/')).id;
    for (const id of [`${webhook}-${credit}`, `${later}-${credit}`]) {
      expectProblem(await service.call('GET', `/v1/deliveries/${id}`, { key }), 404);
      expectProblem(await service.call('POST', `/v1/deliveries/${id}/redeliver`, { key }), 404);
    }
  });

  it('answers 404 for a webhook or a movement of another customer', async () => {
    const [own, other] = [await createPausedWebhook(service), await createPausedWebhook(service)];
    const [mine] = await own.store([{}]);
    const [theirs] = await other.store([{}]);
    for (const id of [`${other.webhook}-${theirs}`, `${own.webhook}-${theirs}`, `${other.webhook}-${mine}`]) {
      expectProblem(await service.call('GET', `/v1/deliveries/${id}`, { key: own.key }), 404);
      expectProblem(await service.call('POST', `/v1/deliveries/${id}/redeliver`, { key: own.key }), 404);
    }
  });

  it.each(['999999', '0', 'abc', '1-0', '1-999999', '01-1', '1-1-1', '99999999999999999999-1'])(
    'answers 404 for %s',
    async (id) => {
      const { api_key: key } = await service.customer();
      expectProblem(await service.call('GET', `/v1/deliveries/${id}`, { key }), 404);
      expectProblem(await service.call('POST', `/v1/deliveries/${id}/redeliver`, { key }), 404);
    },
  );
});
