import { BALANCE_UPDATED, EVENT_TYPES } from '../../delivery/operational-event.ts';
import { notification } from './notification.ts';

/** The notification of an operational event, for the `webhooks` section of /openapi.json. */

const id = (description: string, example: number) => ({
  type: 'integer' as const,
  minimum: 1,
  description,
  example,
});
const plainText = (description: string, example: string) => ({
  type: 'string' as const,
  description,
  example,
});
/** Has no type, because the types of the document have no null. */
const orNull = (description: string, example: unknown) => ({
  description: `${description} Or null.`,
  example,
});
const moment = (description: string, example: string) => ({
  type: 'string' as const,
  format: 'date-time' as const,
  description,
  example,
});

const count = (description: string, example: number) => ({
  type: 'integer' as const,
  minimum: 0,
  description,
  example,
});

const objectOf = <T extends object>(description: string, properties: T) => ({
  type: 'object' as const,
  description,
  properties,
});

const WEBHOOK = objectOf('The webhook that the types webhook.… and delivery.failed are about.', {
  id: id('The id of the webhook.', 1),
  title: plainText('Its title.', 'Muhasebe'),
  event: plainText('Its event.', 'NEW_TRANSACTION'),
  origin: plainText('Scheme, host and port of its endpoint.', 'https://kitabevi.example'),
});

const IMPORT = objectOf('The import that import.failed, import.stuck and movement.conflict are about.', {
  id: id('The id of the import.', 4),
  format: plainText('Its format.', 'mt940'),
  source_id: orNull('The id of the source that it came from.', 1),
  rows_stored: count('Rows of it that are stored.', 8),
  error: orNull('import.failed: why.', 'Line 14 is cut off.'),
});

const SOURCE = objectOf('The source that source.failing is about.', {
  id: id('The id of the source.', 1),
  title: plainText('Its title.', 'Ladin Bank, gün sonu'),
  kind: plainText('Its kind.', 'folder'),
});

/** The members of all types. The type of an event decides which of them it has. */
const DATA = objectOf(
  'What has happened. Which of these members there are depends on the type. New ones may be added.',
  {
    customer_id: id('The customer that the event concerns. Not in delivery.stalled.', 1),
    webhook: WEBHOOK,
    percent: {
      type: 'integer' as const,
      enum: [50, 70, 90],
      description: 'webhook.failing: of the time until the webhook is disabled.',
      example: 50,
    },
    failing_since: moment('webhook.failing: when the first of the failures was.', '2025-11-30T18:20:00.000Z'),
    disabled_at: moment(
      'webhook.failing: when the webhook is disabled if all further attempts fail.',
      '2025-12-03T18:20:00.000Z',
    ),
    last_error: orNull(
      'webhook.failing, delivery.failed: what went wrong at the last attempt.',
      'The endpoint answered 503.',
    ),
    reason: plainText('webhook.disabled, webhook.quarantined: why.', 'The endpoint answered 410.'),
    pending: count('webhook.behind, webhook.caught_up: pending deliveries.', 9),
    waiting_since: orNull(
      'webhook.behind, webhook.caught_up: when the oldest unsent movement was stored.',
      '2025-11-30T18:20:00.000Z',
    ),
    recoveries: {
      type: 'array' as const,
      items: { type: 'string' as const },
      maxItems: 3,
      description: 'webhook.flapping, webhook.stable: when the endpoint recovered, the newest first.',
      example: ['2025-11-30T18:20:00.000Z'],
    },
    failed: count(
      'delivery.failed: deliveries that have failed for good since the last event about this webhook.',
      1,
    ),
    delivery_ids: {
      type: 'array' as const,
      items: { type: 'string' as const },
      maxItems: 10,
      description:
        'delivery.failed: the newest failed deliveries of the webhook, for GET /v1/deliveries/{id}.',
      example: ['1-1'],
    },
    import: IMPORT,
    received_at: moment('import.stuck: when the import was received.', '2025-11-30T18:00:00.000Z'),
    imports: count('import.stuck: imports of the customer that are stuck, with this one.', 1),
    conflicts: count('movement.conflict: conflicts that its first rows have. Others may follow.', 1),
    account_id: id('statement.gap, statement.contradiction: the account.', 1),
    period: objectOf(
      'statement.gap, statement.contradiction: as GET /v1/accounts/{id}/completeness shows it.',
      {
        from: plainText('The first day, YYYY-MM-DD.', '2025-12-02'),
        to: plainText('The last day, YYYY-MM-DD.', '2025-12-04'),
        status: plainText('gap or contradiction.', 'gap'),
        opening_balance: plainText('The balance before it.', '37540.00'),
        closing_balance: plainText('The balance after it.', '37580.00'),
        difference: plainText(
          'What is missing between the two, or by how much they contradict each other.',
          '40.00',
        ),
      },
    ),
    source: SOURCE,
    consecutive_failures: count('source.failing: failed runs in a row.', 3),
    error: plainText('source.failing: why the last run failed.', 'The server refused the password.'),
    next_run_at: orNull('source.failing: when the source runs again.', '2025-12-01T04:00:00.000Z'),
    webhooks: count('delivery.stalled: webhooks without progress.', 1),
    oldest_seconds: count(
      'delivery.stalled: the age of the oldest movement that one of them was not sent.',
      900,
    ),
    suppressed_until: moment(
      'Only if this was the last event of its type that was allowed in this hour.',
      '2025-11-30T19:00:00.000Z',
    ),
  },
);

