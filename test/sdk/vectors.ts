import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { EVENT_TYPES } from '../../src/delivery/operational-event.ts';
import { type BodyFormat, buildBody } from '../../src/delivery/posting/body.ts';
import type { PostRequest } from '../../src/delivery/posting/types.ts';
import type { NotifiedEvent, NotifiedMovement } from '../../src/delivery/run/types.ts';
import { nothingSaid } from '../../src/movements/extended.ts';
import type { WebhookSettings } from '../../src/webhook-record/record.ts';
import { openWebhookSettings } from '../support/webhook-settings.ts';
import { createBatchVectors } from './batch-vectors.ts';
import { createFeedVectors } from './feed-vectors.ts';
import { API_SECRET, DINARS, EMPTY, MOVEMENT, TURKISH, YEN } from './vector-movements.ts';

/**
 * Makes the test vectors that receivers in every language are tested with, by the code that sends notifications. Run it after a change:
 * `node --import tsx test/sdk/vectors.ts`. The same code writes the same files.
 */

/** A request, and what a receiver that knows `secrets` and `apiSecret` must say of it at the time `now`. */
export interface Vector {
  name: string;
  encoding: 'json' | 'form';
  /** `whsec_…`: the secrets of the webhook that the receiver knows. */
  secrets: string[];
  /** The customer's API secret. Absent: the receiver does not verify the hash. */
  apiSecret?: string;
  /** The receiver's clock: seconds since 1970. The tolerance is 300 s. */
  now: number;
  headers: Record<string, string>;
  /** Text, to be sent in UTF-8. */
  body: string;
  expected:
    | {
        ok: true;
        kind: 'movement' | 'withdrawal' | 'balance' | 'event' | 'unknown' | 'test';
        content: object;
      }
    | { ok: false; reason: string };
}

/** 2026-09-21T14:13:20Z */
const NOW = 1_790_000_000;

const inventSecret = (name: string) =>
  `whsec_${createHash('sha256').update(`Ledgerbell test vectors: ${name}`).digest('base64')}`;

const FORMER = inventSecret('former');

/** The vectors of `batches.json`. */
export const batchVectors = ({ now = NOW, secret = inventSecret('current') } = {}) =>
  createBatchVectors({ now, secret, former: FORMER });

const WEBHOOK = { id: 17, title: 'ERP', event: 'NEW_TRANSACTION', origin: 'https://erp.example' };
const IMPORT = { id: 4, format: 'camt.053', source_id: null, rows_stored: 12 };
const PERIOD = {
  from: '2026-02-01',
  to: '2026-02-03',
  opening_balance: '100.00',
  closing_balance: '250.00',
  difference: '150.00',
};
const AT = '2026-09-21T14:00:00.000Z';

/** An event of every type, by its type. */
const EVENTS: Record<(typeof EVENT_TYPES)[number], Record<string, unknown>> = {
  'webhook.failing': {
    customer_id: 1,
    webhook: WEBHOOK,
    percent: 50,
    failing_since: AT,
    disabled_at: AT,
    last_error: 'answered 500',
  },
  'webhook.disabled': { customer_id: 1, webhook: WEBHOOK, reason: 'The endpoint answered 410 Gone.' },
  'webhook.quarantined': { customer_id: 1, webhook: WEBHOOK, reason: 'Its runs have ended their process.' },
  'webhook.behind': { customer_id: 1, webhook: WEBHOOK, pending: 4_711, waiting_since: AT },
  'webhook.caught_up': { customer_id: 1, webhook: WEBHOOK, pending: 0, waiting_since: null },
  'webhook.flapping': { customer_id: 1, webhook: WEBHOOK, recoveries: [AT, AT, AT] },
  'webhook.stable': { customer_id: 1, webhook: WEBHOOK, recoveries: [AT] },
  'delivery.failed': {
    customer_id: 1,
    webhook: WEBHOOK,
    failed: 2,
    delivery_ids: ['17-8', '17-7'],
    last_error: null,
  },
  'import.failed': { customer_id: 1, import: { ...IMPORT, error: 'The file is not XML.' } },
  'import.stuck': { customer_id: 1, import: IMPORT, received_at: AT, imports: 1 },
  'movement.conflict': { customer_id: 1, import: { id: 4 }, conflicts: 3 },
  'statement.gap': { customer_id: 1, account_id: 3, period: { ...PERIOD, status: 'gap' } },
  'statement.contradiction': {
    customer_id: 1,
    account_id: 3,
    period: { ...PERIOD, status: 'contradiction' },
    suppressed_until: AT,
  },
  'statement.late': { customer_id: 1, account_id: 3, late_since: AT },
  'source.failing': {
    customer_id: 1,
    source: { id: 2, title: 'SFTP', kind: 'sftp' },
    consecutive_failures: 3,
    error: 'No connection.',
    next_run_at: null,
  },
  'delivery.stalled': { webhooks: 1, oldest_seconds: 601 },
  'process.killed': { process: 'api-1', host: 'ledgerbell-1', pid: 4711, silent_for_seconds: 30 },
};

