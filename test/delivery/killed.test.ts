import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { createCustomer } from '../../src/customers/customers.ts';
import { createSecretBox } from '../../src/database/secret-box.ts';
import { useDatabase } from '../support/database.ts';
import { movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { reservePort } from '../support/reserved-port.ts';
import { useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';

const receiver = useReceiver();
const processes = useServiceProcesses();
const { url: DATABASE_URL, database } = useDatabase();
const REDIS_URL = useRedisDatabase();
const SECRET_KEY = randomBytes(32).toString('base64');

const KILLS = 10;
const CLIENTS = 4;

/** A result is recorded within this time after the answer, also on a slow machine. Milliseconds. */
const RECORDED_WITHIN = 5_000;

let reader: ChildProcess | undefined;
afterAll(() => void reader?.kill('SIGKILL'));

/** Imports movements one after the other, again and again until each is accepted. @returns how many. */
async function importUntil(url: string, key: string, accountId: number, name: string, over: AbortSignal) {
  let count = 0;
  for (; !over.aborted; count += 1) {
    // Every other import goes to the importer.
    const rows = Array.from({ length: 5 }, (_, n) =>
      movement(String(accountId), { unique_id: `${name} ${count} ${n}` }),
    );
    const [type, body] =
      count % 2 === 0
        ? ['application/json', JSON.stringify({ transactions: rows })]
        : ['application/x-ndjson', rows.map((row) => JSON.stringify(row)).join('\n')];
    const headers = {
      Authentication: key,
      'Content-Type': type ?? '',
      'Idempotency-Key': `${name} ${count}`,
    };
    for (let isAccepted = false; !isAccepted; ) {
      isAccepted = await fetch(`${url}/v1/imports`, { method: 'POST', headers, body: body ?? '' }).then(
        ({ status }) => status === 202,
        () => false,
      );
      if (!isAccepted) await sleep(50);
    }
  }
  return count * 5;
}

it('nothing is missed, and only what was not acknowledged or recorded comes again, while reader, api and delivery are killed', async () => {
  const port = await reservePort();
  const env = { DATABASE_URL, REDIS_URL, SECRET_KEY, PORT: '0' };
  const url = `http://127.0.0.1:${port}`;
  const startApi = async () => {
    const api = processes.start({ ...env, PORT: String(port) }, ['--roles', 'api']);
    await api.url();
    return api;
  };
  processes.start(env, ['--roles', 'importer,maintenance']);
  let api = await startApi();
  const startDelivery = () => processes.start(env, ['--roles', 'delivery']);
  let delivery = startDelivery();
  const { api_key: key } = await createCustomer({ database, secrets: createSecretBox(SECRET_KEY) }, 'Okur');
  const post = async (path: string, body: object) => {
    const headers = { Authentication: key, 'Content-Type': 'application/json' };
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as { account: { id: number }; webhook: { id: number } };
  };
  const { account } = await post('/v1/accounts', { bank: 'Akbank', title: 'Kasa', currency: 'TRY' });
  const { webhook } = await post('/v1/webhooks', {
    ...{ title: 'Kasa', event: 'NEW_TRANSACTION', account: 'all', delivery: 'pull' },
  });

  await post('/v1/webhooks', {
    ...{ title: 'Toplu', event: 'NEW_TRANSACTION', account: 'all', endpoint: `${receiver.url}/batches` },
    ...{ batch: { max: 20, wait_ms: 100 }, max_in_flight: 4 },
  });

  const file = join(await processes.newDirectory(), 'read.txt');
  writeFileSync(file, '');
  const startReader = () => {
    const fixture = join(import.meta.dirname, 'feed-reader.fixture.ts');
    const args = ['--import', 'tsx', fixture, `${url}/v1/webhooks/${webhook.id}/feed`, key, file];
    reader = spawn(process.execPath, args, { stdio: 'inherit' });
  };
  startReader();

  const over = new AbortController();
  const imports = Array.from({ length: CLIENTS }, (_, n) =>
    importUntil(url, key, account.id, `k${n}`, over.signal),
  );
  const deliveryKills: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await sleep(700);
    const ended = reader === undefined ? null : once(reader, 'exit');
    reader?.kill('SIGKILL');
    await ended;
    startReader();
    await sleep(700);
    await api.end('SIGKILL');
    api = await startApi();
    await sleep(700);
    deliveryKills.push(performance.now());
    await delivery.end('SIGKILL');
    delivery = startDelivery();
  }
  over.abort();
  const accepted = (await Promise.all(imports)).reduce((sum, count) => sum + count, 0);
  const stored = await until('everything is stored', async () => {
    const rows = await database.query<{ id: string }[]>('SELECT id FROM transactions ORDER BY id');
    return rows.length === accepted && rows.map(({ id }) => `msg_${webhook.id}-${id}`);
  });
  await until('everything is acknowledged', async () => {
    const rows = await database.query<{ delivered_count: string }[]>(
      'SELECT delivered_count FROM webhook_cursors',
    );
    return rows.length === 2 && rows.every((row) => Number(row.delivered_count) === accepted);
  });

  const seen = new Set<string>();
  const acknowledged = new Set<string>();
  const repeatedAfter: string[] = [];
  let unacknowledged: string[] = [];
  for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
    if (line === 'A') {
      for (const id of unacknowledged) acknowledged.add(id);
      unacknowledged = [];
      continue;
    }
    const id = line.slice(2);
    if (acknowledged.has(id)) repeatedAfter.push(id);
    seen.add(id);
    unacknowledged.push(id);
  }
  expect(repeatedAfter).toEqual([]);
  expect([...seen].toSorted()).toEqual(stored.toSorted());
  expect(accepted).toBeGreaterThan(100);

  const received = new Map<string, number>();
  const withoutCause: string[] = [];
  for (const { body, at } of receiver.at('/batches')) {
    for (const { id } of (JSON.parse(body) as { events: { id: string }[] }).events) {
      const before = received.get(id);
      const wasKilled = (since: number) =>
        deliveryKills.some((kill) => kill >= since && kill - since < RECORDED_WITHIN);
      if (before !== undefined && !wasKilled(before)) withoutCause.push(id);
      received.set(id, at);
    }
  }
  expect(withoutCause).toEqual([]);
  const numbersOf = (ids: Iterable<string>) =>
    [...ids].map((id) => Number(id.split('-')[1])).toSorted((a, b) => a - b);
  expect(numbersOf(received.keys())).toEqual(numbersOf(stored));
}, 180_000);
