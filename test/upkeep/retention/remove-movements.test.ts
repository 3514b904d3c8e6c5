import { describe, expect, it } from 'vitest';
import { countMovements, findWaiting, makeSegments } from '../../../src/movements/segments.ts';
import { listTransactions } from '../../../src/movements/transactions.ts';
import { parseOffset } from '../../../src/platform/moment.ts';
import { readAll, readPage } from '../../support/listing.ts';
import { importDone, importMovements, movement } from '../../support/movements.ts';
import { expectProblem } from '../../support/problem.ts';
import { useOwnService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../../support/subscriber.ts';
import { removeAt, YOUNG } from './kept.ts';

const service = useOwnService({
  because: 'retention removes what any customer has',
  roles: ['api', 'importer'],
});

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

/** Everything after 90 days. */
const remove = () => removeAt(service, { deliveries: 90, movements: 90 });

const storedOf = async ({ customerId }: Pick<Subscriber, 'customerId'>) =>
  (
    await query<{ id: string }>('SELECT id FROM transactions WHERE customer_id = ? ORDER BY id', customerId)
  ).map(({ id }) => id);

const deliver = ({ webhook }: Subscriber, ids: readonly string[]) =>
  recordDeliveries(
    service.runtime.database,
    webhook,
    ids.map((transactionId) => ({ transactionId, status: 'delivered' })),
  );

describe('retention of movements', () => {
  it('removes the statements too, once none of their days has a movement', async () => {
    const subscriber = await createSubscriber(service);
    const [old = '', held = ''] = await subscriber.store([{}, {}]);
    await query("UPDATE transactions SET date_issue = '2026-01-10' WHERE id = ?", old);
    await query("UPDATE transactions SET date_issue = '2026-01-20' WHERE id = ?", held);
    for (const day of ['2026-01-10', '2026-01-20', '2026-05-20'])
      await query(
        `INSERT INTO statements (customer_id, account_id, import_id, line, format, kind, from_date, to_date, credits, debits,
           entries, fingerprint, received_at)
         VALUES (?, ?, 1, 1, 'mt940', 'final', ?, ?, 0, 0, 0, UNHEX(REPLACE(UUID(), '-', '')), ?)`,
        subscriber.customerId,
        subscriber.accountId,
        day,
        day,
        `${day} 12:00:00`,
      );
    await deliver(subscriber, [old]);
    const days = async () =>
      (
        await query<{ to_date: string }>(
          'SELECT to_date FROM statements WHERE customer_id = ? ORDER BY to_date',
          subscriber.customerId,
        )
      ).map(({ to_date }) => to_date);
    // The second movement is still to be sent.
    expect(await remove()).toMatchObject({ movements: 1, statements: 1 });
    expect(await days()).toEqual(['2026-01-20', '2026-05-20']);
    await deliver(subscriber, [held]);
    expect(await remove()).toMatchObject({ movements: 1, statements: 1 });
    expect(await days()).toEqual(['2026-05-20']);
  });

  it('removes old movements that were sent, and keeps those that were stored or issued recently', async () => {
    const subscriber = await createSubscriber(service);
    const [old = '', issuedLately = '', young = ''] = await subscriber.store([{}, {}, { dateReaded: YOUNG }]);
    await query("UPDATE transactions SET date_issue = '2026-05-20' WHERE id = ?", issuedLately);
    await deliver(subscriber, [old, issuedLately, young]);
    expect(await remove()).toMatchObject({ movements: 1 });
    expect(await storedOf(subscriber)).toEqual([issuedLately, young]);
    expectProblem(await service.call('GET', `/v1/transactions/${old}`, { key: subscriber.key }), 404);
  });

  it.each([
    ['has it pending in the log', 'active', async () => {}],
    ['is paused and has it pending', 'paused', async () => {}],
    ['is disabled and has it pending', 'disabled', async () => {}],
    [
      'waits for its next attempt',
      'active',
      async (subscriber: Subscriber, ids: string[]) =>
        recordDeliveries(service.runtime.database, subscriber.webhook, [
          ...ids.slice(0, 1).map((transactionId) => ({ transactionId, status: 'delivered' as const })),
          { transactionId: ids[1] ?? '', status: 'pending' },
          { transactionId: ids[2] ?? '', status: 'delivered' },
        ]),
    ],
  ])(
    'removes no movement from the first one on that is needed by a webhook which %s',
    async (_, status, prepare) => {
      const subscriber = await createSubscriber(service, NOWHERE, {}, {});
      const { webhookIds, customerId, store } = subscriber;
      const [needing = '', other = ''] = webhookIds;
      const ids = await store(3);
      await query('UPDATE webhooks SET status = ? WHERE id = ?', status, needing);
      await deliver({ ...subscriber, webhook: { id: other, customerId } }, ids);
      await prepare(subscriber, ids);
      await remove();
      const waits = (await query('SELECT 1 FROM retries WHERE webhook_id = ?', needing)).length > 0;
      expect(await storedOf(subscriber)).toEqual(waits ? ids.slice(1) : ids);
    },
  );

  it('removes movements that no webhook matches, and those of a deleted webhook', async () => {
    const rare = await createSubscriber(service, NOWHERE, { event: 'NEW_DEBIT' });
    await rare.store(3);
    const deleted = await createSubscriber(service);
    await deleted.store(3);
    await service.call('DELETE', `/v1/webhooks/${deleted.webhook.id}`, { key: deleted.key });
    await remove();
    expect([await storedOf(rare), await storedOf(deleted)]).toEqual([[], []]);
  });
});

describe('a removed movement that is sent again', () => {
  const statement = (accountId: string) => [
    movement(accountId, { unique_id: 'known', date_issue: '2026-01-15' }),
    movement(accountId, { unique_id: 'late', date_issue: '2026-05-20' }),
  ];

  /** A customer whose movement of January was removed on June 1. */
  async function afterRemoval() {
    const subscriber = await createSubscriber(service);
    const { key, accountId, customerId } = subscriber;
    await importMovements(service, key, statement(accountId).slice(0, 1));
    await query("UPDATE transactions SET date_readed = '2026-01-16' WHERE customer_id = ?", customerId);
    await deliver(subscriber, await storedOf(subscriber));
    await query("UPDATE deliveries SET started_at = '2026-01-16' WHERE customer_id = ?", customerId);
    await remove();
    expect(await storedOf(subscriber)).toEqual([]);
    return subscriber;
  }

  it('is refused in JSON, and the answer names it', async () => {
    const { key, accountId } = await afterRemoval();
    const body = { transactions: statement(accountId) };
    // This process may have cached the accounts, with what was removed by then: the import is then staged, and its row rejected.
    const answer = await service.call('POST', '/v1/imports', { key, body });
    if (answer.status === 202) {
      const done = await importDone(service, key, answer.body.import.id);
      expect(done).toMatchObject({ inserted: 1, duplicates: 0, rejected: 1, deliveries: 1 });
    } else {
      expectProblem(answer, 422);
      expect(answer.body.errors).toMatchObject([
        { path: 'transactions.0.date_issue', message: expect.stringMatching(/^is before 2026-03-03: /) },
      ]);
    }
  });

  it('is rejected in NDJSON, and the other rows are stored', async () => {
    const { key, accountId, webhook } = await afterRemoval();
    const body = statement(accountId)
      .map((it) => JSON.stringify(it))
      .join('\n');
    const answer = await service.call('POST', '/v1/imports', { key, body, type: 'application/x-ndjson' });
    const done = await importDone(service, key, answer.body.import.id);
    expect(done).toMatchObject({ inserted: 1, duplicates: 0, rejected: 1, deliveries: 1 });
    const { body: listed } = await service.call('GET', `/v1/imports/${done.id}/errors`, { key });
    expect(listed.errors).toMatchObject([{ line: 1, path: 'date_issue' }]);
    const { body: shown } = await service.call('GET', `/v1/webhooks/${webhook.id}`, { key });
    expect(shown.webhook.deliveries).toEqual({ pending: 1, delivered: 1, failed: 0, to_come: 0 });
  });
});

describe('the listing of movements', () => {
  const SIZE = 7;

  it('shows the remaining movements by number and by Link while others are removed, and its segments have the right counts', async () => {
    const { database } = service.runtime;
    const subscriber = await createSubscriber(service, NOWHERE, { event: 'NEW_DEBIT' });
    const { key, customerId, accountId, store } = subscriber;
    const other = await service.call('POST', '/v1/accounts', {
      key,
      body: { bank: 'Ziraat', title: 'İki', currency: 'TRY' },
    });
    const otherId = String(other.body.account.id);
    for (let i = 0; i < 6; i += 1) {
      await store(9);
      await store(4, otherId);
    }
    const ids = await store(Array.from({ length: 30 }, () => ({ dateReaded: YOUNG })));
    // Some of the old ones stay, between those that go.
    await query(
      "UPDATE transactions SET date_issue = '2026-05-20' WHERE customer_id = ? AND id % 5 = 0",
      customerId,
    );
    const counted = 'UPDATE import_locks SET movements = ? WHERE customer_id = ?';
    await query(counted, 6 * 13 + ids.length, customerId);
    expect(await makeSegments(database, { size: SIZE })).toBeGreaterThan(10);
    const path = '/v1/transactions?starts=2000-01-01&per_page=10';
    const first = await readPage(service, key, path);
    const last = await readAll(service, key, path);

    expect((await remove()).movements).toBeGreaterThan(50);
    await makeSegments(database, { size: SIZE });
    const left = await storedOf(subscriber);
    expect(left).toEqual(last.map(({ id }) => id).filter((id) => Number(id) % 5 === 0 || ids.includes(id)));

    // An earlier cursor still works, and skips the removed movements.
    const rest = await readAll(service, key, first.next ?? '');
    const end = BigInt(first.rows.at(-1)?.id ?? 0);
    expect(rest.map(({ id }) => id)).toEqual(left.filter((id) => BigInt(id) > end));

    for (const accountIds of ['all', [accountId], [otherId]] as const) {
      const expected =
        accountIds === 'all'
          ? left
          : (
              await query<{ id: string }>(
                'SELECT id FROM transactions WHERE account_id = ? ORDER BY id',
                accountIds[0],
              )
            ).map(({ id }) => id);
      for (let page = 21; page <= left.length + 1; page += 1) {
        const listing = {
          customerId,
          accountIds,
          starts: '2000-01-01',
          ends: null,
          after: null,
          cursor: null,
        };
        const { transactions } = await listTransactions(
          database,
          { ...listing, page, perPage: 1 },
          parseOffset('+03'),
        );
        expect({ page, ids: transactions.map(({ id }) => String(id)) }).toEqual({
          page,
          ids: expected.slice(page - 1, page),
        });
      }
    }
    const [segments] = await query<{ movements: string; last_id: string }>(
      `SELECT SUM(movements) AS movements, MAX(last_id) AS last_id FROM transaction_segments
       WHERE customer_id = ? AND account_id = 0`,
      customerId,
    );
    const before = left.filter((id) => BigInt(id) <= BigInt(segments?.last_id ?? 0));
    expect(Number(segments?.movements)).toBe(before.length);
    expect(await countMovements(database, { customerId, accountId: null })).toBe(left.length);
    // Movements that were removed without a segment are not waited for: the next whole segment is made of what comes.
    await store(SIZE);
    await query(counted, 6 * 13 + ids.length + SIZE, customerId);
    await makeSegments(database, { size: SIZE });
    expect(await findWaiting(database, SIZE)).toEqual([]);
  });
});
