import { toJsonSchema } from '@valibot/to-json-schema';
import { ExtendedView } from '../../movements/extended.ts';

/** The notification that subscribers receive, for the `webhooks` section of /openapi.json. */

const text = (description: string, example: string) => ({ type: 'string' as const, description, example });

const FIELDS = {
  dc: {
    type: 'string' as const,
    enum: ['Debit', 'Credit'],
    description: 'The direction of the movement.',
    example: 'Credit',
  },
  code: text('The bank’s code, or "".', 'FAT'),
  amount: text('With two fraction digits; three for currencies that have three.', '12500.00'),
  balance: text('The balance after the movement, or "".', '37500.00'),
  currency: text('ISO 4217.', 'TRY'),
  description: text('As the bank sent it, or "".', 'FATURA 2025-118'),
  account_id: { type: 'integer' as const, minimum: 1, description: 'The id of the account.', example: 1 },
  account: text('The title of the account.', 'Ana Hesap'),
  bank: text('The name of the bank.', 'Ladin Bank'),
  opponent_id: text('As the bank sent it, or "".', '98765432109'),
  opponent_iban: text('As the bank sent it, or "".', 'TR470011100000099000005511'),
  hash: text(
    'base64 of the lower-case hex of sha256(dc + code + amount + balance + currency + description + API secret). With hash_encoding raw, base64 of the 32 bytes.',
    'ZjE1NzU4MzA5MzRlNmM0…',
  ),
};

/** The movement of the examples' month, as a notification has it. */
const MOVEMENT = Object.fromEntries(Object.entries(FIELDS).map(([name, { example }]) => [name, example]));

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
  header(
    'webhook-id',
    'The same on every attempt. Use it to detect duplicates. That of the withdrawal of a movement ends with -withdrawn.',
    'msg_1-1',
  ),
  header('webhook-timestamp', 'When the attempt was signed: seconds since 1970.', '1762151900'),
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
      'application/json': { schema: EXTENDED_BODY, example: MOVEMENT },
      'application/x-www-form-urlencoded': { schema: BODY, example: MOVEMENT },
    },
    {
      operationId: 'receiveMovement',
      summary: 'A movement that matches your webhook, or its withdrawal',
      description:
        'Sent to the endpoint of each matching webhook. Answer with any 2xx status when you have the notification. Any other answer, or none within 15 seconds, is retried for about three days. The encoding of the webhook decides whether the body is JSON or a form. A webhook that lists WITHDRAWN_TRANSACTION is sent the same body again when the movement is withdrawn. The withdrawal may arrive before its movement, and without it.',
      headers: [
        header('ledgerbell-transaction-id', 'The id of the movement, as GET /v1/transactions shows it.', '1'),
        header('ledgerbell-date-issue', 'The date_issue of the movement.', '2025-11-03'),
        header(
          'ledgerbell-event',
          'WITHDRAWN_TRANSACTION if the movement was withdrawn, otherwise NEW_TRANSACTION, NEW_DEBIT or NEW_CREDIT, as the webhook lists it. Only for webhooks that list WITHDRAWN_TRANSACTION.',
          'NEW_TRANSACTION',
          false,
        ),
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
