import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/database/transaction.ts';
import { readFilterRanges, readFiltersAt, setFilter } from '../../src/delivery/filters.ts';
import type { Filter } from '../../src/webhook-record/filter.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, cursorOf, type Subscriber } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const service = useService({ roles: ['api'] });
const receiver = useReceiver();
const workers = useDeliveryWorkers(service);

const EVERYTHING: Filter = { event: 'NEW_TRANSACTION', accountId: null, withdrawals: false };
const DEBITS: Filter = { event: 'NEW_DEBIT', accountId: null, withdrawals: true };

const query = <T>(statement: string, values: unknown[]) =>
  service.runtime.database.query<T[]>(statement, values);

const filtersOf = (webhookId: string) =>
  query('SELECT from_id, event, account_id FROM webhook_filters WHERE webhook_id = ? ORDER BY from_id', [
    webhookId,
  ]);

const versionOf = async ({ customerId }: Subscriber) => {
  const [row] = await query<{ filters_version: number }>(
    'SELECT filters_version FROM import_locks WHERE customer_id = ?',
    [customerId],
  );
  return row?.filters_version;
};

const change = ({ webhook }: Subscriber, filter: Filter | null) =>
  inTransaction(service.runtime.database, (sql) => setFilter(sql, webhook, filter));

describe('the filters of a webhook', () => {
  it('begin at the customer’s newest movement, and so do its backlog and its cursor', async () => {
    const subscriber = await createSubscriber(service);
    const newest = (await subscriber.store(5)).at(-1);
    const { id } = await subscribe(service, subscriber.key, 'http://127.0.0.1:9/', { event: 'NEW_DEBIT' });
    expect(await filtersOf(id)).toEqual([{ from_id: newest, event: 'NEW_DEBIT', account_id: null }]);
    expect(await cursorOf(service, id)).toMatchObject({ sent_through: newest, highest_recorded_id: newest });
    const [backlog] = await query(
      'SELECT matched_through, matched_count FROM webhook_backlogs WHERE webhook_id = ?',
      [id],
    );
    expect(backlog).toEqual({
      matched_through: newest,
      matched_count: '0',
    });
    expect(await versionOf(subscriber)).toBe(2);
  });

  it('change after the newest movement, each time with a new version, and the last of several changes there counts', async () => {
    const subscriber = await createSubscriber(service);
    const { id } = subscriber.webhook;
    const [first] = await subscriber.store(1);
    await change(subscriber, DEBITS);
    await change(subscriber, null);
    await change(subscriber, { ...EVERYTHING, accountId: subscriber.accountId });
    const [, last] = await subscriber.store(2);
    await change(subscriber, null);
    expect(await filtersOf(id)).toEqual([
      { from_id: '0', event: 'NEW_TRANSACTION', account_id: null },
      { from_id: first, event: 'NEW_TRANSACTION', account_id: subscriber.accountId },
      { from_id: last, event: null, account_id: null },
    ]);
    expect(await versionOf(subscriber)).toBe(5);
  });

  it('are read for a part of the log, the newest first, and for one movement', async () => {
    const subscriber = await createSubscriber(service);
    const { id } = subscriber.webhook;
    const ids = await subscriber.store(2);
    await change(subscriber, DEBITS);
    ids.push(...(await subscriber.store(2)));
    await change(subscriber, null);
    ids.push(...(await subscriber.store(2)));
    const [a = '', b = '', , d = '', e = '', f = ''] = ids;
    const { database } = service.runtime;
    expect(await readFilterRanges(database, id, { after: '0', through: f })).toEqual([
      { fromId: d, throughId: f, filter: null },
      { fromId: b, throughId: d, filter: DEBITS },
      { fromId: '0', throughId: b, filter: EVERYTHING },
    ]);
    expect(await readFilterRanges(database, id, { after: a, through: d })).toEqual([
      { fromId: b, throughId: d, filter: DEBITS },
      { fromId: a, throughId: b, filter: EVERYTHING },
    ]);
    const at = await Promise.all(
      [b, d, e].map(async (it) => (await readFiltersAt(database, [id], it)).get(id) ?? null),
    );
    expect(at).toEqual([EVERYTHING, DEBITS, null]);
  });

  it('change at an exact boundary while imports are committed, so that each movement is delivered by the filters it matched, once', async () => {
    workers.start();
    const { api_key: key, customer } = await service.customer();
    const accounts = [await createAccount(service, key), await createAccount(service, key)].map(
      ({ id }) => id,
    );
    const [first = '', second = ''] = accounts;
    const webhook = await subscribe(service, key, `${receiver.url}/boundary`);
    const importing = Array.from({ length: 150 }, async (_, i) => {
      const { body } = await service.call('POST', '/v1/imports', {
        key,
        body: {
          transactions: accounts.map((account, at) =>
            movement(account, { unique_id: `${i}`, dc: (i + at) % 2 ? 'Debit' : 'Credit' }),
          ),
        },
      });
      return body.import.deliveries as number;
    });
    const changes = [
      { event: 'NEW_DEBIT' },
      { account: first },
      { event: 'NEW_CREDIT', account: 'all' },
      { event: 'WITHDRAWN_TRANSACTION' },
      { account: second },
      { events: ['NEW_TRANSACTION', 'WITHDRAWN_TRANSACTION'] },
      { account: 'all' },
    ];
    for (const body of changes) {
      const { status } = await service.call('PATCH', `/v1/webhooks/${webhook.id}`, { key, body });
      expect(status).toBe(200);
    }
    const matched = (await Promise.all(importing)).reduce((sum, deliveries) => sum + deliveries, 0);

    // Each movement is matched by the filter that applied when it was stored.
    const expected = await query<{ id: string }>(
      `SELECT t.id FROM transactions t JOIN webhook_filters f ON f.webhook_id = ? AND f.from_id = (
         SELECT MAX(g.from_id) FROM webhook_filters g WHERE g.webhook_id = f.webhook_id AND g.from_id < t.id)
       WHERE t.customer_id = ? AND (f.account_id IS NULL OR f.account_id = t.account_id)
         AND (f.event = 'NEW_TRANSACTION' OR f.event = CONCAT('NEW_', UPPER(t.dc))) ORDER BY t.id`,
      [webhook.id, customer.id],
    );
    expect(expected).toHaveLength(matched);
    const ids = expected.map(({ id }) => id);
    await until('all delivered', async () => {
      const rows = await deliveriesOf(service, webhook.id);
      return rows.length === matched && rows.every(({ status }) => status === 'delivered');
    });
    const arrived = receiver.at('/boundary').map(({ headers }) => headers['ledgerbell-transaction-id'] ?? '');
    expect(arrived.toSorted((a, b) => Number(a) - Number(b))).toEqual(ids);
    const [backlog] = await query<{ matched_count: string }>(
      'SELECT matched_count FROM webhook_backlogs WHERE webhook_id = ?',
      [webhook.id],
    );
    expect(Number(backlog?.matched_count)).toBe(matched);
  });
});
