import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { deliveriesOf } from '../support/webhooks.ts';
import { createPausedWebhook } from './paused-webhook.ts';

// The rows of delivery runs are written by SQL here; sent.test.ts has them run.
const service = useService({ roles: ['api'] });

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const many = (length: number) => Array.from({ length }, () => ({}));

describe('POST /v1/deliveries/:id/redeliver', () => {
  const redeliver = (key: string, webhook: string, transaction: string) =>
    service.call('POST', `/v1/deliveries/${webhook}-${transaction}/redeliver`, { key });
  const countsOf = async (webhook: string) => {
    const [row] = await service.runtime.database.query<object[]>(
      'SELECT delivered_count, failed_count FROM webhook_cursors WHERE webhook_id = ?',
      [webhook],
    );
    return row;
  };

  it('makes a delivered or failed delivery pending again, with the whole retry schedule and its attempts kept', async () => {
    const { key, webhook, store, record } = await createPausedWebhook(service);
    const [failed = '', delivered = ''] = await store([{}, {}]);
    await record([
      { transactionId: failed, status: 'failed', attempts: 12 },
      { transactionId: delivered, status: 'delivered' },
    ]);
    for (const [id, attempts] of [
      [failed, 12],
      [delivered, 1],
    ] as const) {
      const { status, body } = await redeliver(key, webhook, id);
      expect([status, body.delivery]).toEqual([
        202,
        expect.objectContaining({ id: `${webhook}-${id}`, status: 'pending', attempts, finished_at: null }),
      ]);
      expect(Date.parse(body.delivery.due_at)).toBeLessThanOrEqual(Date.now() + 1_000);
      const { body: shown } = await service.call('GET', `/v1/deliveries/${webhook}-${id}`, { key });
      expect(shown.delivery.log.map((it: { number: number }) => it.number)).toEqual([attempts]);
    }
    expect(await deliveriesOf(service, webhook)).toMatchObject([
      { status: 'pending', attempts: 12, failures: 0 },
      { status: 'pending', attempts: 1, failures: 0 },
    ]);
    expect(await countsOf(webhook)).toEqual({ delivered_count: '0', failed_count: '0' });
    // Asked for once more it is pending already: nothing is counted twice.
    expect((await redeliver(key, webhook, failed)).status).toBe(202);
    expect(await countsOf(webhook)).toEqual({ delivered_count: '0', failed_count: '0' });
  });

  it('makes a delivery due now that waits for its next attempt, and leaves a never attempted one alone', async () => {
    const { key, webhook, store, record } = await createPausedWebhook(service);
    const [waiting = '', untouched = ''] = await store([{}, {}]);
    await record([{ transactionId: waiting, status: 'pending', attempts: 3 }]);
    const before = await deliveriesOf(service, webhook);
    for (const id of [waiting, untouched]) {
      const { status, body } = await redeliver(key, webhook, id);
      expect([status, body.delivery.status]).toEqual([202, 'pending']);
    }
    const after = await deliveriesOf(service, webhook);
    expect(after).toMatchObject([{ status: 'pending', attempts: 3, failures: 3 }, before[1]]);
    expect(after[0]?.due_at?.getTime()).toBeLessThan(before[0]?.due_at?.getTime() ?? 0);
  });

  it('is refused when the webhook is disabled or deleted', async () => {
    const { key, webhook, store, record } = await createPausedWebhook(service);
    const [id = ''] = await store([{}]);
    await record([{ transactionId: id, status: 'failed' }]);
    await service.runtime.database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [webhook]);
    const disabled = await redeliver(key, webhook, id);
    expectProblem(disabled, 409);
    expect(disabled.body.type).toBe('/problems/webhook-disabled');
    expect(disabled.body.detail).toContain('PATCH');
    await service.call('DELETE', `/v1/webhooks/${webhook}`, { key });
    const deleted = await redeliver(key, webhook, id);
    expectProblem(deleted, 409);
    expect(deleted.body.type).toBe('/problems/webhook-deleted');
    expect(await deliveriesOf(service, webhook)).toMatchObject([{ status: 'failed' }]);
  });
});

