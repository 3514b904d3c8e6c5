import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { cursorOf } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf, subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });
const receiver = useReceiver();
const workers = useDeliveryWorkers(service);

async function customerWithAccount() {
  const { api_key: key } = await service.customer();
  return { key, accountId: (await createAccount(service, key)).id };
}

const movements = (accountId: string, count: number) =>
  Array.from({ length: count }, (_, i) => movement(accountId, { unique_id: `m${i}` }));

const allDelivered = (webhookId: string, count: number) =>
  until(`${count} delivered`, async () => {
    const rows = await deliveriesOf(service, webhookId);
    return rows.length === count && rows.every(({ status }) => status === 'delivered');
  });

/** Ids of the movements, in the order in which their deliveries arrived. */
const arrived = (path: string) =>
  receiver.at(path).map(({ headers }) => Number(headers['ledgerbell-transaction-id']));

beforeAll(() => {
  workers.start({ delays: [20, 20] });
});

describe('the delivery worker', () => {
  it('misses no wake-up: movements that trickle in while a run ends all arrive, without the reconciler', async () => {
    const { key, accountId } = await customerWithAccount();
    const webhook = await subscribe(service, key, `${receiver.url}/trickle`);
    const imports = [];
    for (let i = 0; i < 150; i += 1) {
      imports.push(
        service.call('POST', '/v1/imports', {
          key,
          body: { transactions: [movement(accountId, { unique_id: `t${i}` })] },
        }),
      );
      if (i % 3 === 0) await imports.at(-1);
    }
    await Promise.all(imports);
    await allDelivered(webhook.id, 150);
    expect(new Set(arrived('/trickle')).size).toBe(150);
    expect(arrived('/trickle')).toHaveLength(150);
  });

  it('keeps the order of an ordered webhook, also when a delivery in the middle fails', async () => {
    const { key, accountId } = await customerWithAccount();
    const webhook = await subscribe(service, key, `${receiver.url}/ordered`, { ordered: true });
    let calls = 0;
    receiver.answer('/ordered', (_, response) => {
      calls += 1;
      response.statusCode = calls === 10 || calls === 11 ? 409 : 200;
      response.end();
    });
    await importMovements(service, key, movements(accountId, 60));
    await allDelivered(webhook.id, 60);
    const order = arrived('/ordered');
    const once = [...new Set(order)];
    expect(order).toHaveLength(62);
    expect(once).toEqual(once.toSorted((a, b) => a - b));
    expect(order.slice(9, 12)).toEqual([order[9], order[9], order[9]]);
  });

  it('never has more POSTs in flight than the webhook allows', async () => {
    const { key, accountId } = await customerWithAccount();
    let open = 0;
    let peak = 0;
    receiver.answer('/narrow', (_, response) => {
      open += 1;
      peak = Math.max(peak, open);
      setTimeout(() => {
        open -= 1;
        response.end();
      }, 10);
    });
    const webhook = await subscribe(service, key, `${receiver.url}/narrow`, { max_in_flight: 3 });
    await importMovements(service, key, movements(accountId, 60));
    await allDelivered(webhook.id, 60);
    expect(peak).toBe(3);
  });

  it('keeps to a rate limit over several runs', async () => {
    const { key, accountId } = await customerWithAccount();
    const webhook = await subscribe(service, key, `${receiver.url}/limited`, { rate_limit: 20 });
    await importMovements(service, key, movements(accountId, 15));
    await importMovements(service, key, movements(accountId, 60));
    await allDelivered(webhook.id, 60);
    const times = receiver.at('/limited').map(({ at }) => at);
    // 60 POSTs at 20 a second take 59 intervals of 50 ms. On a busy machine the first may arrive late, which is made up for. At twice the rate
    // it would be half of that.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(0.7 * 59 * 50);
  });

  it('gives a webhook with one delivery its turn beside a webhook with thousands', async () => {
    const { key, accountId } = await customerWithAccount();
    const { key: otherKey, accountId: otherAccount } = await customerWithAccount();
    receiver.answer('/huge', (_, response) => void setTimeout(() => response.end(), 20));
    const huge = await subscribe(service, key, `${receiver.url}/huge`, { max_in_flight: 2 });
    await importMovements(service, key, movements(accountId, 2_000));
    const small = await subscribe(service, otherKey, `${receiver.url}/small`);
    await importMovements(service, otherKey, movements(otherAccount, 1));
    await allDelivered(small.id, 1);
    const rest = (await deliveriesOf(service, huge.id)).filter(({ status }) => status === 'pending');
    expect(rest.length).toBeGreaterThan(0);
    await service.call('DELETE', `/v1/webhooks/${huge.id}`, { key });
  });

  it('stops immediately for a deleted webhook, and sends nothing of what was pending', async () => {
    const { key, accountId } = await customerWithAccount();
    receiver.answer('/deleted', (_, response) => void setTimeout(() => response.end(), 20));
    const webhook = await subscribe(service, key, `${receiver.url}/deleted`, { max_in_flight: 1 });
    await importMovements(service, key, movements(accountId, 500));
    await until('some POSTs', () => receiver.at('/deleted').length > 5);
    expect((await service.call('DELETE', `/v1/webhooks/${webhook.id}`, { key })).status).toBe(200);
    await until('no run at it', async () => (await cursorOf(service, webhook.id)).lease_until === null);
    const sent = receiver.at('/deleted').length;
    expect(sent).toBeLessThan(400);
    const rows = await deliveriesOf(service, webhook.id);
    expect(rows.filter(({ status }) => status === 'delivered')).toHaveLength(sent);
    // Nothing matches the webhook any more either.
    expect((await importMovements(service, key, [movement(accountId)])).deliveries).toBe(0);
  });

  it('refuses, and logs why, an endpoint whose address has become forbidden', async () => {
    const { key, accountId } = await customerWithAccount();
    const webhook = await subscribe(service, key, `${receiver.url}/private`);
    await service.runtime.database.query(
      "UPDATE webhooks SET endpoint = 'http://10.0.0.1/hook' WHERE id = ?",
      [webhook.id],
    );
    await importMovements(service, key, movements(accountId, 1));
    const [attempt] = await until('an attempt', async () => {
      const attempts = await attemptsOf(service, webhook.id);
      return attempts.length > 0 && attempts;
    });
    expect(attempt).toMatchObject({ outcome: 'refused', status_code: null });
    expect(attempt?.error).toMatch(/private/i);
  });
});