const BALANCE = {
  account_id: 3,
  account: 'Ana Hesap',
  bank: 'Garanti BBVA',
  currency: 'TRY',
  balance: '150.00',
  date: '2026-09-20',
  source: 'statement',
  import_id: 9,
  statement_id: 4,
};

interface Format extends BodyFormat {
  event: WebhookSettings['event'];
  withdrawals: WebhookSettings['withdrawals'];
  previous?: string;
}

/** Builds a whole POST as the service does. */
function build(
  content: NotifiedMovement | NotifiedEvent,
  deliveryId: string,
  { at, ...webhook }: Format & { secret: string; at: number },
): Pick<PostRequest, 'headers' | 'body'> {
  const settings = openWebhookSettings({
    id: '17',
    customerId: '1',
    endpoint: 'https://books.example/in',
    apiSecret: API_SECRET,
    ...webhook,
  });
  const request = settings.request(content, deliveryId, at);
  // It has the version of the service, and would change with every release.
  const { 'user-agent': _, ...headers } = request.headers;
  return { headers, body: request.body };
}

/**
 * Makes all vectors.
 * @param now the receiver's clock: seconds since 1970.
 * @param secret `whsec_…`, which the receiver knows in most vectors.
 * @returns the vectors by the name of their file, without `.json`.
 */
