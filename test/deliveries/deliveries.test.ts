import { beforeAll, describe, expect, it } from 'vitest';
import { readPage } from '../../src/deliveries/page.ts';
import { BEYOND_NEWEST } from '../../src/http/cursor.ts';
import type { Caller } from '../../src/http/environment.ts';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { watchReads } from '../support/reads.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries, storeMovements } from '../support/stored.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';

// What delivery runs leave behind is written by SQL here; deliveries.sent.test.ts has them run.
const service = useService({ roles: ['api'] });

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Shown {
  id: string;
  /** As the database has it: the API shows an integer. */
  transaction_id: string;
  status: string;
  attempts: number;
  last_error: string | null;
}

/** Follows Link to the last page. @returns the pages. */
async function readPages(key: string, path: string): Promise<Shown[][]> {
  const pages: Shown[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { status, body, headers } = await service.call('GET', next, { key });
    expect({ status, body }).toMatchObject({ status: 200, body: { deliveries: expect.any(Array) } });
    pages.push(
      body.deliveries.map((it: { transaction_id: number }) => ({
        ...it,
        transaction_id: String(it.transaction_id),
      })),
    );
    next = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  }
  return pages;
}

/** A customer with an account and a webhook that is paused. */
async function createWebhook(fields: object = {}) {
  const { api_key: key, customer } = await service.customer();
  const account = (await createAccount(service, key)).id;
  const { id } = await subscribe(service, key, 'http://127.0.0.1:9/', fields);
  await service.call('PATCH', `/v1/webhooks/${id}`, { key, body: { status: 'paused' } });
  const store = (movements: Parameters<typeof storeMovements>[2]) =>
    storeMovements(service.runtime.database, { customerId: customer.id, accountId: account }, movements);
  const record = (
    deliveries: Parameters<typeof recordDeliveries>[2],
    options?: Parameters<typeof recordDeliveries>[3],
  ) => recordDeliveries(service.runtime.database, { id, customerId: customer.id }, deliveries, options);
  return { key, customerId: customer.id, account, webhook: id, store, record };
}

const many = (length: number) => Array.from({ length }, () => ({}));