describe('POST /v1/webhooks/:id/replay', () => {
  const replay = (key: string, webhook: string, body: unknown) =>
    service.call('POST', `/v1/webhooks/${webhook}/replay`, { key, body });

  it('replays failed deliveries, or delivered ones if asked to', async () => {
    const { key, webhook, store, record } = await createPausedWebhook(service);
    const ids = await store(many(3));
    await record(
      ids.map((transactionId, at) => ({ transactionId, status: at === 0 ? 'delivered' : 'failed' })),
    );
    const since = '2026-01-01 00:00:00';
    const accepted = await replay(key, webhook, { since });
    expect([accepted.status, accepted.body]).toEqual([
      202,
      {
        replay: {
          id: expect.any(Number),
          webhook_id: Number(webhook),
          status: ['failed'],
          matched: 2,
          created_at: expect.stringMatching(ISO),
        },
      },
    ]);
    for (const [status, matched] of [
      ['failed', 2],
      ['delivered', 1],
      [['failed', 'delivered'], 3],
    ]) {
      const { body } = await replay(key, webhook, { since, status });
      expect(body.replay).toMatchObject({ status: [status].flat(), matched });
    }
    expect((await replay(key, webhook, { since: '2999-01-01 00:00:00' })).body.replay.matched).toBe(0);
    // 2026-01-31 12:00:00 in UTC.
    const around = { since: '2026-01-31 15:00:00+03', until: '2026-01-31 15:00:00' };
    expect((await replay(key, webhook, around)).body.replay.matched).toBe(2);
  });

  it('only counts with dry_run=true', async () => {
    const { key, webhook, store, record } = await createPausedWebhook(service);
    const ids = await store(many(1_200));
    await record(ids.map((transactionId) => ({ transactionId, status: 'failed' })));
    const since = '2026-01-01 00:00:00';
    const path = `/v1/webhooks/${webhook}/replay`;
    const { status, body } = await service.call('POST', `${path}?dry_run=true`, { key, body: { since } });
    expect([status, body]).toEqual([
      202,
      {
        replay: {
          id: null,
          webhook_id: Number(webhook),
          status: ['failed'],
          matched: 1_200,
          created_at: null,
        },
      },
    ]);
    const { database } = service.runtime;
    expect(await database.query('SELECT id FROM replays WHERE webhook_id = ?', [webhook])).toEqual([]);
    expect((await service.call('POST', `${path}?dry_run=false`, { key, body: { since } })).status).toBe(202);
    const unclear = await service.call('POST', `${path}?dry_run=1`, { key, body: { since } });
    expect(expectProblem(unclear, 422)).toEqual(['dry_run']);
    await database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [webhook]);
    expectProblem(await service.call('POST', `${path}?dry_run=true`, { key, body: { since } }), 409);
  });

  it('is refused for a disabled webhook, and changes nothing', async () => {
    const { key, webhook, store, record } = await createPausedWebhook(service);
    const [id = ''] = await store([{}]);
    await record([{ transactionId: id, status: 'failed' }]);
    const { database } = service.runtime;
    await database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [webhook]);
    const answer = await replay(key, webhook, { since: '2026-01-01 00:00:00' });
    expectProblem(answer, 409);
    expect(answer.body.type).toBe('/problems/webhook-disabled');
    expect(await database.query('SELECT id FROM replays WHERE webhook_id = ?', [webhook])).toEqual([]);
  });

  it.each([
    [{}, 'since'],
    [{ since: '2026-02-30 00:00:00' }, 'since'],
    [{ since: 5 }, 'since'],
    [{ since: '2026-01-01 00:00:00', until: 'now' }, 'until'],
    [{ since: '2026-01-02 00:00:00', until: '2026-01-01 00:00:00' }, 'since'],
    [{ since: '2026-01-01 00:00:00', status: 'pending' }, 'status'],
    [{ since: '2026-01-01 00:00:00', status: [] }, 'status'],
    [{ since: '2026-01-01 00:00:00', from: '2026' }, 'from'],
  ])('refuses %j', async (body, path) => {
    const { key, webhook } = await createPausedWebhook(service);
    expect(expectProblem(await replay(key, webhook, body), 422)).toEqual([path]);
  });
});
