import {
  isOfNewMovements,
  NEW_MOVEMENT_EVENTS,
  type WebhookEvent,
  WITHDRAWN_TRANSACTION,
} from '../database/webhook-enums.ts';
import type { SendingSettings } from './record.ts';

/** The events of a webhook: as the API lists them, and as the columns `event` and `withdrawals` store them. */

/** The most events that a webhook may have. */
export const MOST_EVENTS = 2;

/** Which events a webhook may have together. */
export const EVENTS_RULE = `must be a list of a single event, or of ${WITHDRAWN_TRANSACTION} and one of ${NEW_MOVEMENT_EVENTS.join(', ')}`;

/** Whether a webhook may have these events together. */
export function areCombinable(events: readonly WebhookEvent[]): boolean {
  if (events.length !== MOST_EVENTS) return events.length === 1;
  return events.includes(WITHDRAWN_TRANSACTION) && events.some(isOfNewMovements);
}

export type EventColumns = Pick<SendingSettings, 'event' | 'withdrawals'>;

/** The columns for a list of events that are combinable. */
export function toEventColumns(events: readonly WebhookEvent[]): EventColumns {
  const event = events.find(isOfNewMovements) ?? events[0];
  if (event === undefined) throw new Error('a webhook has at least one event');
  return { event, withdrawals: events.includes(WITHDRAWN_TRANSACTION) ? 1 : 0 };
}

/** The list of a webhook's events, that of new movements first. */
export const eventsOf = ({ event, withdrawals }: EventColumns): WebhookEvent[] =>
  withdrawals === 1 && event !== WITHDRAWN_TRANSACTION ? [event, WITHDRAWN_TRANSACTION] : [event];
