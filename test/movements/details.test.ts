import { expect, it } from 'vitest';
import { createFeed, idsOf } from '../support/feeds.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'delivery'] });
const receiver = useReceiver();

const KIB = 1024;
const MIB = 1024 * KIB;
const MOVEMENTS = 40;
const LONG = 'é'.repeat(4_000);

interface Shown {
  id: number;
  extended: { details?: object[]; details_more?: boolean };
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Movements of which the first has many details, the second has as many as are shown, and the others but the last have long ones. */
async function createBatches() {
  const feed = await createFeed(service, { body: 'extended' });
  const hook = await subscribe(service, feed.key, `${receiver.url}/${feed.id}`, { body: 'extended' });
  await service.call('PATCH', `/v1/webhooks/${hook.id}`, { key: feed.key, body: { status: 'paused' } });
  await feed.store(MOVEMENTS);
  const path = '/v1/transactions?starts=2026-01-01&fields=extended&per_page=1000';
  const list = async (): Promise<Shown[]> =>
    (await service.call('GET', path, { key: feed.key })).body.transactions;
  const ids = (await list()).map(({ id }) => id);
  const { database } = service.runtime;
  for (const [at, id] of ids.entries()) {
    const count = [1_500, 1_000][at] ?? (at === MOVEMENTS - 1 ? 0 : 100);
    const rows = Array.from({ length: count }, (_, position) => [
      ...[id, position, feed.customerId, 1, 'Credit', '1.00', null, count === 100 ? LONG : 'a'],
    ]);
    if (count > 0)
      await database.query(
        'INSERT INTO batch_details (transaction_id, position, customer_id, import_id, dc, amount, name, description) VALUES ?',
        [rows],
      );
  }
  return { feed, hook, list, ids };
}

it('a movement has at most 1,000 details and 256 KiB of them, in a listing, a feed and a POST', async () => {
  const { feed, hook, list, ids } = await createBatches();
  const listed = await list();
  expect(listed.map(({ id }) => id)).toEqual(ids);
  const [many, exact, ...long] = listed;
  expect(many?.extended.details).toHaveLength(1_000);
  expect(many?.extended.details_more).toBe(true);
  expect(exact?.extended.details).toHaveLength(1_000);
  expect(exact?.extended).not.toHaveProperty('details_more');
  expect(long.at(-1)?.extended).not.toHaveProperty('details');
  for (const { extended } of long.slice(0, -1)) expect(extended.details_more).toBe(true);
  // The page as a whole has a limit too, so its last movements have no details.
  expect(bytesOf(listed)).toBeLessThan(5 * MIB);
  expect(bytesOf(listed)).toBeGreaterThan(4 * MIB);
  expect(long.at(-2)?.extended.details).toEqual([]);
  const alone = await service.call('GET', `/v1/transactions/${ids.at(-2)}?fields=extended`, {
    key: feed.key,
  });
  const whole: Shown = alone.body.transaction;
  expect(whole.extended.details_more).toBe(true);
  expect(whole.extended.details?.length).toBeGreaterThan(30);
  expect(bytesOf(whole.extended.details)).toBeLessThan(257 * KIB);

  const events: string[] = [];
  for (let cursor: string | null = null, more = true; more; ) {
    const page = await feed.read({ limit: 1_000, ...(cursor === null ? {} : { cursor }) });
    expect(page.status).toBe(200);
    expect(bytesOf(page.body)).toBeLessThan(5 * MIB);
    expect(page.body.events.length).toBeGreaterThan(0);
    events.push(...idsOf(page));
    ({ cursor, more } = page.body);
  }
  expect(events).toEqual(ids.map((id) => `msg_${feed.id}-${id}`));

  await service.call('PATCH', `/v1/webhooks/${hook.id}`, { key: feed.key, body: { status: 'active' } });
  const posts = () => receiver.at(`/${feed.id}`);
  await until('all POSTs', () => posts().length >= MOVEMENTS);
  const sent = new Map(posts().map(({ headers, body }) => [headers['ledgerbell-transaction-id'], body]));
  expect([...sent.keys()].map(Number).toSorted((a, b) => a - b)).toEqual(ids);
  for (const body of sent.values()) expect(Buffer.byteLength(body)).toBeLessThan(258 * KIB);
  expect(JSON.parse(sent.get(String(ids.at(-2))) ?? '').extended).toEqual(whole.extended);
});
