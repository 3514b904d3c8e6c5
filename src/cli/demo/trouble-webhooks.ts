import { formatCount } from '../../platform/text.ts';
import { WebhookAnswer } from '../commands/webhooks.ts';
import type { Addressee, DemoCustomer } from './demo-customer.ts';
import { type Subscriber, type Subscription, startSubscriber } from './subscriber.ts';

/** Something that the demo has set up, and that an operator can see. */
export interface Sight {
  name: string;
  /** The command that shows it, without `ledgerbell`. */
  command: string;
  /** The page of the console that shows it. */
  page: string;
  /** @returns what the API shows of it; null: nothing yet. */
  find(): Promise<string | null>;
}

/** A customer of the demo with trouble. */
export interface PlannedCustomer {
  name: string;
  webhooks: readonly PlannedWebhook[];
}

/** A webhook of the demo with trouble. */
export interface PlannedWebhook extends Subscription {
  endpoint: 'healthy' | 'dead' | 'slow' | 'flapping';
}

/** The port of the discard service (RFC 863). Nothing listens there, because hardly any machine has this service. */
export const DEAD_URL = 'http://127.0.0.1:9/';

/** With this many pending deliveries, an endpoint does not keep up. */
const BACKLOG = 5;

/**
 * Creates the webhooks of a customer, each with its receiver.
 * @param onReceiver gets each receiver that was started, so that it can be closed.
 * @returns the sights of the webhooks.
 */
export async function createTroubleWebhooks(
  customer: DemoCustomer,
  { name, webhooks }: PlannedCustomer,
  accountIds: ReadonlyMap<string, string>,
  onReceiver: (receiver: Subscriber) => void,
): Promise<Sight[]> {
  const sights: Sight[] = [];
  for (const planned of webhooks) {
    const addressee = await findAddressee(planned, onReceiver);
    const id = await customer.subscribe(addressee, accountIds);
    sights.push(createSight(customer, name, planned, id));
  }
  return sights;
}

async function findAddressee(
  planned: PlannedWebhook,
  onReceiver: (receiver: Subscriber) => void,
): Promise<Addressee> {
  if (planned.endpoint === 'dead') return { subscription: planned, url: DEAD_URL, learn: () => {} };
  const receiver = await startSubscriber(planned);
  onReceiver(receiver);
  return receiver;
}

const DESCRIPTIONS = {
  healthy: 'healthy endpoint',
  dead: 'dead endpoint',
  slow: 'slow endpoint',
  flapping: 'flapping endpoint',
} as const;

function createSight(
  { api }: DemoCustomer,
  owner: string,
  { title, endpoint }: PlannedWebhook,
  id: string,
): Sight {
  /** How many deliveries had succeeded when the endpoint failed. */
  let deliveredBefore: number | null = null;
  return {
    name: DESCRIPTIONS[endpoint],
    command: `webhooks show ${id}`,
    page: `/ops/webhooks/${id}`,
    async find() {
      const { webhook } = await api.get(`/v1/webhooks/${id}`, WebhookAnswer);
      const { last_error: error } = webhook.health;
      const { pending, delivered } = webhook.deliveries;
      const of = `${title} of ${owner}`;
      const counts = `${formatCount(delivered)} delivered, ${formatCount(pending)} pending`;
      switch (endpoint) {
        case 'healthy':
          return error === null && delivered > 0 && pending < BACKLOG ? `${of}: ${counts}` : null;
        case 'dead':
          return error === null ? null : `${of}: ${error}, ${counts}`;
        case 'slow':
          return error === null && delivered > 0 && pending >= BACKLOG ? `${of}: no error, ${counts}` : null;
        case 'flapping':
          if (error !== null) deliveredBefore ??= delivered;
          return error === null && deliveredBefore !== null && delivered > deliveredBefore
            ? `${of}: failed and works again, ${counts}`
            : null;
      }
    },
  };
}
