import { parse } from 'valibot';
import { describe, expect, it } from 'vitest';
import { inTransaction, type Sql } from '../../src/database/transaction.ts';
import { setFilter } from '../../src/delivery/filters.ts';
import { lockCustomers, storeBatches } from '../../src/ledger/append.ts';
import { createMatcher, type Matcher } from '../../src/ledger/matching.ts';
import { Movement } from '../../src/ledger/movement.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });

let imports = 1_000;

/** Stores movements of several customers in one transaction. @returns the result, and the statements that were run. */
function store(
  batches: readonly { customerId: string; movements: readonly object[] }[],
  matcher: Matcher = createMatcher(),
) {
  const { database } = service.runtime;
  return inTransaction(database, async (sql) => {
    const statements: string[] = [];
    const watched: Sql = {
      query: (statement, values) => {
        statements.push(statement);
        return sql.query(statement, values);
      },
    };
    const locks = await lockCustomers(watched, [...new Set(batches.map(({ customerId }) => customerId))]);
    const stored = await storeBatches(
      watched,
      matcher,
      locks,
      batches.map(({ customerId, movements }) => {
        imports += 1;
        const rows = movements.map((it) => parse(Movement, it));
        return {
          customerId,
          importId: String(imports),
          movements: rows.map((row, at) => ({
            line: at + 1,
            uniqueId: row.unique_id ?? `${imports} ${at}`,
            movement: row,
          })),
        };
      }),
    );
    return { ...stored, statements, deliveries: [...stored.deliveries.values()] };
  });
}

const backlogOf = async (webhookId: string | undefined) => {
  const [row] = await service.runtime.database.query<Record<string, string>[]>(
    'SELECT matched_through, matched_count FROM webhook_backlogs WHERE webhook_id = ?',
    [webhookId],
  );
  return row && Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]));
};
const newestOf = async (customerId: string) => {
  const [row] = await service.runtime.database.query<{ id: string }[]>(
    'SELECT last_transaction_id AS id FROM import_locks WHERE customer_id = ?',
    [customerId],
  );
  return Number(row?.id);
};
const setStatus = (webhookId: string | undefined, status: string) =>
  service.runtime.database.query('UPDATE webhooks SET status = ? WHERE id = ?', [status, webhookId]);

describe('the matching of new movements with webhooks', () => {
  it('adds to the backlogs', async () => {
    const { customerId, accountId, webhookIds } = await createSubscriber(
      service,
      NOWHERE,
      {},
      { event: 'NEW_DEBIT' },
    );
    const [all, debits] = webhookIds;
    const credit = movement(accountId);
    const debit = movement(accountId, { dc: 'Debit' });
    await store([{ customerId, movements: [debit, credit] }]);
    const first = await newestOf(customerId);
    expect(await backlogOf(debits)).toEqual({
      matched_through: first,
      matched_count: 1,
    });
    await store([{ customerId, movements: [credit, credit] }]);
    await store([{ customerId, movements: [credit, debit, debit] }]);
    const third = await newestOf(customerId);
    expect(await backlogOf(all)).toEqual({
      matched_through: third,
      matched_count: 7,
    });
    expect(await backlogOf(debits)).toEqual({
      matched_through: third,
      matched_count: 3,
    });
  });

  it('matches no new movement with a webhook for withdrawals, which may have them beside new movements', async () => {
    const { customerId, accountId, webhookIds } = await createSubscriber(
      service,
      NOWHERE,
      { event: 'WITHDRAWN_TRANSACTION' },
      { event: undefined, events: ['NEW_DEBIT', 'WITHDRAWN_TRANSACTION'] },
    );
    const [withdrawals, both] = webhookIds;
    await store([{ customerId, movements: [movement(accountId, { dc: 'Debit' }), movement(accountId)] }]);
    expect(await backlogOf(withdrawals)).toEqual({ matched_through: 0, matched_count: 0 });
    expect(await backlogOf(both)).toMatchObject({ matched_count: 1 });
  });

  it('depends on event and account, covers active and paused webhooks, and keeps customers apart', async () => {
    const fields = [{}, { event: 'NEW_DEBIT' }, { event: 'NEW_CREDIT' }, {}, {}, {}];
    const one = await createSubscriber(service, NOWHERE, ...fields);
    const two = await createSubscriber(service, NOWHERE);
    const other = (await createAccount(service, one.key)).id;
    const { database } = service.runtime;
    const [all, debits, credits, ofOther, paused, disabled] = one.webhookIds;
    await database.query('UPDATE webhooks SET account_id = ? WHERE id = ?', [other, ofOther]);
    await setStatus(paused, 'paused');
    await setStatus(disabled, 'disabled');
    const { deliveries, webhookIds } = await store([
      {
        customerId: one.customerId,
        movements: [movement(one.accountId), movement(one.accountId, { dc: 'Debit' }), movement(other)],
      },
      { customerId: two.customerId, movements: [movement(two.accountId)] },
      { customerId: one.customerId, movements: [movement(other)] },
    ]);
    expect(webhookIds.toSorted()).toEqual([all, debits, credits, ofOther, paused, two.webhook.id].toSorted());
    const counts = await Promise.all(
      [...one.webhookIds, two.webhook.id].map(async (id) => (await backlogOf(id))?.matched_count),
    );
    expect(counts).toEqual([4, 1, 3, 2, 4, 0, 1]);
    expect(deliveries).toEqual([3 + 1 + 2 + 1 + 3, 1, 1 + 1 + 1 + 1]);
  });

  it('does not count known movements', async () => {
    const { customerId, accountId, webhook } = await createSubscriber(service);
    const known = movement(accountId, { unique_id: 'known' });
    await store([{ customerId, movements: [known] }]);
    const before = await backlogOf(webhook.id);
    expect(await store([{ customerId, movements: [known] }])).toMatchObject({ webhookIds: [] });
    expect(await backlogOf(webhook.id)).toEqual(before);
    const { deliveries } = await store([{ customerId, movements: [known, movement(accountId)] }]);
    expect(deliveries).toEqual([1]);
    expect(await backlogOf(webhook.id)).toMatchObject({ matched_count: 2 });
  });
});

