import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer', 'delivery'] });
const receiver = useReceiver();

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Shown {
  id: string;
  transaction_id: string;
  status: string;
}

/** Follows Link to the last page. @returns the pages. */
async function readPages(key: string, path: string): Promise<Shown[][]> {
  const pages: Shown[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { status, body, headers } = await service.call('GET', next, { key });
    expect({ status, body }).toMatchObject({ status: 200, body: { deliveries: expect.any(Array) } });
    pages.push(body.deliveries);
    next = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  }
  return pages;
}

/** A customer with an account, a webhook on a path of its own and one movement owed to it. */
async function owed(path: string) {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key);
  const { id } = await subscribe(service, key, receiver.url + path);
  await importMovements(service, key, [movement(account.id)]);
  const [delivery] = await deliveriesOf(service, id);
  return { key, account: account.id, webhook: id, delivery: delivery?.id ?? '' };
}

const ended = (webhookId: string, status: string) =>
  until(status, async () => (await deliveriesOf(service, webhookId)).every((row) => row.status === status));

describe('the deliveries of a webhook', () => {
  let key: string;
  let webhook: string;

  beforeAll(async () => {
    const customer = await service.customer();
    key = customer.api_key;
    const account = await createAccount(service, key);
    webhook = (await subscribe(service, key, 'http://127.0.0.1:9/')).id;
    await service.call('PATCH', `/v1/webhooks/${webhook}`, { key, body: { status: 'paused' } });
    await importMovements(
      service,
      key,
      Array.from({ length: 250 }, (_, i) => movement(account.id, { unique_id: `u${i}` })),
    );
    const { database } = service.runtime;
    await database.query(
      "UPDATE deliveries SET status = 'failed', due_at = NULL, finished_at = NOW(6) WHERE webhook_id = ? AND id % 2 = 0",
      [webhook],
    );
  });

  const all = (status?: string) =>
    readPages(key, `/v1/webhooks/${webhook}/deliveries${status === undefined ? '' : `?status=${status}`}`);

  it('come a hundred a page, each once, in the order of the movements', async () => {
    const pages = await all();
    expect(pages.map(({ length }) => length)).toEqual([100, 100, 50]);
    const ids = pages.flat().map(({ transaction_id }) => Number(transaction_id));
    expect(new Set(ids).size).toBe(250);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });

  it.each(['pending', 'failed'])('of the status %s are listed alone', async (status) => {
    const pages = await all(status);
    expect(pages.map(({ length }) => length)).toEqual([100, 25]);
    expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(125);
    expect(new Set(pages.flat().map((it) => it.status))).toEqual(new Set([status]));
  });

  it.each(['delivered', 'cancelled'])('of the status %s are none', async (status) => {
    expect(await all(status)).toEqual([[]]);
  });

  it('have dates in ISO 8601: one that was never tried has been due since it came to be owed', async () => {
    const [[pending], [failed]] = [(await all('pending'))[0] ?? [], (await all('failed'))[0] ?? []];
    const shown = {
      id: expect.stringMatching(/^\d+$/),
      webhook_id: webhook,
      transaction_id: expect.stringMatching(/^\d+$/),
      attempts: 0,
      created_at: expect.stringMatching(ISO),
    };
    expect(pending).toEqual({
      ...shown,
      status: 'pending',
      due_at: expect.stringMatching(ISO),
      finished_at: null,
    });
    expect(pending).toMatchObject({ due_at: (pending as unknown as { created_at: string }).created_at });
    expect(failed).toEqual({
      ...shown,
      status: 'failed',
      due_at: null,
      finished_at: expect.stringMatching(ISO),
    });
  });

  it('refuse a status there is not, an unknown parameter, and a cursor of another listing', async () => {
    const path = `/v1/webhooks/${webhook}/deliveries`;
    const pathOf = async (query: string) =>
      expectProblem(await service.call('GET', `${path}?${query}`, { key }), 422);
    expect(await pathOf('status=done')).toEqual(['status']);
    expect(await pathOf('page=2')).toEqual(['page']);
    expect(await pathOf('cursor=dDE6MQ')).toEqual(['cursor']);
    const { headers } = await service.call('GET', `${path}?status=failed`, { key });
    const cursor = /cursor=(\w+)/.exec(headers.get('link') ?? '')?.[1];
    expect(cursor).toBeDefined();
    expect(await pathOf(`cursor=${cursor}`)).toEqual(['cursor']);
  });
});

