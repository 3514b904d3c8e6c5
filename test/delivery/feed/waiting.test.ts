import { describe, expect, it } from 'vitest';
import { MOST_READERS } from '../../../src/delivery/feed/readers.ts';
import { openStream } from '../../support/event-stream.ts';
import { countsOf, createFeed, type Feed, idsOf } from '../../support/feeds.ts';
import { useOwnService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useOwnService({ because: 'the readers of all customers are counted', roles: ['api'] });

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The number of readers that wait in this process. */
async function readers(): Promise<number> {
  const metric = service.runtime.metrics.registry.getSingleMetric('ledgerbell_feed_readers');
  return (await metric?.get())?.values[0]?.value ?? 0;
}

const waitingFor = (count: number) => until(`${count} readers wait`, async () => (await readers()) === count);

async function timed<T>(work: Promise<T>): Promise<{ answer: T; took: number }> {
  const began = performance.now();
  return { answer: await work, took: performance.now() - began };
}

describe('a reader that waits', () => {
  it('is answered when an event comes, and otherwise when the time is over', async () => {
    const feed = await createFeed(service);
    const waiting = timed(feed.read({ wait: 30 }));
    await waitingFor(1);
    await feed.store(1);
    const { answer, took } = await waiting;
    expect(answer.body.events).toHaveLength(1);
    expect(took).toBeLessThan(10_000);
    const nothing = await timed(feed.read({ wait: 1, cursor: answer.body.cursor }));
    expect(nothing.answer.body.events).toEqual([]);
    expect(nothing.took).toBeGreaterThan(900);
    expect(await readers()).toBe(0);
    // The cursor of an empty answer goes on.
    await feed.store(1);
    expect((await feed.read({ cursor: nothing.answer.body.cursor })).body.events).toHaveLength(1);
    expect(await countsOf(feed)).toMatchObject({ delivered: 1, pending: 1 });
  });

  it('is woken by a test, by the end of a pause and by a replay', async () => {
    const feed = await createFeed(service);
    const wait = async () => {
      const waiting = feed.read({ wait: 30 });
      await waitingFor(1);
      return waiting;
    };
    const tested = wait();
    await waitingFor(1);
    await feed.post('/test');
    expect(idsOf(await tested)).toEqual([expect.stringMatching(/^msg_test_/)]);

    await feed.change({ status: 'paused' });
    await feed.store(1);
    const paused = wait();
    await waitingFor(1);
    await feed.change({ status: 'active' });
    const { body } = await paused;
    expect(body.events).toHaveLength(1);
    await feed.read({ cursor: body.cursor });

    const replayed = wait();
    await waitingFor(1);
    await feed.post('/replay', { since: '2020-01-01 00:00:00' });
    expect((await replayed).status).toBe(410);
    expect((await feed.read()).body.events).toHaveLength(1);
  });

  it('is told when the webhook is deleted', async () => {
    const feed = await createFeed(service);
    const waiting = feed.read({ wait: 30 });
    await waitingFor(1);
    await service.call('DELETE', `/v1/webhooks/${feed.id}`, { key: feed.key });
    expect((await waiting).status).toBe(404);
  });

  it('is handed out nothing when its API key is deleted while it waits', async () => {
    const feed = await createFeed(service);
    const made = await service.call('POST', '/v1/apikeys', {
      key: feed.key,
      body: { title: 'Okur', account: 'all', scopes: ['read'] },
    });
    const { id, apikey } = made.body.apikey;
    const path = `/v1/webhooks/${feed.id}/feed`;
    const waiting = service.call('GET', `${path}?wait=30`, { key: apikey });
    const headers = { Authentication: apikey, Accept: 'text/event-stream' };
    const stream = await fetch(service.url + path, { headers });
    await waitingFor(2);
    expect((await service.call('DELETE', `/v1/apikeys/${id}`, { key: feed.key })).status).toBe(200);
    await feed.store(1);
    expect((await waiting).status).toBe(401);
    expect(await stream.text()).not.toContain('msg_');
    expect(await countsOf(feed)).toMatchObject({ delivered: 0, pending: 1 });
  });

  it('has the type and the Cache-Control that Accept leads to, also for HEAD', async () => {
    const feed = await createFeed(service);
    const controller = new AbortController();
    for (const method of ['HEAD', 'GET']) {
      const headersFor = async (accept: string) => {
        const { headers } = await fetch(`${service.url}/v1/webhooks/${feed.id}/feed`, {
          ...{ method, signal: controller.signal, headers: { Authentication: feed.key, Accept: accept } },
        });
        return [headers.get('content-type'), headers.get('cache-control')];
      };
      const page = ['application/json', 'no-store'];
      const stream = ['text/event-stream', 'no-store, no-transform'];
      expect(await headersFor('text/event-stream;q=0')).toEqual(page);
      expect(await headersFor('text/event-stream;q=0.5, application/json')).toEqual(page);
      expect(await headersFor('Text/Event-Stream')).toEqual(stream);
    }
    controller.abort();
    await waitingFor(0);
  });

  it('is not a HEAD, which acknowledges nothing, takes no sample and is answered at once', async () => {
    const feed = await createFeed(service);
    await feed.store(2);
    const { cursor } = (await feed.read()).body;
    await feed.post('/test');
    const headers = { Authentication: feed.key };
    const url = `${service.url}/v1/webhooks/${feed.id}/feed`;
    for (const accept of ['application/json', 'text/event-stream']) {
      const answers = Array.from({ length: MOST_READERS.webhook + 2 }, () =>
        fetch(`${url}?cursor=${cursor}&wait=30`, { method: 'HEAD', headers: { ...headers, Accept: accept } }),
      );
      for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
    }
    expect(await readers()).toBe(0);
    expect(await countsOf(feed)).toMatchObject({ delivered: 0, pending: 2 });
    expect((await feed.read()).body.events[0].id).toMatch(/^msg_test_/);
  });

  it('is one of a limited number, of which a client that has gone does not count', async () => {
    const feed = await createFeed(service);
    const url = `${service.url}/v1/webhooks/${feed.id}/feed?wait=30`;
    const controller = new AbortController();
    const options = { headers: { Authentication: feed.key }, signal: controller.signal };
    const waiting = Array.from({ length: MOST_READERS.webhook }, () => fetch(url, options).catch(() => null));
    await waitingFor(MOST_READERS.webhook);
    const refused = await feed.read({ wait: 1 });
    expect(refused.status).toBe(429);
    expect(refused.body.type).toContain('too-many-readers');
    expect(refused.headers.get('retry-after')).toBe('1');
    // Without waiting, the feed is read as before.
    expect((await feed.read()).status).toBe(200);
    controller.abort();
    await Promise.all(waiting);
    await waitingFor(0);
    expect((await feed.read({ wait: 1 })).status).toBe(200);
  });

  it('holds no connection to MySQL, and is no request in progress', async () => {
    const feeds: Feed[] = [];
    // More readers than connections, and more of one customer than it may have requests in progress.
    const first = await createFeed(service);
    feeds.push(first);
    const webhooks = [first.id];
    for (let count = 1; count < 60; count += 1) {
      const { body } = await service.call('POST', '/v1/webhooks', {
        key: first.key,
        body: { title: `${count}`, event: 'NEW_TRANSACTION', account: 'all', delivery: 'pull' },
      });
      webhooks.push(body.webhook.id);
    }
    const waiting = webhooks.flatMap((id) =>
      Array.from({ length: 10 }, () =>
        fetch(`${service.url}/v1/webhooks/${id}/feed?wait=50`, { headers: { Authentication: first.key } }),
      ),
    );
    await waitingFor(600);
    const { answer, took } = await timed(service.call('GET', '/v1/accounts', { key: first.key }));
    expect(answer.status).toBe(200);
    // They wait for 50 s.
    expect(took).toBeLessThan(20_000);
    await first.store(1);
    const answers = await Promise.all(waiting);
    for (const it of answers) expect(((await it.json()) as { events: unknown[] }).events).toHaveLength(1);
    expect(await readers()).toBe(0);
  });
});

describe('a reader that waits without Redis', () => {
  const alone = useOwnService({ because: 'it ends the connection to Redis', roles: ['api'] });

  it('learns of movements within 2 s', async () => {
    const feed = await createFeed(alone);
    alone.runtime.redis.disconnect();
    const waiting = feed.read({ wait: 30 });
    await pause(300);
    await feed.store(1);
    const { answer, took } = await timed(waiting);
    expect(answer.body.events).toHaveLength(1);
    // The machine of the tests may be slow; the service looks every 1.5 s. Without a look, the answer comes after 30 s, and is empty.
    expect(took).toBeLessThan(20_000);
  });
});

describe('a stream', () => {
  const open = (feed: Feed, headers: Record<string, string> = {}, query = '') =>
    openStream(`${service.url}/v1/webhooks/${feed.id}/feed${query}`, {
      Authentication: feed.key,
      ...headers,
    });

  it('has each event with its cursor, as it comes, and Last-Event-ID resumes and acknowledges', async () => {
    const feed = await createFeed(service);
    await feed.store(2);
    const stream = await open(feed);
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    expect(stream.headers.get('x-accel-buffering')).toBe('no');
    expect(stream.headers.get('cache-control')).toBe('no-store, no-transform');
    await until('two events', () => stream.events.length === 2);
    await feed.store(1);
    await until('three events', () => stream.events.length === 3);
    expect(stream.retry).toBe(1_000);
    expect(await countsOf(feed)).toMatchObject({ delivered: 0, pending: 3 });
    const page = await feed.read();
    expect(stream.events.map(({ data }) => data)).toEqual(page.body.events);
    stream.close();
    await waitingFor(0);

    const [, second, third] = stream.events;
    // A client that connects again keeps its URL, so the header counts.
    const resumed = await open(
      feed,
      { 'Last-Event-ID': second?.id ?? '' },
      `?cursor=${stream.events[0]?.id}`,
    );
    await until('the third event', () => resumed.events.length === 1);
    expect(resumed.events[0]?.data.id).toBe(third?.data.id);
    expect(await countsOf(feed)).toMatchObject({ delivered: 2, pending: 1 });
    resumed.close();
    // Cursors of streams and of pages are the same.
    await feed.read({ cursor: third?.id ?? '' });
    expect(await countsOf(feed)).toMatchObject({ delivered: 3, pending: 0 });
    await waitingFor(0);
  });

  it('ends after a thousand events', async () => {
    const feed = await createFeed(service);
    for (let count = 0; count < 11; count += 1) await feed.store(100);
    const stream = await open(feed);
    await stream.ended;
    expect(stream.events).toHaveLength(1_000);
    const next = await open(feed, { 'Last-Event-ID': stream.events.at(-1)?.id ?? '' });
    await until('the rest', () => next.events.length === 100);
    next.close();
    await waitingFor(0);
  });

  it('is refused as a page is', async () => {
    const feed = await createFeed(service);
    const stream = await open(feed, { 'Last-Event-ID': 'x' });
    expect(stream.status).toBe(422);
    expect(stream.headers.get('content-type')).toBe('application/problem+json');
    await stream.ended.catch(() => {});
    expect(await readers()).toBe(0);
  });
});