const bodyOf = <T extends object>(types: readonly string[], data: T) => ({
  type: 'object' as const,
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: {
      type: 'string' as const,
      enum: [...types, 'webhook.test'],
      description: 'webhook.test: a test notification. New types may be added.',
    },
    timestamp: moment('When it was recorded, in UTC.', '2025-11-30T18:20:00.000Z'),
    data,
  },
});

const BALANCE = objectOf('The balance. New members may be added.', {
  account_id: id('The account.', 1),
  account: plainText('Its title.', 'Ana Hesap'),
  bank: plainText('Its bank.', 'Ladin Bank'),
  currency: plainText('Its currency.', 'TRY'),
  balance: plainText('The balance at the end of the day, such as "1250.00".', '37500.00'),
  date: plainText('The day, YYYY-MM-DD.', '2025-11-28'),
  source: plainText('statement: the closing balance of a statement.', 'statement'),
  import_id: id('The import that has brought it.', 2),
  statement_id: id('The statement.', 1),
});

const jsonOf = <T extends object>(schema: T, example: object) => ({
  'application/json': { schema, example },
});

/** The members that schemas have an example of, with it. */
const valuesOf = (properties: Record<string, object>) =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, it]) => ('example' in it ? [[name, it.example]] : [])),
  );

/** The webhook of the examples' month fails. */
const FAILING = {
  type: 'webhook.failing',
  timestamp: '2025-12-02T06:20:00.000Z',
  data: {
    customer_id: 1,
    webhook: valuesOf(WEBHOOK.properties),
    percent: 50,
    failing_since: '2025-11-30T18:20:00.000Z',
    disabled_at: '2025-12-03T18:20:00.000Z',
    last_error: 'The endpoint answered 503.',
  },
};

/** The statement of the examples' month has come. */
const NEWER_BALANCE = {
  type: BALANCE_UPDATED,
  timestamp: '2025-11-30T18:02:00.000Z',
  data: valuesOf(BALANCE.properties),
};

export const EVENT_NOTIFICATION = {
  operationalEvent: notification(jsonOf(bodyOf(EVENT_TYPES, DATA), FAILING), {
    operationId: 'receiveOperationalEvent',
    summary: 'An operational event',
    description:
      'Sent to the endpoints of webhooks with the event OPERATIONAL, signed and retried like a movement: something has failed that somebody should know of. An event about a webhook is not sent to that webhook.',
  }),
  balanceUpdated: notification(jsonOf(bodyOf([BALANCE_UPDATED], BALANCE), NEWER_BALANCE), {
    operationId: 'receiveBalance',
    summary: 'A newer balance of an account',
    description:
      'Sent to the endpoints of webhooks with the event BALANCE_UPDATED, signed and retried like a movement, when a statement with a newer closing balance is stored.',
  }),
};
