/** What has happened that a customer or the operator should know of. docs/operational-events.md describes each type. */
export const EVENT_TYPES = [
  'webhook.failing',
  'webhook.disabled',
  'webhook.quarantined',
  'delivery.failed',
  'import.failed',
  'import.stuck',
  'source.failing',
  'delivery.stalled',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface OperationalEvent {
  type: EventType;
  /** null: it concerns the operator alone. */
  customerId: string | null;
  /** The webhook that it is about. It is not sent to that one. */
  webhookId?: string;
  /** Equal for events that must exist only once. Left out where the caller's transaction sees to that. */
  occasion?: string;
  /** The member `data` of the notification. */
  data: Record<string, unknown>;
}

/** Ids from here on are those of operational events, see migrations/initial-schema/event-tables.ts. */
const FIRST_EVENT_ID = 2n ** 52n;

/** Whether the `transaction_id` of a delivery is that of an operational event. */
export const isEventId = (transactionId: string): boolean => BigInt(transactionId) >= FIRST_EVENT_ID;
