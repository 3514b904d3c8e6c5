import { createAccount } from '../support/movements.ts';
import type { TestService } from '../support/service.ts';
import { recordDeliveries, storeMovements } from '../support/stored.ts';
import { subscribe } from '../support/webhooks.ts';

/** A customer with an account and a webhook that is paused. */
export async function createPausedWebhook(service: TestService, fields: object = {}) {
  const { api_key: key, customer } = await service.customer();
  const account = (await createAccount(service, key)).id;
  const { id } = await subscribe(service, key, 'http://127.0.0.1:9/', fields);
  await service.call('PATCH', `/v1/webhooks/${id}`, { key, body: { status: 'paused' } });
  const store = (movements: Parameters<typeof storeMovements>[2]) =>
    storeMovements(service.runtime.database, { customerId: customer.id, accountId: account }, movements);
  const record = (
    deliveries: Parameters<typeof recordDeliveries>[2],
    options?: Parameters<typeof recordDeliveries>[3],
  ) => recordDeliveries(service.runtime.database, { id, customerId: customer.id }, deliveries, options);
  return { key, customerId: customer.id, account, webhook: id, store, record };
}
