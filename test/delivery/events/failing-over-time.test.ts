import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDataSource } from '../../../src/database/data-source.ts';
import { reportFailingWebhooks } from '../../../src/delivery/report-failing-webhooks.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { reportEvents } from '../../../src/upkeep/worker.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useRunners } from '../../support/runner.ts';
import { useService } from '../../support/service.ts';
import { createSubscriber, cursorOf, setCursor } from '../../support/subscriber.ts';
import { subscribeToEvents } from './received-events.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

const service = useService({ roles: ['api'] });
const receiver = useReceiver();
const runners = useRunners(service);

/** The tests set NOW(6) of its only connection. They do not set the server's clock, because other test files use the server. */
let later: DataSource;
beforeAll(async () => {
  later = await createDataSource(service.runtime.config.databaseUrl ?? '', { poolSize: 1 }).initialize();
});
afterAll(() => later?.destroy());

/** A webhook and a subscription to the customer's events. Attempts and maintenance take place some hours later than they are made. */
async function failingWebhook(path: string) {
  let hours = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + hours * HOUR };
  // A retry is due when the test is over, so that each attempt is that of a new movement.
  const sender = runners.create({ clock, delays: Array<number>(11).fill(240 * HOUR) });
  const messenger = runners.create();
  const { key, customerId, webhook, store } = await createSubscriber(service, receiver.url + path);
  const events = await subscribeToEvents(service, receiver, key, `${path}/events`, { ordered: true });
  const told = () =>
    events.events().map(({ type, data }) => (type === 'webhook.failing' ? `${type} ${data.percent}` : type));

  return {
    customerId,
    told,
    isFailing: async () => (await cursorOf(service, webhook.id)).failing_since !== null,
    async attempt(at: number, status: number) {
      hours = at;
      receiver.answer(path, (_, response) => void response.writeHead(status).end());
      await setCursor(service, webhook.id, 'circuit_open_until = NULL');
      await store(1);
      await sender.runJob(webhook.id);
    },
    /** @returns the events that were sent. */
    async maintain(at: number) {
      const before = told().length;
      const now = Date.now() + at * HOUR + SECOND;
      await later.query('SET timestamp = ?', [now / SECOND]);
      await reportFailingWebhooks(later);
      await reportEvents(service.runtime);
      await messenger.runJob(events.id);
      return told().slice(before);
    },
  };
}

it('a webhook that fails for five days is reported at 50, 70, 90 and 100 %, once each and in this order', async () => {
  const webhook = await failingWebhook('/five-days');
  const reported: [number, string[]][] = [];
  for (let hours = 0; hours <= 132; hours += 6) {
    await webhook.attempt(hours, 500);
    for (let times = 0; times < 2; times += 1) {
      const events = await webhook.maintain(hours);
      if (events.length > 0) reported.push([hours, events]);
    }
  }
  expect(reported).toEqual([
    [60, ['webhook.failing 50']],
    [84, ['webhook.failing 70']],
    [108, ['webhook.failing 90']],
    [120, ['webhook.disabled']],
  ]);
});

it('a webhook that fails again after a success is reported again from 50 %', async () => {
  const webhook = await failingWebhook('/flapping');
  const reported: [number, string[]][] = [];
  for (let hours = 0; hours <= 180; hours += 6) {
    await webhook.attempt(hours, hours === 90 ? 200 : 500);
    expect(await webhook.isFailing()).toBe(hours !== 90);
    const events = await webhook.maintain(hours);
    if (events.length > 0) reported.push([hours, events]);
  }
  // The second period of failures began at 96 hours.
  expect(reported).toEqual([
    [60, ['webhook.failing 50']],
    [84, ['webhook.failing 70']],
    [156, ['webhook.failing 50']],
    [180, ['webhook.failing 70']],
  ]);
});
