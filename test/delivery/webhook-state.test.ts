import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/database/transaction.ts';
import { setFilter } from '../../src/delivery/filters.ts';
import { readStates, type WebhookState } from '../../src/delivery/webhook-state.ts';
import { hasBacklog, waitBeforeSending } from '../../src/webhook-record/waiting.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber, NOWHERE, setCursor } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });

async function readState(webhookId: string): Promise<WebhookState> {
  const [state] = await readStates(service.runtime.database, [webhookId]);
  if (state == null) throw new Error('no such webhook');
  return state;
}
const about = (milliseconds: number) =>
  expect.toSatisfy((it) => it <= milliseconds && it > milliseconds - 10_000);

const settings = (set: Partial<WebhookState['settings']>) =>
  ({ status: 'active', template_id: null, ordered: 0, ...set }) as WebhookState['settings'];

describe('how long a webhook waits', () => {
  const base: WebhookState = {
    settings: settings({}),
    sentThrough: 10,
    highestRecordedId: 10,
    matchedThrough: 10,
    filters: [],
    filtersVersion: 1,
    deletedAccounts: [],
    accountsDeleted: 0,
    lastToken: '',
    lastWrites: 0,
    leasedFor: null,
    crashCount: 0,
    openFor: null,
    probedFor: null,
    rateWait: 0,
    retryIn: null,
    replaying: false,
    batchIn: 0,
    feed: { epoch: 0, hasSample: false, removedThrough: 0 },
  };
  const backlog = { matchedThrough: 11 };
  const ordered = { settings: settings({ ordered: 1 }) };
  const is = (status: WebhookState['settings']['status']) => ({ settings: settings({ status }) });

  it.each<[string, Partial<WebhookState>, number | null]>([
    ['nothing pending', {}, null],
    ['nothing pending, although the circuit is open', { openFor: 500 }, null],
    ['a backlog', backlog, 0],
    ['a retry that is due', { retryIn: -5 }, 0],
    ['a retry that is due later', { retryIn: 5_000.2 }, 5_001],
    ['a replay', { replaying: true }, 0],
    ['a backlog and a later retry', { ...backlog, retryIn: 5_000 }, 0],
    ['an open circuit', { ...backlog, openFor: 700 }, 700],
    ['an open circuit and a later retry', { retryIn: 5_000, openFor: 700 }, 5_000],
    ['a rate limit', { ...backlog, rateWait: 20 }, 20],
    ["another run's lease", { ...backlog, leasedFor: 9_000 }, 9_000],
    [
      'several reasons, of which the longest counts',
      { ...backlog, openFor: 700, rateWait: 20, leasedFor: 300 },
      700,
    ],
    ['an ordered webhook with a backlog', { ...ordered, ...backlog }, 0],
    ['an ordered webhook that is blocked by a retry', { ...ordered, ...backlog, retryIn: 5_000 }, 5_000],
    ['an ordered webhook whose retry is due', { ...ordered, ...backlog, retryIn: -1 }, 0],
    ['an ordered webhook whose replay is blocked', { ...ordered, replaying: true, retryIn: 60 }, 60],
    ['a paused webhook', { ...backlog, ...is('paused') }, null],
    ['a disabled webhook', { ...backlog, ...is('disabled'), retryIn: -5 }, null],
    ['a deleted webhook', { ...backlog, ...is('deleted'), replaying: true }, null],
  ])('is right with %s', (_, fields, expected) => {
    expect(waitBeforeSending({ ...base, ...fields })).toBe(expected);
  });
});