describe('GET /v1/webhooks/:id/deliveries', () => {
  let key: string;
  let webhook: string;
  let ids: string[];
  /** Of each movement, what has become of it. */
  const statusAt = (at: number) =>
    at >= 200 || at % 7 === 6 ? 'pending' : (['delivered', 'failed', 'pending'] as const)[at % 3];

  beforeAll(async () => {
    const made = await createWebhook();
    ({ key, webhook } = made);
    ids = await made.store(many(250));
    // As after a crash: some beyond the cursor have been sent, every seventh of the first 200 has not.
    const recorded = ids
      .map((transactionId, at) => ({ transactionId, at }))
      .filter(({ at }) => at < 200 && at % 7 !== 6)
      .map(({ transactionId, at }) => ({ transactionId, status: statusAt(at) ?? 'pending' }));
    await made.record(recorded, { sentThrough: ids[5] ?? '' });
  });

  const all = (status?: string) =>
    readPages(key, `/v1/webhooks/${webhook}/deliveries${status === undefined ? '' : `?status=${status}`}`);

  it('shows each once, a hundred a page, the newest movement first', async () => {
    const pages = await all();
    expect(pages.map(({ length }) => length)).toEqual([100, 100, 50]);
    expect(pages.flat().map((it) => [it.transaction_id, it.status])).toEqual(
      ids.map((id, at) => [id, statusAt(at)]).reverse(),
    );
    expect(pages.flat().map(({ id }) => id)).toEqual(ids.map((id) => `${webhook}-${id}`).reverse());
  });

  it.each(['pending', 'delivered', 'failed'])('lists those that are %s alone', async (status) => {
    const expected = ids.filter((_, at) => statusAt(at) === status).reverse();
    const shown = (await all(status)).flat();
    expect(shown.map((it) => it.transaction_id)).toEqual(expected);
    expect(new Set(shown.map((it) => it.status))).toEqual(new Set([status]));
  });

  it('shows dates in ISO 8601, and what went wrong last', async () => {
    const rows = (await all()).flat();
    const shown = (at: number) => rows.find(({ transaction_id }) => transaction_id === ids[at]);
    const common = { webhook_id: Number(webhook), created_at: '2026-01-31T12:00:00.000Z' };
    expect(shown(249)).toEqual({
      ...common,
      id: `${webhook}-${ids[249]}`,
      transaction_id: ids[249],
      status: 'pending',
      attempts: 0,
      due_at: '2026-01-31T12:00:00.000Z',
      finished_at: null,
      last_error: null,
    });
    expect(shown(2)).toMatchObject({
      ...common,
      status: 'pending',
      attempts: 1,
      due_at: '2030-01-01T00:00:00.000Z',
      finished_at: null,
      last_error: 'answered 503',
    });
    expect(shown(1)).toMatchObject({
      status: 'failed',
      due_at: null,
      finished_at: '2026-02-01T12:00:00.250Z',
      last_error: 'answered 503',
    });
    expect(shown(0)).toMatchObject({ status: 'delivered', due_at: null, last_error: null });
  });

  it('refuses a status there is not, an unknown parameter, and a cursor of another listing', async () => {
    const path = `/v1/webhooks/${webhook}/deliveries`;
    const pathOf = async (query: string) =>
      expectProblem(await service.call('GET', `${path}?${query}`, { key }), 422);
    expect(await pathOf('status=done')).toEqual(['status']);
    expect(await pathOf('status=cancelled')).toEqual(['status']);
    expect(await pathOf('page=2')).toEqual(['page']);
    expect(await pathOf('cursor=dDE6MQ')).toEqual(['cursor']);
  });

  it('keeps to what the webhook matched when a movement was stored', async () => {
    const { key, webhook, store, account } = await createWebhook({ event: 'NEW_DEBIT' });
    const other = (await createAccount(service, key)).id;
    const change = (body: object) => service.call('PATCH', `/v1/webhooks/${webhook}`, { key, body });
    const pair = [{ dc: 'Debit' }, { dc: 'Credit' }] as const;
    const [debit] = await store(pair);
    await change({ event: 'NEW_CREDIT' });
    const [, credit] = await store(pair);
    await change({ account: other });
    await store(pair);
    await change({ account, event: 'NEW_TRANSACTION' });
    const both = await store(pair);
    await service.runtime.database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [webhook]);
    await change({ status: 'active' });
    const [shown] = await readPages(key, `/v1/webhooks/${webhook}/deliveries`);
    expect(shown?.map((it) => it.transaction_id)).toEqual([...both.reverse(), credit, debit]);
    expect((await deliveriesOf(service, webhook)).map((it) => it.transaction_id).reverse()).toEqual(
      shown?.map((it) => it.transaction_id),
    );
  });

  it.each([null, 'pending', 'delivered', 'failed'] as const)(
    'reads a page of the status %s in a few looks, however many there are',
    async (status) => {
      const { store, record, webhook, customerId } = await createWebhook();
      const stored: string[] = [];
      for (let at = 0; at < 6; at += 1) stored.push(...(await store(many(1_000))));
      // All failed, all delivered, all pending in a row: what is asked for lies behind very much else.
      const sort = (['delivered', 'failed', 'pending'] as const).map((it, at) => ({ it, at: at * 1_000 }));
      for (const { it, at } of sort) {
        const some = stored.slice(at, at + 1_000);
        await record(some.map((transactionId) => ({ transactionId, status: it })));
      }
      const caller: Caller = { customerId, apiKeyId: '1', accountIds: 'all', scopes: ['read'] };
      const range = { webhookId: webhook, after: '0', before: BEYOND_NEWEST, perPage: 100 };
      const { result, read } = await watchReads(service.runtime.database, (sql) =>
        readPage(sql, caller, range, status),
      );
      expect(result.rows.length).toBe(100);
      // A page, one more for the next, and what lies before it: 2,000 others at most.
      expect(read).toBeLessThan(status === 'delivered' ? 6_000 : 1_500);
    },
  );

  it('ends a page early where few of very many match, and goes on behind it', async () => {
    const { key, webhook, store } = await createWebhook({ event: 'NEW_DEBIT' });
    const first = await store([{ dc: 'Debit' }]);
    for (let at = 0; at < 11; at += 1) await store(many(1_000));
    const last = await store([{ dc: 'Debit' }]);
    const pages = await readPages(key, `/v1/webhooks/${webhook}/deliveries`);
    expect(pages.length).toBe(2);
    expect(pages.flat().map((it) => it.transaction_id)).toEqual([...last, ...first]);
  });
});

