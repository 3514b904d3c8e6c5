import { beforeEach, describe, expect, it } from 'vitest';
import { LeaseLostError, recordResults } from '../../src/delivery/engine/record-results.ts';
import type { RejectedBatch } from '../../src/delivery/run/types.ts';
import type { Lease } from '../../src/webhook-record/lease.ts';
import { failure, leaseAll, recordOf, success } from '../support/records.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, cursorOf, NOWHERE, setCursor } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });
let leases: [Lease, Lease, Lease];
let id: string;

beforeEach(async () => {
  const { webhookIds } = await createSubscriber(service, NOWHERE, {}, {}, {});
  leases = (await leaseAll(service, webhookIds)) as typeof leases;
  id = leases[0].webhookId;
});

const record = (...records: ReturnType<typeof recordOf>[]) =>
  recordResults(service.runtime.database, records);

const rows = <T = Record<string, unknown>>(statement: string, webhookId = id) =>
  service.runtime.database.query<T[]>(statement, [webhookId]);
const deliveries = (webhookId = id) =>
  rows('SELECT transaction_id, status, attempts FROM deliveries WHERE webhook_id = ?', webhookId);
const retries = () =>
  rows<{ transaction_id: string; attempts: number; failures: number; due_in: string | null }>(
    `SELECT transaction_id, attempts, failures, TIMESTAMPDIFF(MICROSECOND, NOW(6), due_at) / 1000 AS due_in
     FROM retries WHERE webhook_id = ? ORDER BY transaction_id`,
  );
const attempts = () =>
  rows('SELECT transaction_id, number FROM attempts WHERE webhook_id = ? ORDER BY transaction_id, number');

/** The same lease after this many records. */
const nextOf = (lease: Lease, writes: number): Lease => ({ ...lease, writes });

describe('a record of results', () => {
  const rejected = (firstId: number, fields: Partial<RejectedBatch> = {}): RejectedBatch => ({
    ...{ firstId, lastId: firstId + 9, events: 10, statusCode: 422 },
    ...{ startedAt: 0, durationMs: 800, response: 'no', ...fields },
  });
  const rejectedBatches = () =>
    rows(
      'SELECT first_id, events, status_code, response FROM rejected_batches WHERE webhook_id = ? ORDER BY id',
    );

  it('stores rejected batches without any result, and keeps the newest hundred of a webhook', async () => {
    const [one, two] = leases;
    await record(
      recordOf(one, [], { rejectedBatches: [rejected(1), rejected(2, { response: '€'.repeat(4_000) })] }),
      recordOf(two, [], { rejectedBatches: [rejected(3)] }),
    );
    expect(await deliveries()).toEqual([]);
    expect(await rejectedBatches()).toEqual([
      { first_id: '1', events: 10, status_code: 422, response: 'no' },
      { first_id: '2', events: 10, status_code: 422, response: '€'.repeat(1_365) },
    ]);
    const more = Array.from({ length: 120 }, (_, at) => rejected(10 + at));
    await record(recordOf(nextOf(one, 1), [], { rejectedBatches: more }));
    const kept = await rejectedBatches();
    expect(kept).toHaveLength(100);
    expect([kept[0]?.first_id, kept.at(-1)?.first_id]).toEqual(['30', '129']);
  });

  it('stores the results, cursors and counts of several webhooks', async () => {
    const [one, two] = leases;
    const last = failure(9, { status: 'failed', retryIn: null, failures: 12, number: 12 });
    await record(
      recordOf(one, [success(5), success(6), failure(7), last], {
        cursor: { sentThrough: 6, highestRecordedId: 9 },
      }),
      recordOf(two, [success(5)]),
    );
    expect(await deliveries()).toEqual([
      { transaction_id: '5', status: 'delivered', attempts: 1 },
      { transaction_id: '6', status: 'delivered', attempts: 1 },
      { transaction_id: '7', status: 'pending', attempts: 1 },
      { transaction_id: '9', status: 'failed', attempts: 12 },
    ]);
    expect(await retries()).toEqual([
      {
        transaction_id: '7',
        attempts: 1,
        failures: 1,
        due_in: expect.toSatisfy((due) => due > 3_590_000 && due <= 3_600_000),
      },
      { transaction_id: '9', attempts: 12, failures: 12, due_in: null },
    ]);
    expect(await attempts()).toEqual([
      { transaction_id: '7', number: 1 },
      { transaction_id: '9', number: 12 },
    ]);
    expect(await cursorOf(service, id)).toMatchObject({
      sent_through: '6',
      highest_recorded_id: '9',
      delivered_count: '2',
      failed_count: '1',
      lease_writes: 1,
      lease_token: one.token,
    });
    expect(await deliveries(two.webhookId)).toHaveLength(1);
    expect(await cursorOf(service, two.webhookId)).toMatchObject({ sent_through: '5', delivered_count: '1' });
  });

  it('keeps the facts of the last attempt with the delivery, and those of failed attempts in the log of attempts', async () => {
    const facts = 'outcome, status_code, started_at, duration_ms, error, response';
    const startedAt = Date.parse('2026-03-29T01:30:00.250Z');
    await record(recordOf(leases[0], [failure(5, { startedAt, error: 'other side closed' })]));
    await record(recordOf(nextOf(leases[0], 1), [success(5, { number: 2, failures: 1, response: 'ok' })]));
    expect(await rows(`SELECT ${facts} FROM deliveries WHERE webhook_id = ?`)).toEqual([
      {
        outcome: 'delivered',
        status_code: 204,
        started_at: new Date('2026-01-15T09:00:00Z'),
        duration_ms: 7,
        error: null,
        response: 'ok',
      },
    ]);
    expect(await rows(`SELECT ${facts} FROM attempts WHERE webhook_id = ?`)).toEqual([
      {
        outcome: 'failed',
        status_code: 500,
        started_at: new Date(startedAt),
        duration_ms: 7,
        error: 'other side closed',
        response: 'no',
      },
    ]);
  });

  it('ends the retry of a delivery that is delivered, and no other retry', async () => {
    await record(recordOf(leases[0], [failure(5), failure(6)]));
    await record(recordOf(nextOf(leases[0], 1), [success(5, { number: 2 })]));
    expect(await retries()).toMatchObject([{ transaction_id: '6' }]);
    expect(await deliveries()).toMatchObject([{ status: 'delivered', attempts: 2 }, { status: 'pending' }]);
  });

  it('never moves the cursor back', async () => {
    const at = (sentThrough: number, highestRecordedId: number) => ({
      cursor: { sentThrough, highestRecordedId },
    });
    await record(recordOf(leases[0], [], at(50, 60)));
    await record(recordOf(nextOf(leases[0], 1), [], at(40, 41)));
    expect(await cursorOf(service, id)).toMatchObject({ sent_through: '50', highest_recorded_id: '60' });
  });

  it('prolongs the lease or gives it back, and resets the crash count', async () => {
    await setCursor(service, id, 'lease_until = NOW(6) + INTERVAL 1 SECOND');
    await record(recordOf(leases[0], []));
    const { crash_count, lease_until } = await cursorOf(service, id);
    expect(crash_count).toBe(0);
    expect(lease_until?.getTime()).toBeGreaterThan(Date.now() + 2_000);
    await record(recordOf(nextOf(leases[0], 1), [], { release: true }));
    expect(await cursorOf(service, id)).toMatchObject({ lease_until: null, lease_token: leases[0].token });
  });

  it('returns the current revision of each webhook, in the order of the records', async () => {
    const [one, two, three] = leases;
    await rows('UPDATE webhooks SET revision = 4 WHERE id = ?', two.webhookId);
    await rows('UPDATE webhooks SET revision = 9 WHERE id = ?', three.webhookId);
    expect(await record(recordOf(three, []), recordOf(one, []), recordOf(two, []))).toEqual(
      [9, 1, 4].map((revision) => ({ revision, health: null })),
    );
  });
});

