import { expect, it } from 'vitest';
import { createHostLimit } from '../../src/deliveries/host-limit.ts';

const ORIGIN = 'https://a.example';

/** A webhook whose POSTs end when the test says so. */
function webhookOf(limit: ReturnType<typeof createHostLimit>, customerId = '1', origin = ORIGIN) {
  const slots = limit.open(customerId, origin);
  let begun = 0;
  return {
    add(count: number) {
      for (let i = 0; i < count; i += 1)
        slots.enter(() => {
          begun += 1;
        });
    },
    end: () => slots.leave(),
    begun: () => begun,
  };
}

it('the limit of a host holds for all webhooks of a customer, which take turns', () => {
  const limit = createHostLimit(4);
  const [a, b, c] = [webhookOf(limit), webhookOf(limit), webhookOf(limit)];
  a.add(10);
  b.add(10);
  c.add(10);
  expect([a.begun(), b.begun(), c.begun()]).toEqual([4, 1, 1]);
  // Two more than the limit are in flight, since a webhook may always have one. They end first.
  a.end();
  a.end();
  expect([a.begun(), b.begun(), c.begun()]).toEqual([4, 1, 1]);
  a.end();
  expect([a.begun(), b.begun(), c.begun()]).toEqual([5, 1, 1]);
  a.end();
  expect([a.begun(), b.begun(), c.begun()]).toEqual([5, 2, 1]);
});

it('a webhook goes on one by one while those of its neighbours hang', () => {
  const limit = createHostLimit(2);
  const [hanging, healthy] = [webhookOf(limit), webhookOf(limit)];
  hanging.add(5);
  healthy.add(5);
  for (let sent = 1; sent <= 5; sent += 1) {
    expect([hanging.begun(), healthy.begun()]).toEqual([2, sent]);
    healthy.end();
  }
});

it('the POSTs of another customer, and those to another host, do not count', () => {
  const limit = createHostLimit(2);
  const webhooks = [webhookOf(limit), webhookOf(limit, '2'), webhookOf(limit, '1', 'https://a.example:8443')];
  for (const webhook of webhooks) webhook.add(3);
  expect(webhooks.map((it) => it.begun())).toEqual([2, 2, 2]);
});

it('nothing is lost or sent twice, in whatever order POSTs end', () => {
  const limit = createHostLimit(3);
  const webhooks = Array.from({ length: 20 }, () => webhookOf(limit));
  const ended = webhooks.map(() => 0);
  for (const [i, webhook] of webhooks.entries()) webhook.add(i);
  for (let step = 0; ended.some((count, i) => count < i); step += 1) {
    const i = (step * 7) % webhooks.length;
    const webhook = webhooks[i];
    if (webhook === undefined || webhook.begun() === ended[i]) continue;
    ended[i] = (ended[i] ?? 0) + 1;
    webhook.end();
  }
  expect(webhooks.map((it) => it.begun())).toEqual(webhooks.map((_, i) => i));
});
