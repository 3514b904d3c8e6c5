import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ApiError,
  type FeedEvent,
  type FeedOptions,
  type FeedPage,
  Ledgerbell,
  VerificationError,
} from '../../packages/sdk/src/index.ts';
import { countsOf, createFeed, type Feed, idsOf } from '../support/feeds.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createFeedVectors } from './feed-vectors.ts';
import { toFile } from './vectors.ts';

const service = useService();

async function prepare(fields: object = {}) {
  const feed = await createFeed(service, fields);
  return { feed, ledgerbell: new Ledgerbell({ url: service.url, apiKey: feed.key }) };
}

/** All events that are there, by the loop of a batch job. */
async function readAll({ feed, ledgerbell }: { feed: Feed; ledgerbell: Ledgerbell }, options?: FeedOptions) {
  const events: FeedEvent[] = [];
  for await (const event of ledgerbell.feed(feed.id, { wait: 0, ...options })) events.push(event);
  return events;
}

/** The ids that the events of all stored movements have. */
async function storedIds({ id: webhookId, key }: Feed): Promise<string[]> {
  const ids: string[] = [];
  const ledgerbell = new Ledgerbell({ url: service.url, apiKey: key });
  for await (const { id } of ledgerbell.movements({ starts: '2000-01-01' }))
    ids.push(`msg_${webhookId}-${id}`);
  return ids;
}

