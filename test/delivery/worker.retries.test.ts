import { expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf, subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });
const receiver = useReceiver();
const workers = useDeliveryWorkers(service);

/** A retry schedule of twelve attempts, in milliseconds. */
const quick = { delays: [5, 30, 120, 100, 100, 100, 100, 100, 100, 100, 100] };

async function oneMovement(path: string, fields: object = {}) {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key);
  const webhook = await subscribe(service, key, receiver.url + path, fields);
  const more = () => importMovements(service, key, [movement(account.id)]);
  await more();
  return { webhook, key, more };
}

const ended = (webhookId: string, status: string) =>
  until(`a delivery ${status}`, async () => {
    const [delivery] = await deliveriesOf(service, webhookId);
    return delivery?.status === status && delivery;
  });

it('a failed attempt is repeated with the same id and body, a new timestamp and a signature of its own', async () => {
  workers.start(quick);
  let calls = 0;
  receiver.answer('/flaky', (_, response) => {
    calls += 1;
    response.statusCode = calls < 3 ? 500 : 200;
    response.end(calls < 3 ? 'x'.repeat(10_000) : 'thanks');
  });
  const { webhook } = await oneMovement('/flaky');
  const delivery = await ended(webhook.id, 'delivered');
  expect(delivery).toMatchObject({ attempts: 3, due_at: null });
  const posts = receiver.at('/flaky');
  expect(posts).toHaveLength(3);
  expect(new Set(posts.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([`msg_${delivery.id}`]));
  expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
  const attempts = await attemptsOf(service, webhook.id);
  expect(attempts.map(({ number, outcome, status_code }) => [number, outcome, status_code])).toEqual([
    [1, 'failed', 500],
    [2, 'failed', 500],
    [3, 'delivered', 200],
  ]);
  // The bodies of the first and the last answer are kept.
  expect(attempts.map(({ response }) => response?.length ?? null)).toEqual([4_096, null, 6]);
});

it('a webhook gives up after twelve attempts, and keeps the delivery as failed with its whole log', async () => {
  receiver.answer('/never', (_, response) => {
    response.statusCode = 400;
    response.end('no');
  });
  const { webhook } = await oneMovement('/never');
  const delivery = await ended(webhook.id, 'failed');
  expect(delivery).toMatchObject({ attempts: 12, failures: 12, due_at: null });
  expect(await attemptsOf(service, webhook.id)).toHaveLength(12);
  expect(receiver.at('/never')).toHaveLength(12);
});

it('a webhook is disabled on 410: nothing more is sent, and nothing more matches', async () => {
  receiver.answer('/gone', (_, response) => {
    response.statusCode = 410;
    response.end();
  });
  const { webhook, key, more } = await oneMovement('/gone');
  const disabled = await until('the webhook disabled', async () => {
    const { body } = await service.call('GET', `/v1/webhooks/${webhook.id}`, { key });
    return body.webhook.status === 'disabled' && body.webhook;
  });
  expect(disabled.status_reason).toMatch(/410/);
  expect((await more()).deliveries).toBe(0);
  expect(receiver.at('/gone')).toHaveLength(1);
});
