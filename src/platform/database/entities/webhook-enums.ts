/** The values of ENUM columns of webhooks. They stand apart from the entity, so that the command line loads no TypeORM. */

/** OPERATIONAL: operational events, and no movements. */
export const WEBHOOK_EVENTS = ['NEW_TRANSACTION', 'NEW_DEBIT', 'NEW_CREDIT', 'OPERATIONAL'] as const;
export const ENCODINGS = ['json', 'form'] as const;
export const HASH_ENCODINGS = ['hex', 'raw'] as const;
