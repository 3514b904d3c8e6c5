import * as v from 'valibot';
import type { Runtime } from '../database/runtime.ts';
import type { SecretBox } from '../database/secret-box.ts';
import type { Sql } from '../database/transaction.ts';
import { isOfEvents } from '../database/webhook-enums.ts';
import type { AddressGuard } from '../platform/address-guard.ts';
import { notFound } from '../platform/problem.ts';
import { Count, withExample } from '../platform/validation.ts';
import type { WebhookSettings } from '../webhook-record/record.ts';
import { type DeliveryKey, formatBatchId, formatDeliveryId } from './delivery-id.ts';
import { extend, MOVEMENT_COLUMNS } from './engine/logged-movement.ts';
import { readWithdrawalsById } from './engine/withdrawals.ts';
import { postTraced } from './posting/attempt-traces.ts';
import { createPoster } from './posting/post.ts';
import { openSettings } from './posting/request.ts';
import { buildSample } from './posting/sample.ts';
import type { Answer } from './posting/types.ts';
import type { NotifiedEvent, NotifiedMovement } from './run/types.ts';
import { wakeChangedWebhook } from './wake.ts';
import { readStates } from './webhook-state.ts';

/** Rebuilds the POST of a delivery, to show it to an operator. */

const MASK = '•••';

/** Indexes: the primary keys, and withdrawn_transactions_id. */
const READ_MOVEMENT = (table: 'transactions' | 'withdrawn_transactions') => `
  SELECT ${MOVEMENT_COLUMNS}
  FROM ${table} t JOIN accounts a ON a.id = t.account_id JOIN banks b ON b.id = a.bank_id WHERE t.id = ?`;

/** Index: the primary key. */
const READ_EVENT = `
  SELECT e.type, e.data, DATE_FORMAT(e.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS timestamp FROM operational_events e WHERE e.id = ?`;

/** Headers whose values are shown. The values of all other headers are masked, because they may be credentials. */
const SHOWN = [
  'content-type',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
  'ledgerbell-transaction-id',
  'ledgerbell-date-issue',
  'ledgerbell-event',
  'ledgerbell-customer',
  'ledgerbell-external-id',
];

export interface SentRequest {
  url: string;
  headers: [name: string, value: string][];
  body: string;
  /** Whether it is a batch. The body then has only the event of the delivery, without those beside it. */
  isBatch: boolean;
}

/** The last attempt of a delivery. */
interface LastAttempt {
  startedAt: Date;
  /** The first delivery of its batch. null: it was sent alone. */
  batchFirst: string | null;
}

/**
 * Rebuilds the POST of a delivery from the movement or event and the webhook's settings. Masks the values of custom headers, the
 * signature and the hash.
 * @param last null: the delivery was never attempted. The request is then one that is sent now.
 * @returns null when the movement, the event or the webhook does not exist any more.
 */
