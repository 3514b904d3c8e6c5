import { beforeAll, expect, it } from 'vitest';
import { countsOf, createFeed, type Feed } from '../support/feeds.ts';
import { useService } from '../support/service.ts';

const service = useService();
let feed: Feed;
/** Delivered, and pending. */
let deliveries: { delivered: string; pending: string };
let movementId: number;

beforeAll(async () => {
  const events = ['WITHDRAWN_TRANSACTION', 'NEW_TRANSACTION'];
  feed = await createFeed(service, { title: 'Muhasebe', event: undefined, events });
  await feed.store(3);
  const { cursor } = (await feed.read({ limit: 1 })).body;
  await feed.read({ cursor, limit: 1 });
  const idOf = async (status: string) => (await feed.get(`/deliveries?status=${status}`)).body.deliveries[0];
  const delivered = await idOf('delivered');
  deliveries = { delivered: delivered.id, pending: (await idOf('pending')).id };
  movementId = delivered.transaction_id;
});

const page = (path: string, of: Feed = feed) =>
  service.callOps('GET', path.replace(':id', String(of.id)), { headers: { Accept: 'text/html' } });

/** The text of a page, without its tags. */
async function textOf(path: string, of: Feed = feed): Promise<string> {
  const { status, body } = await page(path, of);
  expect(status).toBe(200);
  const [, main = ''] = /<main[^>]*>(.*)<\/main>/s.exec(String(body)) ?? [];
  return main.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

const submit = (path: string, form: Record<string, string> = {}, of: Feed = feed) =>
  service.callOps('POST', path.replace(':id', String(of.id)), {
    body: new URLSearchParams(form).toString(),
    type: 'application/x-www-form-urlencoded',
    headers: { Accept: 'text/html', Origin: service.opsUrl },
  });

const PAGES: [name: string, path: () => string][] = [
  ['now', () => '/ops'],
  ['webhooks', () => `/ops/webhooks?customer=${feed.customerId}`],
  ['the webhook', () => '/ops/webhooks/:id'],
  ['its replay', () => '/ops/webhooks/:id/replay'],
  ['what its replay does', () => '/ops/webhooks/:id/replay?since=2020-01-01%2000:00:00Z'],
  ...['pause', 'enable', 'test'].map((action): [string, () => string] => [
    `the question before ${action}`,
    () => `/ops/webhooks/:id/${action}`,
  ]),
  ['its deliveries', () => '/ops/deliveries?webhook=:id'],
  ['a delivered delivery', () => `/ops/deliveries/${deliveries.delivered}`],
  ['a pending delivery', () => `/ops/deliveries/${deliveries.pending}`],
  ['the trace of a movement', () => `/ops/trace?movement=${movementId}`],
];

it.each(PAGES)('a page says nothing of an endpoint that a feed does not have: %s', async (_name, path) => {
  expect(await textOf(path())).not.toMatch(/null|undefined|NaN/);
});

it('the page of a feed shows its delivery, its counts and the last acknowledgement', async () => {
  const text = await textOf('/ops/webhooks/:id');
  expect(text).toMatch(/Delivery pull Last acknowledged (now|\d+ s ago) Pending 2 Failed 0 Delivered 1 /);
  expect(text).toContain('Events NEW_TRANSACTION and WITHDRAWN_TRANSACTION, all accounts');
  expect(text).not.toMatch(/Endpoint|Failing|p95|Custom headers|Newest attempts|Delivery run|Job/);
});

it('the page of a feed has only buttons for what can be done about it', async () => {
  const { body } = await page('/ops/webhooks/:id');
  const [, actions = ''] = /<nav class="actions"[^>]*>(.*?)<\/nav>/s.exec(String(body)) ?? [];
  expect([...actions.matchAll(/href="[^"]*\/([^/"]+)"/g)].map(([, name]) => name)).toEqual([
    'test',
    'replay',
    'pause',
    `deliveries?webhook=${feed.id}`,
  ]);
});

it.each(['probe', 'raise-limit', 'rotate-secret'])('a feed refuses %s', async (action) => {
  expect((await page(`/ops/webhooks/:id/${action}`)).status).toBe(409);
  expect((await submit(`/ops/webhooks/:id/${action}`)).status).toBe(409);
});

it('the list of webhooks says that a webhook is pulled', async () => {
  expect(await textOf(`/ops/webhooks?customer=${feed.customerId}`)).toMatch(/Muhasebe .* active pulled – 2 /);
});

it('a delivery of a feed cannot be sent again, and says what it waits for', async () => {
  const delivered = await textOf(`/ops/deliveries/${deliveries.delivered}`);
  expect(delivered).toContain('The reader of the feed has acknowledged it.');
  expect(delivered).not.toMatch(/Redeliver|Attempts|What is sent|deleted/);
  expect(await textOf(`/ops/deliveries/${deliveries.pending}`)).toContain(
    'It waits in the feed until its reader acknowledges it.',
  );
  expect((await page(`/ops/deliveries/${deliveries.delivered}/redeliver`)).status).toBe(409);
});

it('the page of a feed explains what it waits for', async () => {
  const other = await createFeed(service);
  const lead = async () => {
    const { body } = await page('/ops/webhooks/:id', other);
    return /<p class="lead">(.*?)<\/p>/s.exec(String(body))?.[1];
  };
  expect(await lead()).toBe('Its events are pulled. Nothing waits for its reader.');
  await other.store(2);
  expect(await lead()).toBe(
    'Its events are pulled. 2 deliveries wait for its reader, which has never acknowledged an event. If nobody reads the feed, tell its owner.',
  );
  const { cursor } = (await other.read({ limit: 1 })).body;
  await other.read({ cursor, limit: 1 });
  expect(await lead()).toBe(
    'Its events are pulled. 1 delivery waits for its reader, which has acknowledged others within the last 5 min.',
  );
  await service.runtime.database.query(
    'UPDATE webhook_cursors SET progressed_at = NOW(6) - INTERVAL 2 HOUR WHERE webhook_id = ?',
    [other.id],
  );
  expect(await lead()).toBe(
    'Its events are pulled. 1 delivery waits for its reader, which last acknowledged events 2 h ago. If nobody reads the feed, tell its owner.',
  );
  await other.change({ status: 'paused' });
  expect(await lead()).toBe(
    'Its owner has paused it. Its feed is empty until it is enabled, and 1 delivery waits.',
  );
  await service.call('DELETE', `/v1/webhooks/${other.id}`, { key: other.key });
  expect(await lead()).toBe('It was deleted. Its feed cannot be read any more.');
});

it('a feed is paused, enabled, tested and replayed', async () => {
  const other = await createFeed(service);
  await other.store(2);
  const { cursor } = (await other.read()).body;
  await other.read({ cursor });
  for (const action of ['pause', 'enable']) {
    const { status, headers } = await submit(`/ops/webhooks/:id/${action}`, {}, other);
    expect({ status, location: headers.get('location') }).toEqual({
      status: 303,
      location: `/ops/webhooks/${other.id}?done=${action}`,
    });
  }
  const tested = await submit('/ops/webhooks/:id/test', {}, other);
  expect(String(tested.body)).toContain('The sample is the next event of the feed.');
  expect((await other.read()).body.events).toMatchObject([{ id: expect.stringMatching(/^msg_test_/) }]);

  const form = await textOf('/ops/webhooks/:id/replay', other);
  expect(form).toContain('Since (UTC)');
  expect(form).not.toMatch(/Until|Status/);
  const since = '2020-01-01 00:00:00Z';
  const question = await textOf(`/ops/webhooks/:id/replay?since=${encodeURIComponent(since)}`, other);
  expect(question).toMatch(/Move the feed of webhook .* back by 2 deliveries\?/);
  expect(await countsOf(other)).toMatchObject({ pending: 0, delivered: 2 });
  const replayed = await submit('/ops/webhooks/:id/replay', { since, until: '', status: 'failed' }, other);
  expect(replayed.status).toBe(303);
  expect(await countsOf(other)).toMatchObject({ pending: 2, delivered: 0 });
  expect(await textOf('/ops/webhooks/:id?done=replay', other)).toContain('The feed has moved back.');
});
