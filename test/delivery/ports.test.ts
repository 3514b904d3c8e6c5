import { beforeEach, describe, expect, it } from 'vitest';
import { LeaseLostError } from '../../src/delivery/engine/record-results.ts';
import type { EndpointHealth } from '../../src/delivery/run/types.ts';
import { createMysqlPorts } from '../../src/delivery/worker.ts';
import type { Lease } from '../../src/webhook-record/lease.ts';
import { failure, recordOf, success } from '../support/records.ts';
import { createReplay } from '../support/replays.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, NOWHERE, setCursor } from '../support/subscriber.ts';
import { createTablePorts } from './model/table-ports.ts';
import { ALL, createTables } from './model/tables.ts';

/**
 * What the engine relies on, of MySQL and of the model in its place. The same tests for both, so that the schedules that the model
 * proves are those of MySQL.
 */

const service = useService({ roles: ['api'] });

/** One webhook, and what the tests do to it from outside. */
interface Place {
  ports: ReturnType<typeof createTablePorts>;
  webhook: { id: string; customerId: string };
  /** Stores movements that the webhook matches. @returns their ids. */
  store(count: number): Promise<number[]>;
  /** As much time passes as a lease lasts. */
  endLease(): Promise<void>;
  /** All retries become due. */
  makeRetriesDue(): Promise<void>;
  replay(statuses: readonly ('failed' | 'delivered')[]): Promise<void>;
}

async function openMysql({ ordered = false } = {}): Promise<Place> {
  const { database, secrets } = service.runtime;
  const { webhook, store } = await createSubscriber(service, NOWHERE, { ordered });
  const sql = (statement: string) => database.query(statement, [webhook.id]);
  return {
    ports: createMysqlPorts(database, secrets),
    webhook,
    store: async (count) => (await store(count)).map(Number),
    endLease: () => setCursor(service, webhook.id, 'lease_until = NOW(6) - INTERVAL 1 SECOND'),
    makeRetriesDue: () =>
      sql('UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND due_at IS NOT NULL'),
    async replay(statuses) {
      await createReplay(database, { webhook, since: '2020-01-01 00:00:00', statuses });
    },
  };
}

async function openModel({ ordered = false } = {}): Promise<Place> {
  const settings = {
    status: 'active',
    revision: 1,
    filter: ALL,
    ordered,
    rateLimit: null,
    batch: null,
    maxInFlight: 10,
  } as const;
  const tables = createTables({ ...settings }, 100);
  let now = Date.UTC(2026, 0, 15);
  let runs = 0;
  const token = () => {
    runs += 1;
    return `run ${runs}`;
  };
  return {
    ports: createTablePorts(tables, () => now, { page: 200, token }),
    webhook: { id: '1', customerId: '1' },
    async store(count) {
      const ids = Array.from({ length: count }, (_, at) => tables.lock.newest + 1 + at);
      for (const id of ids)
        tables.movements.push({ id, accountId: '1', dc: 'Credit', storedAt: now, isGone: false });
      tables.lock.newest = ids.at(-1) ?? tables.lock.newest;
      tables.backlog.matchedThrough = tables.lock.newest;
      return ids;
    },
    async endLease() {
      now += 13_000;
    },
    async makeRetriesDue() {
      for (const row of tables.retries.values()) if (row.dueAt !== null) row.dueAt = now;
    },
    async replay(statuses) {
      tables.replays.push({ statuses, position: 0, untilId: tables.lock.newest, isFinished: false });
    },
  };
}