describe('without the lease,', () => {
  it.each([
    ['another run has it', "lease_token = 'of another run'"],
    ['it was given back', 'lease_until = NULL'],
    ['another run has recorded', 'lease_writes = 3'],
  ])('nothing is recorded for any webhook in the batch: %s', async (_, change) => {
    const [one, two, three] = leases;
    await setCursor(service, two.webhookId, change);
    const before = await Promise.all(leases.map(({ webhookId }) => cursorOf(service, webhookId)));
    const all = [one, two, three].map((lease) => recordOf(lease, [success(5), failure(6)]));
    await expect(record(...all)).rejects.toThrow(LeaseLostError);
    for (const [at, { webhookId }] of leases.entries()) {
      expect(await deliveries(webhookId)).toEqual([]);
      expect(await cursorOf(service, webhookId)).toEqual(before[at]);
    }
    expect([await retries(), await attempts()]).toEqual([[], []]);
  });

  it('a run that has given the lease back records nothing more', async () => {
    await record(recordOf(leases[0], [success(5)], { release: true }));
    await expect(record(recordOf(nextOf(leases[0], 1), [success(6)]))).rejects.toThrow(LeaseLostError);
    expect(await deliveries()).toHaveLength(1);
  });
});

describe('a record whose COMMIT got no answer', () => {
  it('is repeated without counting the results twice', async () => {
    const results = [success(5), failure(6), failure(7, { status: 'failed', retryIn: null })];
    const once = recordOf(leases[0], results);
    await record(once);
    const before = [await cursorOf(service, id), await deliveries(), await retries(), await attempts()];
    expect(await record(once)).toEqual([{ revision: 1, health: null }]);
    const now = [await cursorOf(service, id), await deliveries(), await retries(), await attempts()];
    // Due times come nearer in between.
    const due = expect.toSatisfy((due) => due === null || due > 0);
    const expected = structuredClone(before) as typeof before;
    for (const row of expected[2] as { due_in: unknown }[]) row.due_in = due;
    expect(now).toEqual(expected);
    await record(recordOf(nextOf(leases[0], 1), [success(8)]));
    expect(await cursorOf(service, id)).toMatchObject({
      delivered_count: '2',
      failed_count: '1',
      lease_writes: 2,
    });
  });

  it('is repeated where it gave the lease back', async () => {
    const last = recordOf(leases[0], [success(5)], { release: true });
    await record(last);
    expect(await record(last)).toEqual([{ revision: 1, health: null }]);
    expect(await cursorOf(service, id)).toMatchObject({ delivered_count: '1', lease_until: null });
  });

  it('fails with a lost lease when another run has taken the webhook over since', async () => {
    const last = recordOf(leases[0], [success(5)], { release: true });
    await record(last);
    await leaseAll(service, [id]);
    await expect(record(last)).rejects.toThrow(LeaseLostError);
  });
});
