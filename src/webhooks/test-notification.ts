import * as v from 'valibot';
import { postTraced } from '../deliveries/posting/attempt-traces.ts';
import { type Answer, createPoster } from '../deliveries/posting/post.ts';
import { buildSample } from '../deliveries/posting/sample.ts';
import type { AddressGuard } from '../platform/addresses/address-guard.ts';
import type { Webhook } from '../platform/database/entities/webhook.ts';
import { notFound } from '../platform/problems/problem.ts';
import type { Runtime } from '../platform/runtime.ts';
import { Count } from '../platform/validation.ts';

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

/** Tells a subscriber only what to correct. The reason of a failed connection would help to scan ports. */
function viewAnswer({ status, error, refused }: Answer): v.InferOutput<typeof TestView> {
  if (error === null) return { status_code: status, error };
  if (refused) return { status_code: null, error: 'address not allowed' };
  return { status_code: status, error: status === null ? 'no answer' : 'incomplete answer' };
}

/**
 * Sends a test notification, and waits for the answer.
 * @param traceparent of the request that asks for it.
 * @throws {Problem} 404 when the webhook does not exist any more.
 */
export async function sendTestNotification(
  { database, secrets, tracing }: Pick<Runtime, 'database' | 'secrets' | 'tracing'>,
  guard: AddressGuard,
  { id, event }: Pick<Webhook, 'id' | 'event'>,
  traceparent: string | undefined,
): Promise<v.InferOutput<typeof TestView>> {
  const request = await buildSample(database, secrets, { webhookId: id, event, now: new Date() });
  if (request === null) throw notFound('webhook');
  // A poster for this POST alone, because its connection is not used again.
  const poster = createPoster({ guard });
  try {
    const attributes = { 'ledgerbell.webhook.id': Number(id) };
    return viewAnswer(
      tracing === undefined
        ? await poster.post(request)
        : await postTraced(tracing, poster, request, { parent: traceparent, attributes }),
    );
  } finally {
    await poster.close();
  }
}
