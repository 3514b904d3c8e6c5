import type { DataSource } from 'typeorm';
import { Client } from 'undici';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import type { Installation } from '../installation.ts';
import { requireEqual, subscribe } from '../load.ts';
import { storeDelivered, storeReadHistory } from '../surroundings.ts';

/** A person notices a page that begins later than this. Milliseconds. */
const WANTED = 200;

const WEBHOOKS = 2;
const SOURCES = 5_000;
const RUNS = 1_000;

/** The first byte of each page of the console, with a million deliveries. Baseline: none. */
export const consolePages: Figure = {
  about: 'the first byte of each page of the console, with a million deliveries',
  async prepare(scale: Scale, start) {
    const installation = await start();
    const movements = sized(scale, { smoke: 1_000, normal: 500_000 });
    const pages = await fill(installation, movements);
    const client = new Client(installation.opsUrl);
    return {
      server: installation.server,
      round: () => round(client, pages, sized(scale, { smoke: 2, normal: 20 })),
      async end() {
        await client.destroy();
        await installation.end();
      },
    };
  },
};

/** Stores what the pages show. @returns the pages by name. */
async function fill(installation: Installation, movements: number): Promise<Record<string, string>> {
  const { database } = installation.runtime;
  const { customer, api_key: key, accountId } = await installation.customer();
  await storeReadHistory(database, [{ customerId: customer.id, accountId }], movements);
  const ids: string[] = [];
  for (let i = 0; i < WEBHOOKS; i += 1) {
    const webhook = await subscribe(installation, key, { path: '/console', account: 'all' });
    await storeDelivered(database, webhook, customer.id);
    ids.push(webhook.id);
  }
  const [stored] = await database.query<{ deliveries: string; newest: string }[]>(
    'SELECT COUNT(*) AS deliveries, MAX(transaction_id) AS newest FROM deliveries WHERE webhook_id IN (?)',
    [ids],
  );
  requireEqual({ expected: movements * WEBHOOKS, deliveries: Number(stored?.deliveries) });
  const [id] = ids;
  const source = await storeSources(database, customer.id);
  const newest = stored?.newest;
  return {
    now: '/ops',
    webhooks: '/ops/webhooks',
    'a webhook': `/ops/webhooks/${id}`,
    deliveries: '/ops/deliveries',
    'failed deliveries of a webhook': `/ops/deliveries?webhook=${id}&status=failed`,
    'a delivery': `/ops/deliveries/${id}-${newest}`,
    imports: '/ops/imports',
    sources: '/ops/sources',
    'a source': `/ops/sources/${source}`,
    'the trace of a movement': `/ops/trace?movement=${newest}`,
    'a search for a unique_id': '/ops/trace?q=nothing-has-this-id',
    audit: '/ops/audit',
  };
}

/** Sources of which one in a hundred is failing. The newest has as many runs as are kept. @returns its id. */
async function storeSources(database: DataSource, customerId: string): Promise<string> {
  const values = Array.from({ length: SOURCES }, (_, i) =>
    i % 100 === 0 ? [3, 'The server refused the password.'] : [0, null],
  );
  await database.query(
    `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts, consecutive_failures, error)
     VALUES ?`,
    [
      values.map((failures) => [
        customerId,
        'Statements',
        'folder',
        '{"path":"inbox"}',
        '{"every":"31d"}',
        'auto',
        0,
        ...failures,
      ]),
    ],
  );
  const [newest] = await database.query<{ id: string }[]>('SELECT MAX(id) AS id FROM sources');
  const id = newest?.id ?? '';
  await database.query('INSERT INTO source_runs (source_id, customer_id, status) VALUES ?', [
    Array.from({ length: RUNS }, () => [id, customerId, 'failed']),
  ]);
  return id;
}

async function round(client: Client, pages: Record<string, string>, requests: number): Promise<Round> {
  const measured: Round[number][] = [];
  for (const [name, path] of Object.entries(pages)) {
    const times: number[] = [];
    for (let i = 0; i < requests; i += 1) times.push(await timeFirstByte(client, path));
    measured.push({
      name: `console, ${name}`,
      unit: 'ms to the first byte, median',
      value: times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN,
      wanted: { atMost: WANTED },
    });
  }
  return measured;
}

/** @throws when the page is not shown. */
async function timeFirstByte(client: Client, path: string): Promise<number> {
  const started = performance.now();
  const { statusCode, body } = await client.request({ method: 'GET', path });
  const time = performance.now() - started;
  await body.dump();
  if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
  return time;
}
