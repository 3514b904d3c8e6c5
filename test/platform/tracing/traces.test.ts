import { randomBytes } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { type CollectedSpan, useCollector } from '../../support/collector.ts';
import { createAccount, importDone, importMovements, movement } from '../../support/movements.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useOwnService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { subscribe } from '../../support/webhooks.ts';

// Read by the SDK: otherwise it collects spans for five seconds.
vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '50');

const collector = useCollector();
const receiver = useReceiver();
const service = useOwnService({
  because: 'TRACES',
  config: {
    get traces() {
      return { url: `${collector.url}/v1/traces`, headers: { 'x-token': 'collector token' } };
    },
  },
});

const hex = (bytes: number) => randomBytes(bytes).toString('hex');
const find = (traceId: string, name: string): CollectedSpan[] =>
  collector.spans.filter((span) => span.traceId === traceId && span.name === name);
const attributesOf = (spans: readonly CollectedSpan[], name: string) =>
  spans.map(({ attributes }) => attributes[name]);
const traceparentOf = ({ traceId, spanId }: CollectedSpan) => `00-${traceId}-${spanId}-01`;

async function newCustomer() {
  const { api_key: key, customer } = await service.customer();
  return { key, customerId: Number(customer.id), accountId: (await createAccount(service, key)).id };
}

/** Sends one movement as NDJSON, which the importer stores. */
async function importStaged(key: string, accountId: string, traceparent?: string): Promise<number> {
  const { body } = await service.call('POST', '/v1/imports', {
    key,
    body: JSON.stringify(movement(accountId, { description: 'kira geliri' })),
    type: 'application/x-ndjson',
    headers: traceparent === undefined ? {} : { traceparent },
  });
  await importDone(service, key, body.import.id);
  return body.import.id;
}

/** The spans of the POSTs in a trace, the earliest first, once there are so many. */
const postsIn = (traceId: string, count: number) =>
  until(`${count} POSTs in trace ${traceId}`, () => {
    const posts = find(traceId, 'POST');
    return posts.length >= count && posts;
  });

/** The trace of the import with this id. */
const traceOf = async (importId: number): Promise<string> => {
  const [span] = await until(`a span for import ${importId}`, () => {
    const found = collector.spans.filter(({ attributes }) => attributes['ledgerbell.import.id'] === importId);
    return found.length > 0 && found;
  });
  return span?.traceId ?? '';
};

