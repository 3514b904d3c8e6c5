import { once } from 'node:events';
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/**
 * Prints the compiled files of which a function runs for one movement and not in idle time, as JSON. Everything is in this process:
 * the api, the importer, the delivery and the receiver. Node's inspector counts the calls.
 */

const DIST = join(import.meta.dirname, '../dist');
const load = (source: string) => import(join(DIST, source));

const { startService } = await load('src/service.js');
const { readConfig } = await load('src/platform/config.js');
const { createLog } = await load('src/platform/log.js');
const { createCustomer } = await load('src/customers/customers.js');

let received = 0;
const receiver = createServer((request, response) => {
  request.resume().on('end', () => {
    received += 1;
    response.end();
  });
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

async function post(path: string, body: object) {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: { Authentication: key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { account: { id: number } };
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Longer than a run lingers for the next movement, so that its job ends and its lease is released. */
const RUN_ENDS = 4_000;

/** Sends one movement, and waits until its delivery is recorded and its run has ended. */
async function sendMovement(accountId: number, number: number): Promise<void> {
  const before = received;
  await post('/v1/imports', {
    transactions: [
      {
        account_id: accountId,
        dc: 'Credit',
        amount: '12.50',
        date_issue: '2026-01-15',
        unique_id: `one-${number}`,
        description: 'RENT',
      },
    ],
  });
  for (let waited = 0; received === before; waited += 10) {
    if (waited > 10_000) throw new Error('The movement was not received within 10 s.');
    await sleep(10);
  }
  await sleep(RUN_ENDS);
}

const { account } = await post('/v1/accounts', { bank: 'Bank', title: 'Path', currency: 'TRY' });
await post('/v1/webhooks', {
  title: 'Path',
  endpoint: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
  event: 'NEW_TRANSACTION',
  account: 'all',
});
for (const number of [1, 2]) await sendMovement(account.id, number);

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The files of which a function has run since the last call. */
async function takeFiles(): Promise<Set<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = result.filter(({ url, functions }) => {
    const isOwn = url.startsWith('file://') && !relative(DIST, fileURLToPath(url)).startsWith('..');
    return isOwn && functions.some(({ ranges }) => ranges.some(({ count }) => count > 0));
  });
  return new Set(ran.map(({ url }) => relative(DIST, fileURLToPath(url)).replace(/\.js$/, '')));
}

const files = new Set<string>();
for (const number of [3, 4, 5, 6, 7]) {
  await takeFiles();
  await sendMovement(account.id, number);
  for (const file of await takeFiles()) files.add(file);
}
await sleep(10_000);
const idle = await takeFiles();
process.stdout.write(`${JSON.stringify([...files].filter((file) => !idle.has(file)).toSorted())}\n`);
await service.stop();
receiver.close();
