import { beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, useOwnService } from '../support/service.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useOwnService({ because: 'it renames a table', roles: ['api'] });
let key: string;
let customerId: string;
let webhookId: string;
let secrets: string[];

beforeAll(async () => {
  const made = await service.customer();
  key = made.api_key;
  customerId = made.customer.id;
  const webhook = await subscribe(service, key, 'http://127.0.0.1:9/hook?token=MARKER');
  webhookId = webhook.id;
  secrets = [key, made.api_secret, webhook.secret, 'MARKER'];
});

interface Event {
  id: string;
  customer_id: string;
  source: string;
  actor: string;
  action: string;
  subject: string;
  detail: string;
}

const readEvents = () => service.runtime.database.query<Event[]>('SELECT * FROM audit_events ORDER BY id');

/** Sends a request. @returns its answer, and what was recorded meanwhile. */
async function recordedBy(method: string, path: string, options: CallOptions = {}) {
  const before = (await readEvents()).length;
  const { status, body } = await service.call(method, path, { key, ...options });
  return { status, body, events: (await readEvents()).slice(before) };
}

describe('a change by an API key', () => {
  it('is recorded with the customer, the key and the action', async () => {
    const { events } = await recordedBy('POST', '/v1/webhooks', {
      body: {
        title: 'Depo',
        endpoint: 'http://127.0.0.1:9/x?token=MARKER',
        event: 'NEW_DEBIT',
        account: 'all',
      },
    });
    expect(events).toEqual([
      expect.objectContaining({
        customer_id: customerId,
        source: 'api',
        actor: `${key.slice(0, 9)}… First key`,
        action: 'create',
        subject: expect.stringMatching(/^webhook \d+$/),
        detail: 'NEW_DEBIT to 127.0.0.1:9',
      }),
    ]);
  });

  const CHANGES: [name: string, () => [method: string, path: string, body?: object], action: string][] = [
    [
      'a webhook',
      () => ['PATCH', `/v1/webhooks/${webhookId}`, { status: 'paused', headers: { 'x-key': 'MARKER' } }],
      'change',
    ],
    ['a secret', () => ['POST', `/v1/webhooks/${webhookId}/rotate-secret`], 'rotate secret'],
    [
      'a replay',
      () => ['POST', `/v1/webhooks/${webhookId}/replay`, { since: '2001-01-01 00:00:00' }],
      'replay',
    ],
    [
      'an account',
      () => ['POST', '/v1/accounts', { bank: 'Ziraat', title: 'Ana', currency: 'TRY' }],
      'create',
    ],
    ['an API key', () => ['POST', '/v1/apikeys', { title: 'Yeni', account: 'all' }], 'create'],
    ['the API secret', () => ['POST', '/v1/settings/api/rotate'], 'rotate API secret'],
  ];

  it.each(CHANGES)('is recorded for %s, without a secret', async (_name, request, action) => {
    const [method, path, body] = request();
    const {
      status,
      body: answer,
      events,
    } = await recordedBy(method, path, body === undefined ? {} : { body });
    expect(status).toBeLessThan(300);
    expect(events.map((event) => event.action)).toEqual([action]);
    const { webhook, apikey, api_secret } = answer;
    const all = [...secrets, webhook?.secret, apikey?.apikey, api_secret].filter((it) => it !== undefined);
    for (const secret of all) expect(JSON.stringify(events)).not.toContain(secret);
  });

  it('is recorded with the names of the changed fields, and the new status', async () => {
    const { events } = await recordedBy('PATCH', `/v1/webhooks/${webhookId}`, {
      body: { title: 'Başka', status: 'active' },
    });
    expect(events[0]?.detail).toBe('status: active, title');
  });

  it("is recorded when a key deletes itself, with the key's name", async () => {
    const { body } = await recordedBy('POST', '/v1/apikeys', { body: { title: 'Kısa', account: 'all' } });
    const { id, apikey } = body.apikey;
    const { events } = await recordedBy('DELETE', `/v1/apikeys/${id}`, { key: apikey });
    expect(events).toEqual([
      expect.objectContaining({
        actor: `${apikey.slice(0, 9)}… Kısa`,
        action: 'delete',
        subject: `API key ${id}`,
      }),
    ]);
  });

  it.each([
    ['a refused endpoint', () => ['PATCH', `/v1/webhooks/${webhookId}`, { endpoint: 'http://10.0.0.1/' }]],
    ['a webhook that does not exist', () => ['DELETE', '/v1/webhooks/999999']],
    [
      'a dry run',
      () => ['POST', `/v1/webhooks/${webhookId}/replay?dry_run=true`, { since: '2001-01-01 00:00:00' }],
    ],
    [
      'a bank that does not exist',
      () => ['POST', '/v1/accounts', { bank_id: 999, title: 'Ana', currency: 'TRY' }],
    ],
    ['a read', () => ['GET', `/v1/webhooks/${webhookId}`]],
  ] as [string, () => [string, string, object?]][])(
    'is not recorded when nothing changed: %s',
    async (_name, request) => {
      const [method, path, body] = request();
      expect((await recordedBy(method, path, body === undefined ? {} : { body })).events).toEqual([]);
    },
  );

  it('is not committed if its event cannot be recorded', async () => {
    const { database } = service.runtime;
    const title = async () =>
      (await service.call('GET', `/v1/webhooks/${webhookId}`, { key })).body.webhook.title;
    const before = await title();
    await database.query('RENAME TABLE audit_events TO audit_events_gone');
    try {
      const change = await service.call('PATCH', `/v1/webhooks/${webhookId}`, {
        key,
        body: { title: 'Olmaz' },
      });
      expect(change.status).toBe(500);
    } finally {
      await database.query('RENAME TABLE audit_events_gone TO audit_events');
    }
    expect(await title()).toBe(before);
  });
});
