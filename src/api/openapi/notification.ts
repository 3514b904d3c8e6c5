import { toJsonSchema } from '@valibot/to-json-schema';
import { BALANCE_UPDATED, EVENT_TYPES } from '../../delivery/operational-event.ts';
import { ExtendedView } from '../../movements/extended.ts';

/** The notification that subscribers receive, for the `webhooks` section of /openapi.json. */

const text = (description: string, example: string) => ({ type: 'string' as const, description, example });

const FIELDS = {
  dc: { type: 'string' as const, enum: ['Debit', 'Credit'], description: 'The direction of the movement.' },
  code: text('The bank’s code, or "".', 'EFT'),
  amount: text('With two fraction digits; three for currencies that have three.', '1250.00'),
  balance: text('The balance after the movement, or "".', '5000.50'),
  currency: text('ISO 4217.', 'TRY'),
  description: text('As the bank sent it, or "".', 'EFT gönderen Şükrü Özgür İnce'),
  account_id: { type: 'integer' as const, minimum: 1, description: 'The id of the account.', example: 1 },
  account: text('The title of the account.', 'Ana Hesap'),
  bank: text('The name of the bank.', 'Garanti BBVA'),
  opponent_id: text('As the bank sent it, or "".', '12345678901'),
  opponent_iban: text('As the bank sent it, or "".', 'TR330006100519786457841326'),
  hash: text(
    'base64 of the lower-case hex of sha256(dc + code + amount + balance + currency + description + API secret). With hash_encoding raw, base64 of the 32 bytes.',
    'ZjE1NzU4MzA5MzRlNmM0…',
  ),
};

const BODY = { type: 'object' as const, required: Object.keys(FIELDS), properties: FIELDS };

const { $schema: _, ...EXTENDED } = toJsonSchema(ExtendedView, { errorMode: 'ignore' });

const EXTENDED_BODY = {
  ...BODY,
  properties: {
    ...FIELDS,
    extended: {
      ...(EXTENDED as Record<string, unknown>),
      description: 'Only for a webhook with body extended: the same as in a listing with fields=extended.',
    },
  },
};

const header = (name: string, description: string, example: string, required = true) => ({
  in: 'header' as const,
  name,
  description,
  required,
  schema: { type: 'string' as const },
  example,
});

/** The headers of every notification. */
const SIGNATURE_HEADERS = [
  header('webhook-id', 'The same on every attempt. Use it to detect duplicates.', 'msg_17-4711'),
  header('webhook-timestamp', 'When the attempt was signed: seconds since 1970.', '1790000000'),
  header(
    'webhook-signature',
    'One or two signatures of the id, the timestamp and the body, separated by a space, as in Standard Webhooks.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

const TEST_HEADER = header('webhook-test', 'true in a test notification, otherwise absent.', 'true', false);

/** The meaning of an endpoint's answers. */
const RESPONSES = {
  '2XX': { description: 'You have received the notification.' },
  '410': { description: 'The webhook is disabled immediately.' },
  '4XX': {
    description: 'The notification is sent again later. For 429, Retry-After is obeyed, up to an hour.',
  },
  '5XX': {
    description: 'The notification is sent again later. For 503, Retry-After is obeyed, up to an hour.',
  },
};

/** Describes a notification. @param content of the body. */
export const notification = <T extends object>(
  content: T,
  {
    operationId,
    headers = [],
    ...texts
  }: {
    operationId: string;
    summary: string;
    description: string;
    headers?: readonly ReturnType<typeof header>[];
  },
) => ({
  post: {
    operationId,
    tags: ['Notifications'],
    ...texts,
    security: [],
    parameters: [...SIGNATURE_HEADERS, ...headers, TEST_HEADER],
    requestBody: { required: true, content },
    responses: RESPONSES,
  },
});

export const NOTIFICATION = {
  movement: notification(
    {
      'application/json': { schema: EXTENDED_BODY },
      'application/x-www-form-urlencoded': { schema: BODY },
    },
    {
      operationId: 'receiveMovement',
      summary: 'A movement that matches your webhook',
      description:
        'Sent to the endpoint of each matching webhook. Answer with any 2xx status when you have the notification. Any other answer, or none within 15 seconds, is retried for about three days. The encoding of the webhook decides whether the body is JSON or a form.',
      headers: [
        header(
          'ledgerbell-transaction-id',
          'The id of the movement, as GET /v1/transactions shows it.',
          '4711',
        ),
        header('ledgerbell-date-issue', 'The date_issue of the movement.', '2026-01-15'),
        header(
          'traceparent',
          'The attempt in the trace of the import, as in W3C Trace Context. Absent while the operator has traces off.',
          '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
          false,
        ),
      ],
    },
  ),
};

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