export async function rebuildRequest(
  sql: Sql,
  secrets: SecretBox,
  key: DeliveryKey,
  last: LastAttempt | null,
): Promise<SentRequest | null> {
  const [state] = await readStates(sql, [key.webhookId]);
  // The events of a feed have no POST.
  if (state == null || state.settings.delivery === 'pull') return null;
  const { subjectId } = key;
  const [found] = isOfEvents(state.settings.event)
    ? await sql.query<NotifiedEvent[]>(READ_EVENT, [subjectId])
    : [
        ...(await sql.query<NotifiedMovement[]>(READ_MOVEMENT('transactions'), [subjectId])),
        ...(await sql.query<NotifiedMovement[]>(READ_MOVEMENT('withdrawn_transactions'), [subjectId])),
        ...(await readWithdrawalsById(sql, [subjectId])),
      ];
  if (found === undefined) return null;
  const [sent = found] =
    state.settings.body === 'extended' && 'transaction_id' in found ? await extend(sql, [found]) : [];
  const settings = openSettings(state.settings, secrets);
  const startedAt = (last?.startedAt ?? new Date()).getTime();
  const timestamp = Math.floor(startedAt / 1_000);
  const wasBatch = last === null ? settings.batch !== null : last.batchFirst !== null;
  // A form fits into no batch. The webhook has been changed then.
  const isBatch = wasBatch && state.settings.encoding === 'json';
  const first = last?.batchFirst ?? key.subjectId;
  const id = formatDeliveryId(key);
  const { origin, path, headers, body } = isBatch
    ? settings.batchRequest(
        [{ id, content: sent }],
        formatBatchId({ webhookId: key.webhookId, first, startedAt }),
        timestamp,
      )
    : settings.request(sent, id, timestamp);
  return {
    isBatch,
    url: `${origin}${path}`,
    headers: Object.entries(headers).map(([name, value]) => [
      name,
      SHOWN.includes(name) ? String(value) : MASK,
    ]),
    // In both encodings, no other value can contain the name of the hash with an unescaped quote or ampersand.
    body: body.replace(/("hash":"|&hash=)[^"&]+/, `$1${MASK}`),
  };
}

/** The result of a test notification. */
export const TestView = v.object({
  status_code: v.pipe(
    v.nullable(Count),
    v.description(
      'The status that the endpoint answered with. null, beside an error of null: the feed has the sample.',
    ),
  ),
  error: v.pipe(
    withExample(
      v.nullable(v.picklist(['address not allowed', 'no answer', 'incomplete answer'])),
      'no answer',
    ),
    v.description(
      'null: the answer is complete. "no answer": no connection, no TLS session, or no status within 15 seconds.',
    ),
  ),
});

/** For an operator, with the reason why there is no complete answer. */
type TestResult = v.InferOutput<typeof TestView> & { reason?: string };

/** Tells a subscriber only what to correct. The reason of a failed connection would help to scan ports, so only operators get it. */
function viewAnswer({ status, error, refused }: Answer, isOperator: boolean): TestResult {
  if (error === null) return { status_code: status, error };
  const reason = isOperator ? { reason: error } : {};
  if (refused) return { status_code: null, error: 'address not allowed', ...reason };
  return { status_code: status, error: status === null ? 'no answer' : 'incomplete answer', ...reason };
}

/** Index: the primary key. */
const REQUEST_SAMPLE = 'UPDATE webhook_cursors SET feed_sample_at = NOW(6) WHERE webhook_id = ?';

/**
 * Sends a test notification, and waits for the answer. Puts it into the next answer of a feed.
 * @param asking `isOperator`: whether an operator asks, who also gets the reason of a failure. `traceparent`: of the request.
 * @throws {Problem} 404 when the webhook does not exist any more.
 */
export async function sendTestNotification(
  runtime: Pick<Runtime, 'database' | 'secrets' | 'tracing' | 'queues' | 'redis' | 'prefix' | 'log'>,
  guard: AddressGuard,
  { id, event, delivery }: Pick<WebhookSettings, 'id' | 'event' | 'delivery'>,
  { isOperator, traceparent }: { isOperator: boolean; traceparent: string | undefined },
): Promise<TestResult> {
  const { database, secrets, tracing } = runtime;
  if (delivery === 'pull') {
    await database.query(REQUEST_SAMPLE, [id]);
    await wakeChangedWebhook(runtime, id);
    return { status_code: null, error: null };
  }
  const request = await buildSample(database, secrets, { webhookId: id, event, now: new Date() });
  if (request === null) throw notFound('webhook');
  // A poster for this POST alone, because its connection is not used again.
  const poster = createPoster({ guard });
  try {
    const attributes = { 'ledgerbell.webhook.id': Number(id) };
    const answer =
      tracing === undefined
        ? await poster.post(request)
        : await postTraced(tracing, poster, request, { parent: traceparent, attributes });
    return viewAnswer(answer, isOperator);
  } finally {
    await poster.close();
  }
}
