import { describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';

// Redeliveries over the API, sent by delivery runs; deliveries.test.ts has the rest.
const service = useService({ roles: ['api', 'importer', 'delivery'] });
const receiver = useReceiver();

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A customer with an account, a webhook on a path of its own and one movement that matches it. */
async function createDelivery(path: string) {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key);
  const { id } = await subscribe(service, key, receiver.url + path);
  await importMovements(service, key, [movement(account.id)]);
  const [delivery] = await deliveriesOf(service, id);
  return { key, account: account.id, webhook: id, delivery: delivery?.id ?? '' };
}

const ended = (webhookId: string, status: string) =>
  until(status, async () => (await deliveriesOf(service, webhookId)).every((row) => row.status === status));

const attempted = (webhookId: string, attempts: number) =>
  until(
    `${attempts} attempts`,
    async () => (await deliveriesOf(service, webhookId))[0]?.attempts === attempts,
  );

describe('a delivery', () => {
  it('shows every attempt with what the endpoint answered', async () => {
    receiver.answer('/log', (_, response) => response.writeHead(400).end('no such book'));
    const { key, webhook, delivery } = await createDelivery('/log');
    await attempted(webhook, 1);
    const { status, body } = await service.call('GET', `/v1/deliveries/${delivery}`, { key });
    expect(status).toBe(200);
    expect(body.delivery).toEqual({
      id: delivery,
      webhook_id: Number(webhook),
      transaction_id: Number(delivery.split('-')[1]),
      event_id: null,
      status: 'pending',
      attempts: 1,
      due_at: expect.stringMatching(ISO),
      created_at: expect.stringMatching(ISO),
      finished_at: null,
      last_error: 'answered 400',
      log: [
        {
          number: 1,
          outcome: 'failed',
          status_code: 400,
          started_at: expect.stringMatching(ISO),
          duration_ms: expect.any(Number),
          posts: 1,
          error: null,
          response: 'no such book',
          batch: null,
        },
      ],
      rejected_batches: [],
    });
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    const later = await service.call('GET', `/v1/deliveries/${delivery}`, { key });
    expect(later.body.delivery).toMatchObject({ status: 'cancelled', log: body.delivery.log });
  });
});

describe('POST /v1/deliveries/:id/redeliver', () => {
  const redeliver = (key: string, id: string) =>
    service.call('POST', `/v1/deliveries/${id}/redeliver`, { key });

  it('sends a delivered delivery again with the same webhook-id, and keeps both attempts', async () => {
    const { key, webhook, delivery } = await createDelivery('/again');
    await ended(webhook, 'delivered');
    expect((await redeliver(key, delivery)).status).toBe(202);
    await attempted(webhook, 2);
    await ended(webhook, 'delivered');
    expect(receiver.at('/again').map(({ headers }) => headers['webhook-id'])).toEqual([
      `msg_${delivery}`,
      `msg_${delivery}`,
    ]);
    const { body } = await service.call('GET', `/v1/deliveries/${delivery}`, { key });
    expect(body.delivery.log).toMatchObject([
      { number: 1, outcome: 'delivered' },
      { number: 2, outcome: 'delivered' },
    ]);
  });

  it('sends a delivery now that waits for its next attempt', async () => {
    receiver.answer('/later', (_, response) => response.writeHead(400).end());
    const { key, webhook, delivery } = await createDelivery('/later');
    await attempted(webhook, 1);
    await service.runtime.database.query(
      'UPDATE retries SET due_at = NOW(6) + INTERVAL 1 HOUR WHERE webhook_id = ?',
      [webhook],
    );
    receiver.answer('/later', (_, response) => response.end());
    expect((await redeliver(key, delivery)).status).toBe(202);
    await ended(webhook, 'delivered');
  });

  it('waits while the webhook is paused, and sends when it is active again', async () => {
    const { key, webhook, delivery } = await createDelivery('/paused');
    await ended(webhook, 'delivered');
    const change = (status: string) =>
      service.call('PATCH', `/v1/webhooks/${webhook}`, { key, body: { status } });
    await change('paused');
    expect((await redeliver(key, delivery)).status).toBe(202);
    expect(await deliveriesOf(service, webhook)).toMatchObject([{ status: 'pending', failures: 0 }]);
    await change('active');
    await attempted(webhook, 2);
    expect(receiver.at('/paused')).toHaveLength(2);
  });
});

describe('POST /v1/webhooks/:id/replay', () => {
  const replay = (key: string, webhook: string, body: unknown) =>
    service.call('POST', `/v1/webhooks/${webhook}/replay`, { key, body });

  it('sends the deliveries again that ended with the given status in the given time', async () => {
    const { key, webhook, delivery } = await createDelivery('/replayed');
    await ended(webhook, 'delivered');
    for (const none of [
      { since: '2000-01-01 00:00:00' },
      { since: '2999-01-01 00:00:00', status: 'delivered' },
      { since: '2000-01-01 00:00:00', until: '2001-01-01 00:00:00+03', status: 'delivered' },
    ]) {
      const answer = await replay(key, webhook, none);
      expect([answer.status, answer.body.replay.matched]).toEqual([202, 0]);
    }
    const answer = await replay(key, webhook, { since: '2000-01-01 00:00:00', status: 'delivered' });
    expect([answer.status, answer.body.replay.matched]).toEqual([202, 1]);
    await attempted(webhook, 2);
    await ended(webhook, 'delivered');
    expect(receiver.at('/replayed').map(({ headers }) => headers['webhook-id'])).toEqual([
      `msg_${delivery}`,
      `msg_${delivery}`,
    ]);
    const finished = async () => {
      const rows = await service.runtime.database.query<{ finished_at: Date | null }[]>(
        'SELECT finished_at FROM replays WHERE webhook_id = ?',
        [webhook],
      );
      return rows.length === 4 && rows.every(({ finished_at }) => finished_at !== null);
    };
    await until('the replay is finished', finished);
  });
});