describe('GET /v1/deliveries/:id', () => {
  it('shows one that was never attempted, and is cancelled when its webhook is deleted', async () => {
    const { key, webhook, store } = await createWebhook();
    const [transaction] = await store([{}]);
    const path = `/v1/deliveries/${webhook}-${transaction}`;
    const shown = await service.call('GET', path, { key });
    expect(shown.status).toBe(200);
    expect(shown.body.delivery).toEqual({
      id: `${webhook}-${transaction}`,
      webhook_id: Number(webhook),
      transaction_id: Number(transaction),
      status: 'pending',
      attempts: 0,
      due_at: expect.stringMatching(ISO),
      created_at: expect.stringMatching(ISO),
      finished_at: null,
      last_error: null,
      log: [],
    });
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    const later = await service.call('GET', path, { key });
    expect(later.body.delivery).toEqual({ ...shown.body.delivery, status: 'cancelled', due_at: null });
    const [after] = await store([{}]);
    expectProblem(await service.call('GET', `/v1/deliveries/${webhook}-${after}`, { key }), 404);
  });

  it('shows every attempt once, in order, and leaves one as it has ended when its webhook is deleted', async () => {
    const { key, webhook, store, record, customerId } = await createWebhook();
    const [failed = '', delivered = ''] = await store([{}, {}]);
    await record([
      { transactionId: failed, status: 'failed', attempts: 2, response: 'no such book', statusCode: 400 },
      { transactionId: delivered, status: 'delivered', attempts: 2 },
    ]);
    await service.runtime.database.query(
      `INSERT INTO attempts (webhook_id, transaction_id, number, customer_id, outcome, started_at, duration_ms, error)
       VALUES ?`,
      [[failed, delivered].map((id) => [webhook, id, 1, customerId, 'failed', '2026-02-01', 5, 'no answer'])],
    );
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    const logOf = async (id: string) => {
      const { body } = await service.call('GET', `/v1/deliveries/${webhook}-${id}`, { key });
      return [body.delivery.status, body.delivery.last_error, body.delivery.log];
    };
    const first = { number: 1, outcome: 'failed', status_code: null, error: 'no answer', response: null };
    expect(await logOf(failed)).toMatchObject([
      'failed',
      'answered 400',
      [first, { number: 2, outcome: 'failed', status_code: 400, error: null, response: 'no such book' }],
    ]);
    expect(await logOf(delivered)).toMatchObject([
      'delivered',
      null,
      [first, { number: 2, outcome: 'delivered', status_code: 200, started_at: '2026-02-01T12:00:00.000Z' }],
    ]);
  });

  it('finds no movement that the webhook does not match, nor one that was stored before it', async () => {
    const { key, webhook, store } = await createWebhook({ event: 'NEW_DEBIT' });
    const [credit] = await store([{ dc: 'Credit' }]);
    const later = (await subscribe(service, key, 'http://127.0.0.1:9/')).id;
    for (const id of [`${webhook}-${credit}`, `${later}-${credit}`]) {
      expectProblem(await service.call('GET', `/v1/deliveries/${id}`, { key }), 404);
      expectProblem(await service.call('POST', `/v1/deliveries/${id}/redeliver`, { key }), 404);
    }
  });

  it('finds nothing of another customer, neither its webhook nor its movement', async () => {
    const [own, other] = [await createWebhook(), await createWebhook()];
    const [mine] = await own.store([{}]);
    const [theirs] = await other.store([{}]);
    for (const id of [`${other.webhook}-${theirs}`, `${own.webhook}-${theirs}`, `${other.webhook}-${mine}`]) {
      expectProblem(await service.call('GET', `/v1/deliveries/${id}`, { key: own.key }), 404);
      expectProblem(await service.call('POST', `/v1/deliveries/${id}/redeliver`, { key: own.key }), 404);
    }
  });

  it.each(['999999', '0', 'abc', '1-0', '1-999999', '01-1', '1-1-1', '99999999999999999999-1'])(
    'of %s is 404',
    async (id) => {
      const { api_key: key } = await service.customer();
      expectProblem(await service.call('GET', `/v1/deliveries/${id}`, { key }), 404);
      expectProblem(await service.call('POST', `/v1/deliveries/${id}/redeliver`, { key }), 404);
    },
  );
});