describe('the webhook filters that a process caches', () => {
  const reads = (statements: readonly string[]) => statements.filter((it) => /FROM webhooks/.test(it)).length;
  const change = ({ webhook }: Subscriber, event: 'NEW_DEBIT' | 'NEW_TRANSACTION') =>
    inTransaction(service.runtime.database, async (sql) => {
      await setFilter(sql, webhook, { event, accountId: null, withdrawals: false });
      await sql.query('UPDATE webhooks SET event = ? WHERE id = ?', [event, webhook.id]);
    });

  it('are read once per process, and again at the next import after a webhook of the customer has changed', async () => {
    const subscriber = await createSubscriber(service);
    const neighbour = await createSubscriber(service);
    const processes = [createMatcher(), createMatcher()];
    const storeOne = (matcher: Matcher | undefined) =>
      store(
        [subscriber, neighbour].map(({ customerId, accountId }) => ({
          customerId,
          movements: [movement(accountId)],
        })),
        matcher,
      );
    for (const [matcher, expected] of [
      [processes[0], 1],
      [processes[0], 0],
      [processes[1], 1],
      [processes[1], 0],
    ] as const) {
      const { statements, deliveries } = await storeOne(matcher);
      expect([reads(statements), deliveries]).toEqual([expected, [1, 1]]);
    }
    await change(subscriber, 'NEW_DEBIT');
    for (const matcher of processes) {
      const { statements, deliveries } = await storeOne(matcher);
      expect([reads(statements), deliveries]).toEqual([1, [1]]);
    }
    await change(subscriber, 'NEW_TRANSACTION');
    for (const matcher of processes) expect((await storeOne(matcher)).deliveries).toEqual([1, 1]);
  });

  it('match the movements of all customers of a transaction, even if the cache holds fewer customers', async () => {
    const subscribers = [await createSubscriber(service), await createSubscriber(service)];
    const matcher = createMatcher(1);
    const batches = subscribers.map(({ customerId, accountId }) => ({
      customerId,
      movements: [movement(accountId)],
    }));
    expect((await store(batches, matcher)).deliveries).toEqual([1, 1]);
    expect((await store(batches, matcher)).deliveries).toEqual([1, 1]);
  });

  it('include a new webhook, and leave out a deleted webhook', async () => {
    const { key, customerId, accountId, webhook } = await createSubscriber(service);
    const matcher = createMatcher();
    const matched = async () =>
      (await store([{ customerId, movements: [movement(accountId)] }], matcher)).webhookIds;
    expect(await matched()).toEqual([webhook.id]);
    const { body } = await service.call('POST', '/v1/webhooks', {
      key,
      body: { title: 'new', endpoint: NOWHERE, event: 'NEW_TRANSACTION', account: 'all' },
    });
    expect(await matched()).toEqual([webhook.id, String(body.webhook.id)]);
    await service.call('DELETE', `/v1/webhooks/${webhook.id}`, { key });
    expect(await matched()).toEqual([String(body.webhook.id)]);
  });
});
