import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { useReceiver } from '../support/receiver.ts';
import { leaseAll } from '../support/records.ts';
import { useRunners } from '../support/runner.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber, cursorOf, setCursor } from '../support/subscriber.ts';
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

describe('the log', () => {
  const linesOf = async (level: string, path: string) => {
    const lines: string[] = [];
    const log = pino({ level, base: null, timestamp: false }, { write: (line: string) => lines.push(line) });
    const { webhook, store } = await subscriber(path, { ordered: true });
    await store(6);
    await runners.create({ log, delays: [0, 0, 0, 0] }).runJob(webhook.id);
    return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'delivery.attempted');
  };

  it('has a line for each attempt with LOG_LEVEL=debug', async () => {
    const lines = await linesOf('debug', '/each');
    expect(lines.map(({ level, outcome, statusCode }) => [level, outcome, statusCode])).toEqual(
      Array.from({ length: 6 }, () => [20, 'delivered', 200]),
    );
  });

  it('tells of an endpoint that fails every other time once in a minute', async () => {
    let posts = 0;
    receiver.answer('/every-other', (_, response) => {
      posts += 1;
      response.writeHead(posts % 2 === 1 ? 422 : 200).end();
    });
    const lines = await linesOf('info', '/every-other');
    expect(posts).toBe(12);
    expect(lines).toMatchObject([{ level: 30, attempt: 1, outcome: 'failed', statusCode: 422 }]);
  });
});

describe('a webhook', () => {
  it('whose endpoint begins to fail is logged once, with the error that its owner sees', async () => {
    const lines: string[] = [];
    const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) });
    const runner = runners.create({ log, delays: [0, 0, 0, 0] });
    const endpoint = receiver.url.replace('http:', 'https:');
    const { webhook, store, key } = await createSubscriber(service, endpoint);
    await store(1);
    for (let run = 0; run < 2; run += 1) {
      await runner.runJob(webhook.id);
      await setCursor(service, webhook.id, 'circuit_open_until = NULL, recovery_successes = 0');
    }
    const error = 'ERR_SSL_WRONG_VERSION_NUMBER: the endpoint does not speak TLS on this port';
    const attempted = (attempt: number) =>
      expect.objectContaining({
        level: 30,
        webhookId: webhook.id,
        deliveryId: expect.stringMatching(`^${webhook.id}-\\d+$`),
        attempt,
        outcome: 'failed',
        statusCode: null,
        bytes: expect.any(Number),
        retryIn: 0,
        circuit: 'opened',
        error,
        msg: 'delivery.attempted',
      });
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      attempted(1),
      { level: 40, webhookId: webhook.id, error, msg: 'endpoint fails: its circuit has opened' },
      attempted(2),
    ]);
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([{ attempts: 2 }]);
    expect((await show(key, webhook.id)).health).toMatchObject({
      consecutive_failures: 2,
      last_error: error,
    });
  });

  it('whose runs keep ending the process is quarantined, and its deliveries are kept', async () => {
    const runner = runners.create();
    const { webhook, store, key } = await subscriber('/poison');
    await store(1);
    // The state after a process that is killed in each of its runs.
    for (let i = 0; i < 10; i += 1) {
      await leaseAll(service, [webhook.id]);
      await setCursor(service, webhook.id, "lease_until = '2000-01-01'");
    }
    await runner.runJob(webhook.id);
    expect(await show(key, webhook.id)).toMatchObject({
      status: 'paused',
      status_reason: expect.stringContaining('10 times'),
    });
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    expect(receiver.at('/poison')).toHaveLength(0);
    // Its owner may try again.
    await service.call('PATCH', `/v1/webhooks/${webhook.id}`, { key, body: { status: 'active' } });
    await runner.runJob(webhook.id);
    expect(await statuses(webhook.id)).toEqual(['delivered']);
  });

  it('whose results MySQL refuses is quarantined with the reason, and its deliveries are kept', async () => {
    const runner = runners.create();
    const { webhook, store, key } = await subscriber('/refused');
    await store(1);
    const { database } = service.runtime;
    await database.query(`CREATE TRIGGER refuse_results BEFORE INSERT ON deliveries FOR EACH ROW
      IF NEW.webhook_id = ${Number(webhook.id)} THEN SIGNAL SQLSTATE '45000'; END IF`);
    try {
      await runner.runJob(webhook.id);
    } finally {
      await database.query('DROP TRIGGER refuse_results');
    }
    expect(await show(key, webhook.id)).toMatchObject({
      status: 'paused',
      status_reason:
        'MySQL refuses the results of its deliveries (ER_SIGNAL_EXCEPTION). Its deliveries are kept.',
    });
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    expect(receiver.at('/refused')).toHaveLength(1);
    await setCursor(service, webhook.id, "lease_until = '2000-01-01'");
    await service.call('PATCH', `/v1/webhooks/${webhook.id}`, { key, body: { status: 'active' } });
    await runner.runJob(webhook.id);
    expect(await statuses(webhook.id)).toEqual(['delivered']);
  });

  it('is not quarantined while many others crash too, because the cause is not one webhook', async () => {
    const runner = runners.create();
    const others = await Promise.all(Array.from({ length: 5 }, (_, i) => subscriber(`/innocent/${i}`)));
    const { webhook, store } = await subscriber('/innocent/last');
    await store(1);
    for (const { id } of [...others.map((it) => it.webhook), webhook])
      await setCursor(service, id, 'crash_count = 10');
    await runner.runJob(webhook.id);
    expect(await statuses(webhook.id)).toEqual(['delivered']);
    expect((await cursorOf(service, webhook.id)).crash_count).toBe(0);
    for (const { webhook: other } of others) await setCursor(service, other.id, 'crash_count = 0');
  });

  it('whose endpoint rejects every body is not sent all of its deliveries', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/rejects');
    answering('/rejects', 400);
    await store(500);
    await setCursor(service, webhook.id, 'recovery_successes = NULL');
    await runner.runJob(webhook.id);
    const sent = receiver.at('/rejects').length;
    // The 30 that open the circuit, and those that were in flight then.
    expect(sent).toBeGreaterThanOrEqual(30);
    expect(sent).toBeLessThan(30 + 16);
    expect((await cursorOf(service, webhook.id)).circuit_openings).toBe(1);
  });

  it('with a rate limit does not wait for a time that was written before the clock was set back', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/clock', { rate_limit: 5 });
    await store(2);
    await setCursor(service, webhook.id, 'rate_next_at = NOW(6) + INTERVAL 1 HOUR');
    await runner.runJob(webhook.id);
    expect(receiver.at('/clock')).toHaveLength(2);
  });

  it('whose circuit is open takes no lease and is sent nothing, however often it is run', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/open');
    await setCursor(
      service,
      webhook.id,
      'circuit_openings = 1, circuit_open_until = NOW(6) + INTERVAL 60 SECOND',
    );
    const before = await cursorOf(service, webhook.id);
    // The first time with nothing to send: what is imported while the circuit is open adds no job.
    for (let i = 0; i < 3; i += 1) {
      await runner.runJob(webhook.id);
      await store(1);
    }
    expect(await cursorOf(service, webhook.id)).toEqual(before);
    expect(receiver.at('/open')).toHaveLength(0);
    const later = {
      webhookId: webhook.id,
      delay: expect.toSatisfy((delay) => delay > 40_000 && delay <= 60_000),
    };
    expect(runner.addedJobs).toEqual([later, later, later]);
  });

  it.each([401, 403, 404, 405, 302])(
    'whose endpoint repeatedly answers %i has its circuit opened',
    async (status) => {
      const runner = runners.create();
      const path = `/locked-${status}`;
      answering(path, status);
      const { webhook, store } = await subscriber(path, { max_in_flight: 2 });
      await store(20);
      await runner.runJob(webhook.id);
      const { circuit_openings, circuit_open_until, recovery_successes } = await cursorOf(
        service,
        webhook.id,
      );
      expect([circuit_openings, recovery_successes]).toEqual([1, 0]);
      expect(circuit_open_until?.getTime()).toBeGreaterThan(Date.now() - 60_000);
      expect(receiver.at(path).length).toBeLessThanOrEqual(4);
      expect(runner.addedJobs).toEqual([
        { webhookId: webhook.id, delay: expect.toSatisfy((delay) => delay > 0) },
      ]);
      expect(count(await statuses(webhook.id), 'pending')).toBe(20);
    },
  );

  it('ends retries whose movement is gone, so that they are not due for ever', async () => {
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
    await runner.runJob(webhook.id);
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
    expect(runner.addedJobs).toEqual([]);
    expect(await cursorOf(service, webhook.id)).toMatchObject({ delivered_count: '1', failed_count: '2' });
  });
});

