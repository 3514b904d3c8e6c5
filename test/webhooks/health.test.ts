import { describe, expect, it } from 'vitest';
import { createFeed } from '../support/feeds.ts';
import { useService } from '../support/service.ts';
import { createWebhook } from './stored-webhook.ts';

// Without delivery runs: what they would leave behind is written by SQL.
const service = useService({ roles: ['api'] });

const change = (key: string, id: string, body: unknown) =>
  service.call('PATCH', `/v1/webhooks/${id}`, { key, body });

const read = <T>(sql: string, id: string) => service.runtime.database.query<T[]>(sql, [id]);

const HEALTH = `crash_count, consecutive_failures, failing_since, failing_days, circuit_openings, circuit_open_until,
  recovery_successes, last_error, health_revision`;
const healthOf = async (id: string) =>
  (await read<Record<string, unknown>>(`SELECT ${HEALTH} FROM webhook_cursors WHERE webhook_id = ?`, id))[0];

const revisionOf = async (id: string) =>
  (await read<{ revision: number }>('SELECT revision FROM webhooks WHERE id = ?', id))[0]?.revision ?? 0;

const fail = (id: string) =>
  service.runtime.database.query(
    `UPDATE webhook_cursors SET crash_count = 3, consecutive_failures = 9, failing_since = '2026-01-01', failing_days = 6,
       circuit_openings = 7, circuit_open_until = '2030-01-01', recovery_successes = 1, last_error = 'x' WHERE webhook_id = ?`,
    [id],
  );

const FORGOTTEN = {
  crash_count: 0,
  consecutive_failures: 0,
  failing_since: null,
  failing_days: 0,
  circuit_openings: 0,
  circuit_open_until: null,
  recovery_successes: 0,
  last_error: null,
};

describe('the health of an endpoint', () => {
  it.each([
    { status: 'active' },
    { endpoint: 'http://127.0.0.1:9/other' },
    { headers: { 'X-Token': 'other' } },
    { headers: {} },
  ])('is reset by a change of %j, and a run of the revision before cannot overwrite that', async (body) => {
    const { key, id } = await createWebhook(service);
    await fail(id);
    expect((await change(key, id, body)).status).toBe(200);
    expect(await healthOf(id)).toEqual({ ...FORGOTTEN, health_revision: 2 });
    expect(await revisionOf(id)).toBe(2);
  });

  it.each([{ status: 'paused' }, { title: 'x' }, { event: 'NEW_DEBIT' }, { max_in_flight: 3 }])(
    'is kept by a change of %j',
    async (body) => {
      const { key, id } = await createWebhook(service);
      await fail(id);
      const before = await healthOf(id);
      expect((await change(key, id, body)).status).toBe(200);
      expect(await healthOf(id)).toEqual(before);
      expect(await revisionOf(id)).toBe(2);
    },
  );
});

it('a feed that becomes active again was not acknowledged by that', async () => {
  const feed = await createFeed(service);
  for (const status of ['paused', 'active']) await feed.change({ status });
  expect((await feed.get()).body.webhook.feed).toEqual({ acknowledged_at: null });
});
