import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { countMatches } from '../../../src/delivery/feed/position.ts';
import { movementHash } from '../../../src/delivery/posting/signature.ts';
import { countsOf, createFeed, type Feed, idsOf } from '../../support/feeds.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useService({ roles: ['api', 'maintenance'] });

/** The position and the counters of a feed, beside what is stored on both sides of the position. */
async function compare({ id, customerId }: Feed) {
  const { database } = service.runtime;
  const [row] = await database.query<
    {
      sent_through: string;
      delivered_count: string;
      failed_count: string;
      matched_count: string;
      matched_through: string;
      due_at: Date | null;
    }[]
  >(
    `SELECT k.sent_through, k.delivered_count, k.failed_count, b.matched_count, b.matched_through, b.due_at
     FROM webhook_cursors k JOIN webhook_backlogs b ON b.webhook_id = k.webhook_id WHERE k.webhook_id = ?`,
    [id],
  );
  if (row === undefined) throw new Error('no cursor');
  const count = (after: string, through: string) =>
    countMatches(database, { webhookId: String(id), customerId, after, through });
  const stored = await count('0', row.sent_through);
  const beyond = await count(row.sent_through, row.matched_through);
  const [delivered, failed, matched] = [row.delivered_count, row.failed_count, row.matched_count].map(
    Number,
  ) as [number, number, number];
  return { dueAt: row.due_at, delivered, failed, pending: matched - delivered - failed, stored, beyond };
}

