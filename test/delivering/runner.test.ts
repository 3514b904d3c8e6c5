import { describe, expect, it } from 'vitest';
import { useReceiver } from '../support/receiver.ts';
import { leaseAll } from '../support/records.ts';
import { useRunners } from '../support/runner.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber, cursorOf, setCursor } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf } from '../support/webhooks.ts';

const service = useService({ roles: ['api'] });
const receiver = useReceiver();
const runners = useRunners(service);

const DAYS = 86_400;

const subscriber = (path: string, fields: object = {}) =>
  createSubscriber(service, receiver.url + path, fields);
const statuses = async (webhookId: string) =>
  (await deliveriesOf(service, webhookId)).map(({ status }) => status);
const count = (list: readonly string[], status: string) => list.filter((it) => it === status).length;
const show = async (key: string, webhookId: string) =>
  (await service.call('GET', `/v1/webhooks/${webhookId}`, { key })).body.webhook;
const answering = (path: string, status: number) =>
  receiver.answer(path, (_, response) => void response.writeHead(status).end());
const idsAt = (path: string) => receiver.at(path).map(({ headers }) => headers['webhook-id']);

describe('a run', () => {
  it('sends what is pending, gives its lease back and leaves no job', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/all');
    await store(350);
    await runner.run(webhook.id);
    expect(count(await statuses(webhook.id), 'delivered')).toBe(350);
    expect(new Set(idsAt('/all')).size).toBe(350);
    expect(receiver.at('/all')).toHaveLength(350);
    expect(await cursorOf(service, webhook.id)).toMatchObject({
      lease_until: null,
      crash_count: 0,
      delivered_count: '350',
    });
    expect(runner.wakes).toEqual([]);
  });

  it('sends nothing where another one is at it, and leaves a job for when that lease must be over', async () => {
    const [one, other] = [runners.create(), runners.create()];
    const { webhook, store } = await subscriber('/twice');
    await store(50);
    let answer = () => {};
    receiver.answer('/twice', (_, response) => {
      answer = () => {
        receiver.answer('/twice', (__, later) => void later.end());
        response.end();
      };
      receiver.answer('/twice', (__, later) => void later.end());
    });
    const run = one.run(webhook.id);
    await until('its first POST', () => receiver.at('/twice').length > 0);
    await other.run(webhook.id);
    expect(other.wakes).toEqual([
      { webhookId: webhook.id, delay: expect.toSatisfy((delay) => delay > 5_000 && delay <= 12_000) },
    ]);
    answer();
    await run;
    expect(receiver.at('/twice')).toHaveLength(50);
    expect(count(await statuses(webhook.id), 'delivered')).toBe(50);
  });

  it('of one process or of many at the same time sends each delivery once', async () => {
    const all = Array.from({ length: 4 }, () => runners.create());
    const { webhook, store } = await subscriber('/race');
    await store(60);
    await Promise.all(all.flatMap((runner) => [runner.run(webhook.id), runner.run(webhook.id)]));
    expect(receiver.at('/race')).toHaveLength(60);
    expect(count(await statuses(webhook.id), 'delivered')).toBe(60);
  });

  it('finds what was stored during it, although nobody tells it', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/late');
    await store(1);
    let isFirst = true;
    receiver.answer('/late', async (_, response) => {
      if (isFirst) await store(1);
      isFirst = false;
      response.end();
    });
    await runner.run(webhook.id);
    expect(receiver.at('/late')).toHaveLength(2);
    expect(runner.wakes).toEqual([]);
  });

  it('looks once more after it has left a later job: a wake-up just before that is lost, its movement is not', async () => {
    const { webhook, store } = await subscriber('/sleep');
    // Only this delivery waits: the endpoint itself is healthy.
    answering('/sleep', 422);
    await store(1);
    const wakes: number[] = [];
    const runner = runners.create({
      wake: async (_, delay) => {
        // Committed before the job that is added now, which replaces the job of this movement's wake-up.
        if (wakes.length === 0) await store(1);
        wakes.push(delay);
      },
    });
    await runner.run(webhook.id);
    expect(wakes).toEqual([expect.toSatisfy((delay) => delay > 1_000), 0]);
  });

  it('ends when its time slice is over, and leaves a job for the rest', async () => {
    const runner = runners.create({ timeSlice: 50 });
    const { webhook, store } = await subscriber('/slice', { max_in_flight: 1 });
    receiver.answer('/slice', (_, response) => void setTimeout(() => response.end(), 5));
    await store(500);
    await runner.run(webhook.id);
    const rest = count(await statuses(webhook.id), 'pending');
    expect(rest).toBeGreaterThan(0);
    expect(receiver.at('/slice')).toHaveLength(500 - rest);
    expect(runner.wakes).toEqual([{ webhookId: webhook.id, delay: 0 }]);
  });

  it('records what arrives while the process is shutting down', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/last');
    let answer = () => {};
    receiver.answer('/last', (_, response) => {
      answer = () => void response.end();
    });
    await store(1);
    const run = runner.run(webhook.id);
    await until('the POST in flight', () => receiver.at('/last').length > 0);
    runner.stop();
    answer();
    await run;
    expect(await statuses(webhook.id)).toEqual(['delivered']);
    expect(runner.wakes).toEqual([]);
  });

  it('does not count an attempt that our own shutdown cut short, and leaves a job for it', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/cut');
    receiver.answer('/cut', () => {});
    await store(1);
    const run = runner.run(webhook.id);
    await until('the POST in flight', () => receiver.at('/cut').length > 0);
    runner.stop();
    runner.poster.abort();
    await run;
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([
      { status: 'pending', attempts: 0, failures: 0 },
    ]);
    expect(await attemptsOf(service, webhook.id)).toEqual([]);
    expect(await cursorOf(service, webhook.id)).toMatchObject({ consecutive_failures: 0, lease_until: null });
    expect(runner.wakes).toEqual([{ webhookId: webhook.id, delay: 0 }]);
  });

  it('that has lost its lease records nothing: another run sends again what had no result, and no result is mixed', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/lost');
    const [id] = await store(1);
    let isFirst = true;
    receiver.answer('/lost', async (_, response) => {
      if (isFirst) await setCursor(service, webhook.id, "lease_token = 'of another run'");
      isFirst = false;
      response.end();
    });
    await runner.run(webhook.id);
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    expect(await cursorOf(service, webhook.id)).toMatchObject({
      lease_token: 'of another run',
      lease_writes: 0,
    });
    await setCursor(service, webhook.id, 'lease_until = NULL');
    await runner.run(webhook.id);
    expect(await statuses(webhook.id)).toEqual(['delivered']);
    expect(idsAt('/lost')).toEqual([`msg_${webhook.id}-${id}`, `msg_${webhook.id}-${id}`]);
  });

  it('sends after a crash what has no result, and nothing else', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/crash');
    const ids = await store(30);
    const recorded = ids.filter((_, at) => at > 4 && at % 3 === 0);
    await recordDeliveries(
      service.runtime.database,
      webhook,
      recorded.map((transactionId) => ({ transactionId, status: 'delivered' })),
      { sentThrough: ids[4] ?? '' },
    );
    // What a killed process leaves behind, once its lease has expired.
    await leaseAll(service, [webhook.id]);
    await setCursor(service, webhook.id, 'lease_until = NOW(6) - INTERVAL 1 SECOND');
    await runner.run(webhook.id);
    const expected = ids.slice(5).filter((id) => !recorded.includes(id));
    expect(idsAt('/crash').toSorted()).toEqual(expected.map((id) => `msg_${webhook.id}-${id}`).toSorted());
    expect(await cursorOf(service, webhook.id)).toMatchObject({
      sent_through: ids[29],
      recorded_through: ids[29],
    });
  });
});

