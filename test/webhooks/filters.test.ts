import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';
import { createWebhook } from './stored-webhook.ts';

// Without delivery runs: what they would leave behind is written by SQL.
const service = useService({ roles: ['api'] });

const change = (key: string, id: string, body: unknown) =>
  service.call('PATCH', `/v1/webhooks/${id}`, { key, body });

const read = <T>(sql: string, id: string) => service.runtime.database.query<T[]>(sql, [id]);

const filtersOf = (id: string) =>
  read<object>(
    'SELECT from_id, event, account_id, withdrawals FROM webhook_filters WHERE webhook_id = ? ORDER BY from_id',
    id,
  );

const revisionOf = async (id: string) =>
  (await read<{ revision: number }>('SELECT revision FROM webhooks WHERE id = ?', id))[0]?.revision ?? 0;

describe('the set of movements that a webhook matches', () => {
  it('begins with the movements after the newest when it is created', async () => {
    const { key, id, customerId, store } = await createWebhook(service, { event: 'NEW_DEBIT' });
    expect(await filtersOf(id)).toEqual([
      { from_id: '0', event: 'NEW_DEBIT', account_id: null, withdrawals: 0 },
    ]);
    const [newest] = await store();
    const later = (await subscribe(service, key, 'http://127.0.0.1:9/')).id;
    expect(await filtersOf(later)).toEqual([
      { from_id: newest, event: 'NEW_TRANSACTION', account_id: null, withdrawals: 0 },
    ]);
    const [numbers] = await read<object>(
      `SELECT b.customer_id, matched_through, matched_count, sent_through, highest_recorded_id, delivered_count
       FROM webhook_backlogs b JOIN webhook_cursors c ON c.webhook_id = b.webhook_id WHERE b.webhook_id = ?`,
      later,
    );
    expect(numbers).toEqual({
      customer_id: customerId,
      matched_through: newest,
      matched_count: '0',
      sent_through: newest,
      highest_recorded_id: newest,
      delivered_count: '0',
    });
    expect(await deliveriesOf(service, later)).toEqual([]);
  });

  it('changes with event and account from the next movement on, and with no other field', async () => {
    const { key, id, account, store } = await createWebhook(service);
    const first = { from_id: '0', event: 'NEW_TRANSACTION', account_id: null, withdrawals: 0 };
    for (const body of [
      { title: 'x' },
      { ordered: true },
      { event: 'NEW_TRANSACTION' },
      { account: 'all' },
    ]) {
      await store();
      expect((await change(key, id, body)).status).toBe(200);
    }
    expect(await filtersOf(id)).toEqual([first]);
    const [newest] = await store();
    await change(key, id, { event: 'NEW_DEBIT', account });
    expect(await filtersOf(id)).toEqual([
      first,
      { from_id: newest, event: 'NEW_DEBIT', account_id: account, withdrawals: 0 },
    ]);
  });

  it('begins anew when withdrawals are listed, or listed no more, and has no new movements if they are all it lists', async () => {
    const { key, id, store } = await createWebhook(service, { event: 'NEW_DEBIT' });
    const ids: string[] = [];
    for (const events of [
      ['WITHDRAWN_TRANSACTION', 'NEW_DEBIT'],
      ['WITHDRAWN_TRANSACTION'],
      ['WITHDRAWN_TRANSACTION'],
      ['NEW_DEBIT'],
    ]) {
      ids.push(...(await store([{ dc: 'Debit' }])));
      expect((await change(key, id, { events })).status).toBe(200);
    }
    const [first, second, , fourth] = ids;
    const debits = { event: 'NEW_DEBIT', account_id: null };
    expect(await filtersOf(id)).toEqual([
      { from_id: '0', ...debits, withdrawals: 0 },
      { from_id: first, ...debits, withdrawals: 1 },
      { from_id: second, event: 'WITHDRAWN_TRANSACTION', account_id: null, withdrawals: 1 },
      { from_id: fourth, ...debits, withdrawals: 0 },
    ]);
    expect((await deliveriesOf(service, id)).map((it) => it.transaction_id)).toEqual([first, second]);
    const { body } = await service.call('GET', `/v1/webhooks/${id}`, { key });
    expect(body.webhook.deliveries.pending).toBe(2);
    const listed = await service.call('GET', `/v1/webhooks/${id}/deliveries`, { key });
    expect(listed.body.deliveries).toHaveLength(2);
  });

  it('stays the same while the webhook is paused', async () => {
    const { key, id, store } = await createWebhook(service);
    await change(key, id, { status: 'paused' });
    await store();
    await change(key, id, { status: 'active' });
    expect(await filtersOf(id)).toHaveLength(1);
    expect(await deliveriesOf(service, id)).toMatchObject([{ status: 'pending' }]);
  });

  it.each(['active', 'paused'])('begins anew when a disabled webhook becomes %s', async (status) => {
    const { key, id, customerId, store } = await createWebhook(service);
    const { database } = service.runtime;
    const [before = ''] = await store();
    // As a delivery run does it.
    await database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [id]);
    await database.query('INSERT INTO webhook_filters (webhook_id, from_id, customer_id) VALUES (?, ?, ?)', [
      id,
      before,
      customerId,
    ]);
    const [missed = ''] = await store();
    await change(key, id, { event: 'NEW_CREDIT' });
    expect(await filtersOf(id)).toHaveLength(2);
    await change(key, id, { status });
    const [after = ''] = await store();
    expect((await filtersOf(id)).at(-1)).toEqual({
      from_id: missed,
      event: 'NEW_CREDIT',
      account_id: null,
      withdrawals: 0,
    });
    expect((await deliveriesOf(service, id)).map((it) => it.transaction_id)).toEqual([before, after]);
  });

  it('is empty once the webhook is deleted, and its pending deliveries are left as they are', async () => {
    const { key, id, store } = await createWebhook(service);
    const ids = await store(Array.from({ length: 1_000 }, () => ({})));
    expect((await service.call('DELETE', `/v1/webhooks/${id}`, { key })).status).toBe(200);
    expect((await filtersOf(id)).at(-1)).toEqual({
      from_id: ids.at(-1),
      event: null,
      account_id: null,
      withdrawals: 0,
    });
    await store();
    expect(await deliveriesOf(service, id)).toHaveLength(1_000);
    expect(await revisionOf(id)).toBe(2);
    expectProblem(await service.call('DELETE', `/v1/webhooks/${id}`, { key }), 404);
  });

  it('is changed by concurrent requests one after the other, each starting from the result of the one before', async () => {
    const { key, id, store } = await createWebhook(service);
    await store();
    const bodies = [{ event: 'NEW_DEBIT' }, { status: 'paused' }, { event: 'NEW_CREDIT' }, { title: 'x' }];
    const answers = await Promise.all([...bodies, ...bodies].map((body) => change(key, id, body)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const [row] = await read<object>('SELECT event, status, title FROM webhooks WHERE id = ?', id);
    const shown = await service.call('GET', `/v1/webhooks/${id}`, { key });
    expect(shown.body.webhook).toMatchObject({ ...row, status: 'paused' });
    expect((await filtersOf(id)).at(-1)).toMatchObject({ event: shown.body.webhook.event });
    expect(await revisionOf(id)).toBe(9);
  });
});