describe.each([
  ['MySQL', openMysql],
  ['the model', openModel],
])('the ports that lead to %s', (_, open) => {
  let place: Place;
  beforeEach(async () => {
    place = await open();
  });

  const read = async () => {
    const state = await place.ports.webhooks.readState(place.webhook.id);
    if (state === null) throw new Error('the webhook is missing');
    return state;
  };
  const take = async () => {
    const { settings, lastToken, lastWrites } = await read();
    const { id: webhookId } = place.webhook;
    return place.ports.webhooks.takeLease({ webhookId, revision: settings.revision, lastToken, lastWrites });
  };
  const hold = async (): Promise<Lease> => {
    const lease = await take();
    if (lease === null) throw new Error('the lease is not free');
    return lease;
  };
  const record = (...record: Parameters<typeof recordOf>) =>
    place.ports.results.record([recordOf(...record)]);
  const readLog = async (after: number, highestRecordedId = after) =>
    place.ports.movementLog.read({
      webhookId: place.webhook.id,
      customerId: place.webhook.customerId,
      accountsDeleted: 0,
      filters: (await read()).filters,
      after,
      highestRecordedId,
      limit: 200,
      isExtended: false,
    });
  const readRetries = (ordered = false) =>
    place.ports.retries.read(place.webhook.id, { ordered, limit: 200, ofEvents: false, isExtended: false });
  const idsOf = (movements: readonly { transaction_id: string | number }[]) =>
    movements.map(({ transaction_id }) => Number(transaction_id));

  it('show a new webhook with nothing to send and a free lease', async () => {
    const state = await read();
    expect(state).toMatchObject({
      settings: { status: 'active' },
      leasedFor: null,
      crashCount: 0,
      openFor: null,
      retryIn: null,
      replaying: false,
      deletedAccounts: [],
    });
    expect(state.matchedThrough).toBe(state.sentThrough);
    expect(await readLog(state.sentThrough)).toMatchObject({ movements: [], complete: true });
  });

  it('read the log in the order of its ids, without what has a result', async () => {
    const { sentThrough } = await read();
    const ids = await place.store(4);
    const all = await readLog(sentThrough);
    expect(idsOf(all.movements)).toEqual(ids);
    expect(all).toMatchObject({ complete: true, through: ids[3] });
    const lease = await hold();
    await record(lease, [success(ids[2] as number)], {
      cursor: { sentThrough, highestRecordedId: ids[2] as number },
    });
    const left = await readLog(sentThrough, ids[2]);
    // Up to the newest result, some movements have results already. What lies beyond is read next.
    expect(idsOf(left.movements)).toEqual(ids.slice(0, 2));
    expect(left).toMatchObject({ complete: false, through: ids[2] });
  });

  it('give the lease to one run, which read the newest state', async () => {
    const before = await read();
    const lease = await hold();
    expect(lease.writes).toBe(0);
    const during = await read();
    expect(during.leasedFor).toBeGreaterThan(11_000);
    expect(during).toMatchObject({ lastToken: lease.token, lastWrites: 0, crashCount: 1 });
    expect(await take()).toBeNull();
    await place.endLease();
    const { settings, lastToken, lastWrites } = before;
    const old = { webhookId: place.webhook.id, revision: settings.revision, lastToken, lastWrites };
    expect(await place.ports.webhooks.takeLease(old)).toBeNull();
    expect(await take()).toMatchObject({ writes: 0 });
  });

  it('give no lease for another revision', async () => {
    const { settings, lastToken, lastWrites } = await read();
    const request = { webhookId: place.webhook.id, revision: settings.revision + 1, lastToken, lastWrites };
    expect(await place.ports.webhooks.takeLease(request)).toBeNull();
  });

  it('renew a lease as long as no other run has taken it', async () => {
    const lease = await hold();
    expect(await place.ports.webhooks.renewLeases([lease])).toEqual([lease]);
    await place.endLease();
    const other = await hold();
    expect(await place.ports.webhooks.renewLeases([lease])).toEqual([]);
    expect(await place.ports.webhooks.renewLeases([other])).toEqual([other]);
  });

  it('record results once, even if the answer to the record was lost', async () => {
    const ids = await place.store(2);
    const lease = await hold();
    const results = ids.map((id) => success(id));
    await record(lease, results);
    await record(lease, results);
    expect(await read()).toMatchObject({
      sentThrough: ids[1],
      highestRecordedId: ids[1],
      crashCount: 0,
      lastWrites: 1,
    });
    await record({ ...lease, writes: 1 }, [], { cursor: { sentThrough: 0, highestRecordedId: 0 } });
    expect(await read()).toMatchObject({ sentThrough: ids[1], lastWrites: 2 });
  });

  it('record nothing under a lease that another run has taken', async () => {
    const { sentThrough } = await read();
    const ids = await place.store(1);
    const lease = await hold();
    await place.endLease();
    await hold();
    await expect(record(lease, [success(ids[0] as number)])).rejects.toThrow(LeaseLostError);
    expect(await read()).toMatchObject({ sentThrough });
  });

  it('give the lease back with the last record', async () => {
    const lease = await hold();
    await record(lease, [], { release: true });
    expect(await read()).toMatchObject({ leasedFor: null, crashCount: 0 });
    expect(await take()).not.toBeNull();
  });

  it('keep failed attempts as retries until they are due, and until they succeed', async () => {
    const ids = await place.store(2);
    const lease = await hold();
    await record(lease, [
      failure(ids[0] as number),
      failure(ids[1] as number, { retryIn: null, status: 'failed' }),
    ]);
    const waiting = await readRetries();
    expect(waiting.deliveries).toEqual([]);
    expect(waiting.nextIn).toBeGreaterThan(3_500_000);
    expect((await read()).retryIn).toBeGreaterThan(3_500_000);
    await place.makeRetriesDue();
    const due = await readRetries();
    expect(due.nextIn).toBeNull();
    expect(due.deliveries).toMatchObject([
      { subjectId: ids[0], source: 'retries', attempts: 1, failures: 1, content: expect.anything() },
    ]);
    await record({ ...lease, writes: 1 }, [success(ids[0] as number, { number: 2 })]);
    expect(await readRetries()).toEqual({ deliveries: [], nextIn: null });
    expect((await read()).retryIn).toBeNull();
  });

  it('wait for the lowest id if the order counts', async () => {
    place = await open({ ordered: true });
    const ids = await place.store(2);
    await record(await hold(), [
      failure(ids[0] as number, { retryIn: 3_600_000 }),
      failure(ids[1] as number, { retryIn: 0 }),
    ]);
    const { deliveries, nextIn } = await readRetries(true);
    expect(deliveries).toEqual([]);
    expect(nextIn).toBeGreaterThan(3_500_000);
    expect((await read()).retryIn).toBeGreaterThan(3_500_000);
  });

  it('read the retries of an ordered webhook up to the first that is not due', async () => {
    const ids = await place.store(3);
    const due = { retryIn: 0 };
    await record(await hold(), [
      failure(ids[0] as number, due),
      failure(ids[1] as number, { retryIn: 3_600_000 }),
      failure(ids[2] as number, due),
    ]);
    const { deliveries, nextIn } = await readRetries(true);
    expect(deliveries.map(({ subjectId }) => subjectId)).toEqual([ids[0]]);
    expect(nextIn).toBeGreaterThan(3_500_000);
  });

  it('record the health of the endpoint, and when its circuit is half-open', async () => {
    const health: EndpointHealth = {
      consecutiveFailures: 3,
      failingSince: null,
      failingDays: 0,
      circuitOpenings: 1,
      openUntil: 60_000,
      recoverySuccesses: 0,
      consecutiveRejections: 0,
      batchLimit: 250,
    };
    await record(await hold(), [], { health });
    const state = await read();
    expect(state.openFor).toBeGreaterThan(50_000);
    expect(state.settings).toMatchObject({
      consecutive_failures: 3,
      circuit_openings: 1,
      recovery_successes: 0,
      batch_limit: 250,
    });
  });

  it('disable a webhook that nobody has changed since', async () => {
    const { id } = place.webhook;
    const { revision } = (await read()).settings;
    await place.ports.webhooks.disable({ id, revision: revision + 1 }, 'Gone.');
    expect(await read()).toMatchObject({ settings: { status: 'active' } });
    await place.ports.webhooks.disable({ id, revision }, 'Gone.');
    const state = await read();
    expect(state).toMatchObject({ settings: { status: 'disabled' } });
    expect(state.settings.revision).toBe(revision + 1);
  });

  it('pause a webhook once', async () => {
    expect(await place.ports.webhooks.quarantine({ ...place.webhook, templateId: null }, 'It crashes.')).toBe(
      'paused',
    );
    expect(await read()).toMatchObject({ settings: { status: 'paused' } });
    expect(await place.ports.webhooks.quarantine({ ...place.webhook, templateId: null }, 'It crashes.')).toBe(
      'not active',
    );
  });

  it('make what a replay covers due again', async () => {
    const ids = await place.store(3);
    const lease = await hold();
    const ended = { retryIn: null, status: 'failed' } as const;
    await record(lease, [success(ids[0] as number), ...ids.slice(1).map((id) => failure(id, ended))], {
      release: true,
    });
    await place.replay(['failed']);
    expect(await read()).toMatchObject({ replaying: true });
    expect(await place.ports.retries.expandReplay(place.webhook.id)).toEqual({ added: 2, replaying: false });
    const { deliveries } = await readRetries();
    expect(deliveries.map(({ subjectId }) => subjectId).toSorted()).toEqual(ids.slice(1));
    expect(deliveries).toMatchObject([
      { attempts: 1, failures: 0 },
      { attempts: 1, failures: 0 },
    ]);
    expect(await place.ports.retries.expandReplay(place.webhook.id)).toEqual({ added: 0, replaying: false });
  });
});