describe('a change to a webhook during a run', () => {
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
    await runner.runJob(webhook.id);
    return { ...made, runner };
  }

  it.each([
    ['re-enabling it', '/enabled', { status: 'active' }],
    ['another endpoint', '/moved', { endpoint: 'http://127.0.0.1:9/elsewhere' }],
    ['other headers', '/headers', { headers: { 'x-token': 'another' } }],
  ])('is not overwritten by that run: %s resets the failures', async (_, path, body) => {
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

  it('of the endpoint applies from the next run on', async () => {
    const { webhook, store, runner } = await changedMeanwhile(
      '/before',
      { endpoint: `${receiver.url}/after` },
      200,
    );
    await store(2);
    await runner.runJob(webhook.id);
    expect([receiver.at('/before').length, receiver.at('/after').length]).toEqual([1, 2]);
  });

  it('keeps the webhook active although the answer is 410', async () => {
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
    await runner.runJob(made.webhook.id);
    return { made, webhook: await show(made.key, made.webhook.id) };
  }

  it('disable the webhook if there were some on each of five days, and keep its deliveries pending', async () => {
    const { made, webhook } = await failOnce('/five-days', 5 * DAYS + 60, 5);
    expect(webhook).toMatchObject({ status: 'disabled', status_reason: expect.stringContaining('5 days') });
    expect(await deliveriesOf(service, made.webhook.id)).toMatchObject([{ status: 'pending', attempts: 1 }]);
    const filters = await service.runtime.database.query<unknown[]>(
      'SELECT event FROM webhook_filters WHERE webhook_id = ? ORDER BY from_id',
      [made.webhook.id],
    );
    expect(filters).toEqual([{ event: 'NEW_TRANSACTION' }, { event: null }]);
  });

  it('do not disable the webhook if one failure comes five days after another', async () => {
    const { made, webhook } = await failOnce('/two-failures', 5 * DAYS + 60, 1);
    expect(webhook).toMatchObject({ status: 'active' });
    const { failing_since, failing_days } = await cursorOf(service, made.webhook.id);
    expect(failing_days).toBe(1);
    expect(failing_since?.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });
});
