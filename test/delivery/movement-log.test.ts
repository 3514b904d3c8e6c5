import { describe, expect, it } from 'vitest';
import { readRanges } from '../../src/delivery/engine/log-ranges.ts';
import { type LogRequest, openMovementLog } from '../../src/delivery/engine/movement-log.ts';
import { matchesNewMovements } from '../../src/webhook-record/filter.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../support/subscriber.ts';
import { EVERYTHING, idsOf, only, readAll, request, watchStatements } from './log-requests.ts';

const service = useService({ roles: ['api'] });

const openLog = () => openMovementLog(service.runtime.database);

describe('the movement log', () => {
  it('gives everything that a notification contains', async () => {
    const subscriber = await createSubscriber(service);
    const { accountId, key } = subscriber;
    const { unique_id: _, name: __, ...sent } = movement(accountId);
    await service.call('POST', '/v1/imports', { key, body: { transactions: [movement(accountId)] } });
    const { movements, complete } = await openLog().read(request(subscriber));
    expect(complete).toBe(true);
    expect(movements.map(({ transaction_id, ...it }) => ({ ...it }))).toMatchObject([
      {
        ...sent,
        amount: '1250.000',
        balance: '5000.500',
        currency: 'TRY',
        account: 'Ana Hesap',
        bank: 'Garanti BBVA',
      },
    ]);
  });

  it('gives the movements after the cursor in the order of their ids, 300 at a time, and no other customer’s', async () => {
    const subscriber = await createSubscriber(service);
    const other = await createSubscriber(service);
    const ids = await subscriber.store(500);
    await other.store(50);
    ids.push(...(await subscriber.store(250)));
    const log = openLog();
    const first = await log.read(request(subscriber));
    expect(first).toMatchObject({ through: Number(ids[299]), complete: false });
    expect(idsOf(first)).toEqual(ids.slice(0, 300));
    expect(await readAll(log, request(subscriber))).toEqual(ids);
    const end = await log.read(request(subscriber, { after: Number(ids[740]) }));
    expect(idsOf(end)).toEqual(ids.slice(741));
    expect(end.through).toBe(Number(ids[749]));
  });

  it('matches movements by event and by account', async () => {
    const subscriber = await createSubscriber(service);
    const second = (await createAccount(service, subscriber.key)).id;
    const [debit, credit] = await subscriber.store([{ dc: 'Debit' }, { dc: 'Credit' }]);
    const [otherDebit, otherCredit] = await subscriber.store([{ dc: 'Debit' }, { dc: 'Credit' }], second);
    const log = openLog();
    const { accountId } = subscriber;
    for (const [filter, expected] of [
      [EVERYTHING, [debit, credit, otherDebit, otherCredit]],
      [{ event: 'NEW_DEBIT', accountId: null, withdrawals: false }, [debit, otherDebit]],
      [{ event: 'NEW_CREDIT', accountId: null, withdrawals: false }, [credit, otherCredit]],
      [{ event: 'NEW_TRANSACTION', accountId, withdrawals: false }, [debit, credit]],
      [{ event: 'NEW_CREDIT', accountId, withdrawals: false }, [credit]],
      [{ event: 'NEW_DEBIT', accountId: second, withdrawals: true }, [otherDebit]],
      [{ event: 'WITHDRAWN_TRANSACTION', accountId: null, withdrawals: true }, []],
      [null, []],
    ] as const) {
      const read = await log.read(request(subscriber, only(filter)));
      expect([filter, idsOf(read)]).toEqual([filter, expected]);
      // Nothing that matches is left at or before `through`, although the last movement does not match.
      if (matchesNewMovements(filter))
        expect(read).toMatchObject({ through: Number(otherCredit), complete: true });
    }
  });

  it('keeps to the exact boundaries of filters that have changed', async () => {
    const subscriber = await createSubscriber(service);
    const ids = await subscriber.store(
      Array.from({ length: 40 }, (_, at) => ({ dc: at % 2 ? 'Debit' : 'Credit' })),
    );
    const id = (at: number) => Number(ids[at]);
    const filters: LogRequest['filters'] = [
      { from: id(0) - 1, through: id(9), filter: EVERYTHING },
      { from: id(9), through: id(19), filter: null },
      { from: id(19), through: id(29), filter: { event: 'NEW_DEBIT', accountId: null, withdrawals: false } },
      {
        from: id(29),
        through: null,
        filter: { event: 'NEW_CREDIT', accountId: subscriber.accountId, withdrawals: false },
      },
    ];
    const expected = ids.filter(
      (_, at) => at <= 9 || (at > 19 && at <= 29 && at % 2 === 1) || (at > 29 && at % 2 === 0),
    );
    const log = openLog();
    expect(await readAll(log, request(subscriber, { filters }))).toEqual(expected);
    // Begins inside a range, and exactly at each boundary.
    for (const at of [4, 9, 10, 15, 19, 20, 25, 29, 30, 39]) {
      const after = request(subscriber, { filters, after: id(at) });
      expect(await readAll(openLog(), after)).toEqual(expected.filter((it) => Number(it) > id(at)));
    }
    const first = await log.read(request(subscriber, { filters }));
    expect(first).toMatchObject({ through: id(9), complete: false });
    const nothing = await log.read(request(subscriber, { filters, after: id(9) }));
    expect(nothing).toMatchObject({ movements: [], through: id(19), complete: false });
  });

  it('leaves out movements that already have a result, where a crash left gaps after the cursor', async () => {
    const subscriber = await createSubscriber(service);
    const ids = await subscriber.store(20);
    const recorded = [3, 4, 7, 11].map((at) => ids[at] ?? '');
    await recordDeliveries(
      service.runtime.database,
      subscriber.webhook,
      recorded.map((transactionId, at) => ({ transactionId, status: at === 0 ? 'pending' : 'delivered' })),
      { sentThrough: ids[2] ?? '' },
    );
    const log = openLog();
    const gap = request(subscriber, { after: Number(ids[2]), highestRecordedId: Number(ids[11]) });
    const first = await log.read(gap);
    expect(idsOf(first)).toEqual([5, 6, 8, 9, 10].map((at) => ids[at]));
    expect(first).toMatchObject({ through: Number(ids[11]), complete: false });
    expect(await readAll(log, gap)).toEqual(ids.slice(3).filter((id) => !recorded.includes(id)));
    // Another webhook of the customer has no results.
    const neighbour = { ...gap, webhookId: '999999' };
    expect(await readAll(log, neighbour)).toEqual(ids.slice(3));
  });

  it('says with which version of the customer’s filters it read', async () => {
    const subscriber = await createSubscriber(service);
    const [id] = await subscriber.store(1);
    const { key, webhookIds } = subscriber;
    const before = (await openLog().read(request(subscriber))).filtersVersion;
    await service.call('PATCH', `/v1/webhooks/${webhookIds[0]}`, { key, body: { event: 'NEW_DEBIT' } });
    const log = openLog();
    expect((await log.read(request(subscriber))).filtersVersion).toBe(before + 1);
    const end = await log.read(request(subscriber, { after: Number(id) }));
    expect(end).toMatchObject({ movements: [], filtersVersion: before + 1, complete: true });
  });

  it('shares one read among webhooks with the same filter that ask at the same time', async () => {
    const subscriber = await createSubscriber(service, NOWHERE, {}, {});
    await subscriber.store(2);
    const { sql, statements } = watchStatements(service.runtime.database);
    const log = openMovementLog(sql);
    const [one, two] = await Promise.all(
      subscriber.webhookIds.map((webhookId) => log.read(request(subscriber, { webhookId }))),
    );
    expect(one?.movements).toHaveLength(2);
    expect(two).toBe(one);
    expect(statements).toHaveLength(1);
  });

  it('reads for many webhooks in one statement', async () => {
    const [one, two] = [await createSubscriber(service), await createSubscriber(service)];
    const first = await one.store(3);
    const second = await two.store([{ dc: 'Debit' }, { dc: 'Credit' }]);
    const { sql, statements } = watchStatements(service.runtime.database);
    const range = { filter: EVERYTHING, after: 0, through: null, withoutResultsOf: null, limit: 300 };
    const debits = {
      ...range,
      customerId: two.customerId,
      filter: { ...EVERYTHING, event: 'NEW_DEBIT' as const },
    };
    const reads = await readRanges(sql, [
      { ...range, customerId: one.customerId },
      { ...range, customerId: two.customerId },
      debits,
      { ...range, customerId: one.customerId, after: Number(first[0]), through: Number(first[1]) },
    ]);
    expect(reads.map(idsOf)).toEqual([first, second, [second[0]], [first[1]]]);
    expect(reads.map(({ through }) => through)).toEqual(
      [first[2], second[1], second[1], first[1]].map(Number),
    );
    expect(reads.map(({ complete }) => complete)).toEqual([true, true, true, false]);
    expect(statements).toHaveLength(1);
  });

  it('gives each webhook its movements, although a large backlog comes before it', async () => {
    const [huge, small] = [await createSubscriber(service), await createSubscriber(service)];
    const ids = await huge.store(700);
    const few = await small.store(3);
    const at = (subscriber: Subscriber, fields: object = {}) => ({
      customerId: subscriber.customerId,
      filter: EVERYTHING,
      after: 0,
      through: null,
      withoutResultsOf: null,
      limit: 300,
      ...fields,
    });
    const ofAccount = { filter: { ...EVERYTHING, accountId: small.accountId } };
    const reads = await readRanges(service.runtime.database, [
      at(huge),
      at(small),
      at(huge, { after: Number(ids[689]) }),
      at(small, { after: Number(few[2]) }),
      at(small, ofAccount),
    ]);
    expect(reads.map(idsOf)).toEqual([ids.slice(0, 300), few, ids.slice(690), [], few]);
    expect(reads.map(({ complete }) => complete)).toEqual([false, true, true, true, true]);
  });

  it('gives each read no more than it asks for, and loses no movement between two reads', async () => {
    const [busy, other] = [await createSubscriber(service), await createSubscriber(service)];
    const ids = await busy.store(50);
    const few = await other.store(20);
    const log = openLog();
    const [read, ofOther] = await Promise.all([
      log.read(request(busy, { limit: 7 })),
      log.read(request(other, { limit: 7 })),
    ]);
    expect([idsOf(read), idsOf(ofOther)]).toEqual([ids.slice(0, 7), few.slice(0, 7)]);
    expect([read.complete, read.through]).toEqual([false, Number(ids[6])]);
    const debits = only({ event: 'NEW_DEBIT', accountId: busy.accountId, withdrawals: false });
    const [all, again, none] = await Promise.all([
      readAll(log, request(busy, { limit: 7 })),
      readAll(log, request(busy, { limit: 11 })),
      readAll(log, request(busy, { limit: 7, ...debits })),
    ]);
    expect([all, again, none]).toEqual([ids, ids, []]);
  });

  it('reads nothing for a customer without movements', async () => {
    const subscriber = await createSubscriber(service);
    const read = await openLog().read(request(subscriber));
    expect(read).toMatchObject({ movements: [], through: 0, complete: true });
  });

  it('skips no movement while imports are committed', async () => {
    const subscriber = await createSubscriber(service);
    const { key, accountId } = subscriber;
    let importing = true;
    const imports = Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        service.call('POST', '/v1/imports', {
          key,
          body: { transactions: [movement(accountId, { unique_id: `m${i}` })] },
        }),
      ),
    ).finally(() => {
      importing = false;
    });
    const ids: string[] = [];
    const log = openLog();
    let after = 0;
    for (let last = false; ; ) {
      const read = await log.read(request(subscriber, { after }));
      ids.push(...idsOf(read));
      if (last && read.through === after) break;
      last = !importing;
      after = read.through;
    }
    await imports;
    const rows = await service.runtime.database.query<{ id: string }[]>(
      'SELECT id FROM transactions WHERE customer_id = ? ORDER BY id',
      [subscriber.customerId],
    );
    expect(rows).toHaveLength(60);
    expect(ids).toEqual(rows.map(({ id }) => id));
  });
});
