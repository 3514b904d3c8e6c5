import { answerSlowly, flap } from './behaviours.ts';
import type { Subscription } from './subscriptions.ts';

/** A webhook of the demo with trouble. */
export interface PlannedWebhook extends Subscription {
  endpoint: 'healthy' | 'dead' | 'slow' | 'flapping';
}

/** A customer of the demo with trouble. */
export interface PlannedCustomer {
  name: string;
  webhooks: readonly PlannedWebhook[];
}

const plan = (
  title: string,
  endpoint: PlannedWebhook['endpoint'],
  more: Partial<Subscription> = {},
): PlannedWebhook => ({
  title,
  endpoint,
  event: 'NEW_TRANSACTION',
  accountRef: null,
  encoding: 'json',
  ...more,
});

/** The titles do not say which webhooks are in trouble: finding that out is what the demo is for. */
export const WITH_SOURCES: PlannedCustomer = {
  name: 'Kardelen Market',
  webhooks: [plan('Accounting', 'healthy'), plan('Treasury', 'dead')],
};

export const WITH_IMPORT: PlannedCustomer = {
  name: 'Boğaz Lojistik',
  webhooks: [
    plan('Warehouse', 'healthy'),
    plan('Cash desk', 'slow', { maxInFlight: 1, behaviour: answerSlowly }),
    plan('Mobile app', 'flapping', { behaviour: flap }),
  ],
};
