import { randomUUID } from 'node:crypto';
import { movement } from './movements.ts';
import type { Answer, TestService } from './service.ts';

/** A customer with an account and a webhook whose events are pulled. */
export async function createFeed(service: TestService, fields: object = {}) {
  const { api_key: key, customer, api_secret: apiSecret } = await service.customer();
  const post = (path: string, body: object) => service.call('POST', path, { key, body });
  const createAccount = async () =>
    Number(
      (await post('/v1/accounts', { bank: 'Garanti BBVA', title: 'Ana Hesap', currency: 'TRY' })).body.account
        .id,
    );
  const account = await createAccount();
  const created = await post('/v1/webhooks', {
    title: 'Kasa',
    event: 'NEW_TRANSACTION',
    account: 'all',
    delivery: 'pull',
    ...fields,
  });
  if (created.status !== 200) throw new Error(`webhook refused: ${JSON.stringify(created.body)}`);
  const id: number = created.body.webhook.id;
  return {
    ...{ key, id, account, createAccount, customerId: customer.id, apiSecret, webhook: created.body.webhook },
    /** Stores movements of an account, at once. */
    async store(count: number, of: object = {}, accountId = account): Promise<void> {
      const transactions = Array.from({ length: count }, () =>
        movement(String(accountId), { unique_id: randomUUID(), ...of }),
      );
      const { status, body } = await post('/v1/imports', { transactions });
      if (status !== 202 || body.import.status !== 'done') throw new Error(JSON.stringify(body));
    },
    read: (query: Record<string, string | number> = {}): Promise<Answer> =>
      service.call(
        'GET',
        `/v1/webhooks/${id}/feed?${new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))}`,
        { key },
      ),
    change: (body: object) => service.call('PATCH', `/v1/webhooks/${id}`, { key, body }),
    post: (path: string, body: object = {}) => post(`/v1/webhooks/${id}${path}`, body),
    get: (path = '') => service.call('GET', `/v1/webhooks/${id}${path}`, { key }),
  };
}

export type Feed = Awaited<ReturnType<typeof createFeed>>;

/** The counters of a webhook, as the API shows them. */
export const countsOf = async (feed: Feed): Promise<{ pending: number; delivered: number; failed: number }> =>
  (await feed.get()).body.webhook.deliveries;

export const idsOf = ({ body }: Answer): string[] => body.events.map(({ id }: { id: string }) => id);
