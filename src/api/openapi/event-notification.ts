import { BALANCE_UPDATED, EVENT_TYPES } from '../../delivery/operational-event.ts';
import { notification } from './notification.ts';

/** The notification of an operational event, for the `webhooks` section of /openapi.json. */

const id = (description: string, example: number) => ({
  type: 'integer' as const,
  minimum: 1,
  description,
  example,
});
const plainText = (description: string) => ({ type: 'string' as const, description });
/** Has no type, because the types of the document have no null. */
const orNull = (description: string) => ({ description: `${description} Or null.` });
const moment = (description: string) => ({
  type: 'string' as const,
  format: 'date-time' as const,
  description,
});

const count = (description: string) => ({ type: 'integer' as const, minimum: 0, description });

const objectOf = <T extends object>(description: string, properties: T) => ({
  type: 'object' as const,
  description,
  properties,
});

const WEBHOOK = objectOf('The webhook that the types webhook.… and delivery.failed are about.', {
  id: id('The id of the webhook.', 17),
  title: plainText('Its title.'),
  event: plainText('Its event.'),
  origin: plainText('Scheme, host and port of its endpoint.'),
});

const IMPORT = objectOf('The import that import.failed, import.stuck and movement.conflict are about.', {
  id: id('The id of the import.', 4),
  format: plainText('Its format.'),
  source_id: orNull('The id of the source that it came from.'),
  rows_stored: count('Rows of it that are stored.'),
  error: orNull('import.failed: why.'),
});

const SOURCE = objectOf('The source that source.failing is about.', {
  id: id('The id of the source.', 2),
  title: plainText('Its title.'),
  kind: plainText('Its kind.'),
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
    },
    failing_since: moment('webhook.failing: when the first of the failures was.'),
    disabled_at: moment('webhook.failing: when the webhook is disabled if all further attempts fail.'),
    last_error: orNull('webhook.failing, delivery.failed: what went wrong at the last attempt.'),
    reason: plainText('webhook.disabled, webhook.quarantined: why.'),
    pending: count('webhook.behind, webhook.caught_up: pending deliveries.'),
    waiting_since: orNull('webhook.behind, webhook.caught_up: when the oldest unsent movement was stored.'),
    recoveries: {
      type: 'array' as const,
      items: { type: 'string' as const },
      maxItems: 3,
      description: 'webhook.flapping, webhook.stable: when the endpoint recovered, the newest first.',
    },
    failed: count(
      'delivery.failed: deliveries that have failed for good since the last event about this webhook.',
    ),
    delivery_ids: {
      type: 'array' as const,
      items: { type: 'string' as const },
      maxItems: 10,
      description:
        'delivery.failed: the newest failed deliveries of the webhook, for GET /v1/deliveries/{id}.',
    },
    import: IMPORT,
    received_at: moment('import.stuck: when the import was received.'),
    imports: count('import.stuck: imports of the customer that are stuck, with this one.'),
    conflicts: count('movement.conflict: conflicts that its first rows have. Others may follow.'),
    account_id: id('statement.gap, statement.contradiction: the account.', 3),
    period: objectOf(
      'statement.gap, statement.contradiction: as GET /v1/accounts/{id}/completeness shows it.',
      {
        from: plainText('The first day, YYYY-MM-DD.'),
        to: plainText('The last day, YYYY-MM-DD.'),
        status: plainText('gap or contradiction.'),
        opening_balance: plainText('The balance before it.'),
        closing_balance: plainText('The balance after it.'),
        difference: plainText('What is missing between the two, or by how much they contradict each other.'),
      },
    ),
    source: SOURCE,
    consecutive_failures: count('source.failing: failed runs in a row.'),
    error: plainText('source.failing: why the last run failed.'),
    next_run_at: orNull('source.failing: when the source runs again.'),
    webhooks: count('delivery.stalled: webhooks without progress.'),
    oldest_seconds: count('delivery.stalled: the age of the oldest movement that one of them was not sent.'),
    suppressed_until: moment('Only if this was the last event of its type that was allowed in this hour.'),
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
    timestamp: moment('When it was recorded, in UTC.'),
    data,
  },
});

const BALANCE = objectOf('The balance. New members may be added.', {
  account_id: id('The account.', 3),
  account: plainText('Its title.'),
  bank: plainText('Its bank.'),
  currency: plainText('Its currency.'),
  balance: plainText('The balance at the end of the day, such as "1250.00".'),
  date: plainText('The day, YYYY-MM-DD.'),
  source: plainText('statement: the closing balance of a statement.'),
  import_id: id('The import that has brought it.', 9),
  statement_id: id('The statement.', 4),
});

const jsonOf = <T extends object>(schema: T) => ({ 'application/json': { schema } });

export const EVENT_NOTIFICATION = {
  operationalEvent: notification(jsonOf(bodyOf(EVENT_TYPES, DATA)), {
    operationId: 'receiveOperationalEvent',
    summary: 'An operational event',
    description:
      'Sent to the endpoints of webhooks with the event OPERATIONAL, signed and retried like a movement: something has failed that somebody should know of. An event about a webhook is not sent to that webhook.',
  }),
  balanceUpdated: notification(jsonOf(bodyOf([BALANCE_UPDATED], BALANCE)), {
    operationId: 'receiveBalance',
    summary: 'A newer balance of an account',
    description:
      'Sent to the endpoints of webhooks with the event BALANCE_UPDATED, signed and retried like a movement, when a statement with a newer closing balance is stored.',
  }),
};
