import { beforeAll, describe, expect, it } from 'vitest';
import type { Replayable } from '../../src/delivery/delivery.ts';
import { type Replay, storeReplay } from '../../src/delivery/replays.ts';
import { createAccount } from '../support/movements.ts';
import { watchReads } from '../support/reads.ts';
import { createReplay } from '../support/replays.ts';
import { useService } from '../support/service.ts';
import { type Recorded, recordDeliveries, storeMovements } from '../support/stored.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api'] });

const NOON = '2026-01-31 12:00:00';
const LONG_AGO = '2000-01-01 00:00:00';

/** A customer with two accounts and a webhook for both. */
async function createWebhook() {
  const { database } = service.runtime;
  const { api_key: key, customer } = await service.customer();
  const [first, second] = [await createAccount(service, key), await createAccount(service, key)];
  const webhook = { id: (await subscribe(service, key, 'http://127.0.0.1:9/')).id, customerId: customer.id };
  return {
    webhook,
    accounts: [first.id, second.id] as const,
    store: (movements: Parameters<typeof storeMovements>[2], accountId = first.id) =>
      storeMovements(database, { customerId: customer.id, accountId }, movements),
    record: (ids: readonly string[], statusAt: (at: number) => Recorded['status']) =>
      recordDeliveries(
        database,
        webhook,
        ids.map((transactionId, at) => ({ transactionId, status: statusAt(at) })),
      ),
  };
}

const rowOf = async (replay: Replay) => {
  const [row] = await service.runtime.database.query<Record<string, unknown>[]>(
    'SELECT position, until_id, statuses, account_ids, replayed, created_at, finished_at FROM replays WHERE id = ?',
    [replay.id],
  );
  return row;
};

describe('a replay', () => {
  it('is one row with the range of movements from since to until, the whole second of until included', async () => {
    const { database } = service.runtime;
    const { webhook, store, record } = await createWebhook();
    const ids = await store(
      ['11:59:59.999999', '12:00:00', '13:00:00.999999', '13:00:01'].map((time) => ({
        dateReaded: `2026-01-31 ${time}`,
      })),
    );
    await record(ids, () => 'failed');
    const replay = await createReplay(database, {
      webhook,
      since: new Date(`${NOON}Z`),
      until: '2026-01-31 13:00:00',
    });
    expect(replay).toMatchObject({ webhookId: webhook.id, statuses: ['failed'], matched: 2 });
    expect(await rowOf(replay)).toEqual({
      position: ids[0],
      until_id: ids[2],
      statuses: 'failed',
      account_ids: null,
      replayed: '0',
      created_at: replay.createdAt,
      finished_at: null,
    });
    const open = await createReplay(database, { webhook, since: LONG_AGO });
    expect(await rowOf(open)).toMatchObject({ position: '0', until_id: ids[3] });
  });

  it('is finished from the start when it matches nothing', async () => {
    const { database } = service.runtime;
    const { webhook, store, record } = await createWebhook();
    const nothing = await createReplay(database, { webhook, since: LONG_AGO });
    expect([nothing, await rowOf(nothing)]).toMatchObject([
      { matched: 0 },
      { position: '0', until_id: '0', finished_at: expect.any(Date) },
    ]);
    await record(await store([{}]), () => 'failed');
    const later = await createReplay(database, { webhook, since: '2099-01-01 00:00:00' });
    expect([later, await rowOf(later)]).toMatchObject([{ matched: 0 }, { finished_at: expect.any(Date) }]);
  });

  it.each<[readonly Replayable[] | undefined, number, string]>([
    [undefined, 3, 'failed'],
    [['failed'], 3, 'failed'],
    [['delivered'], 2, 'delivered'],
    [['failed', 'delivered'], 5, 'delivered,failed'],
    [['delivered', 'failed'], 5, 'delivered,failed'],
  ])(
    'with the statuses %j counts the deliveries that ended with one of them',
    async (statuses, matched, stored) => {
      const { webhook, store, record } = await createWebhook();
      const ids = await store(Array.from({ length: 8 }, () => ({})));
      await record(ids.slice(0, 7), (at) => (at < 2 ? 'delivered' : at < 5 ? 'failed' : 'pending'));
      const replay = await createReplay(service.runtime.database, { webhook, since: LONG_AGO, statuses });
      expect(replay).toMatchObject({ matched });
      expect((await rowOf(replay))?.statuses).toBe(stored);
    },
  );

  it('by a key limited to accounts covers only movements of those accounts', async () => {
    const { database } = service.runtime;
    const { webhook, accounts, store, record } = await createWebhook();
    await record([...(await store([{}, {}])), ...(await store([{}], accounts[1]))], () => 'failed');
    const replay = await createReplay(database, { webhook, since: LONG_AGO, accountIds: [accounts[1]] });
    expect([replay, await rowOf(replay)]).toMatchObject([{ matched: 1 }, { account_ids: accounts[1] }]);
    const none = await createReplay(database, { webhook, since: LONG_AGO, accountIds: [] });
    expect(none).toMatchObject({ matched: 0 });
  });

  it.each([
    ['paused', null],
    ['disabled', 'webhook-disabled'],
    ['deleted', 'webhook-deleted'],
  ])('of a webhook that is %s is refused with the problem %j', async (status, refusal) => {
    const { database } = service.runtime;
    const { webhook, store, record } = await createWebhook();
    await record(await store([{}]), () => 'failed');
    await database.query('UPDATE webhooks SET status = ? WHERE id = ?', [status, webhook.id]);
    const request = createReplay(database, { webhook, since: LONG_AGO });
    if (refusal === null) await request;
    else await expect(request).rejects.toMatchObject({ problem: refusal });
    const rows = await database.query<unknown[]>('SELECT id FROM replays WHERE webhook_id = ?', [webhook.id]);
    expect(rows.length).toBe(refusal === null ? 1 : 0);
  });

  describe('of very many deliveries', () => {
    let made: Awaited<ReturnType<typeof createWebhook>>;
    let ids: string[];

    beforeAll(async () => {
      made = await createWebhook();
      ids = [];
      for (let at = 0; at < 12; at += 1)
        ids.push(...(await made.store(Array.from({ length: 1_000 }, () => ({})))));
      // The last one is delivered, and so are the first thousand.
      await made.record(ids, (at) => (at < 1_000 || at === 11_999 ? 'delivered' : 'failed'));
    });

    it.each<[string, readonly Replayable[] | undefined]>([
      ['failed', undefined],
      ['delivered', ['delivered']],
      ['failed and delivered', ['failed', 'delivered']],
    ])('is accepted without reading all of them, and leaves its count open: %s', async (_, statuses) => {
      const { result, read } = await watchReads(service.runtime.database, (sql) =>
        storeReplay(sql, { webhook: made.webhook, since: LONG_AGO, statuses }),
      );
      expect(result).toMatchObject({ matched: null });
      expect(await rowOf(result)).toMatchObject({ position: '0', until_id: ids.at(-1), finished_at: null });
      expect(read).toBeLessThan(15_000);
      const [left] = await service.runtime.database.query<{ rows: string }[]>(
        'SELECT COUNT(*) AS `rows` FROM deliveries WHERE webhook_id = ? AND status = ?',
        [made.webhook.id, 'pending'],
      );
      expect(left?.rows).toBe('0');
    });
  });
});
