import { once } from 'node:events';
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createConnection } from 'mysql2/promise';
import { countLines, type FunctionCalls, type Scripts } from './support/lines-run.ts';
import { until } from './support/until.ts';

/**
 * Prints the files of which a function runs for one movement, with the number of lines of these functions, as JSON. Everything is in this process:
 * the api, the importer, the delivery and the receiver. Node's inspector counts the calls.
 *
 * Functions also run in idle time, so one movement would not say which ran for it. MOVEMENTS come one after the other, each for a webhook
 * of its own. What runs for a movement runs about as often as there are movements, and not in one burst. No timer does that: the
 * movements take a second together.
 */

const DIST = join(import.meta.dirname, '../dist');
const load = (source: string) => import(join(DIST, source));

const { startService } = await load('src/service.js');
const { readConfig } = await load('src/platform/config.js');
const { createLog } = await load('src/platform/log.js');
const { createCustomer } = await load('src/customers/customers.js');

const MOVEMENTS = 20;

const receiver = createServer((request, response) => {
  request.resume().on('end', () => response.end());
}).listen(0, '127.0.0.1');
// The connection stays open from one movement to the next.
receiver.keepAliveTimeout = 60_000;
await once(receiver, 'listening');

const service = await startService({
  config: readConfig({ ...process.env, PORT: '0', OPS_PORT: '0', ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8' }),
  roles: ['api', 'importer', 'delivery'],
  log: createLog('silent'),
  announce: () => {},
  prefix: 'one-movement',
});
const { api_key: key } = await createCustomer(service.runtime, 'Path');
// A question by the service's own connections would count.
const database = await createConnection({ uri: process.env.DATABASE_URL ?? '', supportBigNumbers: true });

async function post(path: string, body: object) {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: { Authentication: key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { account: { id: number }; webhook: { id: number } };
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
}

async function countCursors(condition: string): Promise<number> {
  const [rows] = await database.query(`SELECT COUNT(*) AS number FROM webhook_cursors WHERE ${condition}`);
  return Number((rows as { number: unknown }[])[0]?.number);
}

/** Sends a movement of an account, whose webhook has `sent` deliveries before it, and waits until its delivery is recorded. */
async function sendMovement({ accountId, webhookId }: Subscription, sent: number): Promise<void> {
  await post('/v1/imports', {
    transactions: [
      {
        account_id: accountId,
        dc: 'Credit',
        amount: '12.50',
        date_issue: '2026-01-15',
        unique_id: `one-${sent}`,
        description: 'RENT',
      },
    ],
  });
  await until(
    'the delivery is recorded',
    async () => (await countCursors(`webhook_id = ${webhookId} AND delivered_count = ${sent + 1}`)) === 1,
  );
}

/** Waits until all runs and their jobs have ended. A run lingers for the next movement first. */
async function runsEnd(): Promise<void> {
  const running = () => countCursors('lease_until IS NOT NULL');
  await until('the first run ends', async () => (await running()) < MOVEMENTS);
  // From now on it asks more often, because a window must be short.
  await until('the runs end', async () => {
    await takeWindow();
    return (await running()) === 0 && (await service.runtime.queues.deliveries[0].getActiveCount()) === 0;
  });
}

interface Subscription {
  accountId: number;
  webhookId: number;
}
const subscriptions: Subscription[] = [];
for (let number = 0; number < MOVEMENTS; number += 1) {
  const { account } = await post('/v1/accounts', { bank: 'Bank', title: `Path ${number}`, currency: 'TRY' });
  const { webhook } = await post('/v1/webhooks', {
    title: 'Path',
    endpoint: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    event: 'NEW_TRANSACTION',
    account: account.id,
  });
  subscriptions.push({ accountId: account.id, webhookId: webhook.id });
}

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The calls of all functions since the phase began, window by window. A window is as long as a movement, or shorter. */
let calls: Scripts = new Map();

/** Adds the calls since the last time. */
async function takeWindow(): Promise<void> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  for (const { url, functions } of result) {
    if (!url.startsWith('file://') || relative(DIST, fileURLToPath(url)).startsWith('..')) continue;
    const known = calls.get(fileURLToPath(url)) ?? new Map<string, FunctionCalls>();
    calls.set(fileURLToPath(url), known);
    for (const { ranges } of functions) {
      const [{ startOffset: start, endOffset: end, count } = { startOffset: 0, endOffset: 0, count: 0 }] =
        ranges;
      const it = known.get(`${start}-${end}`) ?? { start, end, total: 0, windows: 0, most: 0 };
      it.total += count;
      it.windows += count > 0 ? 1 : 0;
      it.most = Math.max(it.most, count);
      known.set(`${start}-${end}`, it);
    }
  }
}

/** Whether a function has run for each movement: about as often, and not only in a burst. */
const isOfMovements = ({ total, windows, most }: FunctionCalls) =>
  total >= MOVEMENTS * 0.75 && windows >= MOVEMENTS / 4 && most <= total / 2;

const found: Scripts[] = [];
async function measure(phase: () => Promise<unknown>): Promise<void> {
  await takeWindow();
  calls = new Map();
  await phase();
  await takeWindow();
  found.push(calls);
}

// The first movement of each webhook, and of the process, is not like the others.
for (const it of subscriptions) await sendMovement(it, 0);
await runsEnd();
await database.query('UPDATE webhook_cursors SET recovery_successes = NULL');
await measure(async () => {
  for (const it of subscriptions) {
    await sendMovement(it, 1);
    await takeWindow();
  }
});
await measure(runsEnd);
const lines = [...new Set(found.flatMap((it) => [...it.keys()]))].map((path) => [
  relative(DIST, path).replace(/\.js$/, '.ts'),
  countLines(
    path,
    found.map((it) => [...(it.get(path)?.values() ?? [])]),
    isOfMovements,
  ),
]);
process.stdout.write(`${JSON.stringify(Object.fromEntries(lines.filter(([, number]) => number !== 0)))}\n`);
await session.post('Profiler.stopPreciseCoverage');
await database.end();
await service.stop();
receiver.close();
