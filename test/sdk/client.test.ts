import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ANSWERS, ANSWERS_OF_OPERATORS } from '../../packages/sdk/src/answers.ts';
import {
  ApiError,
  type CsvQuery,
  Ledgerbell,
  LedgerbellOperator,
  type MovementsQuery,
  type NewTransaction,
} from '../../packages/sdk/src/index.ts';
import { storePageOfMovements } from '../support/many-movements.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { webhook } from '../support/webhooks.ts';

const service = useService();

// biome-ignore lint/suspicious/noExplicitAny: a document of any form.
type Json = any;

async function prepare() {
  const { api_key: apiKey, customer } = await service.customer();
  const { id: account } = await createAccount(service, apiKey);
  return {
    apiKey,
    account,
    customerId: String(customer.id),
    ledgerbell: new Ledgerbell({ url: service.url, apiKey }),
  };
}

const rows = (account: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    ...movement(account),
    dc: 'Credit' as const,
    name: null,
    unique_id: `m${from + i}`,
  }));

/** Passes requests on to the service after each has first got the answers of a failing proxy. */
async function startProxy(troubles: number[]) {
  const keys: (string | undefined)[] = [];
  const proxy = createServer(async (request, response) => {
    keys.push(request.headers['idempotency-key'] as string | undefined);
    const trouble = troubles.shift();
    if (trouble === 0) return void request.socket.destroy();
    if (trouble !== undefined) return void response.writeHead(trouble, { 'Retry-After': '0' }).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const {
      authentication,
      'idempotency-key': key,
      'content-type': type,
    } = request.headers as Record<string, string>;
    const headers = Object.entries({
      Authentication: authentication,
      'Idempotency-Key': key,
      'Content-Type': type,
    });
    const answer = await fetch(`${service.url}${request.url}`, {
      method: request.method ?? 'GET',
      headers: headers.filter((it): it is [string, string] => it[1] !== undefined),
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, keys };
}

const OF_ALL = { ...ANSWERS, ...ANSWERS_OF_OPERATORS };

it.each([
  { audience: 'customers', answers: ANSWERS },
  { audience: 'operators', answers: OF_ALL },
])(
  'knows the data of the answer to each operation of $audience, as their OpenAPI document has it',
  async ({ audience, answers }) => {
    const read = audience === 'customers' ? service.call : service.callOps;
    const { body: document } = await read('GET', '/openapi.json');
    const resolve = (it: Json): Json =>
      it.$ref === undefined
        ? it
        : it.$ref
            .slice(2)
            .split('/')
            .reduce((at: Json, key: string) => at[key], document);
    const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods).map(([method, { responses }]) => ({
        name: `${method.toUpperCase()} ${path}`,
        schemas: Object.entries<Json>(responses)
          .filter(([status]) => status.startsWith('2'))
          .map(([, it]) => resolve(resolve(it).content['application/json'].schema)),
      })),
    );
    expect(operations.map(({ name }) => name).toSorted()).toEqual(Object.keys(answers).toSorted());
    for (const { name, schemas } of operations) {
      const members = Object.entries(answers[name] ?? {});
      expect(members.length, name).toBeGreaterThan(0);
      const fits = (schema: Json) =>
        members.every(
          ([member, type]) =>
            schema.required.includes(member) &&
            (type === 'any' || resolve(schema.properties[member]).type === type),
        );
      const isDryRun = (schema: Json) => 'dry_run' in schema.properties;
      expect(schemas.filter((it) => !isDryRun(it)).every(fits), name).toBe(true);
    }
  },
);

describe('Ledgerbell', () => {
  it('creates, reads and lists with typed methods', async () => {
    const { ledgerbell, account } = await prepare();
    const { data } = await ledgerbell.createWebhook({
      body: {
        title: 'Muhasebe',
        endpoint: 'http://127.0.0.1:9/hook',
        event: 'NEW_TRANSACTION',
        account: 'all',
      },
    });
    expect(data.webhook.secret).toMatch(/^whsec_/);
    const listed = await ledgerbell.listWebhooks();
    expect(listed.data.webhooks.map(({ id }) => id)).toEqual([data.webhook.id]);
    const accounts = await ledgerbell.listAccounts();
    expect(accounts.data.accounts.map(({ id }) => String(id))).toEqual([String(account)]);
  });

  it("throws the API's problem when a request is refused", async () => {
    const { ledgerbell } = await prepare();
    const refused = ledgerbell.createWebhook({
      body: { ...webhook(), account: 'all', event: 'NONE' as never },
    });
    await expect(refused).rejects.toBeInstanceOf(ApiError);
    await expect(refused).rejects.toMatchObject({
      status: 422,
      type: '/problems/invalid',
      errors: [{ path: 'event', message: expect.stringContaining('NEW_TRANSACTION') }],
      requestId: expect.any(String),
    });
  });

  it('iterates over all movements, page by page', async () => {
    const { ledgerbell, account } = await prepare();
    const { id } = await ledgerbell.importMovements(rows(account, 0, 25));
    await ledgerbell.waitForImport(id, { every: 50 });
    const ids: string[] = [];
    for await (const { unique_id } of ledgerbell.movements({ starts: '2000-01-01', per_page: 10 }))
      ids.push(unique_id);
    expect(ids).toEqual(rows(account, 0, 25).map(({ unique_id }) => unique_id));
  });

  it('iterates over the movements that pass filters, in either order', async () => {
    const { ledgerbell, account } = await prepare();
    const other = { ...rows(account, 3, 1)[0], amount: '7.00', description: 'Miete März' };
    const { id } = await ledgerbell.importMovements([...rows(account, 0, 3), other as NewTransaction]);
    await ledgerbell.waitForImport(id, { every: 50 });
    const list = async (query: MovementsQuery) => {
      const ids: string[] = [];
      for await (const { unique_id } of ledgerbell.movements({ account, per_page: 2, ...query }))
        ids.push(unique_id);
      return ids;
    };
    expect(await list({ starts: '2026-01-01', order: 'newest' })).toEqual(['m3', 'm2', 'm1', 'm0']);
    expect(await list({ import_id: id, q: 'marz', amount_max: '8', dc: 'Credit' })).toEqual(['m3']);
    expect(await list({ unique_id: 'm1', currency: 'TRY' })).toEqual(['m1']);
    await expect(list({ q: 'marz' })).rejects.toMatchObject({ status: 422, errors: [{ path: 'starts' }] });
  });

  it('reads movements as a CSV, with its options', async () => {
    const { ledgerbell, account } = await prepare();
    const { id } = await ledgerbell.importMovements(rows(account, 0, 2));
    await ledgerbell.waitForImport(id, { every: 50 });
    const query: CsvQuery = { import_id: id, columns: 'unique_id,amount', decimal: 'comma' };
    const csv = await ledgerbell.exportMovements(query);
    expect(await new Response(csv).text()).toBe('unique_id,amount\r\nm0,"1250,00"\r\nm1,"1250,00"\r\n');
    await expect(ledgerbell.exportMovements({ q: 'x' })).rejects.toMatchObject({
      name: 'ApiError',
      status: 422,
      errors: [{ path: 'starts' }],
    });
  });

  describe('with more movements than a search looks at for one page', () => {
    let prepared: Awaited<ReturnType<typeof prepare>>;

    beforeAll(async () => {
      prepared = await prepare();
      const { ledgerbell, account, customerId } = prepared;
      await ledgerbell.importMovements(rows(account, 0, 1));
      await storePageOfMovements(service.runtime.database, { customerId, accountId: account });
      await ledgerbell.importMovements([{ ...rows(account, 1, 1)[0], amount: '7.00' } as NewTransaction]);
    }, 180_000);

    it('goes on behind a page without movements', async () => {
      const { ledgerbell } = prepared;
      const query = { starts: '2026-01-01', amount: '7' };
      const { data, response } = await ledgerbell.listTransactions({ query });
      expect([data.transactions, response.headers.has('Link')]).toEqual([[], true]);
      const found: string[] = [];
      for await (const { unique_id } of ledgerbell.movements(query)) found.push(unique_id);
      expect(found).toEqual(['m1']);
    });

    it('fails to read a CSV whose connection breaks off', async () => {
      const { ledgerbell } = prepared;
      const { data } = await ledgerbell.createApiKey({ body: { title: 'Export', account: 'all' } });
      const { id, apikey: apiKey } = data.apikey;
      const csv = await new Ledgerbell({ url: service.url, apiKey: apiKey ?? '' }).exportMovements({
        starts: '2026-01-01',
      });
      await ledgerbell.deleteApiKey({ path: { id } });
      await expect(new Response(csv).text()).rejects.toThrow();
    });

    it('ends a CSV when its signal is aborted', async () => {
      const ending = new AbortController();
      const { signal } = ending;
      const csv = await prepared.ledgerbell.exportMovements({ starts: '2026-01-01' }, { signal });
      ending.abort();
      await expect(new Response(csv).text()).rejects.toMatchObject({ name: 'AbortError' });
    });
  });

  it('repeats a request after 503, 429 and a lost connection, and a POST with the same Idempotency-Key', async () => {
    const { apiKey, account } = await prepare();
    const { url, keys } = await startProxy([503, 429, 0]);
    const ledgerbell = new Ledgerbell({ url, apiKey });
    await ledgerbell.importMovements(rows(account, 0, 1));
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    const gone = await startProxy([503, 503, 503, 503]);
    const impatient = new Ledgerbell({ url: gone.url, apiKey, retries: 2 });
    await expect(impatient.listBanks()).rejects.toMatchObject({ status: 503, type: 'about:blank' });
    expect(gone.keys).toHaveLength(3);
  });

  it('uploads a file with progress, and starts again from the beginning after an interruption', async () => {
    const { apiKey, account } = await prepare();
    const { url } = await startProxy([0, 503]);
    const ledgerbell = new Ledgerbell({ url, apiKey });
    const lines = rows(account, 0, 2_000)
      .map((row) => JSON.stringify(row))
      .join('\n');
    const seen: number[] = [];
    const file = new Blob([lines]);
    const accepted = await ledgerbell.upload(file, {
      contentType: 'application/x-ndjson',
      onProgress: (sent, total) => void seen.push(sent / total),
    });
    expect(seen.at(-1)).toBe(1);
    const done = await ledgerbell.waitForImport(accepted.id, { every: 50 });
    expect(done).toMatchObject({ status: 'done', inserted: 2_000, rejected: 0 });
  });
});

it('a poller that is killed four times while four importers write misses no movement, and gets none twice', async () => {
  const { apiKey, account, ledgerbell } = await prepare();
  const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-poller-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'batches.jsonl');
  await writeFile(file, '');
  const start = () =>
    spawn(
      process.execPath,
      ['--import', 'tsx', join(import.meta.dirname, 'poller.fixture.ts'), service.url, apiKey, file],
      {
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
  let isOver = false;
  let sent = 0;
  const importers = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const from = sent;
      sent += 7;
      await ledgerbell.importMovements(rows(account, from, 7));
    }
  });
  let poller = start();
  const lines = async () => (await readFile(file, 'utf8')).split('\n').filter((line) => line.endsWith('}'));
  for (let kill = 0; kill < 4; kill += 1) {
    const before = (await lines()).length;
    await until('the poller gets on', async () => (await lines()).length > before + 1, 60_000);
    await sleep(Math.random() * 50);
    const exit = once(poller, 'exit');
    poller.kill('SIGKILL');
    await exit;
    poller = start();
  }
  isOver = true;
  await Promise.all(importers);
  const received = async () => (await lines()).flatMap((line) => JSON.parse(line).ids as string[]);
  await until('the poller has all', async () => (await received()).length >= sent, 60_000);
  poller.kill('SIGKILL');
  const all = await received();
  expect(all).toHaveLength(sent);
  expect(new Set(all).size).toBe(sent);
}, 180_000);

it('names the option whose variable of the environment is not set', () => {
  expect(() => new Ledgerbell({ url: undefined, apiKey: 'lb_1' })).toThrow(
    /^The option url, the address of the API,/,
  );
  expect(() => new Ledgerbell({ url: 'http://127.0.0.1:1', apiKey: '' })).toThrow(
    /^The option apiKey, an API key/,
  );
  expect(() => new LedgerbellOperator({ url: 'http://127.0.0.1:1', token: undefined })).toThrow(
    /^The option token,/,
  );
});
