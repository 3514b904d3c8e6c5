import { beforeEach, describe, expect, it } from 'vitest';
import { recordResults } from '../../src/delivery/engine/record-results.ts';
import { resetHealth } from '../../src/delivery/filters.ts';
import type { EndpointHealth } from '../../src/delivery/run/types.ts';
import type { Lease } from '../../src/webhook-record/lease.ts';
import { healthy } from '../support/endpoint-health.ts';
import { failure, leaseAll, recordOf } from '../support/records.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, cursorOf, NOWHERE } from '../support/subscriber.ts';

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

/** The same lease after this many records. */
const nextOf = (lease: Lease, writes: number): Lease => ({ ...lease, writes });

describe('the health of an endpoint', () => {
  const failing: EndpointHealth = {
    ...healthy,
    consecutiveFailures: 3,
    failingSince: Date.UTC(2026, 0, 10),
    failingDays: 4,
    circuitOpenings: 2,
    openUntil: 60_000,
    recoverySuccesses: 1,
    consecutiveRejections: 0,
  };
  const written = {
    consecutive_failures: 3,
    failing_since: new Date('2026-01-10T00:00:00Z'),
    failing_days: 4,
    circuit_openings: 2,
    recovery_successes: 1,
    last_error: 'answered 500',
  };
  const openFor = async () => {
    const [row] = await rows<{ ms: string | null }>(
      'SELECT TIMESTAMPDIFF(MICROSECOND, NOW(6), circuit_open_until) / 1000 AS ms FROM webhook_cursors WHERE webhook_id = ?',
    );
    return row?.ms == null ? null : Number(row.ms);
  };

  it('is written with the results, by MySQL’s clock, and stays as it was where it has not changed', async () => {
    const fields = { health: failing, lastError: 'answered 500' };
    await record({ ...recordOf(leases[0], [failure(5)], fields), now: 20_000 }, recordOf(leases[1], []));
    expect(await cursorOf(service, id)).toMatchObject(written);
    expect(await openFor()).toSatisfy((ms) => ms > 30_000 && ms <= 40_000);
    expect(await cursorOf(service, leases[1].webhookId)).toMatchObject({
      consecutive_failures: 0,
      recovery_successes: 0,
    });
    await record(recordOf(nextOf(leases[0], 1), []));
    expect(await cursorOf(service, id)).toMatchObject(written);
    const closed = { ...failing, openUntil: 60_000 };
    await record({ ...recordOf(nextOf(leases[0], 2), [], { health: closed }), now: 60_000 });
    expect(await openFor()).toBeNull();
  });

  it('is not written by a run that began before the health was reset, although the results of that run are', async () => {
    await resetHealth(service.runtime.database, id, 2);
    const before = await cursorOf(service, id);
    const fields = { health: failing, lastError: 'answered 500', revision: 1 };
    await record(recordOf(leases[0], [failure(5)], fields));
    expect(await cursorOf(service, id)).toEqual({
      ...before,
      sent_through: '5',
      highest_recorded_id: '5',
      lease_writes: 1,
      lease_until: expect.any(Date),
    });
    expect(await deliveries()).toHaveLength(1);
    // A run that has read the webhook since then writes its health.
    await record(recordOf(nextOf(leases[0], 1), [], { ...fields, revision: 2 }));
    expect(await cursorOf(service, id)).toMatchObject(written);
  });

  it('keeps the time at which the rate limit allows the next POST', async () => {
    await record(recordOf(leases[0], [], { rateWait: 5_000 }), recordOf(leases[1], [], { rateWait: null }));
    const [limited, free] = await Promise.all(
      [0, 1].map((at) => cursorOf(service, leases[at]?.webhookId ?? '')),
    );
    expect(limited?.rate_next_at).not.toBeNull();
    expect(free?.rate_next_at).toBeNull();
  });
});
