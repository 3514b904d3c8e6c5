import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../src/customers/keys.ts';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries, storeMovements } from '../support/stored.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';

// Without delivery runs: what they would leave behind is written by SQL.
const service = useService({ roles: ['api'] });

const change = (key: string, id: string, body: unknown) =>
  service.call('PATCH', `/v1/webhooks/${id}`, { key, body });

async function createWebhook(fields: object = {}) {
  const { api_key: key, customer } = await service.customer();
  const account = (await createAccount(service, key)).id;
  const { id } = await subscribe(service, key, 'http://127.0.0.1:9/', fields);
  const store = (movements: Parameters<typeof storeMovements>[2] = [{}], accountId = account) =>
    storeMovements(service.runtime.database, { customerId: customer.id, accountId }, movements);
  return { key, customerId: customer.id, account, id, store };
}

const read = <T>(sql: string, id: string) => service.runtime.database.query<T[]>(sql, [id]);

const filtersOf = (id: string) =>
  read<object>(
    'SELECT from_id, event, account_id FROM webhook_filters WHERE webhook_id = ? ORDER BY from_id',
    id,
  );

const HEALTH = `crash_count, consecutive_failures, failing_since, failing_days, circuit_openings, circuit_open_until,
  recovery_successes, last_error, health_revision`;
const healthOf = async (id: string) =>
  (await read<Record<string, unknown>>(`SELECT ${HEALTH} FROM webhook_cursors WHERE webhook_id = ?`, id))[0];

const revisionOf = async (id: string) =>
  (await read<{ revision: number }>('SELECT revision FROM webhooks WHERE id = ?', id))[0]?.revision ?? 0;

const fail = (id: string) =>
  service.runtime.database.query(
    `UPDATE webhook_cursors SET crash_count = 3, consecutive_failures = 9, failing_since = '2026-01-01', failing_days = 6,
       circuit_openings = 7, circuit_open_until = '2030-01-01', recovery_successes = 1, last_error = 'x' WHERE webhook_id = ?`,
    [id],
  );

const FORGOTTEN = {
  crash_count: 0,
  consecutive_failures: 0,
  failing_since: null,
  failing_days: 0,
  circuit_openings: 0,
  circuit_open_until: null,
  recovery_successes: 0,
  last_error: null,
};