describe('POST /v1/deliveries/:id/redeliver', () => {
  const redeliver = (key: string, webhook: string, transaction: string) =>
    service.call('POST', `/v1/deliveries/${webhook}-${transaction}/redeliver`, { key });
  const countsOf = async (webhook: string) => {
    const [row] = await service.runtime.database.query<object[]>(
      'SELECT delivered_count, failed_count FROM webhook_cursors WHERE webhook_id = ?',
      [webhook],
    );
    return row;
  };

  it('makes pending again what was delivered or has failed, with the whole schedule and its attempts kept', async () => {
    const { key, webhook, store, record } = await createWebhook();
    const [failed = '', delivered = ''] = await store([{}, {}]);
    await record([
      { transactionId: failed, status: 'failed', attempts: 12 },
      { transactionId: delivered, status: 'delivered' },
    ]);
    for (const [id, attempts] of [
      [failed, 12],
      [delivered, 1],
    ] as const) {
      const { status, body } = await redeliver(key, webhook, id);
      expect([status, body.delivery]).toEqual([
        202,
        expect.objectContaining({ id: `${webhook}-${id}`, status: 'pending', attempts, finished_at: null }),
      ]);
      expect(Date.parse(body.delivery.due_at)).toBeLessThanOrEqual(Date.now() + 1_000);
      const { body: shown } = await service.call('GET', `/v1/deliveries/${webhook}-${id}`, { key });
      expect(shown.delivery.log.map((it: { number: number }) => it.number)).toEqual([attempts]);
    }
    expect(await deliveriesOf(service, webhook)).toMatchObject([
      { status: 'pending', attempts: 12, failures: 0 },
      { status: 'pending', attempts: 1, failures: 0 },
    ]);
    expect(await countsOf(webhook)).toEqual({ delivered_count: '0', failed_count: '0' });
    // Asked for once more it is pending already: nothing is counted twice.
    expect((await redeliver(key, webhook, failed)).status).toBe(202);
    expect(await countsOf(webhook)).toEqual({ delivered_count: '0', failed_count: '0' });
  });

  it('makes due now what waits for its next attempt, and leaves alone what was never attempted', async () => {
    const { key, webhook, store, record } = await createWebhook();
    const [waiting = '', untouched = ''] = await store([{}, {}]);
    await record([{ transactionId: waiting, status: 'pending', attempts: 3 }]);
    const before = await deliveriesOf(service, webhook);
    for (const id of [waiting, untouched]) {
      const { status, body } = await redeliver(key, webhook, id);
      expect([status, body.delivery.status]).toEqual([202, 'pending']);
    }
    const after = await deliveriesOf(service, webhook);
    expect(after).toMatchObject([{ status: 'pending', attempts: 3, failures: 3 }, before[1]]);
    expect(after[0]?.due_at?.getTime()).toBeLessThan(before[0]?.due_at?.getTime() ?? 0);
  });

  it('is refused when the webhook is disabled or deleted', async () => {
    const { key, webhook, store, record } = await createWebhook();
    const [id = ''] = await store([{}]);
    await record([{ transactionId: id, status: 'failed' }]);
    await service.runtime.database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [webhook]);
    const disabled = await redeliver(key, webhook, id);
    expectProblem(disabled, 409);
    expect(disabled.body.type).toBe('/problems/webhook-disabled');
    expect(disabled.body.detail).toContain('PATCH');
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    const deleted = await redeliver(key, webhook, id);
    expectProblem(deleted, 409);
    expect(deleted.body.type).toBe('/problems/webhook-deleted');
    expect(await deliveriesOf(service, webhook)).toMatchObject([{ status: 'failed' }]);
  });
});

