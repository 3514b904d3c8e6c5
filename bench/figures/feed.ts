import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { Client } from 'undici';
import { monotonic } from '../clock.ts';
import { type Figure, type MeasuredTimes, type Round, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual, send, subscribe, untilDone, untilReceived } from '../load.ts';
import { makeMovements, toNdjson } from '../movements.ts';
import { percentile } from '../percentile.ts';
import { startProcess } from '../processes.ts';
import type { Sent } from '../single-client.ts';
import { memoryOf } from '../usage.ts';

/** The most events of a page. */
const LIMIT = 1_000;

/** Movements that one reader waits for, one after the other, and the pause between them. */
const WAITED_FOR = 200;
const BETWEEN = 25;

/** Single movements that are sent while readers wait. */
const IMPORTS = { connections: 10, smoke: 20, normal: 4_000 };

/**
 * Measures feeds: how many events one reader gets per second if it acknowledges a thousand at a time; how long after the 202 a movement
 * reaches a reader that waits, against the receiver of a POST in the same run; and what ten thousand readers that wait add to the memory of
 * an api process and to the time of single imports.
 */
export const feed: Figure = {
  about: 'events/s of a reader; ms to a reader that waits, against a POST; 10,000 readers that wait',
  async prepare(scale: Scale, start) {
    const installation = await start();
    return {
      server: installation.server,
      async round() {
        return [
          ...(await read(installation, sized(scale, { smoke: 2_000, normal: 100_000 }))),
          ...(await wait(installation, sized(scale, { smoke: 10, normal: WAITED_FOR }))),
          ...(await waitByThousands(installation, scale)),
        ];
      },
      end: () => installation.end(),
    };
  },
};

async function createFeed({ call }: Installation, key: string, account = 'all'): Promise<number> {
  const { webhook } = (await call(key, 'POST', '/v1/webhooks', {
    ...{ title: 'Feed', event: 'NEW_TRANSACTION', account, delivery: 'pull' },
  })) as { webhook: { id: number } };
  return webhook.id;
}

interface Page {
  events: { id: string; body: { description: string } }[];
  cursor: string;
  more: boolean;
}

