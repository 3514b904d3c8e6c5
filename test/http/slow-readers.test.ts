import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { storeHistory } from '../../bench/history.ts';
import { createAccount } from '../../src/customers/accounts.ts';
import { createCustomer } from '../../src/customers/customers.ts';
import { createSecretBox } from '../../src/database/secret-box.ts';
import { useDatabase } from '../support/database.ts';
import { type ServiceProcess, startServiceProcess } from '../support/process.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const PATH = '/v1/transactions?starts=2024-01-01';
const READERS = 16;
/** Requests that each of them sends before it reads anything. */
const AHEAD = 50;

const { database, url: databaseUrl } = useDatabase();
let service: ServiceProcess;
let url: URL;
let key: string;

beforeAll(async () => {
  const secretKey = randomBytes(32).toString('base64');
  const made = await createCustomer({ database, secrets: createSecretBox(secretKey) }, 'Yavaş Okur');
  const account = await createAccount(database, {
    customerId: made.customer.id,
    bank: { name: 'Akbank' },
    title: 'Kasa',
    currency: 'TRY',
    iban: null,
  });
  await storeHistory(database, [{ customerId: made.customer.id, accountId: account?.id ?? '' }], 2_000);
  key = made.api_key;
  service = startServiceProcess(
    { DATABASE_URL: databaseUrl, REDIS_URL: inject('redisUrl'), SECRET_KEY: secretKey },
    ['--roles', 'api'],
  );
  url = new URL(await service.url());
});
afterAll(() => service?.end('SIGTERM'));

const readPage = async () => {
  const response = await fetch(new URL(PATH, url), { headers: { Authentication: key } });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
};

const residentBytes = () =>
  1024 * Number(execFileSync('ps', ['-o', 'rss=', '-p', String(service.child.pid)], { encoding: 'utf8' }));

/** A client that sends many requests on one connection, and has received the beginning of the first answer. It reads on only when it is told to. */
async function stalledReader(requests: number): Promise<Socket> {
  const socket = connect(Number(url.port), url.hostname);
  socket.write(
    `GET ${PATH} HTTP/1.1\r\nHost: ${url.host}\r\nAuthentication: ${key}\r\n\r\n`.repeat(requests),
  );
  await once(socket, 'readable');
  return socket;
}

it('a listing holds at most a page for each client that reads slowly, and serves the other clients', async () => {
  for (let i = 0; i < 5; i += 1) await Promise.all(Array.from({ length: READERS }, readPage));
  const page = (await readPage()).length;
  const before = residentBytes();
  const readers: Socket[] = [];
  for (let i = 0; i < READERS; i += 1) readers.push(await stalledReader(AHEAD));
  // Every slow client waits at its first answer. If the service prepared further answers for it, they would be ready by now.
  for (let i = 0; i < AHEAD; i += 1) expect(await readPage()).toHaveLength(page);
  const held = residentBytes() - before;
  for (const reader of readers) reader.destroy();
  // 800 pages were asked for. The rest is room for what the garbage collector has not taken yet.
  expect(held / MIB).toBeLessThan((2 * READERS * page) / MIB + 80);
});

it('a listing gives a slow client everything it asked for when it reads on, in order and whole', async () => {
  const page = await readPage();
  const reader = await stalledReader(10);
  let read = 0;
  let seen = Buffer.alloc(0);
  reader.on('data', (part: Buffer) => {
    seen = Buffer.concat([seen, part]);
    for (let at = seen.indexOf(page); at !== -1; at = seen.indexOf(page)) {
      read += 1;
      seen = seen.subarray(at + page.length);
    }
  });
  await until('ten whole pages', () => read === 10);
  reader.destroy();
});
