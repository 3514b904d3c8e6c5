import { createAccount } from '../support/movements.ts';
import type { TestService } from '../support/service.ts';
import { storeMovements } from '../support/stored.ts';
import { subscribe } from '../support/webhooks.ts';

/** A customer with an account and a webhook, and a function that stores movements of that account. */
export async function createWebhook(service: TestService, fields: object = {}) {
  const { api_key: key, customer } = await service.customer();
  const account = (await createAccount(service, key)).id;
  const { id } = await subscribe(service, key, 'http://127.0.0.1:9/', fields);
  const store = (movements: Parameters<typeof storeMovements>[2] = [{}], accountId = account) =>
    storeMovements(service.runtime.database, { customerId: customer.id, accountId }, movements);
  return { key, customerId: customer.id, account, id, store };
}