describe('a webhook', () => {
  it('whose runs keep ending the process is quarantined, and its deliveries are kept', async () => {
    const runner = runners.create();
    const { webhook, store, key } = await subscriber('/poison');
    await store(1);
    // What a process that is killed in each of its runs leaves behind.
    for (let i = 0; i < 10; i += 1) {
      await leaseAll(service, [webhook.id]);
      await setCursor(service, webhook.id, "lease_until = '2000-01-01'");
    }
    await runner.run(webhook.id);
    expect(await show(key, webhook.id)).toMatchObject({
      status: 'paused',
      status_reason: expect.stringContaining('10 times'),
    });
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    expect(receiver.at('/poison')).toHaveLength(0);
    // Its owner may try again.
    await service.call('PATCH', `/v1/webhooks/${webhook.id}`, { key, body: { status: 'active' } });
    await runner.run(webhook.id);
    expect(await statuses(webhook.id)).toEqual(['delivered']);
  });

  it('with a rate limit does not wait for a moment that was written before the clock was set back', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/clock', { rate_limit: 5 });
    await store(2);
    await setCursor(service, webhook.id, 'rate_next_at = NOW(6) + INTERVAL 1 HOUR');
    await runner.run(webhook.id);
    expect(receiver.at('/clock')).toHaveLength(2);
  });

  it('whose circuit is open takes no lease and sends nothing, however often it is run', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/open');
    await store(1);
    await setCursor(
      service,
      webhook.id,
      'circuit_openings = 1, circuit_open_until = NOW(6) + INTERVAL 60 SECOND',
    );
    const before = await cursorOf(service, webhook.id);
    for (let i = 0; i < 3; i += 1) {
      await store(1);
      await runner.run(webhook.id);
    }
    expect(await cursorOf(service, webhook.id)).toEqual(before);
    expect(receiver.at('/open')).toHaveLength(0);
    const later = {
      webhookId: webhook.id,
      delay: expect.toSatisfy((delay) => delay > 40_000 && delay <= 60_000),
    };
    expect(runner.wakes).toEqual([later, later, later]);
  });

  it.each([401, 403, 404, 405, 302])(
    'that answers %i again and again has its circuit opened',
    async (status) => {
      const runner = runners.create();
      const path = `/locked-${status}`;
      answering(path, status);
      const { webhook, store } = await subscriber(path, { max_in_flight: 2 });
      await store(20);
      await runner.run(webhook.id);
      const { circuit_openings, circuit_open_until, recovery_successes } = await cursorOf(
        service,
        webhook.id,
      );
      expect([circuit_openings, recovery_successes]).toEqual([1, 0]);
      expect(circuit_open_until?.getTime()).toBeGreaterThan(Date.now() - 60_000);
      expect(receiver.at(path).length).toBeLessThanOrEqual(4);
      expect(runner.wakes).toEqual([
        { webhookId: webhook.id, delay: expect.toSatisfy((delay) => delay > 0) },
      ]);
      expect(count(await statuses(webhook.id), 'pending')).toBe(20);
    },
  );

  it('ends retries whose movement is gone, instead of finding them due for ever', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/gone-movement');
    const ids = await store(3);
    await recordDeliveries(
      service.runtime.database,
      webhook,
      ids.map((transactionId) => ({ transactionId, status: 'pending' })),
    );
    const { database } = service.runtime;
    await database.query('UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ?', [webhook.id]);
    await database.query('DELETE FROM transactions WHERE id IN (?)', [ids.slice(0, 2)]);
    await runner.run(webhook.id);
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([
      { status: 'failed', attempts: 2, due_at: null },
      { status: 'failed', attempts: 2, due_at: null },
      { status: 'delivered', attempts: 2 },
    ]);
    const attempts = await attemptsOf(service, webhook.id);
    expect(attempts.find(({ number }) => number === 2)).toMatchObject({
      error: 'The movement is not stored any more.',
    });
    expect(receiver.at('/gone-movement')).toHaveLength(1);
    expect(runner.wakes).toEqual([]);
    expect(await cursorOf(service, webhook.id)).toMatchObject({ delivered_count: '1', failed_count: '2' });
  });
});

