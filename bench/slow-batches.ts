import { monotonic } from './clock.ts';
import { type Round, type Scale, sized } from './figure.ts';
import { type Installation, pause } from './installation.ts';
import { askReceiver, requireEqual, send, untilDone } from './load.ts';
import { makeMovements, toNdjson } from './movements.ts';

/** Small batches, so that a few hundred events need many places. */
const SETTINGS = { batch: { max: 5, wait_ms: 0 }, max_in_flight: 16 };

/** Webhooks of the slow customer. Their 320 batches in flight would take the 64 places of a delivery process. */
const SLOW_WEBHOOKS = 20;

/** Milliseconds until an endpoint of the slow customer answers: less than the timeout, so it is slow and does not fail. */
const SLOW_ANSWER = 12_000;

/** A customer whose webhooks are sent batches. */
interface Batched {
  key: string;
  accountId: string;
  webhookIds: readonly string[];
}

/**
 * Milliseconds that 500 events of a webhook with batches take from the POST of their import to the last receipt, beside another customer
 * whose endpoints answer batches slowly and have a backlog. Baseline: the same while those endpoints have nothing to receive. Both are
 * measured in turn, and the median of each counts. The endpoint of the 500 events takes 20 ms: one that answers immediately would be as fast with a
 * single POST in flight, which every webhook may always have.
 */
export async function besideSlowBatches(installation: Installation, scale: Scale): Promise<Round> {
  const events = sized(scale, { smoke: 50, normal: 500 });
  const pairs = sized(scale, { smoke: 1, normal: 5 });
  const slow = await subscribeBatches(installation, SLOW_WEBHOOKS, '/erp');
  const victim = await subscribeBatches(installation, 1, '/batch');
  // A new webhook has few POSTs in flight until its endpoint has answered for a while.
  await importMovements(installation, slow, events);
  await measure(installation, victim, events);
  await untilSent(installation, slow);
  const alone: number[] = [];
  const beside: number[] = [];
  for (let i = 0; i < pairs; i += 1) {
    alone.push(await measure(installation, victim, events));
    installation.receiver.send({ erpTakes: SLOW_ANSWER });
    await importMovements(installation, slow, events);
    await untilHeld(installation, SLOW_WEBHOOKS);
    beside.push(await measure(installation, victim, events));
    installation.receiver.send({ erpTakes: 0 });
    await untilSent(installation, slow);
  }
  for (const { key, webhookIds } of [slow, victim])
    for (const id of webhookIds) await installation.call(key, 'DELETE', `/v1/webhooks/${id}`);
  return [
    {
      name: `${events} events in batches of ${SETTINGS.batch.max} beside a customer with ${SLOW_WEBHOOKS} webhooks that answer batches after ${SLOW_ANSWER / 1_000} s`,
      unit: 'ms from the import to the last receipt',
      value: medianOf(beside),
      baseline: { name: 'the same without that customer', value: medianOf(alone) },
      wanted: { atMost: 1.5 },
    },
  ];
}

/** Creates a customer with an account and some webhooks that are sent batches. */
async function subscribeBatches(
  { call, customer, receiver }: Installation,
  count: number,
  path: string,
): Promise<Batched> {
  const { api_key: key, accountId } = await customer();
  const webhookIds: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const { webhook } = (await call(key, 'POST', '/v1/webhooks', {
      ...{ title: path, endpoint: `${receiver.url}${path}/${i}`, event: 'NEW_TRANSACTION', account: 'all' },
      ...SETTINGS,
    })) as { webhook: { id: number | string } };
    webhookIds.push(String(webhook.id));
  }
  return { key, accountId, webhookIds };
}

async function importMovements(
  installation: Installation,
  { key, accountId }: Batched,
  count: number,
): Promise<void> {
  const body = toNdjson(makeMovements(count, accountId, `slow-batches-${monotonic()}`));
  await untilDone(installation, key, await send(installation, key, body), count);
}

/** Imports movements of a customer whose webhook is sent to /batch…. @returns the milliseconds until the last is received. */
async function measure(installation: Installation, victim: Batched, count: number): Promise<number> {
  installation.receiver.send({ reset: true });
  const start = monotonic();
  await importMovements(installation, victim, count);
  for (;;) {
    const received = Object.values((await askReceiver(installation)).arrivals);
    if (received.length >= count) {
      requireEqual({ expected: count, received: received.length });
      return Math.max(...received) - start;
    }
    await pause(20);
  }
}

/** Waits until slow endpoints have this many POSTs in flight, and then until no more are sent. */
async function untilHeld(installation: Installation, least: number): Promise<void> {
  for (let before = 0; ; ) {
    const { held } = await askReceiver(installation);
    if (held >= least && held === before) return;
    before = held;
    await pause(500);
  }
}

/** Waits until everything that has matched the webhooks is delivered. @throws when something has failed. */
async function untilSent({ runtime }: Installation, { webhookIds }: Batched): Promise<void> {
  for (;;) {
    const [row] = await runtime.database.query<{ pending: string; failed: string }[]>(
      `SELECT SUM(b.matched_count - c.delivered_count) AS pending, SUM(c.failed_count) AS failed
       FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id WHERE c.webhook_id IN (?)`,
      [webhookIds],
    );
    requireEqual({ expected: 0, failed: Number(row?.failed) });
    if (Number(row?.pending) === 0) return;
    await pause(50);
  }
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
