import { describe, expect, it } from 'vitest';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import { mt940 } from '../intake/statement-files.ts';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { until } from '../support/until.ts';
import { createFolderCustomer, useFolderService } from './folder-source.ts';

const { service, sourcesDir } = useFolderService();

const newCustomer = () => createFolderCustomer(service, sourcesDir);

const BODY = {
  title: 'Klasör',
  kind: 'folder',
  settings: { path: 'inbox' },
  schedule: { cron: '0 0 1 1 *', time_zone: 'UTC' },
};

describe('the runs of a source', () => {
  it('are listed page by page, newest first', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    const { database } = service.runtime;
    for (let i = 0; i < 5; i += 1) {
      await database.query(
        "INSERT INTO source_runs (source_id, customer_id, status, finished_at) VALUES (?, ?, 'done', NOW(6))",
        [id, customer.customerId],
      );
    }
    const ids: number[] = [];
    for (let path: string | null = `/v1/sources/${id}/runs?per_page=2`; path !== null; ) {
      const { body, headers } = await customer.call('GET', path);
      ids.push(...body.runs.map((run: { id: number }) => run.id));
      path = /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? null;
    }
    expect(ids).toHaveLength(5);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
  });

  it('are limited to a thousand', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    const { database } = service.runtime;
    await database.query('INSERT INTO source_runs (source_id, customer_id, status) VALUES ?', [
      Array.from({ length: 1_005 }, () => [id, customer.customerId, 'done']),
    ]);
    await customer.run(id);
    const [row] = await database.query<{ n: string }[]>(
      'SELECT COUNT(*) AS n FROM source_runs WHERE source_id = ?',
      [id],
    );
    expect(Number(row?.n)).toBe(1_000);
  });
});

describe('the access to a source', () => {
  it('is limited to its customer, and other customers get 404', async () => {
    const [owner, other] = [await newCustomer(), await newCustomer()];
    const id = await owner.createSource();
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { title: 'Benim' }],
      ['DELETE', '', undefined],
      ['POST', '/run', undefined],
      ['GET', '/runs', undefined],
    ] as const)
      expectProblem(await other.call(method, `/v1/sources/${id}${path}`, body), 404);
    expect((await other.call('GET', '/v1/sources')).body.sources).toEqual([]);
    const taken = await other.call('POST', '/v1/sources', { ...BODY, account_id: owner.accountId });
    expect(expectProblem(taken, 422)).toEqual(['account_id']);
    expect(await owner.source(id)).toMatchObject({ title: 'Klasör', last_run_at: null });
  });

  it('of a key limited to accounts covers the sources of those accounts, which it runs and does not change', async () => {
    const customer = await newCustomer();
    const hidden = await createAccount(service, customer.key, { bank: 'Akbank' });
    const { apikey: key } = await insertApiKey(service.runtime.database, {
      customerId: customer.customerId,
      title: 'Dar',
      accountIds: [customer.accountId],
    });
    const all = await customer.createSource({ settings: { path: 'all' } });
    const other = await customer.createSource({ settings: { path: 'other' }, account_id: hidden.id });
    const own = await customer.createSource({ account_id: customer.accountId });
    const ask = (method: string, path: string, body?: object) => service.call(method, path, { key, body });
    const { sources } = (await ask('GET', '/v1/sources')).body;
    expect(sources.map((it: { id: number }) => it.id)).toEqual([Number(own)]);
    for (const id of [all, other]) {
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/run'],
        ['GET', '/runs'],
      ] as const)
        expectProblem(await ask(method, `/v1/sources/${id}${path}`), 404);
    }
    for (const [method, path, body] of [
      ['POST', '/v1/sources', { ...BODY, account_id: customer.accountId }],
      ['PATCH', `/v1/sources/${own}`, { settings: { path: 'all' } }],
      ['DELETE', `/v1/sources/${own}`, undefined],
    ] as const)
      expectProblem(await ask(method, path, body), 403);

    await customer.drop('march.sta', mt940([{ day: 2, amount: 1 }]));
    await customer.run(own);
    expect((await ask('POST', `/v1/sources/${own}/run`)).status).toBe(202);
    const { runs } = (await ask('GET', `/v1/sources/${own}/runs`)).body;
    const importId = runs.flatMap((run: { imports: { id: number }[] }) => run.imports)[0].id;
    expect((await ask('GET', `/v1/imports/${importId}`)).status).toBe(200);
    await customer.drop('all.sta', mt940([{ day: 3, amount: 1 }]), 'all');
    const { imports } = await customer.run(all);
    expectProblem(await ask('GET', `/v1/imports/${imports[0]?.id}`), 404);
  });

  it('needs the scope read, and changing and running need the scope import', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    const keyWith = async (scopes: ('read' | 'import' | 'webhooks' | 'admin')[]) =>
      (
        await insertApiKey(service.runtime.database, {
          customerId: customer.customerId,
          title: 'Kapsam',
          accountIds: 'all',
          scopes,
        })
      ).apikey;
    const reading = await keyWith(['read']);
    const importing = await keyWith(['import']);
    expect((await service.call('GET', `/v1/sources/${id}`, { key: reading })).status).toBe(200);
    expectProblem(await service.call('POST', `/v1/sources/${id}/run`, { key: reading }), 403);
    expectProblem(await service.call('GET', '/v1/sources', { key: importing }), 403);
    expect((await service.call('POST', `/v1/sources/${id}/run`, { key: importing })).status).toBe(202);
  });
});

it('an import from a source can be retried although it has no API key', async () => {
  const customer = await newCustomer();
  const id = await customer.createSource();
  await customer.drop('x.txt', 'x');
  const { imports } = await customer.run(id);
  const path = `/v1/imports/${imports[0]?.id}`;
  expect((await customer.call('GET', path)).body.import.status).toBe('failed');
  expect((await customer.call('POST', `${path}/retry`)).status).toBe(202);
  await until(
    'it failed again',
    async () => (await customer.call('GET', path)).body.import.status === 'failed',
  );
});