describe('what its owner changes during a run', () => {
  /** A webhook with many failures. Its only POST is answered with `status`, after its owner has changed it. */
  async function changedMeanwhile(path: string, body: object, status: number) {
    const runner = runners.create();
    const made = await subscriber(path);
    const { webhook, key, store } = made;
    await setCursor(
      service,
      webhook.id,
      `consecutive_failures = 9, failing_since = NOW(6) - INTERVAL ${5 * DAYS + 60} SECOND, failing_days = 5,
       circuit_openings = 8, last_error = 'answered 500'`,
    );
    receiver.answer(path, async (_, response) => {
      answering(path, 200);
      const answer = await service.call('PATCH', `/v1/webhooks/${webhook.id}`, { key, body });
      response.writeHead(answer.status === 200 ? status : 200).end();
    });
    await store(1);
    await runner.run(webhook.id);
    return { ...made, runner };
  }

  it.each([
    ['re-enabling it', '/enabled', { status: 'active' }],
    ['another endpoint', '/moved', { endpoint: 'http://127.0.0.1:9/elsewhere' }],
    ['other headers', '/headers', { headers: { 'x-token': 'another' } }],
  ])('is not overwritten by that run: %s forgets the failures', async (_, path, body) => {
    const { webhook, key } = await changedMeanwhile(path, body, 503);
    expect(await cursorOf(service, webhook.id)).toMatchObject({
      consecutive_failures: 0,
      failing_since: null,
      failing_days: 0,
      circuit_openings: 0,
      circuit_open_until: null,
      recovery_successes: 0,
      last_error: null,
      health_revision: 2,
    });
    expect(await show(key, webhook.id)).toMatchObject({ status: 'active' });
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([{ status: 'pending', attempts: 1 }]);
  });

  it('is sent by from then on: the new endpoint gets what follows', async () => {
    const { webhook, store, runner } = await changedMeanwhile(
      '/before',
      { endpoint: `${receiver.url}/after` },
      200,
    );
    await store(2);
    await runner.run(webhook.id);
    expect([receiver.at('/before').length, receiver.at('/after').length]).toEqual([1, 2]);
  });

  it('keeps it active although the answer is 410', async () => {
    const { webhook, key } = await changedMeanwhile('/changed', { title: 'a new beginning' }, 410);
    expect(await show(key, webhook.id)).toMatchObject({ status: 'active', title: 'a new beginning' });
  });
});

