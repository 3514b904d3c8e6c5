/** The values of ENUM columns of webhooks. */

/** Which new movements a webhook is sent. A webhook has at most one of these events. */
export const NEW_MOVEMENT_EVENTS = ['NEW_TRANSACTION', 'NEW_DEBIT', 'NEW_CREDIT'] as const;
export type NewMovementEvent = (typeof NEW_MOVEMENT_EVENTS)[number];

/** A movement of the webhook's account was withdrawn. The only event beside which a webhook may have another. */
export const WITHDRAWN_TRANSACTION = 'WITHDRAWN_TRANSACTION';

/** OPERATIONAL sends operational events, and BALANCE_UPDATED sends closing balances of accounts. Neither sends movements. */
const WITHOUT_MOVEMENTS = ['OPERATIONAL', 'BALANCE_UPDATED'] as const;

export const WEBHOOK_EVENTS = [...NEW_MOVEMENT_EVENTS, WITHDRAWN_TRANSACTION, ...WITHOUT_MOVEMENTS] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export const isOfNewMovements = (event: string): event is NewMovementEvent =>
  NEW_MOVEMENT_EVENTS.some((it) => it === event);

/** Whether a webhook sends rows of `operational_events` instead of movements. */
export const isOfEvents = (event: string | undefined): event is (typeof WITHOUT_MOVEMENTS)[number] =>
  WITHOUT_MOVEMENTS.some((it) => it === event);

/** The same events as an SQL list: `event IN ${EVENTS_WITHOUT_MOVEMENTS}`. */
export const EVENTS_WITHOUT_MOVEMENTS = `(${WITHOUT_MOVEMENTS.map((it) => `'${it}'`).join(', ')})`;

/** How events reach the subscriber: as POSTs to an endpoint, or from a feed that the subscriber reads. */
export const DELIVERY_WAYS = ['push', 'pull'] as const;

export const ENCODINGS = ['json', 'form'] as const;
export const BODIES = ['standard', 'extended'] as const;
export const HASH_ENCODINGS = ['hex', 'raw'] as const;
