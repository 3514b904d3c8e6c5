import type { Customer } from './customers.ts';

type NewMovementEvent = 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT';

/** A webhook of the run, created over the API. */
export interface ChaosWebhook {
  id: string;
  sort: string;
  customer: Customer;
  port: number;
  secret: string;
  ordered: boolean;
  /** The movements that it matches. */
  event: NewMovementEvent;
  /** Whether it hears of their withdrawals too. */
  hearing: boolean;
  accountId: string | null;
}

/** Sorts that do not hear of withdrawals. */
const SILENT: readonly string[] = ['account', 'limited'];

/**
 * Each customer has one webhook of every sort. The rate limit is above the rate of the load, so that a backlog shrinks. The receivers of
 * batches name failed events and cut answers off, also while no fault is injected.
 */
const SORTS = [
  { sort: 'all', event: 'NEW_TRANSACTION', fields: {} },
  { sort: 'debit', event: 'NEW_DEBIT', fields: {} },
  { sort: 'account', event: 'NEW_TRANSACTION', fields: {} },
  { sort: 'ordered', event: 'NEW_TRANSACTION', fields: { ordered: true } },
  { sort: 'limited', event: 'NEW_CREDIT', fields: { rate_limit: 60 } },
  { sort: 'batch', event: 'NEW_TRANSACTION', fields: { batch: { max: 40, wait_ms: 700 } } },
  { sort: 'ordered batch', event: 'NEW_DEBIT', fields: { ordered: true, batch: { max: 20 } } },
  { sort: 'form', event: 'NEW_CREDIT', fields: { encoding: 'form', hash_encoding: 'raw' } },
] as const;

export async function createWebhooks(
  url: string,
  customers: readonly Customer[],
  reservePort: () => Promise<number>,
): Promise<ChaosWebhook[]> {
  const webhooks: ChaosWebhook[] = [];
  for (const customer of customers) {
    for (const { sort, event, fields } of SORTS) {
      const port = await reservePort();
      const hearing = !SILENT.includes(sort);
      const accountId = sort === 'account' ? customer.accountIds[0] : null;
      const response = await fetch(`${url}/v1/webhooks`, {
        method: 'POST',
        headers: { Authentication: customer.apiKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          title: sort,
          endpoint: `http://127.0.0.1:${port}/${sort.replace(' ', '-')}`,
          events: eventsOf(event, hearing),
          account: accountId ?? 'all',
          ...fields,
        }),
      });
      const { webhook } = (await response.json()) as { webhook: { id: number; secret: string } };
      const { secret } = webhook;
      webhooks.push({
        id: String(webhook.id),
        secret,
        sort,
        customer,
        port,
        ordered: sort.startsWith('ordered'),
        event,
        hearing,
        accountId,
      });
    }
  }
  return webhooks;
}

const eventsOf = (event: NewMovementEvent, hearing: boolean): string[] =>
  hearing ? [event, WITHDRAWN] : [event];

/** A webhook whose events are pulled. */
export type ChaosFeed = Pick<ChaosWebhook, 'id' | 'customer' | 'event' | 'hearing' | 'accountId'>;

/** Each customer has a feed of all movements and their withdrawals, and one of its debits. */
export async function createFeeds(url: string, customers: readonly Customer[]): Promise<ChaosFeed[]> {
  const feeds: ChaosFeed[] = [];
  for (const customer of customers) {
    for (const event of ['NEW_TRANSACTION', 'NEW_DEBIT'] as const) {
      const hearing = event === 'NEW_TRANSACTION';
      const response = await fetch(`${url}/v1/webhooks`, {
        method: 'POST',
        headers: { Authentication: customer.apiKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          title: 'feed',
          events: eventsOf(event, hearing),
          account: 'all',
          delivery: 'pull',
        }),
      });
      const { webhook } = (await response.json()) as { webhook: { id: number } };
      feeds.push({ id: String(webhook.id), customer, event, hearing, accountId: null });
    }
  }
  return feeds;
}

const WITHDRAWN = 'WITHDRAWN_TRANSACTION';

/** What is told of: a movement, or its withdrawal. */
export interface Told {
  webhookId: string;
  movementId: string;
  isWithdrawal: boolean;
}

/** The `webhook-id` of an event. */
export const messageOf = ({ webhookId, movementId, isWithdrawal }: Told): string =>
  `msg_${webhookId}-${movementId}${isWithdrawal ? '-withdrawn' : ''}`;

/** What a `webhook-id` says. null: no event of a movement has it. */
export function toldBy(message: string): Told | null {
  const [, webhookId, movementId, suffix] = /^msg_(\d+)-(\d+)(-withdrawn)?$/.exec(message) ?? [];
  if (webhookId === undefined || movementId === undefined) return null;
  return { webhookId, movementId, isWithdrawal: suffix !== undefined };
}

/** What an event is called. undefined: a webhook that does not hear of withdrawals is not told. */
export function eventOf(
  { event, hearing }: Pick<ChaosWebhook, 'event' | 'hearing'>,
  message: string,
): string | undefined {
  if (!hearing) return undefined;
  return toldBy(message)?.isWithdrawal === true ? WITHDRAWN : event;
}

/** Whether a movement matches this webhook. Follows the specification and uses none of the product's code. */
export function matches(
  webhook: Pick<ChaosWebhook, 'event' | 'accountId'> & { customer: { id: string } },
  movement: { customerId: string; accountId: string; dc: 'Debit' | 'Credit' },
): boolean {
  if (webhook.customer.id !== movement.customerId) return false;
  if (webhook.accountId !== null && webhook.accountId !== movement.accountId) return false;
  return (
    webhook.event === 'NEW_TRANSACTION' ||
    webhook.event === (movement.dc === 'Debit' ? 'NEW_DEBIT' : 'NEW_CREDIT')
  );
}