describe('a feed', () => {
  it('hands out what matches, oldest first, with the notification that a POST would have', async () => {
    const feed = await createFeed(service);
    expect(feed.webhook).toMatchObject({ delivery: 'pull', endpoint: null, feed: { acknowledged_at: null } });
    expect((await feed.read()).body).toEqual({ events: [], cursor: expect.any(String), more: false });
    await feed.store(3);
    const first = await feed.read({ limit: 2 });
    expect(first.headers.get('cache-control')).toBe('no-store');
    expect(first.body).toMatchObject({ more: true, events: [{}, {}] });
    const [{ id, timestamp, body }] = first.body.events;
    expect(id).toMatch(new RegExp(`^msg_${feed.id}-\\d+$`));
    expect(Math.abs(timestamp - Date.now() / 1_000)).toBeLessThan(60);
    expect(body).toMatchObject({ dc: 'Credit', amount: '1250.00', account_id: feed.account });
    expect(body.hash).toBe(movementHash(body, feed.apiSecret, 'hex'));
    const second = await feed.read({ cursor: first.body.cursor });
    expect(second.body).toMatchObject({ more: false, events: [{}] });
    expect(new Set([...idsOf(first), ...idsOf(second)]).size).toBe(3);
    expect(idsOf(await feed.read({ cursor: second.body.cursor }))).toEqual([]);
    expect(await countsOf(feed)).toMatchObject({ pending: 0, delivered: 3, failed: 0 });
    expect((await feed.get()).body.webhook.feed.acknowledged_at).not.toBeNull();
  });

  it('has no secret, which is neither made nor shown, nor can it be replaced', async () => {
    const create = { title: 'Kasa', event: 'NEW_TRANSACTION', account: 'all', delivery: 'pull' };
    const { api_key: key } = await service.customer();
    const headers = { 'Idempotency-Key': randomUUID() };
    for (const _ of ['first', 'repeated']) {
      const { status, body } = await service.call('POST', '/v1/webhooks', { key, headers, body: create });
      expect(status).toBe(200);
      expect(body.webhook).not.toHaveProperty('secret');
    }
    const feed = await createFeed(service);
    expect((await feed.get()).body.webhook).not.toHaveProperty('secret');
    const read = () =>
      service.runtime.database.query('SELECT secret, previous_secret FROM webhooks WHERE id = ?', [feed.id]);
    expect(await read()).toEqual([{ secret: null, previous_secret: null }]);
    const rotated = await feed.post('/rotate-secret');
    expect(rotated.status).toBe(409);
    expect(rotated.body).toMatchObject({
      type: expect.stringContaining('pulled-webhook'),
      detail: `Webhook ${feed.id} has the delivery "pull". Its feed is not signed, so it has no secret to replace. Only a webhook with the delivery "push" has one.`,
    });
    expect(await read()).toEqual([{ secret: null, previous_secret: null }]);
    expect((await feed.change({ delivery: 'push' })).status).toBe(422);
  });

  it('acknowledges with the cursor of the next request, and with nothing else', async () => {
    const feed = await createFeed(service);
    await feed.store(4);
    const first = await feed.read({ limit: 2 });
    expect(await countsOf(feed)).toMatchObject({ pending: 4, delivered: 0 });
    // Without a cursor, the same again.
    expect(idsOf(await feed.read({ limit: 2 }))).toEqual(idsOf(first));
    const second = await feed.read({ cursor: first.body.cursor, limit: 2 });
    expect(await countsOf(feed)).toMatchObject({ pending: 2, delivered: 2 });
    await feed.read({ cursor: second.body.cursor });
    // An earlier cursor only reads again.
    expect(idsOf(await feed.read({ cursor: first.body.cursor }))).toEqual(idsOf(second));
    expect(await countsOf(feed)).toMatchObject({ pending: 0, delivered: 4 });
    expect(await compare(feed)).toMatchObject({ dueAt: null, pending: 0, beyond: { live: 0 } });
  });

  it('refuses cursors that it has not handed out', async () => {
    const feed = await createFeed(service);
    const other = await createFeed(service);
    await feed.store(1);
    const { cursor } = (await feed.read()).body;
    const forged = Buffer.from(
      Buffer.from(cursor, 'base64url').toString().replace(/:\d+:/, ':999999:'),
    ).toString('base64url');
    for (const wrong of ['x', forged, (await other.read()).body.cursor, `${cursor}x`, '']) {
      const { status, body } = await feed.read({ cursor: wrong });
      expect({ status, path: body.errors?.[0].path }, wrong).toEqual({ status: 422, path: 'cursor' });
    }
    expect(await countsOf(feed)).toMatchObject({ pending: 1, delivered: 0 });
    // A cursor of a time that a backup has undone.
    await feed.store(1);
    const ahead = (await feed.read()).body.cursor;
    await service.runtime.database.query(
      'UPDATE webhook_backlogs SET matched_through = matched_through - 1 WHERE webhook_id = ?',
      [feed.id],
    );
    expect((await feed.read({ cursor: ahead })).status).toBe(422);
    // A cursor that a node of a cluster knows only a moment later.
    const reading = feed.read({ cursor: ahead });
    await service.runtime.database.query(
      'UPDATE webhook_backlogs SET matched_through = matched_through + 1 WHERE webhook_id = ?',
      [feed.id],
    );
    expect((await reading).status).toBe(200);
  });

  it('counts as counting does, across changes of the filter and deleted accounts', async () => {
    const feed = await createFeed(service);
    const second = await feed.createAccount();
    const store = (count: number, dc: string, account: number) => feed.store(count, { dc }, account);
    await store(2, 'Credit', feed.account);
    await feed.change({ event: 'NEW_DEBIT' });
    await store(3, 'Credit', feed.account);
    await store(4, 'Debit', second);
    await feed.change({ event: 'NEW_TRANSACTION', account: second });
    await store(5, 'Credit', feed.account);
    await store(6, 'Credit', second);
    await feed.change({ event: 'WITHDRAWN_TRANSACTION' });
    await store(7, 'Credit', second);
    await feed.change({ events: ['NEW_TRANSACTION', 'WITHDRAWN_TRANSACTION'], account: 'all' });
    await store(1, 'Debit', feed.account);
    expect(await compare(feed)).toMatchObject({ pending: 2 + 4 + 6 + 1, beyond: { live: 13 } });

    const page = await feed.read({ limit: 5 });
    await feed.read({ cursor: page.body.cursor, limit: 1 });
    expect(await compare(feed)).toMatchObject({
      ...{ delivered: 5, pending: 8, failed: 0 },
      ...{ stored: { live: 5 }, beyond: { live: 8 } },
    });

    // One of the 4 debits and the 6 credits of the second account are pending when it is deleted.
    await service.call('DELETE', `/v1/accounts/${second}`, { key: feed.key });
    await until('the account is deleted', async () => {
      const { status } = await service.call('GET', `/v1/accounts/${second}/transactions`, { key: feed.key });
      return status === 404;
    });
    await until('its movements fail', async () => (await compare(feed)).failed === 7);
    expect(await compare(feed)).toMatchObject({
      ...{ delivered: 5, pending: 1, failed: 7 },
      ...{ stored: { live: 2 }, beyond: { live: 1 } },
    });
    const rest = await feed.read();
    expect(rest.body.events).toHaveLength(1);
    await feed.read({ cursor: rest.body.cursor });
    expect(await countsOf(feed)).toEqual({ pending: 0, delivered: 6, failed: 7, to_come: 0 });
  });

  it('does not hand out movements of an account that is being deleted, and counts them as failed', async () => {
    const feed = await createFeed(service);
    const second = await feed.createAccount();
    await feed.store(2, {}, second);
    await feed.store(1);
    // As between the request and the work of the maintenance process.
    const { database } = service.runtime;
    await database.query('UPDATE import_locks SET removals = removals + 1 WHERE customer_id = ?', [
      feed.customerId,
    ]);
    await database.query('INSERT INTO deletions (customer_id, account_id) VALUES (?, ?)', [
      feed.customerId,
      second,
    ]);
    const page = await feed.read();
    expect(page.body.events).toHaveLength(1);
    await feed.read({ cursor: page.body.cursor });
    await until('the counters hold', async () => {
      const { delivered, failed, pending } = await compare(feed);
      return delivered === 1 && failed === 2 && pending === 0;
    });
  });

  it('is empty while the webhook is paused, and takes acknowledgements', async () => {
    const feed = await createFeed(service);
    await feed.store(2);
    const page = await feed.read({ limit: 1 });
    await feed.change({ status: 'paused' });
    await feed.store(1);
    expect((await feed.read()).body).toMatchObject({ events: [], more: false });
    const paused = await feed.read({ cursor: page.body.cursor });
    expect(paused.body).toMatchObject({ events: [], cursor: page.body.cursor });
    expect(await countsOf(feed)).toMatchObject({ pending: 2, delivered: 1 });
    await feed.change({ status: 'active' });
    expect((await feed.read({ cursor: paused.body.cursor })).body.events).toHaveLength(2);
  });

  it('is read again after a replay, and refuses earlier cursors', async () => {
    const feed = await createFeed(service);
    await feed.store(2);
    const page = await feed.read();
    const after = (await feed.read({ cursor: page.body.cursor })).body.cursor;
    await feed.store(1);
    const dry = await feed.post('/replay?dry_run=true', { since: '2020-01-01 00:00:00' });
    expect(dry.body.replay).toMatchObject({ id: null, matched: 2 });
    const { status, body } = await feed.post('/replay', { since: '2020-01-01 00:00:00' });
    expect({ status, replay: body.replay }).toMatchObject({ status: 202, replay: { matched: 2 } });
    expect((await feed.get('/replays')).body.replays).toMatchObject([
      { state: 'done', total: 2, sent: 2, left: 0 },
    ]);
    for (const cursor of [page.body.cursor, after]) {
      const gone = await feed.read({ cursor });
      expect(gone.status).toBe(410);
      expect(gone.body).toMatchObject({
        type: expect.stringContaining('cursor-gone'),
        detail: expect.stringContaining('Leave cursor out'),
      });
    }
    expect(await compare(feed)).toMatchObject({ delivered: 0, pending: 3 });
    const again = await feed.read();
    expect(idsOf(again).slice(0, 2)).toEqual(idsOf(page));
    await feed.read({ cursor: again.body.cursor });
    expect(await countsOf(feed)).toMatchObject({ pending: 0, delivered: 3 });
    for (const more of [{ until: '2030-01-01 00:00:00' }, { status: 'failed' }])
      expect((await feed.post('/replay', { since: '2020-01-01 00:00:00', ...more })).body.errors).toEqual([
        { path: Object.keys(more)[0], message: expect.stringContaining('must be left out') },
      ]);
  });

  it('does not go back to before the webhook was created', async () => {
    const before = await createFeed(service);
    await before.store(3);
    const { body } = await service.call('POST', '/v1/webhooks', {
      key: before.key,
      body: { title: 'Geç', event: 'NEW_TRANSACTION', account: 'all', delivery: 'pull' },
    });
    await before.store(1);
    const path = `/v1/webhooks/${body.webhook.id}`;
    const read = async (query = '') =>
      (await service.call('GET', `${path}/feed${query}`, { key: before.key })).body;
    await read(`?cursor=${(await read()).cursor}`);
    await service.call('POST', `${path}/replay`, { key: before.key, body: { since: '2020-01-01 00:00:00' } });
    expect((await read()).events).toHaveLength(1);
  });

  it('refuses a cursor that retention has passed, but not that of its reader', async () => {
    const feed = await createFeed(service);
    await feed.store(2);
    const first = await feed.read({ limit: 1 });
    const last = await feed.read({ cursor: first.body.cursor });
    const own = (await feed.read({ cursor: last.body.cursor })).body.cursor;
    await service.runtime.database.query(
      'UPDATE import_locks SET removed_through = last_transaction_id WHERE customer_id = ?',
      [feed.customerId],
    );
    const gone = await feed.read({ cursor: first.body.cursor });
    expect(gone.status).toBe(410);
    expect(gone.body.detail).toContain('removed');
    expect((await feed.read({ cursor: own })).status).toBe(200);
  });

  it('has the sample of a test in its next answer, once', async () => {
    const feed = await createFeed(service, { event: 'NEW_DEBIT' });
    const { status, body } = await feed.post('/test');
    expect({ status, test: body.test }).toEqual({ status: 202, test: { status_code: null, error: null } });
    const { events } = (await feed.read()).body;
    expect(events).toEqual([
      {
        id: expect.stringMatching(/^msg_test_/),
        timestamp: expect.any(Number),
        body: expect.objectContaining({ dc: 'Debit', code: 'TEST' }),
      },
    ]);
    expect((await feed.read()).body.events).toEqual([]);
    expect(await countsOf(feed)).toMatchObject({ pending: 0, delivered: 0 });
  });

  it('has its deliveries by its position: in lists, by id and by movement', async () => {
    const feed = await createFeed(service);
    await feed.store(1, { dc: 'Credit' });
    await feed.change({ event: 'NEW_DEBIT' });
    await feed.store(2, { dc: 'Debit' });
    await feed.store(1, { dc: 'Credit' });
    await feed.change({ event: 'WITHDRAWN_TRANSACTION' });
    await feed.store(1, { dc: 'Debit' });
    const page = await feed.read({ limit: 2 });
    await feed.read({ cursor: page.body.cursor, limit: 1 });
    const list = async (query = '') =>
      (await feed.get(`/deliveries${query}`)).body.deliveries.map((it: { status: string }) => it.status);
    expect(await list()).toEqual(['pending', 'delivered', 'delivered']);
    expect(await list('?status=pending')).toEqual(['pending']);
    expect(await list('?status=delivered')).toEqual(['delivered', 'delivered']);
    expect(await list('?status=failed')).toEqual([]);
    expect(await list('?per_page=2')).toEqual(['pending', 'delivered']);
    const [{ id, transaction_id }] = (await feed.get('/deliveries?status=delivered')).body.deliveries;
    const get = (path: string) => service.call('GET', path, { key: feed.key });
    expect((await get(`/v1/deliveries/${id}`)).body.delivery).toMatchObject({ status: 'delivered' });
    expect((await get(`/v1/transactions/${transaction_id}/deliveries`)).body.deliveries).toHaveLength(1);
    const { transactions } = (await get('/v1/transactions?starts=2026-01-01')).body;
    const unmatched = transactions.at(-1).id;
    expect((await get(`/v1/transactions/${unmatched}/deliveries`)).body.deliveries).toEqual([]);
    expect((await get(`/v1/deliveries/${feed.id}-${unmatched}`)).status).toBe(404);
    const redelivered = await service.call('POST', `/v1/deliveries/${id}/redeliver`, {
      key: feed.key,
      body: {},
    });
    expect(redelivered.status).toBe(409);
    expect(redelivered.body.type).toContain('pulled-webhook');
    const { database } = service.runtime;
    expect(await database.query('SELECT 1 FROM deliveries WHERE webhook_id = ?', [feed.id])).toEqual([]);
  });

  it('is refused settings that only POSTs have, and no other webhook has a feed', async () => {
    const feed = await createFeed(service);
    const base = { title: 'Kasa', event: 'NEW_CREDIT', account: 'all', delivery: 'pull' };
    const create = (body: object) => service.call('POST', '/v1/webhooks', { key: feed.key, body });
    for (const wrong of [
      { endpoint: 'https://example.com/' },
      { event: 'OPERATIONAL' },
      { event: 'BALANCE_UPDATED' },
      { encoding: 'form' },
      { ordered: true },
      { rate_limit: 5 },
      { headers: { 'X-Token': 'a' } },
    ]) {
      const { status, body } = await create({ ...base, ...wrong });
      expect({ status, path: body.errors[0].path }).toEqual({ status: 422, path: Object.keys(wrong)[0] });
    }
    const many = await create({ ...base, endpoint: 'https://example.com/', ordered: true });
    expect(many.body.errors).toHaveLength(2);
    expect((await create({ ...base, delivery: 'push' })).body.errors).toEqual([
      { path: 'endpoint', message: 'is required' },
    ]);
    for (const change of [
      { delivery: 'push' },
      { endpoint: 'https://example.com/' },
      { ordered: true },
      { event: 'OPERATIONAL' },
    ])
      expect((await feed.change(change)).status, JSON.stringify(change)).toBe(422);
    const pushed = await create({ ...base, delivery: 'push', endpoint: 'http://127.0.0.1:9/' });
    expect(pushed.body.webhook).toMatchObject({ delivery: 'push', feed: null });
    const read = await service.call('GET', `/v1/webhooks/${pushed.body.webhook.id}/feed`, { key: feed.key });
    expect(read.status).toBe(409);
    expect(
      (await service.call('GET', `/v1/webhooks/${feed.id}/feed`, { key: (await service.customer()).api_key }))
        .status,
    ).toBe(404);
  });

  it('hands out no event of an account that the key cannot see', async () => {
    const feed = await createFeed(service);
    const second = await feed.createAccount();
    await feed.store(1);
    await feed.change({ account: second });
    await feed.store(1, {}, second);
    const { body } = await service.call('POST', '/v1/apikeys', {
      key: feed.key,
      body: { title: 'dar', account: [second] },
    });
    const key = body.apikey.apikey;
    const read = (query = '') => service.call('GET', `/v1/webhooks/${feed.id}/feed${query}`, { key });
    expect((await read()).body.type).toContain('pending-for-other-accounts');
    const page = await feed.read({ limit: 1 });
    await feed.read({ cursor: page.body.cursor, limit: 1 });
    expect((await read()).body.events).toHaveLength(1);
    const replay = await service.call('POST', `/v1/webhooks/${feed.id}/replay`, {
      key,
      body: { since: '2020-01-01 00:00:00' },
    });
    expect(replay.status).toBe(403);
  });

  it('skips nothing with two readers beside imports', async () => {
    const feed = await createFeed(service);
    let isDone = false;
    const seen: Set<string>[] = [new Set(), new Set()];
    const acknowledged = new Set<string>();
    const reader = async (own: Set<string>) => {
      let cursor: string | undefined;
      for (;;) {
        const wasDone = isDone;
        const { body, ...answer } = await feed.read({
          ...(cursor === undefined ? {} : { cursor }),
          limit: 7,
        });
        for (const id of idsOf({ ...answer, body })) {
          own.add(id);
          acknowledged.add(id);
        }
        // Now and then a reader forgets where it was.
        cursor = Math.random() < 0.2 ? undefined : body.cursor;
        if (wasDone && body.events.length === 0 && cursor !== undefined) return;
      }
    };
    const imports = async () => {
      for (let count = 0; count < 20; count += 1) await feed.store(5);
    };
    await Promise.all([
      Promise.all([imports(), imports()]).then(() => {
        isDone = true;
      }),
      ...seen.map(reader),
    ]);
    expect(acknowledged.size).toBe(200);
    expect(await countsOf(feed)).toMatchObject({ pending: 0, delivered: 200 });
    expect(await compare(feed)).toMatchObject({ stored: { live: 200 } });
  });
});
