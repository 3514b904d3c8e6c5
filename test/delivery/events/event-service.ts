import { beforeAll } from 'vitest';
import { reportEvents } from '../../../src/upkeep/worker.ts';
import { setOperatorWebhook } from '../../../src/webhooks/operator-webhook.ts';
import { createWebhookSecret } from '../../../src/webhooks/webhooks.ts';
import { createAccount } from '../../support/movements.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useOwnService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { useDeliveryWorkers } from '../../support/webhooks.ts';
import { openEvent, subscribeToEvents } from './received-events.ts';

/** A service whose events are sent to customers and to the operator. It has no maintenance role: the tests look for events themselves. */
export function useEventService() {
  const receiver = useReceiver();
  const secret = createWebhookSecret();
  const service = useOwnService({
    because: 'its reconciler and events run faster',
    roles: ['api', 'importer'],
    config: {
      get opsWebhook() {
        return { url: `${receiver.url}/operator`, secret };
      },
    },
  });
  const workers = useDeliveryWorkers(service);
  beforeAll(async () => {
    await setOperatorWebhook(service.runtime);
    // The first failure is the last one.
    workers.start({ delays: [] });
  });

  return {
    service,
    receiver,
    report: () => reportEvents(service.runtime),
    /** The event that the operator was sent about a customer. */
    toldOperator: (customerId: string, type: string) =>
      until(`${type} at the operator`, () =>
        receiver
          .at('/operator')
          .map((it) => openEvent(it, secret))
          .find((it) => it.type === type && it.data.customer_id === Number(customerId)),
      ),
    async newCustomer(path: string) {
      const { api_key: key, customer } = await service.customer(path);
      const account = await createAccount(service, key, { iban: 'TR330006100519786457841326' });
      const subscription = await subscribeToEvents(service, receiver, key, path);
      return { key, id: customer.id, account: account.id, subscription };
    },
  };
}
