import * as v from 'valibot';
import type { Runtime } from '../database/runtime.ts';
import type { Webhook } from '../database/webhook.ts';
import type { AddressGuard } from '../platform/address-guard.ts';
import { notFound } from '../platform/problem.ts';
import { Count } from '../platform/validation.ts';
import { postTraced } from './posting/attempt-traces.ts';
import { type Answer, createPoster } from './posting/post.ts';
import { buildSample } from './posting/sample.ts';

/** The result of a test notification. */
export const TestView = v.object({
  status_code: v.pipe(v.nullable(Count), v.description('The status that the endpoint answered with.')),
  error: v.pipe(
    v.nullable(v.picklist(['address not allowed', 'no answer', 'incomplete answer'])),
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

/**
 * Sends a test notification, and waits for the answer.
 * @param asking `isOperator`: whether an operator asks, who also gets the reason of a failure. `traceparent`: of the request.
 * @throws {Problem} 404 when the webhook does not exist any more.
 */
export async function sendTestNotification(
  { database, secrets, tracing }: Pick<Runtime, 'database' | 'secrets' | 'tracing'>,
  guard: AddressGuard,
  { id, event }: Pick<Webhook, 'id' | 'event'>,
  { isOperator, traceparent }: { isOperator: boolean; traceparent: string | undefined },
): Promise<TestResult> {
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