describe('feed', () => {
  it('yields all events once, over several pages, acknowledges them, and ends with wait 0', async () => {
    const prepared = await prepare();
    const { feed } = prepared;
    await feed.store(7);
    const events = await readAll(prepared, { limit: 3 });
    expect(events.map(({ id }) => id)).toEqual(await storedIds(feed));
    expect(events[0]).toMatchObject({
      timestamp: expect.any(Number),
      body: { dc: 'Credit', amount: '1250.00', account_id: feed.account },
    });
    expect(await countsOf(feed)).toMatchObject({ pending: 0, delivered: 7 });
    expect(await readAll(prepared)).toEqual([]);
  });

  it('acknowledges a page only after the body of the loop has run for its last event', async () => {
    const { feed, ledgerbell } = await prepare();
    await feed.store(4);
    const delivered: number[] = [];
    for await (const _ of ledgerbell.feed(feed.id, { limit: 2, wait: 0 }))
      delivered.push((await countsOf(feed)).delivered);
    expect(delivered).toEqual([0, 0, 2, 2]);
    expect(await countsOf(feed)).toMatchObject({ pending: 0, delivered: 4 });
  });

  it('yields the events of a page again when the loop has ended within it', async () => {
    const prepared = await prepare();
    const { feed, ledgerbell } = prepared;
    await feed.store(5);
    const ids = await storedIds(feed);
    const readTo = async (id: string | undefined, end: () => void) => {
      for await (const event of ledgerbell.feed(feed.id, { limit: 2 })) if (event.id === id) end();
    };
    const fail = () => {
      throw new Error('the disk is full');
    };
    await expect(readTo(ids[2], fail)).rejects.toThrow('the disk is full');
    expect(await countsOf(feed)).toMatchObject({ delivered: 2 });
    for await (const { id } of ledgerbell.feed(feed.id, { limit: 2 })) if (id === ids[3]) break;
    expect((await readAll(prepared)).map(({ id }) => id)).toEqual(ids.slice(2));
  });

  it('waits for events, and ends promptly when the signal is aborted', async () => {
    const { feed, ledgerbell } = await prepare();
    const ending = new AbortController();
    const ids: string[] = [];
    const reading = (async () => {
      for await (const { id } of ledgerbell.feed(feed.id, { signal: ending.signal })) ids.push(id);
    })();
    await sleep(200);
    await feed.store(1);
    await until('the event comes', () => ids.length === 1);
    await until('it is acknowledged', async () => (await countsOf(feed)).delivered === 1);
    const began = performance.now();
    ending.abort();
    await reading;
    // The request would wait for most of a minute.
    expect(performance.now() - began).toBeLessThan(10_000);
    await until('the service has no reader left', async () => {
      const { body } = await service.callOps('GET', '/metrics');
      return /^ledgerbell_feed_readers(?:{.*})? 0$/m.test(body);
    });
    for await (const _ of ledgerbell.feed(feed.id, { signal: AbortSignal.abort() })) throw new Error('read');
  });

  it('yields nothing more after an abort in the body of the loop, and all of the page the next time', async () => {
    const prepared = await prepare();
    const { feed, ledgerbell } = prepared;
    await feed.store(3);
    const ending = new AbortController();
    let count = 0;
    for await (const _ of ledgerbell.feed(feed.id, { signal: ending.signal })) {
      count += 1;
      ending.abort();
    }
    expect(count).toBe(1);
    expect(await readAll(prepared)).toHaveLength(3);
  });

  it('goes on where a replay has moved the feed back to, between two pages and while it waits', async () => {
    const { feed, ledgerbell } = await prepare();
    await feed.store(2);
    const ids = await storedIds(feed);
    const replay = () => feed.post('/replay', { since: '2020-01-01 00:00:00' });
    const seen: string[] = [];
    const ending = new AbortController();
    onTestFinished(() => ending.abort());
    const reading = (async () => {
      for await (const { id } of ledgerbell.feed(feed.id, { limit: 1, signal: ending.signal })) {
        seen.push(id);
        if (seen.length === 2) await replay();
      }
    })();
    await until('it is read again', () => seen.length === 4);
    await until('all is acknowledged', async () => (await countsOf(feed)).pending === 0);
    await replay();
    await until('it is read once more', () => seen.length === 6);
    expect(seen).toEqual([...ids, ...ids, ...ids]);
    ending.abort();
    await reading;
  });

  it('yields the sample of a test with its own id', async () => {
    const prepared = await prepare();
    await prepared.feed.post('/test');
    expect(await readAll(prepared)).toMatchObject([{ id: expect.stringMatching(/^msg_test_/) }]);
  });

  it.each(['hex', 'raw'])('verifies the hash (%s) with the API secret', async (hash_encoding) => {
    const prepared = await prepare({ hash_encoding });
    const { feed } = prepared;
    await feed.store(1, { description: 'ÇİĞDEM ŞEN + %10' });
    const wrong = readAll(prepared, { apiSecret: 'another' });
    await expect(wrong).rejects.toBeInstanceOf(VerificationError);
    await expect(wrong).rejects.toMatchObject({ reason: 'wrong-hash' });
    expect(await countsOf(feed)).toMatchObject({ pending: 1 });
    expect(await readAll(prepared, { apiSecret: feed.apiSecret })).toHaveLength(1);
  });

  it('sends a request again after 503, 429 and a lost connection, with the same cursor', async () => {
    const { feed } = await prepare();
    await feed.store(2);
    const troubles = [503, null, 429, 0];
    const cursors: (string | null)[] = [];
    const proxy = createServer(async (request, response) => {
      cursors.push(new URL(request.url ?? '', service.url).searchParams.get('cursor'));
      const trouble = troubles.shift() ?? null;
      if (trouble === 0) return void request.socket.destroy();
      if (trouble !== null) return void response.writeHead(trouble, { 'Retry-After': '0' }).end();
      const answer = await fetch(`${service.url}${request.url}`, { headers: { Authentication: feed.key } });
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text());
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onTestFinished(() => void proxy.close());
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const ledgerbell = new Ledgerbell({ url, apiKey: feed.key });
    expect(await readAll({ feed, ledgerbell })).toHaveLength(2);
    expect(cursors).toHaveLength(5);
    expect(cursors.slice(0, 2)).toEqual([null, null]);
    expect(new Set(cursors.slice(2)).size).toBe(1);
  });

  it('sends about one request per second to a service that does not wait, as one that shuts down', async () => {
    let requests = 0;
    const ending = new AbortController();
    const began = performance.now();
    const ledgerbell = new Ledgerbell({
      url: 'http://127.0.0.1:9',
      apiKey: 'key',
      fetch: async () => {
        requests += 1;
        if (requests === 4) ending.abort();
        return Response.json({ events: [], cursor: 'c', more: false });
      },
    });
    for await (const _ of ledgerbell.feed(1, { signal: ending.signal })) throw new Error('an event');
    expect(requests).toBe(4);
    // Three pauses. A timer may end a millisecond early, and on a busy machine much too late.
    expect(performance.now() - began).toBeGreaterThan(2_900);
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  it('throws what the API refuses', async () => {
    const { feed, ledgerbell } = await prepare();
    const read = async (id: number, options: FeedOptions = {}) => {
      for await (const _ of ledgerbell.feed(id, options)) throw new Error('an event');
    };
    await expect(read(feed.id + 1_000_000)).rejects.toBeInstanceOf(ApiError);
    await expect(read(feed.id + 1_000_000)).rejects.toMatchObject({ type: '/problems/not-found' });
    await expect(read(feed.id, { limit: 1_001 })).rejects.toMatchObject({ errors: [{ path: 'limit' }] });
  });
});

describe('feedPages', () => {
  const idsIn = ({ events }: FeedPage) => events.map(({ id }) => id);

  it('acknowledges a page when the next one is asked for, and yields no empty page', async () => {
    const { feed, ledgerbell } = await prepare();
    await feed.store(5);
    const ids = await storedIds(feed);
    const delivered: number[] = [];
    const pages: string[][] = [];
    for await (const page of ledgerbell.feedPages(feed.id, { limit: 2, wait: 0 })) {
      expect(page.cursor).toEqual(expect.any(String));
      pages.push(idsIn(page));
      delivered.push((await countsOf(feed)).delivered);
    }
    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    expect(delivered).toEqual([0, 2, 4]);
    expect(await countsOf(feed)).toMatchObject({ pending: 0, delivered: 5 });
  });

  it('yields a page again whose reader has ended while it stores it: nothing is lost', async () => {
    const { feed, ledgerbell } = await prepare();
    await feed.store(30);
    const ids = await storedIds(feed);
    const stored: string[] = [];
    let pages = 0;
    /** Stores pages in one step each. In every second page it ends before that step, in turn by an error, `break` and the signal. */
    const read = async () => {
      const ending = new AbortController();
      const { signal } = ending;
      for await (const page of ledgerbell.feedPages(feed.id, { limit: 4, wait: 0, signal })) {
        pages += 1;
        if (pages % 6 === 0) throw new Error('the disk is full');
        if (pages % 6 === 2) break;
        if (pages % 6 === 4) ending.abort();
        else stored.push(...idsIn(page));
      }
    };
    while ((await countsOf(feed)).pending > 0)
      await read().catch(({ message }: Error) => expect(message).toBe('the disk is full'));
    expect(new Set(stored)).toEqual(new Set(ids));
    expect(pages).toBeGreaterThan(6);
  });

  it('acknowledges a page by its cursor alone', async () => {
    const { feed, ledgerbell } = await prepare();
    await feed.store(3);
    for await (const { cursor } of ledgerbell.feedPages(feed.id, { limit: 2 })) {
      await ledgerbell.readFeed({ path: { id: feed.id }, query: { cursor, limit: 1 } });
      break;
    }
    expect(await countsOf(feed)).toMatchObject({ pending: 1, delivered: 2 });
  });

  it('yields nothing of a page with a wrong hash', async () => {
    const { feed, ledgerbell } = await prepare();
    await feed.store(2);
    const read = async (apiSecret: string) => {
      const pages: string[][] = [];
      for await (const page of ledgerbell.feedPages(feed.id, { wait: 0, apiSecret })) pages.push(idsIn(page));
      return pages;
    };
    await expect(read('another')).rejects.toMatchObject({ reason: 'wrong-hash' });
    expect(await countsOf(feed)).toMatchObject({ pending: 2 });
    expect(await read(feed.apiSecret)).toEqual([await storedIds(feed)]);
  });
});

describe('the vectors feed', () => {
  const vectors = createFeedVectors();

  it("equal those that the service's code makes", async () => {
    const file = new URL('../../packages/vectors/feed.json', import.meta.url);
    expect(await readFile(file, 'utf8')).toBe(toFile(vectors));
  });

  it.each(vectors.map((vector) => [vector.name, vector] as const))('%s', async (_, vector) => {
    const { apiSecret, exchanges, expected } = vector;
    const ending = new AbortController();
    const cursors: (string | null)[] = [];
    const ledgerbell = new Ledgerbell({
      url: 'http://127.0.0.1:9',
      apiKey: 'key',
      fetch: async (input) => {
        cursors.push(new URL((input as Request).url).searchParams.get('cursor'));
        const { status, headers, body } = exchanges[cursors.length - 1]?.response ?? {};
        if (expected.ok && cursors.length === exchanges.length) setTimeout(() => ending.abort());
        return new Response(body ?? null, {
          ...(status === undefined ? {} : { status }),
          ...(headers === undefined ? {} : { headers }),
        });
      },
    });
    const stored = new Set<string>();
    const read = async () => {
      const options = { signal: ending.signal, ...(apiSecret === undefined ? {} : { apiSecret }) };
      for await (const { id } of ledgerbell.feed(17, options))
        if (!id.startsWith('msg_test_')) stored.add(id);
    };
    if (expected.ok) await read();
    else await expect(read()).rejects.toMatchObject({ reason: expected.reason });
    expect([...stored]).toEqual(expected.stored);
    expect(cursors).toEqual(exchanges.map(({ request }) => request.cursor));
  });
});

it('a reader that is killed four times while movements are imported misses no event', async () => {
  const { feed } = await prepare();
  const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-feed-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'ids');
  await writeFile(file, '');
  const start = () =>
    spawn(
      process.execPath,
      [
        ...['--import', 'tsx', join(import.meta.dirname, 'feed.fixture.ts')],
        ...[service.url, feed.key, String(feed.id), file],
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
  const seen = async () => new Set((await readFile(file, 'utf8')).match(/^msg_.*(?=\n)/gm));
  let isOver = false;
  const importing = (async () => {
    while (!isOver) await feed.store(7);
  })();
  let reader = start();
  for (let kill = 0; kill < 4; kill += 1) {
    const before = (await seen()).size;
    await until('the reader gets on', async () => (await seen()).size > before + 20, 60_000);
    await sleep(Math.random() * 50);
    const exit = once(reader, 'exit');
    reader.kill('SIGKILL');
    await exit;
    reader = start();
  }
  onTestFinished(() => void reader.kill('SIGKILL'));
  isOver = true;
  await importing;
  await until('all is acknowledged', async () => (await countsOf(feed)).pending === 0, 60_000);
  expect(await seen()).toEqual(new Set(await storedIds(feed)));
  expect(idsOf(await feed.read())).toEqual([]);
}, 180_000);