describe('GET /v1/deliveries/:id', () => {
  it('shows every attempt with what the endpoint answered', async () => {
    receiver.answer('/log', (_, response) => response.writeHead(400).end('no such book'));
    const { key, webhook, delivery } = await owed('/log');
    await until('an attempt', async () => (await deliveriesOf(service, webhook))[0]?.attempts === 1);
    const { status, body } = await service.call('GET', `/v1/deliveries/${delivery}`, { key });
    expect(status).toBe(200);
    expect(body.delivery).toEqual({
      id: delivery,
      webhook_id: webhook,
      transaction_id: expect.stringMatching(/^\d+$/),
      status: 'pending',
      attempts: 1,
      due_at: expect.stringMatching(ISO),
      created_at: expect.stringMatching(ISO),
      finished_at: null,
      log: [
        {
          number: 1,
          outcome: 'failed',
          status_code: 400,
          started_at: expect.stringMatching(ISO),
          duration_ms: expect.any(Number),
          error: null,
          response: 'no such book',
        },
      ],
    });
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    const later = await service.call('GET', `/v1/deliveries/${delivery}`, { key });
    expect(later.body.delivery).toMatchObject({ status: 'cancelled', log: body.delivery.log });
  });

  it.each(['999999', '0', 'abc', '99999999999999999999'])('of %s is 404', async (id) => {
    const { api_key: key } = await service.customer();
    expectProblem(await service.call('GET', `/v1/deliveries/${id}`, { key }), 404);
    expectProblem(await service.call('POST', `/v1/deliveries/${id}/redeliver`, { key }), 404);
  });
});

describe('POST /v1/deliveries/:id/redeliver', () => {
  const redeliver = (key: string, id: string) =>
    service.call('POST', `/v1/deliveries/${id}/redeliver`, { key });

  it('sends one again that was delivered, with the same webhook-id', async () => {
    const { key, webhook, delivery } = await owed('/again');
    await ended(webhook, 'delivered');
    const { status, body } = await redeliver(key, delivery);
    expect([status, body.delivery]).toEqual([
      202,
      expect.objectContaining({ id: delivery, status: 'pending', attempts: 1, finished_at: null }),
    ]);
    await until('two attempts', async () => (await deliveriesOf(service, webhook))[0]?.attempts === 2);
    await ended(webhook, 'delivered');
    expect(receiver.at('/again').map(({ headers }) => headers['webhook-id'])).toEqual([
      `msg_${delivery}`,
      `msg_${delivery}`,
    ]);
  });

  it('sends one now that waits for its next attempt', async () => {
    receiver.answer('/later', (_, response) => response.writeHead(400).end());
    const { key, webhook, delivery } = await owed('/later');
    await until('an attempt', async () => (await deliveriesOf(service, webhook))[0]?.attempts === 1);
    await service.runtime.database.query(
      'UPDATE deliveries SET due_at = NOW(6) + INTERVAL 1 DAY WHERE id = ?',
      [delivery],
    );
    receiver.answer('/later', (_, response) => response.end());
    expect((await redeliver(key, delivery)).status).toBe(202);
    await ended(webhook, 'delivered');
  });

  it('waits while the webhook is paused, and is refused when it is disabled or deleted', async () => {
    const { key, webhook, delivery } = await owed('/resting');
    await ended(webhook, 'delivered');
    await service.call('PATCH', `/v1/webhooks/${webhook}`, { key, body: { status: 'paused' } });
    expect((await redeliver(key, delivery)).status).toBe(202);
    expect(await deliveriesOf(service, webhook)).toMatchObject([{ status: 'pending', failures: 0 }]);

    const { database } = service.runtime;
    await database.query("UPDATE deliveries SET status = 'failed', due_at = NULL WHERE id = ?", [delivery]);
    await database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [webhook]);
    const disabled = await redeliver(key, delivery);
    expectProblem(disabled, 409);
    expect(disabled.body.detail).toContain('PATCH');
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    expectProblem(await redeliver(key, delivery), 409);
    expect(await deliveriesOf(service, webhook)).toMatchObject([{ status: 'failed' }]);
  });
});

describe('POST /v1/webhooks/:id/replay', () => {
  const replay = (key: string, webhook: string, body: unknown) =>
    service.call('POST', `/v1/webhooks/${webhook}/replay`, { key, body });

  it('sends again what ended so within the time given', async () => {
    const { key, webhook, delivery } = await owed('/replayed');
    await ended(webhook, 'delivered');
    for (const none of [
      { since: '2000-01-01 00:00:00', status: 'failed' },
      { since: '2999-01-01 00:00:00' },
      { since: '2000-01-01 00:00:00', until: '2001-01-01 00:00:00+03' },
    ]) {
      expect(await replay(key, webhook, none)).toMatchObject({ status: 202, body: { replayed: 0 } });
    }
    const answer = await replay(key, webhook, { since: '2000-01-01 00:00:00', status: 'delivered' });
    expect([answer.status, answer.body]).toEqual([202, { replayed: 1 }]);
    await until('two attempts', async () => (await deliveriesOf(service, webhook))[0]?.attempts === 2);
    expect(receiver.at('/replayed').at(-1)?.headers['webhook-id']).toBe(`msg_${delivery}`);
  });

  it.each([
    [{}, 'since'],
    [{ since: '2026-02-30 00:00:00' }, 'since'],
    [{ since: 5 }, 'since'],
    [{ since: '2026-01-01 00:00:00', until: 'now' }, 'until'],
    [{ since: '2026-01-02 00:00:00', until: '2026-01-01 00:00:00' }, 'since'],
    [{ since: '2026-01-01 00:00:00', status: 'pending' }, 'status'],
    [{ since: '2026-01-01 00:00:00', from: '2026' }, 'from'],
  ])('refuses %j', async (body, path) => {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/');
    expect(expectProblem(await replay(key, id, body), 422)).toEqual([path]);
  });
});