async function readPage(client: Client, key: string, path: string): Promise<Page> {
  const { statusCode, body } = await client.request({
    method: 'GET',
    path,
    headers: { authentication: key },
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`);
  return JSON.parse(text) as Page;
}

/** @throws when an event is missing, or comes twice. */
async function read(installation: Installation, rows: number): Promise<Round> {
  const { api_key: key, accountId } = await installation.customer();
  const id = await createFeed(installation, key);
  const body = toNdjson(makeMovements(rows, accountId, `feed-${monotonic()}`));
  await untilDone(installation, key, await send(installation, key, body), rows);
  const client = new Client(installation.url);
  const seen = new Set<string>();
  const startedAt = monotonic();
  let cursor = '';
  for (let hasMore = true; hasMore; ) {
    const page = await readPage(client, key, `/v1/webhooks/${id}/feed?limit=${LIMIT}${cursor}`);
    for (const event of page.events) seen.add(event.id);
    // The last request only acknowledges.
    hasMore = page.events.length > 0;
    cursor = `&cursor=${page.cursor}`;
  }
  const seconds = (monotonic() - startedAt) / 1_000;
  await client.close();
  const { webhook } = (await installation.call(key, 'GET', `/v1/webhooks/${id}`)) as {
    webhook: { deliveries: { delivered: number; pending: number } };
  };
  const { delivered, pending } = webhook.deliveries;
  requireEqual({ expected: rows, seen: seen.size, delivered, acknowledged: rows - pending });
  return [
    {
      name: `feed, one reader, limit ${LIMIT}`,
      unit: 'events/s',
      value: rows / seconds,
      wanted: { atLeast: 20_000 },
    },
  ];
}

/** Stores movements one after the other, and measures from each 202 to the reader and to the receiver of the POST. */
async function wait(installation: Installation, count: number): Promise<Round> {
  const { receiver, url } = installation;
  const { api_key: key, accountId } = await installation.customer();
  const id = await createFeed(installation, key);
  const { path, secret } = await subscribe(installation, key, { path: '/timed/feed', account: accountId });
  receiver.send({ reset: true });
  receiver.send({ secrets: { [path]: secret } });
  const tag = `feed-${monotonic()}`;
  const accepted = new Map<string, number>();
  const pulled = new Map<string, number>();
  const client = new Client(url);
  const reading = (async () => {
    for (let cursor = ''; pulled.size < count; ) {
      const page = await readPage(client, key, `/v1/webhooks/${id}/feed?wait=20${cursor}`);
      for (const event of page.events) pulled.set(event.id.split('-')[1] ?? '', monotonic());
      cursor = `&cursor=${page.cursor}`;
    }
  })();
  const sender = new Client(url);
  await pause(200);
  for (const movement of makeMovements(count, accountId, tag)) {
    const { statusCode, body } = await sender.request({
      ...{ method: 'POST', path: '/v1/imports', body: JSON.stringify({ transactions: [movement] }) },
      headers: { authentication: key, 'content-type': 'application/json' },
    });
    if (statusCode !== 202) throw new Error(`answered ${statusCode}: ${await body.text()}`);
    accepted.set(movement.unique_id, monotonic());
    await body.dump();
    await pause(BETWEEN);
  }
  await reading;
  const { arrivals } = await untilReceived(installation, count, { every: 50 });
  await Promise.all([client.close(), sender.close()]);
  const ids = await installation.runtime.database.query<{ id: string; unique_id: string }[]>(
    'SELECT id, CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions WHERE account_id = ? AND unique_id LIKE ?',
    [accountId, `${tag}-%`],
  );
  requireEqual({
    expected: count,
    pulled: pulled.size,
    stored: ids.length,
    posted: Object.keys(arrivals).length,
  });
  const since = (moments: (id: string) => number | undefined) =>
    ids
      .map((it) => (moments(it.id) ?? Number.NaN) - (accepted.get(it.unique_id) ?? Number.NaN))
      .sort((one, other) => one - other);
  const toReader = percentile(
    since((it) => pulled.get(it)),
    0.5,
  );
  const toReceiver = percentile(
    since((it) => arrivals[it]),
    0.5,
  );
  return [
    {
      name: 'feed, p50 from the 202 to a reader that waits, beyond that of a POST',
      unit: 'ms',
      value: toReader - toReceiver,
      wanted: { atMost: 10 },
    },
  ];
}

/** Measures the memory of the api process, and single imports, without and with readers that wait. */
async function waitByThousands(installation: Installation, scale: Scale): Promise<Round> {
  const { customers, each } = sized(scale, {
    smoke: { customers: 2, each: 5 },
    normal: { customers: 100, each: 100 },
  });
  const feeds: { key: string; id: number }[] = [];
  for (let made = 0; made < customers; made += 1) {
    const { api_key: key } = await installation.customer();
    const ids = await Promise.all(Array.from({ length: each }, () => createFeed(installation, key)));
    feeds.push(...ids.map((id) => ({ key, id })));
  }
  const other = await installation.customer();
  const pid = installation.pids['api 1'] ?? 0;
  const client = startProcess('./single-client.js');
  const times = async (run: string): Promise<number[]> => {
    const sent = client.receive<Sent>();
    client.send({
      ...{ origins: [installation.url], connections: IMPORTS.connections, run },
      accounts: [{ accountId: other.accountId, key: other.api_key }],
      movements: sized(scale, IMPORTS),
    });
    return (await sent).waits;
  };
  await times(`warm-${monotonic()}`);
  const before = await times(`before-${monotonic()}`);
  const { now: quiet } = await memoryOf(pid);
  const sockets: Socket[] = [];
  // One customer after the other, because the requests of all together would be more than the process works on at a time.
  for (let at = 0; at < feeds.length; at += each) {
    sockets.push(
      ...(await Promise.all(feeds.slice(at, at + each).map((it) => openReader(installation.url, it)))),
    );
    await untilWaiting(installation, sockets.length);
  }
  const { now: full } = await memoryOf(pid);
  const beside = await times(`beside-${monotonic()}`);
  const still = await readers(installation);
  for (const socket of sockets) socket.destroy();
  await client.end();
  requireEqual({ expected: feeds.length, still });
  const imported: MeasuredTimes = {
    ...{
      name: `imports beside ${feeds.length} readers that wait, p99`,
      unit: 'ms',
      part: 0.99,
      times: beside,
    },
    baseline: { name: 'without readers', times: before },
    wanted: { atMost: 1.25 },
  };
  return [
    {
      name: `feed, memory of ${feeds.length} readers that wait`,
      unit: 'MB',
      value: full - quiet,
      wanted: { atMost: 1_000 },
    },
    imported,
  ];
}

/** @throws when not so many readers wait within 20 s. */
async function untilWaiting(installation: Installation, count: number): Promise<void> {
  const until = monotonic() + 20_000;
  for (let found = 0; found < count; ) {
    found = await readers(installation);
    if (monotonic() > until) throw new Error(`${found} of ${count} readers wait`);
    if (found < count) await pause(10);
  }
}

async function readers({ opsUrl }: Installation): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(/^ledgerbell_feed_readers(?:\{.*\})? (\d+)/m.exec(text)?.[1] ?? 0);
}

/** Opens a connection with a reader that waits. As little as possible happens in this process. */
async function openReader(url: string, { key, id }: { key: string; id: number }): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(
    `GET /v1/webhooks/${id}/feed?wait=55 HTTP/1.1\r\nHost: ${hostname}\r\nAuthentication: ${key}\r\n\r\n`,
  );
  socket.resume();
  return socket;
}