describe('a trace', () => {
  it('leads from the request through the importer to each attempt of each webhook', async () => {
    const { key, customerId, accountId } = await newCustomer();
    const working = await subscribe(service, key, `${receiver.url}/works?token=gizli`);
    const failing = await subscribe(service, key, `${receiver.url}/fails`, { headers: { 'x-api': 'gizli' } });
    let calls = 0;
    receiver.answer('/fails', (_, response) => {
      calls += 1;
      response.writeHead(calls === 1 ? 500 : 200).end('an answer');
    });
    const [traceId, clientSpan] = [hex(16), hex(8)];
    const importId = await importStaged(key, accountId, `00-${traceId}-${clientSpan}-01`);
    const posts = await postsIn(traceId, 3);

    const [request] = await until('the span of the request', () => {
      const found = find(traceId, 'POST /v1/imports');
      return found.length === 1 && found;
    });
    expect(request).toMatchObject({ kind: 'server', parentSpanId: clientSpan, failed: false });
    expect(request?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/imports',
      'http.response.status_code': 202,
      'url.path': '/v1/imports',
      'ledgerbell.customer.id': customerId,
      'ledgerbell.import.id': importId,
    });
    const [job] = find(traceId, 'process imports');
    expect(job).toMatchObject({ kind: 'consumer', parentSpanId: request?.spanId, failed: false });
    expect(job?.attributes).toMatchObject({
      'messaging.operation.type': 'process',
      'ledgerbell.import.id': importId,
    });

    expect(posts.map(({ kind, parentSpanId }) => [kind, parentSpanId])).toEqual(
      Array(3).fill(['client', request?.spanId]),
    );
    const of = ({ id }: { id: string }) =>
      posts
        .filter(({ attributes }) => attributes['ledgerbell.webhook.id'] === Number(id))
        .toSorted(
          (a, b) =>
            Number(a.attributes['ledgerbell.delivery.attempt']) -
            Number(b.attributes['ledgerbell.delivery.attempt']),
        );
    expect(attributesOf(of(working), 'http.response.status_code')).toEqual([200]);
    expect(attributesOf(of(failing), 'ledgerbell.delivery.attempt')).toEqual([1, 2]);
    expect(attributesOf(of(failing), 'http.request.resend_count')).toEqual([undefined, 1]);
    expect(attributesOf(of(failing), 'http.response.status_code')).toEqual([500, 200]);
    expect(attributesOf(of(failing), 'error.type')).toEqual(['500', undefined]);
    expect(of(failing).map(({ failed }) => failed)).toEqual([true, false]);

    // Each receiver was sent the span of its own attempt.
    const received = (path: string) => receiver.at(path).map(({ headers }) => headers.traceparent);
    expect(received('/works?token=gizli')).toEqual(of(working).map(traceparentOf));
    expect(received('/fails')).toEqual(of(failing).map(traceparentOf));
  });

  it('is sent to the configured collector, with the configured headers and service name', async () => {
    const { key } = await newCustomer();
    await service.call('GET', '/v1/accounts', { key });
    const [span] = await until('a span', () => collector.spans.length > 0 && collector.spans);
    expect(collector.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'x-token': 'collector token' },
    });
    expect(span?.resource).toMatchObject({
      'service.name': 'ledgerbell',
      'service.version': expect.any(String),
    });
  });

  it('holds no secret, no body, and no path or query of an endpoint', async () => {
    const { key, accountId } = await newCustomer();
    const { secret } = await subscribe(service, key, `${receiver.url}/yol?token=gizli`, {
      headers: { 'x-api': 'anahtar' },
    });
    const importId = await importStaged(key, accountId);
    await postsIn(await traceOf(importId), 1);
    const sent = collector.requests.map(({ body }) => body).join('');
    for (const secretText of [key, secret, 'yol', 'gizli', 'anahtar', 'kira geliri', 'TR3300']) {
      expect(sent).not.toContain(secretText);
    }
  });

  it('begins at the request when the client sends no traceparent, also for an import that the API stores inline', async () => {
    const { key, accountId } = await newCustomer();
    await subscribe(service, key, `${receiver.url}/inline`);
    const { id } = await importMovements(service, key, [movement(accountId), movement(accountId)]);
    const traceId = await traceOf(id);
    const posts = await postsIn(traceId, 2);
    const [request] = await until('the request', () => {
      const found = find(traceId, 'POST /v1/imports');
      return found.length > 0 && found;
    });
    expect(request?.parentSpanId).toBe('');
    expect(posts.map(({ parentSpanId }) => parentSpanId)).toEqual([request?.spanId, request?.spanId]);
    expect(find(traceId, 'process imports')).toEqual([]);
  });

  it.each(['nothing of the kind', `00-${'0'.repeat(32)}-${hex(8)}-01`])(
    'begins anew for the invalid traceparent %j',
    async (traceparent) => {
      const { key, accountId } = await newCustomer();
      const importId = await importStaged(key, accountId, traceparent);
      const [request] = find(await traceOf(importId), 'POST /v1/imports');
      expect(request?.parentSpanId ?? '').toBe('');
    },
  );

  it('that the client does not sample is not sent, and the receiver is told so', async () => {
    const { key, accountId } = await newCustomer();
    await subscribe(service, key, `${receiver.url}/unsampled`);
    const traceId = hex(16);
    await importStaged(key, accountId, `00-${traceId}-${hex(8)}-00`);
    const [post] = await until(
      'the POST',
      () => receiver.at('/unsampled').length > 0 && receiver.at('/unsampled'),
    );
    expect(post?.headers.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    // Later spans are sent, and no span of this trace was sent before them.
    const { key: later } = await newCustomer();
    const count = collector.spans.length;
    await service.call('GET', '/v1/accounts', { key: later });
    await until('a later span', () => collector.spans.length > count);
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });

  it('begins at the attempt when the import was accepted while traces were off', async () => {
    const { key, accountId } = await newCustomer();
    const { id: webhookId } = await subscribe(service, key, `${receiver.url}/before`);
    await service.call('PATCH', `/v1/webhooks/${webhookId}`, { key, body: { status: 'paused' } });
    const importId = await importStaged(key, accountId);
    await service.runtime.database.query('UPDATE imports SET traceparent = NULL WHERE id = ?', [importId]);
    await service.call('PATCH', `/v1/webhooks/${webhookId}`, { key, body: { status: 'active' } });
    const post = await until('the attempt', () =>
      collector.spans.find(
        ({ name, attributes }) =>
          name === 'POST' && attributes['ledgerbell.webhook.id'] === Number(webhookId),
      ),
    );
    expect(post.parentSpanId).toBe('');
    expect(receiver.at('/before')[0]?.headers.traceparent).toBe(traceparentOf(post));
  });
});
