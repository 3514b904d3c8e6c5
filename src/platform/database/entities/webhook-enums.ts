/** The values of ENUM columns of webhooks. They stand apart from the entity, so that the command line loads no TypeORM. */

/** OPERATIONAL: operational events, and BALANCE_UPDATED: closing balances of accounts. Neither is sent movements. */
export const WEBHOOK_EVENTS = [
  'NEW_TRANSACTION',
  'NEW_DEBIT',
  'NEW_CREDIT',
  'OPERATIONAL',
  'BALANCE_UPDATED',
] as const;

const WITHOUT_MOVEMENTS = ['OPERATIONAL', 'BALANCE_UPDATED'] as const;

/** Whether a webhook is sent rows of `operational_events` in place of movements. */
export const isOfEvents = (event: string | undefined): event is (typeof WITHOUT_MOVEMENTS)[number] =>
  WITHOUT_MOVEMENTS.some((it) => it === event);

/** The same as a list of SQL: `event IN ${EVENTS_WITHOUT_MOVEMENTS}`. */
export const EVENTS_WITHOUT_MOVEMENTS = `(${WITHOUT_MOVEMENTS.map((it) => `'${it}'`).join(', ')})`;
export const ENCODINGS = ['json', 'form'] as const;
export const BODIES = ['standard', 'extended'] as const;
export const HASH_ENCODINGS = ['hex', 'raw'] as const;