describe('failures over days', () => {
  async function failOnce(path: string, since: number, days: number) {
    const runner = runners.create();
    answering(path, 500);
    const made = await subscriber(path);
    await setCursor(
      service,
      made.webhook.id,
      `consecutive_failures = 2, failing_days = ${days}, failing_since = NOW(6) - INTERVAL ${since} SECOND`,
    );
    await made.store(1);
    await runner.run(made.webhook.id);
    return { made, webhook: await show(made.key, made.webhook.id) };
  }

  it('disable the webhook when there were some on each of five days, and keep what is pending', async () => {
    const { made, webhook } = await failOnce('/five-days', 5 * DAYS + 60, 5);
    expect(webhook).toMatchObject({ status: 'disabled', status_reason: expect.stringContaining('5 days') });
    expect(await deliveriesOf(service, made.webhook.id)).toMatchObject([{ status: 'pending', attempts: 1 }]);
    const filters = await service.runtime.database.query<unknown[]>(
      'SELECT event FROM webhook_filters WHERE webhook_id = ? ORDER BY from_id',
      [made.webhook.id],
    );
    expect(filters).toEqual([{ event: 'NEW_TRANSACTION' }, { event: null }]);
  });

  it('do not, where one failure comes five days after another', async () => {
    const { made, webhook } = await failOnce('/two-failures', 5 * DAYS + 60, 1);
    expect(webhook).toMatchObject({ status: 'active' });
    const { failing_since, failing_days } = await cursorOf(service, made.webhook.id);
    expect(failing_days).toBe(1);
    expect(failing_since?.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });
});
