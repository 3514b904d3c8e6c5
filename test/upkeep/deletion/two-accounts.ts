import { createAccount } from '../../support/movements.ts';
import type { TestService } from '../../support/service.ts';
import { createSubscriber, NOWHERE } from '../../support/subscriber.ts';

/** A customer with two accounts and a webhook for both. */
export async function createTwoAccounts(service: TestService, ...webhooks: object[]) {
  const subscriber = await createSubscriber(service, NOWHERE, ...webhooks);
  const { id: otherId } = await createAccount(service, subscriber.key, { title: 'İki' });
  const remove = (key = subscriber.key, id = subscriber.accountId) =>
    service.call('DELETE', `/v1/accounts/${id}`, { key });
  const viewOf = async (webhookId: string) =>
    (await service.call('GET', `/v1/webhooks/${webhookId}`, { key: subscriber.key })).body.webhook;
  return { ...subscriber, otherId, remove, viewOf };
}
