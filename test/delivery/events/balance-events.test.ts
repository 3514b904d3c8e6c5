import { describe, expect, it } from 'vitest';
import { ACCOUNT_IBAN, dayStatement } from '../../support/day-statement.ts';
import { createAccount, importDone, importMovements, movement } from '../../support/movements.ts';
import { until } from '../../support/until.ts';
import { useEventService } from './event-service.ts';
import { storedEvents, subscribeToEvents } from './received-events.ts';

const { service, receiver, report, newCustomer } = useEventService();

async function balanceCustomer(path: string) {
  const customer = await newCustomer(path);
  const { key } = customer;
  const balances = await subscribeToEvents(service, receiver, key, `${path}/balances`, {
    event: 'BALANCE_UPDATED',
  });
  return {
    ...customer,
    balances,
    async send(body: string) {
      const type = 'application/octet-stream';
      const answer = await service.call('POST', '/v1/imports', { key, body, type });
      const done = await importDone(service, key, answer.body.import.id);
      await report();
      return done;
    },
    told: async () =>
      (await storedEvents(service, customer.id, 'balance.updated')).map(({ data }) => {
        const { date, balance } = JSON.parse(data);
        return `${date} ${balance}`;
      }),
    change: async (id: string, body: object) =>
      (await service.call('PATCH', `/v1/webhooks/${id}`, { key, body })).body,
  };
}

describe('a webhook with the event BALANCE_UPDATED', () => {
  it('is sent the closing balance of a statement, signed, and other webhooks are not', async () => {
    const { id, account, send, balances, subscription } = await balanceCustomer('/balance');
    const sent = await send(dayStatement(1, 2, 100, [50]));
    const event = await balances.next('balance.updated');
    expect(event).toEqual({
      id: expect.stringMatching(new RegExp(`^msg_${balances.id}-[1-9][0-9]*$`)),
      type: 'balance.updated',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      data: {
        account_id: Number(account),
        account: expect.any(String),
        bank: expect.any(String),
        currency: 'TRY',
        balance: '150.00',
        date: '2026-03-02',
        source: 'statement',
        import_id: sent.id,
        statement_id: expect.any(Number),
      },
    });
    const events = await storedEvents(service, id, 'balance.updated');
    const recipients = await service.runtime.database.query<{ webhook_id: string }[]>(
      `SELECT webhook_id FROM retries WHERE transaction_id IN (?) UNION SELECT webhook_id FROM deliveries WHERE transaction_id IN (?)`,
      [events.map((it) => it.id), events.map((it) => it.id)],
    );
    expect(recipients.map(({ webhook_id }) => webhook_id)).toEqual([String(balances.id)]);
    expect(subscription.events()).toEqual([]);
  });

  it('is sent each newer balance once, and no balance of an older file that comes late', async () => {
    const { send, told, balances } = await balanceCustomer('/late');
    await send(dayStatement(2, 3, 150, [20, 30]));
    // The day before, the same statement again, and the first part of the same day.
    await send(dayStatement(1, 2, 100, [50]));
    await send(dayStatement(2, 3, 150, [20, 30]).replaceAll('\r\n', '\n'));
    await send(dayStatement(2, 3, 150, [20]));
    expect(await told()).toEqual(['2026-03-03 200.00']);
    // Two statements in one file.
    await send(dayStatement(3, 4, 200, [-1]) + dayStatement(4, 5, 199, [-1]));
    // The same day goes on.
    await send(dayStatement(5, 5, 198, [-8]));
    await Promise.all([report(), report()]);
    const all = ['2026-03-03 200.00', '2026-03-05 198.00', '2026-03-05 190.00'];
    expect(await told()).toEqual(all);
    await until('all sent', () => balances.events().length === all.length);
  });

  it("for one account is sent the balances of that account, which the account's key sees and sends again", async () => {
    const { key, account, send } = await balanceCustomer('/one');
    const other = await createAccount(service, key);
    const { body } = await service.call('POST', '/v1/apikeys', {
      key,
      body: { title: 'Limited', account: [account] },
    });
    const limited = body.apikey.apikey;
    const fields = (it: unknown) => ({ event: 'BALANCE_UPDATED', account: it });
    const own = await subscribeToEvents(service, receiver, limited, '/one/own', fields(account));
    const none = await subscribeToEvents(service, receiver, key, '/one/none', fields(other.id));
    await send(dayStatement(1, 2, 100, [50]));
    await own.next('balance.updated');
    expect(none.events()).toEqual([]);

    const list = async (query = '') =>
      (await service.call('GET', `/v1/webhooks/${own.id}/deliveries${query}`, { key: limited })).body
        .deliveries;
    await until('delivered', async () => (await list('?status=delivered')).length === 1);
    const [{ id, event_id, transaction_id }] = await list();
    expect([event_id, transaction_id]).toEqual([expect.any(Number), null]);
    expect(await list(`?account=${account}`)).toHaveLength(1);
    expect((await service.call('GET', `/v1/deliveries/${id}`, { key: limited })).status).toBe(200);
    const replay = await service.call('POST', `/v1/webhooks/${own.id}/replay`, {
      key: limited,
      body: { since: '2020-01-01T00:00:00Z', status: 'delivered' },
    });
    expect(replay.body.replay).toMatchObject({ matched: 1 });
    await until('sent again', () => own.events().length === 2);
    expect(new Set(own.events().map((it) => it.id)).size).toBe(1);
  });

  it('is sent no movements, keeps its event and account, and gets JSON', async () => {
    const { key, account, balances, change } = await balanceCustomer('/fields');
    await importMovements(service, key, [movement(account, { balance: '5.00' })]);
    await report();
    expect(balances.events()).toEqual([]);
    expect(await change(balances.id, { event: 'NEW_DEBIT' })).toMatchObject({ status: 422 });
    expect(await change(balances.id, { event: 'OPERATIONAL' })).toMatchObject({ status: 422 });
    expect(await change(balances.id, { account })).toMatchObject({ status: 422 });
    expect(await change(balances.id, { encoding: 'form' })).toMatchObject({ status: 422 });
    expect(await change(balances.id, { title: 'Balances', account: 'all' })).toMatchObject({
      webhook: { title: 'Balances', event: 'BALANCE_UPDATED', encoding: 'json' },
    });
  });

  it('that is created later is sent the next balance', async () => {
    const { key, id } = await newCustomer('/later');
    const type = 'application/octet-stream';
    const send = async (body: string) => {
      const answer = await service.call('POST', '/v1/imports', { key, body, type });
      await importDone(service, key, answer.body.import.id);
      await report();
    };
    await send(dayStatement(1, 2, 100, [50]));
    expect(await storedEvents(service, id, 'balance.updated')).toEqual([]);
    const later = await subscribeToEvents(service, receiver, key, '/later/balances', {
      event: 'BALANCE_UPDATED',
    });
    await send(dayStatement(2, 3, 150, [1]));
    expect((await later.next('balance.updated')).data).toMatchObject({ balance: '151.00' });
    expect(later.events()).toHaveLength(1);
  });

  it('loses no balance when many accounts have new ones within an hour', async () => {
    const { key, id, send, told } = await balanceCustomer('/many');
    const accounts = Array.from({ length: 105 }, (_, index) => `ACC${String(index).padStart(9, '0')}`);
    for (const number of accounts) await createAccount(service, key, { number });
    await send(
      accounts.map((number) => dayStatement(1, 2, 100, [50]).replace(ACCOUNT_IBAN, number)).join(''),
    );
    expect(await told()).toHaveLength(accounts.length);
    expect(await storedEvents(service, id, 'balance.updated')).toHaveLength(accounts.length);
  });
});