describe('POST /v1/webhooks/:id/replay', () => {
  const replay = (key: string, webhook: string, body: unknown) =>
    service.call('POST', `/v1/webhooks/${webhook}/replay`, { key, body });

  it('accepts what has failed, or what was delivered where that is asked for', async () => {
    const { key, webhook, store, record } = await createWebhook();
    const ids = await store(many(3));
    await record(
      ids.map((transactionId, at) => ({ transactionId, status: at === 0 ? 'delivered' : 'failed' })),
    );
    const since = '2026-01-01 00:00:00';
    const accepted = await replay(key, webhook, { since });
    expect([accepted.status, accepted.body]).toEqual([
      202,
      {
        replay: {
          id: expect.any(Number),
          webhook_id: Number(webhook),
          status: ['failed'],
          matched: 2,
          created_at: expect.stringMatching(ISO),
        },
      },
    ]);
    for (const [status, matched] of [
      ['failed', 2],
      ['delivered', 1],
      [['failed', 'delivered'], 3],
    ]) {
      const { body } = await replay(key, webhook, { since, status });
      expect(body.replay).toMatchObject({ status: [status].flat(), matched });
    }
    expect((await replay(key, webhook, { since: '2999-01-01 00:00:00' })).body.replay.matched).toBe(0);
    // 2026-01-31 12:00:00 in UTC.
    const around = { since: '2026-01-31 15:00:00+03', until: '2026-01-31 15:00:00' };
    expect((await replay(key, webhook, around)).body.replay.matched).toBe(2);
  });

  it('of a disabled webhook is refused, and changes nothing', async () => {
    const { key, webhook, store, record } = await createWebhook();
    const [id = ''] = await store([{}]);
    await record([{ transactionId: id, status: 'failed' }]);
    const { database } = service.runtime;
    await database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [webhook]);
    const answer = await replay(key, webhook, { since: '2026-01-01 00:00:00' });
    expectProblem(answer, 409);
    expect(answer.body.type).toBe('/problems/webhook-disabled');
    expect(await database.query('SELECT id FROM replays WHERE webhook_id = ?', [webhook])).toEqual([]);
  });

  it.each([
    [{}, 'since'],
    [{ since: '2026-02-30 00:00:00' }, 'since'],
    [{ since: 5 }, 'since'],
    [{ since: '2026-01-01 00:00:00', until: 'now' }, 'until'],
    [{ since: '2026-01-02 00:00:00', until: '2026-01-01 00:00:00' }, 'since'],
    [{ since: '2026-01-01 00:00:00', status: 'pending' }, 'status'],
    [{ since: '2026-01-01 00:00:00', status: [] }, 'status'],
    [{ since: '2026-01-01 00:00:00', from: '2026' }, 'from'],
  ])('refuses %j', async (body, path) => {
    const { key, webhook } = await createWebhook();
    expect(expectProblem(await replay(key, webhook, body), 422)).toEqual([path]);
  });
});
