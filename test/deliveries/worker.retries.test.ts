import { expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { cursorOf } from '../support/subscriber.ts';
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
  return { webhook, key, more, account };
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

it('a webhook does not follow a redirect', async () => {
  let calls = 0;
  receiver.answer('/moved', (_, response) => {
    calls += 1;
    response.statusCode = calls === 1 ? 307 : 200;
    response.setHeader('Location', `${receiver.url}/elsewhere`);
    response.end();
  });
  const { webhook } = await oneMovement('/moved');
  await ended(webhook.id, 'delivered');
  expect((await attemptsOf(service, webhook.id))[0]).toMatchObject({ outcome: 'failed', status_code: 307 });
  expect(receiver.at('/elsewhere')).toHaveLength(0);
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

it('a webhook whose endpoint refuses a single body delays that body, while the others arrive', async () => {
  let refused = '';
  receiver.answer('/picky', (received, response) => {
    refused ||= received.headers['webhook-id'] ?? '';
    response.statusCode = received.headers['webhook-id'] === refused ? 422 : 200;
    response.end();
  });
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key);
  const webhook = await subscribe(service, key, `${receiver.url}/picky`);
  await importMovements(
    service,
    key,
    Array.from({ length: 50 }, () => movement(account.id)),
  );
  await until('all others delivered and one failed for good', async () => {
    const rows = await deliveriesOf(service, webhook.id);
    return (
      rows.filter(({ status }) => status === 'delivered').length === 49 &&
      rows.some(({ status }) => status === 'failed')
    );
  });
  const others = (await attemptsOf(service, webhook.id)).filter(
    ({ delivery_id }) => `msg_${delivery_id}` !== refused,
  );
  expect(others.every(({ number }) => number === 1)).toBe(true);
});

it('a throttled webhook waits as a whole, and uses up no attempts of the deliveries that were not sent', async () => {
  receiver.answer('/busy', (_, response) => {
    response.statusCode = 429;
    response.setHeader('Retry-After', '3000');
    response.end();
  });
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key);
  const webhook = await subscribe(service, key, `${receiver.url}/busy`, { max_in_flight: 2 });
  await importMovements(
    service,
    key,
    Array.from({ length: 40 }, () => movement(account.id)),
  );
  const seconds = await until('an open circuit', async () => {
    const [row] = await service.runtime.database.query<{ seconds: number | null }[]>(
      `SELECT TIMESTAMPDIFF(SECOND, NOW(6), circuit_open_until) AS seconds FROM webhook_cursors
       WHERE webhook_id = ? AND lease_until IS NULL`,
      [webhook.id],
    );
    return row?.seconds;
  });
  expect(Number(seconds)).toBeGreaterThan(2_900);
  const rows = await deliveriesOf(service, webhook.id);
  expect(rows.every(({ status }) => status === 'pending')).toBe(true);
  expect(rows.reduce((sum, { attempts }) => sum + attempts, 0)).toBeLessThanOrEqual(2);
  expect(receiver.at('/busy').length).toBeLessThanOrEqual(2);
});

it('a webhook is sent nothing while the circuit is open, and then everything, one delivery at first', async () => {
  let down = true;
  let open = 0;
  const openAfter: number[] = [];
  receiver.answer('/down', (_, response, request) => {
    if (down) return void request.socket.destroy();
    open += 1;
    openAfter.push(open);
    setTimeout(() => {
      open -= 1;
      response.end();
    }, 5);
  });
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key);
  const webhook = await subscribe(service, key, `${receiver.url}/down`, { max_in_flight: 8 });
  await importMovements(
    service,
    key,
    Array.from({ length: 400 }, () => movement(account.id)),
  );
  await until('an open circuit', async () => {
    const { circuit_open_until, lease_until } = await cursorOf(service, webhook.id);
    return lease_until === null && circuit_open_until;
  });
  const tried = (await deliveriesOf(service, webhook.id)).filter(({ attempts }) => attempts > 0);
  // Eight were in flight. The first two failures each made room for one more, the third opened the circuit.
  expect(tried.length).toBeLessThanOrEqual(8 + 2);
  down = false;
  await until('all delivered', async () =>
    (await deliveriesOf(service, webhook.id)).every(({ status }) => status === 'delivered'),
  );
  expect(openAfter.slice(0, 1)).toEqual([1]);
  expect(Math.max(...openAfter.slice(1, 3))).toBeLessThanOrEqual(2);
  expect(Math.max(...openAfter)).toBeLessThanOrEqual(8);
  expect(new Set(receiver.at('/down').map(({ headers }) => headers['webhook-id'])).size).toBe(400);
});
