import { describe, expect, it } from 'vitest';
import { recordResults } from '../../../src/delivery/engine/record-results.ts';
import { MOST_PER_HOUR, recordEvent } from '../../../src/delivery/operational-event.ts';
import { dispatchEvents } from '../../../src/upkeep/events/dispatch-events.ts';
import { reportEvents } from '../../../src/upkeep/worker.ts';
import { setOperatorWebhook } from '../../../src/webhooks/operator-webhook.ts';
import { createWebhookSecret } from '../../../src/webhooks/webhooks.ts';
import { useReceiver } from '../../support/receiver.ts';
import { failure, leaseAll, recordOf, success } from '../../support/records.ts';
import { useOwnService } from '../../support/service.ts';
import { createSubscriber, cursorOf, setCursor } from '../../support/subscriber.ts';
import { until } from '../../support/until.ts';
import { useDeliveryWorkers } from '../../support/webhooks.ts';
import { openEvent, storedEvents, subscribeToEvents } from './received-events.ts';

const receiver = useReceiver();
const secret = createWebhookSecret();
const service = useOwnService({
  because: 'its reconciler and events run faster',
  roles: ['api'],
  config: {
    get opsWebhook() {
      return { url: `${receiver.url}/operator`, secret };
    },
  },
});
const workers = useDeliveryWorkers(service);

const failedImport = (customerId: string) => ({
  type: 'import.failed' as const,
  customerId,
  data: { customer_id: Number(customerId) },
});

const countRetries = async (webhookId: string) => {
  const rows = await service.runtime.database.query<{ n: string }[]>(
    'SELECT COUNT(*) AS n FROM retries WHERE webhook_id = ?',
    [webhookId],
  );
  return Number(rows[0]?.n);
};

describe('operational events', () => {
  it('are at most a hundred of one type for a customer in an hour, and the last of them says so', async () => {
    const { customer } = await service.customer();
    const { database } = service.runtime;
    const recorded: boolean[] = [];
    for (let at = 0; at < MOST_PER_HOUR + 20; at += 1)
      recorded.push(await recordEvent(database, failedImport(customer.id)));
    expect(recorded.filter(Boolean)).toHaveLength(MOST_PER_HOUR);
    const stored = await storedEvents(service, customer.id, 'import.failed');
    const told = stored.map(({ data }) => 'suppressed_until' in JSON.parse(data));
    expect(told.indexOf(true)).toBe(MOST_PER_HOUR - 1);
    const other = await service.customer();
    expect(await recordEvent(database, failedImport(other.customer.id))).toBe(true);
    await database.query(
      'UPDATE operational_events SET created_at = created_at - INTERVAL 61 MINUTE WHERE customer_id = ?',
      [customer.id],
    );
    expect(await recordEvent(database, failedImport(customer.id))).toBe(true);
  });

  it('are stored once for an occasion, with one delivery for each webhook, however many processes dispatch them', async () => {
    const { customer, api_key: key } = await service.customer();
    const { database } = service.runtime;
    const one = await subscribeToEvents(service, receiver, key, '/one');
    const two = await subscribeToEvents(service, receiver, key, '/two');
    const event = { ...failedImport(customer.id), occasion: 'once' };
    const recorded = await Promise.all([1, 2, 3].map(() => recordEvent(database, event)));
    expect(recorded.filter(Boolean)).toHaveLength(1);
    for (let at = 0; at < 30; at += 1) await recordEvent(database, failedImport(customer.id));
    await Promise.all(Array.from({ length: 5 }, () => dispatchEvents(database)));
    await dispatchEvents(database);
    expect(await countRetries(one.id)).toBe(31);
    expect(await countRetries(two.id)).toBe(31);
    const { body } = await service.call('GET', `/v1/webhooks/${one.id}`, { key });
    expect(body.webhook.deliveries.pending).toBe(31);
    const late = await subscribeToEvents(service, receiver, key, '/late');
    await dispatchEvents(database);
    expect(await countRetries(late.id)).toBe(0);
  });

  it('count the deliveries that have failed for good, without those of deleted movements', async () => {
    const { webhook } = await createSubscriber(service);
    const [lease] = await leaseAll(service, [webhook.id]);
    if (lease === undefined) throw new Error('no lease');
    const final = { status: 'failed' as const, retryIn: null };
    await recordResults(service.runtime.database, [
      recordOf(lease, [success(1), failure(2), failure(3, final), failure(4, { ...final, storedAt: null })]),
    ]);
    expect(await cursorOf(service, webhook.id)).toMatchObject({
      failed_count: '2',
      unreported_failures: '1',
      progressed_at: expect.any(Date),
    });
  });

  it('about a webhook for events are not sent to that webhook, and its failures cause no further events', async () => {
    await setOperatorWebhook(service.runtime);
    const { customer, api_key: key } = await service.customer();
    receiver.answer('/broken', (_, response) => response.writeHead(422).end());
    const broken = await subscribeToEvents(service, receiver, key, '/broken');
    workers.start({ delays: [] });
    for (let at = 0; at < 5; at += 1) await recordEvent(service.runtime.database, failedImport(customer.id));
    await reportEvents(service.runtime);
    await until('all failed', async () => (await cursorOf(service, broken.id)).failed_count === '5');
    await setCursor(service, broken.id, 'failing_since = NOW(6) - INTERVAL 61 HOUR, failing_days = 3');
    for (let at = 0; at < 3; at += 1) await reportEvents(service.runtime);
    expect(await storedEvents(service, customer.id, 'delivery.failed')).toEqual([]);
    expect(await storedEvents(service, customer.id, 'webhook.failing')).toHaveLength(1);
    const told = await until('the operator told', () =>
      receiver
        .at('/operator')
        .map((it) => openEvent(it, secret))
        .find((it) => it.type === 'webhook.failing' && it.data.webhook.id === Number(broken.id)),
    );
    expect(told.data.webhook.event).toBe('OPERATIONAL');
    expect(receiver.at('/broken').map(({ body }) => JSON.parse(body).type)).toEqual(
      Array(5).fill('import.failed'),
    );
  });
});
