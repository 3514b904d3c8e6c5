import { expect, it } from 'vitest';
import { useService } from '../support/service.ts';
import { createSubscriber, NOWHERE, setCursor } from '../support/subscriber.ts';

// Nothing is sent, because no process has the role delivery.
const service = useService({ roles: ['api'] });

const CLOSED = 'recovery_successes = NULL';
/** As while a delivery run sends. */
const SENDING = 'lease_until = NOW(6) + INTERVAL 10 SECOND';
const RETRY = `
  INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
  SELECT ?, ?, customer_id, NOW(6) + INTERVAL 90 MINUTE, 6, 6 FROM webhooks WHERE id = ?`;

/** The paragraph on the page of a webhook that has three pending deliveries. */
async function explanation({
  fields = {},
  cursor = CLOSED,
  retry = false,
  change = {},
}: {
  fields?: object;
  cursor?: string;
  retry?: boolean;
  change?: object;
}) {
  const { key, webhook, store } = await createSubscriber(service, NOWHERE, fields);
  const ids = await store(3);
  await service.runtime.database.query('UPDATE transactions SET date_readed = NOW(6) WHERE id IN (?)', [ids]);
  if (Object.keys(change).length > 0)
    await service.call('PATCH', `/v1/webhooks/${webhook.id}`, { key, body: change });
  await setCursor(service, webhook.id, cursor.replaceAll('LAST', ids.at(-1) ?? ''));
  if (retry) await service.runtime.database.query(RETRY, [webhook.id, ids[0], webhook.id]);
  const { body } = await service.callOps('GET', `/ops/webhooks/${webhook.id}`, {
    headers: { Accept: 'text/html' },
  });
  return /<p class="lead">(.*?)<\/p>/s.exec(body)?.[1] ?? '';
}

it.each([
  [
    'its circuit is open',
    { cursor: 'circuit_open_until = NOW(6) + INTERVAL 305 SECOND' },
    /Its endpoint answers\. 3 deliveries are pending\. Its circuit is open\. The next attempt is in (5 min( \d s)?|4 min 5\d s)\.$/,
  ],
  [
    'its endpoint fails, and its circuit is open',
    {
      cursor: `failing_since = NOW(6) - INTERVAL 1 HOUR, consecutive_failures = 7, last_error = 'answered 500',
        circuit_open_until = NOW(6) + INTERVAL 1 HOUR`,
    },
    /webhook \d+ .* has been failing for 1 h, 7 times in a row, 3 deliveries pending\. The next attempt is in .*\. Last error: answered 500\. Tell its owner\. Once the endpoint answers, everything is sent, each delivery at its next attempt\.$/,
  ],
  ['it is paused', { change: { status: 'paused' } }, /^Its owner has paused it\. 3 deliveries are pending/],
  [
    'it is ordered, and waits for a retry',
    { fields: { ordered: true }, retry: true },
    /It is ordered: everything waits for the retry of its oldest delivery, which is due in 1 h (30|29) min\.$/,
  ],
  [
    'all deliveries wait for retries',
    { cursor: `${CLOSED}, sent_through = LAST, highest_recorded_id = LAST`, retry: true },
    /They wait for retries\. The next one is due in 1 h (30|29) min\.$/,
  ],
  ['no process has begun to send them', {}, /They are due, and wait for their turn in a delivery process\.$/],
  [
    'it has a rate limit',
    { fields: { rate_limit: 5 }, cursor: `${CLOSED}, ${SENDING}` },
    /They are being sent now, at most 5 per second, which is its rate limit\.$/,
  ],
  [
    'it is ordered',
    { fields: { ordered: true }, cursor: `${CLOSED}, ${SENDING}` },
    /They are being sent now, one at a time, because it is ordered\.$/,
  ],
  [
    'its endpoint is new',
    { cursor: SENDING },
    /They are being sent now, few at a time, because its endpoint is new or has just recovered\.$/,
  ],
  [
    'many are being sent',
    { fields: { max_in_flight: 4 }, cursor: `${CLOSED}, ${SENDING}` },
    /They are being sent now, up to 4 at a time\.$/,
  ],
  [
    'it is sent batches',
    { fields: { max_in_flight: 4, batch: { max: 500 } }, cursor: `${CLOSED}, ${SENDING}` },
    /They are being sent now, in batches of up to 500, up to 4 at a time\.$/,
  ],
])('the page of a webhook explains why its deliveries are pending: %s', async (_, webhook, expected) => {
  expect(await explanation(webhook)).toMatch(expected);
});

it('the page of a webhook explains nothing when no delivery is pending', async () => {
  const { webhook } = await createSubscriber(service);
  const { body } = await service.callOps('GET', `/ops/webhooks/${webhook.id}`, {
    headers: { Accept: 'text/html' },
  });
  expect(body).toContain('<p class="lead">Its endpoint answers. 0 deliveries are pending.</p>');
});