describe('the state of webhooks', () => {
  it('is read for many at once, in the order in which they are asked for', async () => {
    const one = await createSubscriber(service, NOWHERE, {}, { ordered: true });
    const two = await createSubscriber(service);
    const ids = await one.store(3);
    const [first = '', second = ''] = one.webhookIds;
    const states = await readStates(service.runtime.database, [two.webhook.id, '999999', second, first]);
    expect(states.map((state) => state?.settings.id ?? null)).toEqual([two.webhook.id, null, second, first]);
    expect(states.map((state) => state && hasBacklog(state))).toEqual([false, null, true, true]);
    expect(states[3]).toMatchObject({
      settings: { status: 'active', customer_id: one.customerId },
      sentThrough: 0,
      highestRecordedId: 0,
      matchedThrough: Number(ids[2]),
      filters: [
        { from: 0, through: null, filter: { event: 'NEW_TRANSACTION', accountId: null, withdrawals: false } },
      ],
      filtersVersion: 2,
      lastToken: '',
      leasedFor: null,
      crashCount: 0,
      openFor: null,
      rateWait: 0,
      retryIn: null,
      replaying: false,
    });
  });

  it('has the filters from the cursor on, including later changes', async () => {
    const { webhook, store } = await createSubscriber(service);
    const { database } = service.runtime;
    const change = (filter: Parameters<typeof setFilter>[2]) =>
      inTransaction(database, (sql) => setFilter(sql, webhook, filter));
    const [first] = (await store(1)).map(Number);
    await change({ event: 'NEW_DEBIT', accountId: null, withdrawals: true });
    const [second] = (await store(1)).map(Number);
    await change(null);
    expect((await readState(webhook.id)).filters).toEqual([
      { from: 0, through: first, filter: { event: 'NEW_TRANSACTION', accountId: null, withdrawals: false } },
      { from: first, through: second, filter: { event: 'NEW_DEBIT', accountId: null, withdrawals: true } },
      { from: second, through: null, filter: null },
    ]);
  });

  it.each([
    ['an open circuit', 'circuit_open_until = NOW(6) + INTERVAL 60 SECOND', { openFor: about(60_000) }],
    [
      'a circuit of before the clock was set back',
      'circuit_open_until = NOW(6) + INTERVAL 1 DAY',
      { openFor: null },
    ],
    ['a half-open circuit', 'circuit_open_until = NOW(6) - INTERVAL 1 SECOND', { openFor: null }],
    [
      'a lease',
      "lease_token = 't', lease_until = NOW(6) + INTERVAL 12 SECOND",
      { leasedFor: about(12_000), lastToken: 't' },
    ],
    [
      'a lease that was given back',
      "lease_token = 't', lease_until = NULL",
      { leasedFor: null, lastToken: 't' },
    ],
    ['a lease that is over', 'lease_until = NOW(6) - INTERVAL 1 SECOND', { leasedFor: null }],
    [
      'a lease of before the clock was set back',
      'lease_until = NOW(6) + INTERVAL 1 HOUR',
      { leasedFor: null },
    ],
    [
      'a rate limit',
      'rate_next_at = NOW(6) + INTERVAL 900000 MICROSECOND',
      { rateWait: expect.toSatisfy((it) => it >= 0 && it <= 900) },
    ],
    ['a rate limit that is over', 'rate_next_at = NOW(6) - INTERVAL 1 HOUR', { rateWait: 0 }],
    [
      'a rate limit of before the clock was set back',
      'rate_next_at = NOW(6) + INTERVAL 1 HOUR',
      { rateWait: 0 },
    ],
    ['crashes', 'crash_count = 3', { crashCount: 3 }],
    [
      'the records under the last lease',
      "lease_token = 't', lease_writes = 5",
      { lastToken: 't', lastWrites: 5 },
    ],
  ])('includes %s', async (_, assignments, expected) => {
    const { webhook } = await createSubscriber(service);
    await setCursor(service, webhook.id, assignments);
    expect(await readState(webhook.id)).toMatchObject(expected);
  });

  it('includes when the next retry is due, which for an ordered webhook is the first retry in its order', async () => {
    const { webhookIds, customerId, store } = await createSubscriber(
      service,
      NOWHERE,
      {},
      { ordered: true },
      {},
    );
    const { database } = service.runtime;
    const ids = await store(3);
    for (const id of webhookIds.slice(0, 2)) {
      await recordDeliveries(
        database,
        { id, customerId },
        ids.map((transactionId, at) => ({ transactionId, status: at === 0 ? 'failed' : 'pending' })),
      );
      for (const [at, seconds] of [
        [1, 600],
        [2, 60],
      ] as const) {
        await database.query(
          'UPDATE retries SET due_at = NOW(6) + INTERVAL ? SECOND WHERE webhook_id = ? AND transaction_id = ?',
          [seconds, id, ids[at]],
        );
      }
    }
    const states = await readStates(database, webhookIds);
    expect(states.map((state) => state?.retryIn)).toEqual([about(60_000), about(600_000), null]);
  });

  it.each([
    ['waits for more', 'NOW(6)', about(60_000)],
    ['has waited long enough', 'NOW(6) - INTERVAL 1 HOUR', 0],
    ['was stored before the clock was set back, and is due', 'NOW(6) + INTERVAL 1 HOUR', 0],
  ])('says of a batch that it %s', async (_, storedAt, expected) => {
    const batch = { batch: { max: 40, wait_ms: 60_000 } };
    const { webhook, store } = await createSubscriber(service, NOWHERE, batch);
    const [id] = await store(1);
    const { database } = service.runtime;
    await database.query(`UPDATE transactions SET date_readed = ${storedAt} WHERE id = ?`, [id]);
    expect((await readState(webhook.id)).batchIn).toEqual(expected);
  });

  it('says whether a replay is unfinished', async () => {
    const { webhookIds, webhook } = await createSubscriber(service, NOWHERE, {}, {});
    const { database } = service.runtime;
    const add = (finishedAt: string) =>
      database.query(
        `INSERT INTO replays (customer_id, webhook_id, statuses, position, until_id, finished_at) VALUES (?, ?, 'failed', 0, 9, ${finishedAt})`,
        [webhook.customerId, webhook.id],
      );
    await add('NOW(6)');
    expect((await readState(webhook.id)).replaying).toBe(false);
    await add('NULL');
    const states = await readStates(database, webhookIds);
    expect(states.map((state) => state?.replaying)).toEqual([true, false]);
  });
});