export function createVectors({
  now = NOW,
  secret = inventSecret('current'),
} = {}): Record<string, Vector[]> {
  let last = 100;

  interface Case {
    encoding?: 'json' | 'form';
    hashEncoding?: 'hex' | 'raw';
    event?: WebhookSettings['event'];
    /** 1: the webhook lists WITHDRAWN_TRANSACTION too. */
    withdrawals?: WebhookSettings['withdrawals'];
    /** Of a delivery. Default: a new one. */
    id?: string;
    /** How old the request is, in seconds. */
    age?: number;
    signedBy?: { secret: string; previous?: string };
    secrets?: string[];
    apiSecret?: string;
    change?: (request: Pick<PostRequest, 'headers' | 'body'>) => { headers?: object; body?: string };
    reason?: string;
    kind?: 'withdrawal' | 'balance' | 'event' | 'unknown' | 'test';
  }

  function vector(name: string, content: NotifiedMovement | NotifiedEvent, given: Case = {}): Vector {
    const { encoding = 'json', hashEncoding = 'hex', event = 'NEW_TRANSACTION', age = 0 } = given;
    const { secrets = [secret], apiSecret, change, reason, kind = 'movement', withdrawals = 0 } = given;
    const number = String(++last);
    const movement = 'dc' in content ? { ...content, transaction_id: number } : null;
    const made = build(movement ?? content, given.id ?? `17-${number}`, {
      ...(given.signedBy ?? { secret }),
      encoding,
      hashEncoding,
      event,
      withdrawals,
      at: now - age,
    });
    const changed = { ...made, ...change?.(made) };
    const read =
      movement === null ? made.body : buildBody(movement, { encoding: 'json', hashEncoding }, API_SECRET);
    return {
      name,
      encoding,
      secrets,
      ...(apiSecret === undefined ? {} : { apiSecret }),
      now,
      headers: { ...made.headers, ...changed.headers },
      body: changed.body,
      expected: reason === undefined ? { ok: true, kind, content: JSON.parse(read) } : { ok: false, reason },
    };
  }

  const header = (name: string, value: string | ((sent: string) => string)) => ({
    change: ({ headers }: Pick<PostRequest, 'headers'>) => ({
      headers: { [name]: typeof value === 'string' ? value : value(headers[name] ?? '') },
    }),
  });
  const replace = (from: string, to: string) => ({
    change: ({ body }: { body: string }) => ({ body: body.replace(from, to) }),
  });
  const wrong = { reason: 'wrong-signature' };

  const signatures = (encoding: 'json' | 'form') => {
    const signed = (name: string, given: Case = {}) => vector(name, TURKISH, { ...given, encoding });
    const rotated = { signedBy: { secret, previous: FORMER } };
    return [
      signed('one secret'),
      signed('a rotation: the receiver knows the new secret', rotated),
      signed('a rotation: the receiver knows the former secret', { ...rotated, secrets: [FORMER] }),
      signed('a rotation: the receiver knows both secrets', { ...rotated, secrets: [FORMER, secret] }),
      signed('signed with the second of two secrets', { secrets: [FORMER, secret] }),
      signed('signed with the former secret, and the receiver knows the new one only', {
        signedBy: { secret: FORMER },
        ...wrong,
      }),
      signed(
        'a signature of another version before the right one',
        header('webhook-signature', (it) => `v1a,AAAA ${it}`),
      ),
      signed(
        'a wrong signature before the right one',
        header('webhook-signature', (it) => `v1,AAAA ${it}`),
      ),
      signed('300 s old', { age: 300 }),
      signed('301 s old', { age: 301, reason: 'timestamp-too-old' }),
      signed('300 s in the future', { age: -300 }),
      signed('301 s in the future', { age: -301, reason: 'timestamp-too-new' }),
      signed('an hour old', { age: 3_600, reason: 'timestamp-too-old' }),
      signed('an hour in the future', { age: -3_600, reason: 'timestamp-too-new' }),
      signed('a changed amount', { ...replace('1250', '9250'), ...wrong }),
      signed('a byte more', { change: ({ body }) => ({ body: `${body} ` }), ...wrong }),
      signed('an empty body', { change: () => ({ body: '' }), ...wrong }),
      signed('a changed id', { ...header('webhook-id', 'msg_17-99'), ...wrong }),
      signed('a changed time', { ...header('webhook-timestamp', String(now - 1)), ...wrong }),
      signed('a time that is no number', {
        ...header('webhook-timestamp', 'now'),
        reason: 'malformed-header',
      }),
      signed('text after the time', {
        ...header('webhook-timestamp', (it) => `${it}x`),
        reason: 'malformed-header',
      }),
      signed('the right signature as one of another version', {
        ...header('webhook-signature', (it) => it.replace('v1,', 'v2,')),
        ...wrong,
      }),
      signed('a part of the signature', {
        ...header('webhook-signature', (it) => it.slice(0, -4)),
        ...wrong,
      }),
      signed('a signature that is not base64', { ...header('webhook-signature', 'v1,%%%'), ...wrong }),
      ...['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
        signed(`an empty ${name}`, { ...header(name, ''), reason: 'missing-header' }),
      ),
    ];
  };

  const formats = (['json', 'form'] as const).flatMap((encoding) =>
    (['hex', 'raw'] as const).map((hashEncoding) => ({ encoding, hashEncoding })),
  );
  const hashes = formats.flatMap((format) => {
    const hashed = (name: string, content: NotifiedMovement, given: Case = {}) =>
      vector(`${name} (${format.encoding}, ${format.hashEncoding})`, content, {
        apiSecret: API_SECRET,
        ...format,
        ...given,
      });
    return [
      hashed('plain text', MOVEMENT),
      hashed('Turkish text', TURKISH),
      hashed('empty fields', EMPTY),
      hashed('three decimals', DINARS),
      hashed('a currency without decimals', YEN),
      hashed('another API secret', MOVEMENT, { apiSecret: 'another', reason: 'wrong-hash' }),
    ];
  });

  const eventOf = (type: string, data: object): NotifiedEvent => ({
    type,
    timestamp: AT,
    data: JSON.stringify(data),
  });
  const listed = { withdrawals: 1 };
  const withdrawn = { ...listed, kind: 'withdrawal' as const };
  const operational = { event: 'OPERATIONAL' as const };
  const events = [
    vector('a movement', MOVEMENT),
    vector('a movement with an extended body', {
      ...MOVEMENT,
      extended: { ...nothingSaid('EUR'), value_date: '2026-03-02', end_to_end_id: 'E-1', statement_id: 4 },
    }),
    vector('a balance', eventOf('balance.updated', BALANCE), { event: 'BALANCE_UPDATED', kind: 'balance' }),
    ...Object.entries(EVENTS).map(([type, data]) =>
      vector(type, eventOf(type, data), { ...operational, kind: 'event' }),
    ),
    vector('an event of a type that is not known', eventOf('planet.moved', { to: 'left' }), {
      ...operational,
      kind: 'unknown',
    }),
    vector('a test notification of a movement', MOVEMENT, { id: 'test_Ab-_0123456789zZ', kind: 'test' }),
    vector(
      'a test notification of an event',
      eventOf('webhook.test', { message: 'Ledgerbell test notification' }),
      {
        ...operational,
        id: 'test_Ab-_0123456789zY',
        kind: 'test',
      },
    ),
    vector('a movement for a webhook that lists withdrawals', MOVEMENT, listed),
    vector('a withdrawal', { ...MOVEMENT, withdraws: '101' }, withdrawn),
    vector(
      'a withdrawal for a webhook of nothing else',
      { ...MOVEMENT, withdraws: '102' },
      {
        ...withdrawn,
        event: 'WITHDRAWN_TRANSACTION',
      },
    ),
  ];

  return {
    'signatures-json': signatures('json'),
    'signatures-form': signatures('form'),
    hashes,
    forms: [
      vector('Turkish text and a plus', TURKISH, { encoding: 'form', apiSecret: API_SECRET }),
      vector('empty fields', EMPTY, { encoding: 'form', apiSecret: API_SECRET }),
      vector('a form that its header calls JSON', MOVEMENT, {
        encoding: 'form',
        ...header('content-type', 'application/json'),
      }),
      vector(
        'a withdrawal',
        { ...TURKISH, withdraws: '101' },
        {
          ...withdrawn,
          encoding: 'form',
          apiSecret: API_SECRET,
        },
      ),
    ],
    events,
  };
}

/** @returns the text of a file with these vectors. */
export const toFile = (vectors: readonly object[]): string => `${JSON.stringify(vectors, null, 2)}\n`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = new URL('../../packages/vectors/', import.meta.url);
  const files = { ...createVectors(), batches: batchVectors(), feed: createFeedVectors() };
  for (const [name, vectors] of Object.entries(files))
    await writeFile(new URL(`${name}.json`, folder), toFile(vectors));
}
