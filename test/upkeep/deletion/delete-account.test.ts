import { describe, expect, it } from 'vitest';
import { makeSegments } from '../../../src/movements/segments.ts';
import { runDeletions } from '../../../src/upkeep/deletions.ts';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';
import { createFeed } from '../../support/feeds.ts';
import { expectProblem } from '../../support/problem.ts';
import { useOwnService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { NOWHERE } from '../../support/subscriber.ts';
import { subscribe } from '../../support/webhooks.ts';
import { countRows } from '../retention/kept.ts';
import { createFull } from './full-customer.ts';
import { createTwoAccounts } from './two-accounts.ts';

// No maintenance: the tests run the deletions. No deliveries: what runs leave behind is written by SQL.
const service = useOwnService({
  because: 'deleted accounts of any customer are removed one after the other',
  roles: ['api', 'importer'],
});

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
const work = () => runDeletions(service.runtime, createSteps({ pauses: false }));
const record = (...args: Parameters<typeof recordDeliveries> extends [unknown, ...infer R] ? R : never) =>
  recordDeliveries(service.runtime.database, ...args);

const createTwo = (...webhooks: object[]) => createTwoAccounts(service, ...webhooks);

const OF_ACCOUNT = [
  'statements',
  'statement_checks',
  'told_balances',
  'movement_conflicts',
  'repeated_entries',
  'operational_events',
];

it('a feed hands out no event of a deleted account, although its process has read it before', async () => {
  const feed = await createFeed(service);
  const other = await feed.createAccount();
  await feed.store(2);
  await feed.store(1, {}, other);
  const before = await feed.read();
  expect(before.body.events).toHaveLength(3);
  expect((await service.call('DELETE', `/v1/accounts/${feed.account}`, { key: feed.key })).status).toBe(202);
  expect((await feed.read()).body.events).toEqual(before.body.events.slice(2));
  expect(await work()).toBe(1);
  expect((await feed.read()).body.events).toEqual(before.body.events.slice(2));
});

describe('DELETE /v1/accounts/:id', () => {
  it('answers 202, and the account is shown with its progress until it is gone', async () => {
    const { key, accountId, remove, store } = await createTwo();
    await store(700);
    const { status, body } = await remove();
    expect([status, body.account]).toMatchObject([
      202,
      { id: Number(accountId), status: 'deleting', deletion: { movements: null, movements_deleted: 0 } },
    ]);
    const stopping = new AbortController();
    const steps = createSteps({ signal: stopping.signal, pauses: false });
    let passes = 0;
    await runDeletions(service.runtime, {
      repeat: (step) =>
        steps.repeat(async (rows) => {
          const goesOn = await step(Math.min(rows, 100));
          passes += 1;
          if (passes === 8) stopping.abort();
          return goesOn;
        }),
    });
    const { body: shown } = await service.call('GET', `/v1/accounts/${accountId}`, { key });
    expect(shown.accounts[0].deletion).toMatchObject({ movements: 700 });
    expect(shown.accounts[0].deletion.movements_deleted).toBeGreaterThan(0);
    const { body: list } = await service.call('GET', '/v1/accounts', { key });
    expect(list.accounts[0]).toEqual(shown.accounts[0]);
    // A repeated request changes nothing.
    expect((await remove()).body.account.deletion).toEqual(shown.accounts[0].deletion);
    expect(await work()).toBe(1);
    expectProblem(await service.call('GET', `/v1/accounts/${accountId}`, { key }), 404);
    expectProblem(await remove(), 404);
  });

  it('needs the scope admin and a key for all accounts, and finds no account of another customer', async () => {
    const { key, accountId, remove } = await createTwo();
    const newKey = async (fields: object) =>
      (await service.call('POST', '/v1/apikeys', { key, body: { title: 'Key', account: 'all', ...fields } }))
        .body.apikey.apikey as string;
    expectProblem(await remove(await newKey({ scopes: ['read', 'import', 'webhooks'] })), 403);
    expectProblem(await remove(await newKey({ account: [Number(accountId)] })), 403);
    expectProblem(await remove((await service.customer()).api_key), 404);
    expect((await service.call('GET', `/v1/accounts/${accountId}`, { key })).body.accounts[0].status).toBe(
      'active',
    );
  });

  it('removes everything of the account, and nothing of other accounts', async () => {
    const { key, customerId, accountId, otherId, webhook, remove, store } = await createTwo();
    const own = await subscribe(service, key, NOWHERE, { account: Number(accountId) });
    const first = await store(30);
    const others = await store(30, otherId);
    const last = await store(30);
    await makeSegments(service.runtime.database, { size: 20 });
    const all = [...first, ...others, ...last];
    await record(
      webhook,
      all.map((transactionId, at) => ({ transactionId, status: at % 3 === 0 ? 'failed' : 'delivered' })),
    );
    await record(
      { id: own.id, customerId },
      [...first, ...last].map((transactionId) => ({ transactionId, status: 'delivered' })),
    );
    await query(
      `INSERT INTO rejected_batches (webhook_id, customer_id, first_id, last_id, events, status_code, started_at, duration_ms)
       VALUES (?, ?, ?, ?, 2, 422, NOW(6), 1)`,
      ...[webhook.id, customerId, first[0], others[0]],
    );
    await remove();
    expect(await work()).toBe(1);
    expect(
      await countRows(service, customerId, [
        'transactions',
        'deliveries',
        'rejected_batches',
        'attempts',
        'retries',
        'deletions',
      ]),
    ).toEqual({
      ...{ transactions: 30, deliveries: 30, rejected_batches: 0, attempts: 10, retries: 10, deletions: 0 },
    });
    const segments = await query<{ movements: string }>(
      'SELECT SUM(movements) AS movements FROM transaction_segments WHERE customer_id = ? AND account_id = 0',
      customerId,
    );
    expect(Number(segments[0]?.movements)).toBeLessThanOrEqual(30);
    expect(await query('SELECT 1 FROM transaction_segments WHERE account_id = ?', accountId)).toEqual([]);
    const { body } = await service.call('GET', '/v1/transactions?starts=2000-01-01', { key });
    expect(body.transactions.map(({ id }: { id: number }) => String(id))).toEqual(others);
    expectProblem(await service.call('GET', `/v1/webhooks/${own.id}`, { key }), 404);
  });

  it("ends the account's pending deliveries as failed, whatever holds them up, and no others", async () => {
    const { accountId, otherId, customerId, webhookIds, remove, store, viewOf } = await createTwo(
      {},
      {},
      {},
      {},
    );
    const [active = '', paused = '', failing = '', waiting = ''] = webhookIds;
    const ids = await store(40);
    const others = await store(10, otherId);
    await query("UPDATE webhooks SET status = 'paused' WHERE id = ?", paused);
    await query(
      'UPDATE webhook_cursors SET circuit_open_until = NOW(6) + INTERVAL 1 HOUR WHERE webhook_id = ?',
      failing,
    );
    const rows = [...ids, ...others].map((transactionId) => ({ transactionId, status: 'pending' as const }));
    await record({ id: waiting, customerId }, rows);
    await remove();
    expect(await work()).toBe(1);
    for (const id of [active, paused, failing, waiting]) {
      expect((await viewOf(id)).deliveries).toEqual({ pending: 10, delivered: 0, failed: 40, to_come: 0 });
    }
    expect(await query('SELECT 1 FROM transactions WHERE account_id = ?', accountId)).toEqual([]);
    const retries = await query<{ id: string }>(
      'SELECT transaction_id AS id FROM retries WHERE webhook_id = ?',
      waiting,
    );
    expect(retries.map(({ id }) => id).sort()).toEqual(others.toSorted());
  });

  it('waits for a webhook whose run has the lease, and goes on when the lease is over', async () => {
    const { webhook, remove, store, viewOf } = await createTwo();
    await store(5);
    const steps = createSteps({ pauses: false });
    const renewLease = () =>
      query(
        "UPDATE webhook_cursors SET lease_token = 'run', lease_until = NOW(6) + INTERVAL 10 SECOND WHERE webhook_id = ?",
        webhook.id,
      );
    await remove();
    const worked = await runDeletions(service.runtime, {
      repeat: (step) =>
        steps.repeat(async (rows) => {
          await renewLease();
          return step(rows);
        }),
    });
    expect(worked).toBe(0);
    expect((await viewOf(webhook.id)).deliveries.pending).toBe(5);
    await query('UPDATE webhook_cursors SET lease_until = NULL WHERE webhook_id = ?', webhook.id);
    expect(await work()).toBe(1);
    expect((await viewOf(webhook.id)).deliveries).toEqual({
      pending: 0,
      delivered: 0,
      failed: 5,
      to_come: 0,
    });
  });

  it('removes its webhooks, its entry in API keys, and the bodies of failed imports that name it', async () => {
    const { key, customerId, accountId, otherId, remove } = await createTwo();
    const own = await subscribe(service, key, NOWHERE, { account: Number(accountId) });
    const limited = await service.call('POST', '/v1/apikeys', {
      key,
      body: { title: 'Both', account: [Number(accountId), Number(otherId)] },
    });
    const failed = await query(
      `INSERT INTO imports (customer_id, api_key_id, format, account_id, status, finished_at)
       VALUES (?, 1, 'csv', ?, 'failed', NOW(6))`,
      customerId,
      accountId,
    );
    const { insertId: importId } = failed as unknown as { insertId: string };
    await query("INSERT INTO import_parts (import_id, seq, bytes) VALUES (?, 0, 'file')", importId);
    await query(
      `INSERT INTO sources (customer_id, title, kind, settings, schedule, account_id, format, create_accounts, credentials)
       VALUES (?, 'Folder', 'folder', '{}', '{}', ?, 'auto', 0, 'sealed')`,
      customerId,
      accountId,
    );
    await query('INSERT INTO source_accounts (source_id, account_id) SELECT id, account_id FROM sources');
    await remove();
    expectProblem(await service.call('GET', `/v1/webhooks/${own.id}`, { key }), 404);
    await work();
    expect(await query('SELECT status, account_id, credentials FROM sources')).toEqual([
      { status: 'deleted', account_id: null, credentials: null },
    ]);
    expect(await query('SELECT 1 FROM source_accounts')).toEqual([]);
    const { body: keys } = await service.call('GET', '/v1/apikeys', { key });
    expect(keys.apikeys.find(({ id }: { id: number }) => id === limited.body.apikey.id).account).toEqual([
      Number(otherId),
    ]);
    expect(await query('SELECT 1 FROM import_parts WHERE import_id = ?', importId)).toEqual([]);
  });

  it('removes its statements and events, and their deliveries', async () => {
    const { key, customerId, accountId } = await createFull(service);
    const of = async (table: string) =>
      (await query(`SELECT 1 FROM ${table} WHERE account_id = ?`, accountId)).length;
    for (const table of OF_ACCOUNT) expect([table, await of(table)]).not.toEqual([table, 0]);
    const events = await query<{ id: string }>(
      'SELECT id FROM operational_events WHERE account_id = ?',
      accountId,
    );
    const deliveries = async () =>
      (
        await query(
          `SELECT 1 FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
           WHERE w.customer_id = ? AND w.event IN ('OPERATIONAL', 'BALANCE_UPDATED') AND d.transaction_id IN (?)`,
          customerId,
          events.map(({ id }) => id),
        )
      ).length;
    expect(await deliveries()).toBeGreaterThan(1);
    await service.call('DELETE', `/v1/accounts/${accountId}`, { key });
    expect(await work()).toBe(1);
    expect(await deliveries()).toBe(0);
    for (const table of OF_ACCOUNT) expect([table, await of(table)]).toEqual([table, 0]);
  });
});
