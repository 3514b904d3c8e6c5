import { expect, it } from 'vitest';
import { reportEvents } from '../../../src/upkeep/worker.ts';
import { setOperatorWebhook } from '../../../src/webhooks/operator-webhook.ts';
import { createWebhookSecret } from '../../../src/webhooks/webhooks.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useOwnService } from '../../support/service.ts';
import { createSubscriber, setCursor } from '../../support/subscriber.ts';
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

it('delivery.stalled tells the operator that healthy webhooks make no progress, once an hour', async () => {
  await setOperatorWebhook(service.runtime);
  const subscriber = await createSubscriber(service, `${receiver.url}/hook`);
  const events = await subscribeToEvents(service, receiver, subscriber.key, '/events');
  await subscriber.store(3);
  const stored = () => storedEvents(service, null, 'delivery.stalled');
  const stalls = async (assignments: string) => {
    await setCursor(service, subscriber.webhook.id, assignments);
    await reportEvents(service.runtime);
    return (await stored()).length > 0;
  };
  expect(await stalls('progressed_at = NOW(6) - INTERVAL 9 MINUTE')).toBe(false);
  const old = 'progressed_at = NOW(6) - INTERVAL 11 MINUTE';
  expect(await stalls(`${old}, failing_since = NOW(6), failing_days = 1`)).toBe(false);
  expect(
    await stalls(`failing_since = NULL, failing_days = 0, circuit_open_until = NOW(6) + INTERVAL 1 HOUR`),
  ).toBe(false);
  expect(await stalls('circuit_open_until = NULL')).toBe(true);
  await reportEvents(service.runtime);
  expect(await stored()).toHaveLength(1);

  workers.start();
  const [event] = await until('received', () => {
    const received = receiver.at('/operator').map((it) => openEvent(it, secret));
    const stalled = received.filter(({ type }) => type === 'delivery.stalled');
    return stalled.length > 0 && stalled;
  });
  expect(event).toMatchObject({ type: 'delivery.stalled', data: { webhooks: 1 } });
  expect(event?.data.oldest_seconds).toBeGreaterThan(600);
  expect(events.events('delivery.stalled')).toEqual([]);
});
