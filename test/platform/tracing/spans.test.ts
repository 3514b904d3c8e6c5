import { randomBytes } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { mt940 } from '../../intake/statement-files.ts';
import { createFolderCustomer, useSourcesDir } from '../../sources/folder-source.ts';
import { type CollectedSpan, useCollector } from '../../support/collector.ts';
import { createAccount, importMovements, movement } from '../../support/movements.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useOwnService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { subscribe } from '../../support/webhooks.ts';

// Read by the SDK: otherwise it collects spans for five seconds.
vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '50');

const collector = useCollector();
const receiver = useReceiver();
const sourcesDir = useSourcesDir();
const service = useOwnService({
  because: 'TRACES',
  config: {
    sourcesDir,
    get traces() {
      return { url: `${collector.url}/v1/traces`, headers: {} };
    },
  },
});

const traceparentOf = ({ traceId, spanId }: CollectedSpan) => `00-${traceId}-${spanId}-01`;

async function newCustomer() {
  const { api_key: key } = await service.customer();
  return { key, accountId: (await createAccount(service, key)).id };
}

/** Waits for a span with this name and attribute. */
const spanWith = (name: string, attribute: string, value: unknown) =>
  until(`a span ${name} with ${attribute} ${value}`, () =>
    collector.spans.find((span) => span.name === name && span.attributes[attribute] === value),
  );

describe('a span', () => {
  it('of a request has the name of its route, and a request without an API key has no span', async () => {
    const { key } = await newCustomer();
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${'5'.repeat(16)}-01` };
    await service.call('GET', '/v1/accounts', { headers });
    await service.call('GET', '/v1/imports/4711?x=gizli', { key, headers });
    await service.call('GET', '/v1/nowhere', { key, headers });
    await service.call('GET', '/v1/accounts', { key, headers });
    const spans = await until('three spans', () => {
      const found = collector.spans.filter((span) => span.traceId === traceId);
      return found.length >= 3 && found;
    });
    expect(
      spans.map(({ name, attributes, failed }) => [name, attributes['http.response.status_code'], failed]),
    ).toEqual([
      ['GET /v1/imports/:id', 422, false],
      ['GET', 404, false],
      ['GET /v1/accounts', 200, false],
    ]);
  });

  it('of a test notification is a child of its request', async () => {
    const { key } = await newCustomer();
    const { id } = await subscribe(service, key, `${receiver.url}/sample`);
    await service.call('POST', `/v1/webhooks/${id}/test`, { key });
    const post = await spanWith('POST', 'ledgerbell.webhook.id', Number(id));
    expect(receiver.at('/sample')[0]?.headers.traceparent).toBe(traceparentOf(post));
    const request = await spanWith('POST /v1/webhooks/:id/test', 'url.path', `/v1/webhooks/${id}/test`);
    expect([post.parentSpanId, post.traceId]).toEqual([request.spanId, request.traceId]);
  });

  it('of an attempt without an answer has the error code', async () => {
    const { key, accountId } = await newCustomer();
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/');
    await importMovements(service, key, [movement(accountId)]);
    const post = await spanWith('POST', 'ledgerbell.webhook.id', Number(id));
    expect(post).toMatchObject({ failed: true, message: expect.stringContaining('ECONNREFUSED') });
    expect(post.attributes).toMatchObject({
      'error.type': 'ECONNREFUSED',
      'server.address': '127.0.0.1',
      'server.port': 9,
    });
    expect(post.attributes).not.toHaveProperty('http.response.status_code');
  });

  it('of a file that a source collects is the root of the trace of its import', async () => {
    const customer = await createFolderCustomer(service, sourcesDir);
    const { id: webhookId } = await subscribe(service, customer.key, `${receiver.url}/collected`);
    const id = await customer.createSource();
    await customer.drop('march.sta', mt940([{ day: 2, amount: 150, reference: 'A1' }]));
    await customer.run(id);
    const file = await spanWith('collect file', 'ledgerbell.source.id', Number(id));
    expect(file).toMatchObject({ kind: 'internal', parentSpanId: '', failed: false });
    const importId = file.attributes['ledgerbell.import.id'];
    const job = await spanWith('process imports', 'ledgerbell.import.id', importId);
    const post = await spanWith('POST', 'ledgerbell.webhook.id', Number(webhookId));
    for (const { parentSpanId, traceId } of [job, post])
      expect([parentSpanId, traceId]).toEqual([file.spanId, file.traceId]);
  });
});
