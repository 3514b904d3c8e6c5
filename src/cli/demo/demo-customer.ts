import * as v from 'valibot';
import { createCustomer } from '../../customers/customers.ts';
import type { Service } from '../../service.ts';
import { type Api, createApi } from '../api-client.ts';
import type { ListedMovement } from './report.ts';
import { failTwice, type Subscriber, type Subscription } from './subscriber.ts';

export const Accounts = v.array(
  v.object({ ref: v.string(), bank: v.string(), title: v.string(), currency: v.string(), iban: v.string() }),
);

export type ExampleAccount = v.InferOutput<typeof Accounts>[number];

const PER_PAGE = 1_000;

const Id = v.pipe(v.number(), v.transform(String));
const AccountAnswer = v.object({ account: v.object({ id: Id }) });
const WebhookAnswer = v.object({ webhook: v.object({ id: Id, secret: v.string() }) });
const ListAnswer = v.object({
  transactions: v.array(
    v.object({
      id: Id,
      account_id: Id,
      dc: v.string(),
      amount: v.string(),
      date_issue: v.string(),
    }),
  ),
});

/** The receiver of a webhook. It learns the webhook's secrets. */
export type Addressee = Pick<Subscriber, 'subscription' | 'url' | 'learn'>;

/** The demo's customer. It uses the HTTP API like any client. */
export interface DemoCustomer {
  id: string;
  key: string;
  api: Api;
  /** @returns the id of each account by the example's `ref`. */
  addAccounts(accounts: readonly ExampleAccount[]): Promise<Map<string, string>>;
  /** Creates the subscriber's webhook, and gives the subscriber its secrets. @returns the webhook's id. */
  subscribe(subscriber: Addressee, accountIds: ReadonlyMap<string, string>): Promise<string>;
  /** Lists all movements from a date on, page by page. */
  list(starts: string): Promise<ListedMovement[]>;
}

export async function createDemoCustomer(
  { url, runtime }: Service,
  name = 'Ledgerbell demo',
): Promise<DemoCustomer> {
  const { customer, api_key: key, api_secret: apiSecret } = await createCustomer(runtime, name);
  const api = createApi(url, key);
  return {
    id: customer.id,
    key,
    api,
    async addAccounts(accounts) {
      const ids = new Map<string, string>();
      for (const { ref, ...fields } of accounts) {
        const { account } = await api.post('/v1/accounts', fields, AccountAnswer);
        ids.set(ref, account.id);
      }
      return ids;
    },
    async subscribe({ subscription, url: endpoint, learn }, accountIds) {
      const { title, event, accountRef, encoding, maxInFlight } = subscription;
      const account = accountRef === null ? 'all' : accountIds.get(accountRef);
      const { webhook } = await api.post(
        '/v1/webhooks',
        {
          title,
          endpoint,
          event,
          account,
          encoding,
          ...(maxInFlight === undefined ? {} : { max_in_flight: maxInFlight }),
        },
        WebhookAnswer,
      );
      learn({ secret: webhook.secret, apiSecret });
      return webhook.id;
    },
    async list(starts) {
      const listed: ListedMovement[] = [];
      for (let page = 1; ; page += 1) {
        const path = `/v1/transactions?starts=${starts}&per_page=${PER_PAGE}&page=${page}`;
        const { transactions } = await api.get(path, ListAnswer);
        listed.push(...transactions);
        if (transactions.length < PER_PAGE) return listed;
      }
    },
  };
}

export const SUBSCRIPTIONS: readonly Subscription[] = [
  { title: 'Everything', event: 'NEW_TRANSACTION', accountRef: null, encoding: 'json' },
  { title: 'Debits only', event: 'NEW_DEBIT', accountRef: null, encoding: 'json', behaviour: failTwice },
  { title: 'One account', event: 'NEW_TRANSACTION', accountRef: '2', encoding: 'form' },
];

/** Says whether a movement matches a webhook. Follows the API's contract and uses none of the product's code. */
export function matches(
  { event, accountRef }: Subscription,
  movement: { dc: string; account_id: string },
  accountOf: (ref: string) => string = (ref) => ref,
): boolean {
  if (accountRef !== null && movement.account_id !== accountOf(accountRef)) return false;
  return event === 'NEW_TRANSACTION' || movement.dc === 'Debit';
}
