import { verifySignature } from '../../../src/cli/verification.ts';
import type { Received, Receiver } from '../../support/receiver.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { subscribe } from '../../support/webhooks.ts';

/** An operational event as a receiver got it. */
export interface ReceivedEvent {
  id: string;
  type: string;
  timestamp: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape they are about to check.
  data: any;
}

/** Checks the signature and the headers of a notification. @returns its body. */
export function openEvent({ headers, body }: Received, secret: string): ReceivedEvent {
  const problem = verifySignature(headers, Buffer.from(body), secret, Date.now());
  if (problem !== null) throw new Error(problem);
  const id = headers['webhook-id'] ?? '';
  if (headers['content-type'] !== 'application/json' || 'ledgerbell-transaction-id' in headers)
    throw new Error(`not the headers of an event: ${JSON.stringify(headers)}`);
  return { id, ...JSON.parse(body) };
}

/** Subscribes a path of the receiver to a customer's events. */
export async function subscribeToEvents(
  service: TestService,
  receiver: Receiver,
  key: string,
  path: string,
  fields: object = {},
) {
  const webhook = await subscribe(service, key, receiver.url + path, { event: 'OPERATIONAL', ...fields });
  const events = (type?: string): ReceivedEvent[] =>
    receiver
      .at(path)
      .map((it) => openEvent(it, webhook.secret))
      .filter((it) => type === undefined || it.type === type);
  return {
    ...webhook,
    events,
    /** Waits for the first event of a type. */
    next: (type: string) => until(`${type} at ${path}`, () => events(type)[0]),
  };
}

export interface StoredEvent {
  id: string;
  customer_id: string | null;
  webhook_id: string | null;
  type: string;
  data: string;
}

/** The events about a customer. */
export const storedEvents = (
  { runtime }: TestService,
  customerId: string | null,
  type: string,
): Promise<StoredEvent[]> =>
  runtime.database.query<StoredEvent[]>(
    'SELECT id, customer_id, webhook_id, type, data FROM operational_events WHERE customer_id <=> ? AND type = ? ORDER BY id',
    [customerId, type],
  );
