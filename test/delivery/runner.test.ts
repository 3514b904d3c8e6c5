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

const subscriber = (path: string, fields: object = {}) =>
  createSubscriber(service, receiver.url + path, fields);
const statuses = async (webhookId: string) =>
  (await deliveriesOf(service, webhookId)).map(({ status }) => status);
const count = (list: readonly string[], status: string) => list.filter((it) => it === status).length;

const answering = (path: string, status: number) =>
  receiver.answer(path, (_, response) => void response.writeHead(status).end());
const idsAt = (path: string) => receiver.at(path).map(({ headers }) => headers['webhook-id']);

describe('a delivery run', () => {
  it('sends what is pending, gives its lease back and leaves no job', async () => {
    const runner = runners.create({ timeSlice: 60_000 });
    const { webhook, store } = await subscriber('/all');
    await store(350);
    await runner.runJob(webhook.id);
    expect(count(await statuses(webhook.id), 'delivered')).toBe(350);
    expect(new Set(idsAt('/all')).size).toBe(350);
    expect(receiver.at('/all')).toHaveLength(350);
    expect(await cursorOf(service, webhook.id)).toMatchObject({
      lease_until: null,
      crash_count: 0,
      delivered_count: '350',
    });
    expect(runner.addedJobs).toEqual([]);
  });

  it('sends nothing while another run holds the lease, and adds a job for when the lease must be over', async () => {
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
    const run = one.runJob(webhook.id);
    await until('its first POST', () => receiver.at('/twice').length > 0);
    await other.runJob(webhook.id);
    expect(other.addedJobs).toEqual([
      { webhookId: webhook.id, delay: expect.toSatisfy((delay) => delay > 5_000 && delay <= 12_000) },
    ]);
    answer();
    await run;
    expect(receiver.at('/twice')).toHaveLength(50);
    expect(count(await statuses(webhook.id), 'delivered')).toBe(50);
  });

  it('sends each delivery once, however many runs there are at the same time in one process or several', async () => {
    const all = Array.from({ length: 4 }, () => runners.create());
    const { webhook, store } = await subscriber('/race');
    await store(60);
    await Promise.all(all.flatMap((runner) => [runner.runJob(webhook.id), runner.runJob(webhook.id)]));
    expect(receiver.at('/race')).toHaveLength(60);
    expect(count(await statuses(webhook.id), 'delivered')).toBe(60);
  });

  it('finds movements that were stored during it, although nothing wakes it', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/late');
    await store(1);
    let isFirst = true;
    receiver.answer('/late', async (_, response) => {
      if (isFirst) await store(1);
      isFirst = false;
      response.end();
    });
    await runner.runJob(webhook.id);
    expect(receiver.at('/late')).toHaveLength(2);
    expect(runner.addedJobs).toEqual([]);
  });

  it('looks once more after it has added a later job, because a wake-up just before that is lost but its movement is not', async () => {
    const { webhook, store } = await subscriber('/sleep');
    // Only this delivery waits: the endpoint itself is healthy.
    answering('/sleep', 422);
    await store(1);
    const addedJobs: number[] = [];
    const runner = runners.create({
      jobs: {
        async add(_, delay) {
          // Committed before the job that is added now, which replaces the job of this movement's wake-up.
          if (addedJobs.length === 0) await store(1);
          addedJobs.push(delay);
        },
      },
    });
    await runner.runJob(webhook.id);
    expect(addedJobs).toEqual([expect.toSatisfy((delay) => delay > 1_000), 0]);
  });

  it('ends when its time slice is over, and adds a job for the rest', async () => {
    const runner = runners.create({ timeSlice: 50 });
    const { webhook, store } = await subscriber('/slice', { max_in_flight: 1 });
    receiver.answer('/slice', (_, response) => void setTimeout(() => response.end(), 5));
    await store(500);
    await runner.runJob(webhook.id);
    const rest = count(await statuses(webhook.id), 'pending');
    expect(rest).toBeGreaterThan(0);
    expect(receiver.at('/slice')).toHaveLength(500 - rest);
    expect(runner.addedJobs).toEqual([{ webhookId: webhook.id, delay: 0 }]);
  });

  it('records answers that arrive while the process is shutting down', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/last');
    let answer = () => {};
    receiver.answer('/last', (_, response) => {
      answer = () => void response.end();
    });
    await store(1);
    const run = runner.runJob(webhook.id);
    await until('the POST in flight', () => receiver.at('/last').length > 0);
    runner.stop();
    answer();
    await run;
    expect(await statuses(webhook.id)).toEqual(['delivered']);
    expect(runner.addedJobs).toEqual([]);
  });

  it('does not count an attempt that our own shutdown cut short, and adds a job for it', async () => {
    const runner = runners.create();
    const { webhook, store } = await subscriber('/cut');
    receiver.answer('/cut', () => {});
    await store(1);
    const run = runner.runJob(webhook.id);
    await until('the POST in flight', () => receiver.at('/cut').length > 0);
    runner.stop();
    runner.poster.abort();
    await run;
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([
      { status: 'pending', attempts: 0, failures: 0 },
    ]);
    expect(await attemptsOf(service, webhook.id)).toEqual([]);
    expect(await cursorOf(service, webhook.id)).toMatchObject({ consecutive_failures: 0, lease_until: null });
    expect(runner.addedJobs).toEqual([{ webhookId: webhook.id, delay: 0 }]);
  });

  it('that has lost its lease records nothing, and another run sends again what had no result', async () => {
    let lost = 0;
    const counted: number[] = [];
    const runner = runners.create({
      metrics: {
        recorded: (results) => void counted.push(results.length),
        leaseLost: () => {
          lost += 1;
        },
      },
    });
    const { webhook, store } = await subscriber('/lost');
    const [id] = await store(1);
    let isFirst = true;
    receiver.answer('/lost', async (_, response) => {
      if (isFirst) await setCursor(service, webhook.id, "lease_token = 'of another run'");
      isFirst = false;
      response.end();
    });
    await runner.runJob(webhook.id);
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    expect(await cursorOf(service, webhook.id)).toMatchObject({
      lease_token: 'of another run',
      lease_writes: 0,
    });
    expect([lost, counted]).toEqual([1, []]);
    await setCursor(service, webhook.id, 'lease_until = NULL');
    await runner.runJob(webhook.id);
    expect(await statuses(webhook.id)).toEqual(['delivered']);
    expect([lost, counted.filter((results) => results > 0)]).toEqual([1, [1]]);
    expect(idsAt('/lost')).toEqual([`msg_${webhook.id}-${id}`, `msg_${webhook.id}-${id}`]);
  });

  it('sends after a crash the deliveries without a result, and no others', async () => {
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
    // The state after a killed process, once its lease has expired.
    await leaseAll(service, [webhook.id]);
    await setCursor(service, webhook.id, 'lease_until = NOW(6) - INTERVAL 1 SECOND');
    await runner.runJob(webhook.id);
    const expected = ids.slice(5).filter((id) => !recorded.includes(id));
    expect(idsAt('/crash').toSorted()).toEqual(expected.map((id) => `msg_${webhook.id}-${id}`).toSorted());
    expect(await cursorOf(service, webhook.id)).toMatchObject({
      sent_through: ids[29],
      highest_recorded_id: ids[29],
    });
  });
});
