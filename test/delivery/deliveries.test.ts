import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/customers/caller.ts';
import { readPage } from '../../src/delivery/list-deliveries.ts';
import { BEYOND_NEWEST } from '../../src/http/paging.ts';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { watchReads } from '../support/reads.ts';
import { useService } from '../support/service.ts';
import { deliveriesOf } from '../support/webhooks.ts';
import { createPausedWebhook } from './paused-webhook.ts';

// The rows of delivery runs are written by SQL here; sent.test.ts has them run.
const service = useService({ roles: ['api'] });

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

const many = (length: number) => Array.from({ length }, () => ({}));

describe('GET /v1/webhooks/:id/deliveries', () => {
  let key: string;
  let webhook: string;
  let ids: string[];
  /** The status of each movement's delivery. */
  const statusAt = (at: number) =>
    at >= 200 || at % 7 === 6 ? 'pending' : (['delivered', 'failed', 'pending'] as const)[at % 3];

  beforeAll(async () => {
    const made = await createPausedWebhook(service);
    ({ key, webhook } = made);
    ids = await made.store(many(250));
    // As after a crash: some movements after the cursor were sent, and every seventh of the first 200 was not.
    const recorded = ids
      .map((transactionId, at) => ({ transactionId, at }))
      .filter(({ at }) => at < 200 && at % 7 !== 6)
      .map(({ transactionId, at }) => ({ transactionId, status: statusAt(at) ?? 'pending' }));
    await made.record(recorded, { sentThrough: ids[5] ?? '' });
  });

  const all = (status?: string) =>
    readPages(key, `/v1/webhooks/${webhook}/deliveries${status === undefined ? '' : `?status=${status}`}`);

  it('shows each delivery once, a hundred a page, the newest movement first', async () => {
    const pages = await all();
    expect(pages.map(({ length }) => length)).toEqual([100, 100, 50]);
    expect(pages.flat().map((it) => [it.transaction_id, it.status])).toEqual(
      ids.map((id, at) => [id, statusAt(at)]).reverse(),
    );
    expect(pages.flat().map(({ id }) => id)).toEqual(ids.map((id) => `${webhook}-${id}`).reverse());
  });

  it.each(['pending', 'delivered', 'failed'])(
    'lists only %s deliveries when asked for that status',
    async (status) => {
      const expected = ids.filter((_, at) => statusAt(at) === status).reverse();
      const shown = (await all(status)).flat();
      expect(shown.map((it) => it.transaction_id)).toEqual(expected);
      expect(new Set(shown.map((it) => it.status))).toEqual(new Set([status]));
    },
  );

  it('shows dates in ISO 8601, and the last error', async () => {
    const rows = (await all()).flat();
    const shown = (at: number) => rows.find(({ transaction_id }) => transaction_id === ids[at]);
    const common = { webhook_id: Number(webhook), event_id: null, created_at: '2026-01-31T12:00:00.000Z' };
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
      due_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
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

  it('refuses an unknown status, an unknown parameter, and a cursor of another listing', async () => {
    const path = `/v1/webhooks/${webhook}/deliveries`;
    const pathOf = async (query: string) =>
      expectProblem(await service.call('GET', `${path}?${query}`, { key }), 422);
    expect(await pathOf('status=done')).toEqual(['status']);
    expect(await pathOf('status=cancelled')).toEqual(['status']);
    expect(await pathOf('page=2')).toEqual(['page']);
    expect(await pathOf('cursor=dDE6MQ')).toEqual(['cursor']);
  });

  it('lists the movements that matched the webhook when they were stored, although its filters have changed since', async () => {
    const { key, webhook, store, account } = await createPausedWebhook(service, { event: 'NEW_DEBIT' });
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
    'reads a page of the status %s without reading most of the other deliveries',
    async (status) => {
      const { store, record, webhook, customerId } = await createPausedWebhook(service);
      const stored: string[] = [];
      for (let at = 0; at < 6; at += 1) stored.push(...(await store(many(1_000))));
      // Failed, delivered and pending deliveries form three blocks, so that a page of one status lies behind many others.
      const sort = (['delivered', 'failed', 'pending'] as const).map((it, at) => ({ it, at: at * 1_000 }));
      for (const { it, at } of sort) {
        const some = stored.slice(at, at + 1_000);
        await record(some.map((transactionId) => ({ transactionId, status: it })));
      }
      const caller: Caller = { customerId, actor: { apiKeyId: '1' }, accountIds: 'all', scopes: ['read'] };
      const range = { webhookId: webhook, after: '0', before: BEYOND_NEWEST, perPage: 100 };
      const { result, read } = await watchReads(service.runtime.database, (sql) =>
        readPage(sql, caller, range, status),
      );
      expect(result.rows.length).toBe(100);
      // The page, one more row for the next page, and at most 2,000 other rows before it.
      expect(read).toBeLessThan(status === 'delivered' ? 6_000 : 1_500);
    },
  );

  it('ends a page early where few of very many movements match, and goes on after it', async () => {
    const { key, webhook, store } = await createPausedWebhook(service, { event: 'NEW_DEBIT' });
    const first = await store([{ dc: 'Debit' }]);
    for (let at = 0; at < 11; at += 1) await store(many(1_000));
    const last = await store([{ dc: 'Debit' }]);
    const pages = await readPages(key, `/v1/webhooks/${webhook}/deliveries`);
    expect(pages.length).toBe(2);
    expect(pages.flat().map((it) => it.transaction_id)).toEqual([...last, ...first]);
  });
});