describe('what a webhook matches', () => {
  it('begins with the movements behind the newest when it is made', async () => {
    const { key, id, customerId, store } = await createWebhook({ event: 'NEW_DEBIT' });
    expect(await filtersOf(id)).toEqual([{ from_id: '0', event: 'NEW_DEBIT', account_id: null }]);
    const [newest] = await store();
    const later = (await subscribe(service, key, 'http://127.0.0.1:9/')).id;
    expect(await filtersOf(later)).toEqual([{ from_id: newest, event: 'NEW_TRANSACTION', account_id: null }]);
    const [numbers] = await read<object>(
      `SELECT b.customer_id, matched_through, matched_count, sent_through, recorded_through, delivered_count
       FROM webhook_backlogs b JOIN webhook_cursors c ON c.webhook_id = b.webhook_id WHERE b.webhook_id = ?`,
      later,
    );
    expect(numbers).toEqual({
      customer_id: customerId,
      matched_through: newest,
      matched_count: '0',
      sent_through: newest,
      recorded_through: newest,
      delivered_count: '0',
    });
    expect(await deliveriesOf(service, later)).toEqual([]);
  });

  it('changes with event and account from the next movement on, and with nothing else', async () => {
    const { key, id, account, store } = await createWebhook();
    const first = { from_id: '0', event: 'NEW_TRANSACTION', account_id: null };
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
      { from_id: newest, event: 'NEW_DEBIT', account_id: account },
    ]);
  });

  it('stays the same while it is paused', async () => {
    const { key, id, store } = await createWebhook();
    await change(key, id, { status: 'paused' });
    await store();
    await change(key, id, { status: 'active' });
    expect(await filtersOf(id)).toHaveLength(1);
    expect(await deliveriesOf(service, id)).toMatchObject([{ status: 'pending' }]);
  });

  it.each(['active', 'paused'])('begins anew when a disabled one becomes %s', async (status) => {
    const { key, id, customerId, store } = await createWebhook();
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
    expect((await filtersOf(id)).at(-1)).toEqual({ from_id: missed, event: 'NEW_CREDIT', account_id: null });
    expect((await deliveriesOf(service, id)).map((it) => it.transaction_id)).toEqual([before, after]);
  });

  it('is nothing once it is deleted, and what is pending is left as it is', async () => {
    const { key, id, store } = await createWebhook();
    const ids = await store(Array.from({ length: 1_000 }, () => ({})));
    expect((await service.call('DELETE', `/v1/webhooks/${id}`, { key })).status).toBe(200);
    expect((await filtersOf(id)).at(-1)).toEqual({ from_id: ids.at(-1), event: null, account_id: null });
    await store();
    expect(await deliveriesOf(service, id)).toHaveLength(1_000);
    expect(await revisionOf(id)).toBe(2);
    expectProblem(await service.call('DELETE', `/v1/webhooks/${id}`, { key }), 404);
  });

  it('is changed by one at a time, each on what the one before has left', async () => {
    const { key, id, store } = await createWebhook();
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

describe('the health of an endpoint', () => {
  it.each([
    { status: 'active' },
    { endpoint: 'http://127.0.0.1:9/other' },
    { headers: { 'X-Token': 'other' } },
    { headers: {} },
  ])('is forgotten with %j, which a run of the revision before cannot write over', async (body) => {
    const { key, id } = await createWebhook();
    await fail(id);
    expect((await change(key, id, body)).status).toBe(200);
    expect(await healthOf(id)).toEqual({ ...FORGOTTEN, health_revision: 2 });
    expect(await revisionOf(id)).toBe(2);
  });

  it.each([{ status: 'paused' }, { title: 'x' }, { event: 'NEW_DEBIT' }, { max_in_flight: 3 }])(
    'stays with %j',
    async (body) => {
      const { key, id } = await createWebhook();
      await fail(id);
      const before = await healthOf(id);
      expect((await change(key, id, body)).status).toBe(200);
      expect(await healthOf(id)).toEqual(before);
      expect(await revisionOf(id)).toBe(2);
    },
  );
});

describe('a key limited to accounts', () => {
  /** A webhook that was for the hidden account, and then for the one that the limited key sees. */
  async function createNarrowed(before: 'hidden' | 'all') {
    const made = await createWebhook();
    const { database } = service.runtime;
    const hidden = (await createAccount(service, made.key, { bank: 'Akbank' })).id;
    const { apikey: limited } = await createApiKey(database, {
      customerId: made.customerId,
      title: 'Dar',
      accountIds: [made.account],
    });
    await change(made.key, made.id, { account: before === 'hidden' ? hidden : 'all' });
    const webhook = { id: made.id, customerId: made.customerId };
    const record = (transactionId: string, status: 'pending' | 'delivered' | 'failed') =>
      recordDeliveries(database, webhook, [{ transactionId, status }]);
    const narrow = () => change(made.key, made.id, { account: made.account });
    const redirect = () => change(limited, made.id, { endpoint: 'http://127.0.0.1:9/mine' });
    return { ...made, hidden, limited, record, narrow, redirect };
  }

  it.each(['hidden', 'all'] as const)(
    'does not lead movements of others to an endpoint of its choice while any are pending (%s)',
    async (before) => {
      const narrowed = await createNarrowed(before);
      const [first = ''] = await narrowed.store([{}], narrowed.hidden);
      expectProblem(await change(narrowed.limited, narrowed.id, { title: 'mine' }), 404);
      await narrowed.narrow();

      expectProblem(await narrowed.redirect(), 403);
      expectProblem(await change(narrowed.limited, narrowed.id, { headers: { 'X-Token': 'mine' } }), 403);
      expectProblem(await change(narrowed.limited, narrowed.id, { account: 'all' }), 403);
      expect((await change(narrowed.limited, narrowed.id, { title: 'mine' })).status).toBe(200);
      expect(
        (await service.call('GET', `/v1/webhooks/${narrowed.id}`, { key: narrowed.key })).body.webhook,
      ).toMatchObject({
        title: 'mine',
        endpoint: 'http://127.0.0.1:9/',
      });
      // Attempted and due again.
      await narrowed.record(first, 'pending');
      expectProblem(await narrowed.redirect(), 403);
      await service.runtime.database.query('UPDATE retries SET due_at = NULL WHERE webhook_id = ?', [
        narrowed.id,
      ]);
      expect((await narrowed.redirect()).status).toBe(200);
    },
  );

  it('nor those of a replay that has not been worked off', async () => {
    const narrowed = await createNarrowed('hidden');
    const [first = ''] = await narrowed.store([{}], narrowed.hidden);
    await narrowed.record(first, 'failed');
    await narrowed.narrow();
    const body = { since: '2000-01-01 00:00:00' };
    const replay = (key: string) => service.call('POST', `/v1/webhooks/${narrowed.id}/replay`, { key, body });
    expect((await replay(narrowed.limited)).body.replay.matched).toBe(0);
    expect((await narrowed.redirect()).status).toBe(200);
    expect((await replay(narrowed.key)).body.replay.matched).toBe(1);
    expectProblem(await narrowed.redirect(), 403);
    await service.runtime.database.query('UPDATE replays SET finished_at = NOW(6) WHERE webhook_id = ?', [
      narrowed.id,
    ]);
    expect((await narrowed.redirect()).status).toBe(200);
  });

  it('leads its own pending movements wherever it likes', async () => {
    const narrowed = await createNarrowed('hidden');
    await narrowed.narrow();
    const [attempted = ''] = await narrowed.store();
    await narrowed.record(attempted, 'pending');
    await narrowed.store();
    expect((await narrowed.redirect()).status).toBe(200);
  });

  it('sees the deliveries of its own movements alone', async () => {
    const narrowed = await createNarrowed('all');
    const [hidden = ''] = await narrowed.store([{}], narrowed.hidden);
    const [own = ''] = await narrowed.store();
    await narrowed.narrow();
    const list = async (key: string, status = '') => {
      const path = `/v1/webhooks/${narrowed.id}/deliveries${status}`;
      const { body } = await service.call('GET', path, { key });
      return body.deliveries.map((row: { transaction_id: number }) => String(row.transaction_id));
    };
    const path = `/v1/deliveries/${narrowed.id}-${hidden}`;
    for (const status of ['pending', 'failed'] as const) {
      expect(await list(narrowed.limited)).toEqual([own]);
      expect(await list(narrowed.limited, `?status=${status}`)).toEqual([own]);
      expect(await list(narrowed.key)).toEqual([own, hidden]);
      expectProblem(await service.call('GET', path, { key: narrowed.limited }), 404);
      expectProblem(await service.call('POST', `${path}/redeliver`, { key: narrowed.limited }), 404);
      expect((await service.call('GET', path, { key: narrowed.key })).status).toBe(200);
      if (status === 'pending') for (const id of [hidden, own]) await narrowed.record(id, 'failed');
    }
  });
});
