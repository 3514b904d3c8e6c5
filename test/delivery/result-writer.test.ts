import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { setImmediate as nextPass, setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { createDataSource } from '../../src/database/data-source.ts';
import type { ClockPort } from '../../src/delivery/engine/ports.ts';
import { createResultWriter } from '../../src/delivery/engine/result-writer.ts';
import { createMysqlPorts } from '../../src/delivery/worker.ts';
import type { DeliveryMetrics } from '../../src/platform/metrics.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import type { Lease } from '../../src/webhook-record/lease.ts';
import { leaseAll, recordOf, success } from '../support/records.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, cursorOf, NOWHERE, setCursor } from '../support/subscriber.ts';
import { until } from '../support/until.ts';

const RECORDED = { revision: 1, health: null };

const service = useService({ roles: ['api'] });
let leases: Lease[];

beforeEach(async () => {
  const { webhookIds } = await createSubscriber(service, NOWHERE, ...Array.from({ length: 6 }, () => ({})));
  leases = await leaseAll(service, webhookIds);
});

const newWriter = ({
  database = service.runtime.database,
  clock = systemClock,
  metrics,
}: {
  database?: DataSource;
  clock?: ClockPort;
  metrics?: DeliveryMetrics;
} = {}) =>
  createResultWriter(createMysqlPorts(database, service.runtime.secrets).results, clock, {
    log: service.runtime.log,
    metrics,
  });

/** Ten times as fast. */
const fastClock: ClockPort = {
  ...systemClock,
  after: (milliseconds, callback) => systemClock.after(milliseconds / 10, callback),
};

const counts = async () =>
  Promise.all(
    leases.map(async ({ webhookId }) => Number((await cursorOf(service, webhookId)).delivered_count)),
  );
const stored = async () => {
  const rows = await service.runtime.database.query<{ webhook_id: string }[]>(
    'SELECT webhook_id FROM deliveries WHERE webhook_id IN (?) ORDER BY webhook_id',
    [leases.map(({ webhookId }) => webhookId)],
  );
  return rows.map(({ webhook_id }) => leases.findIndex(({ webhookId }) => webhookId === webhook_id));
};

it('the result writer records the results of many runs, and gives back the leases of runs that end', async () => {
  const writer = newWriter();
  const revisions = await Promise.all(
    leases.map((lease, at) => writer.write(recordOf(lease, [success(5)], { release: at % 2 === 0 }))),
  );
  expect(revisions).toEqual(Array(6).fill(RECORDED));
  expect(await counts()).toEqual([1, 1, 1, 1, 1, 1]);
  const rows = await Promise.all(leases.map(({ webhookId }) => cursorOf(service, webhookId)));
  expect(rows.map(({ lease_until }) => lease_until === null)).toEqual([
    true,
    false,
    true,
    false,
    true,
    false,
  ]);
});

it('the result writer records nothing for a webhook whose lease is lost, and everything for the other webhooks of the batch', async () => {
  const writer = newWriter();
  await setCursor(service, leases[3]?.webhookId ?? '', "lease_token = 'of another run'");
  const revisions = await Promise.all(leases.map((lease) => writer.write(recordOf(lease, [success(5)]))));
  expect(revisions).toEqual(leases.map((_, at) => (at === 3 ? null : RECORDED)));
  expect(await stored()).toEqual([0, 1, 2, 4, 5]);
  expect(await counts()).toEqual([1, 1, 1, 0, 1, 1]);
});

it('the result writer counts the results that were recorded, and none of a webhook whose lease is lost', async () => {
  const counted: number[] = [];
  const writer = newWriter({
    metrics: {
      recorded: (results) => void counted.push(...results.map(({ startedAt }) => startedAt)),
      leaseLost() {},
    },
  });
  await setCursor(service, leases[2]?.webhookId ?? '', "lease_token = 'of another run'");
  await Promise.all(
    leases.map((lease, at) => writer.write(recordOf(lease, [success(5, { startedAt: at })]))),
  );
  expect(counted.toSorted()).toEqual([0, 1, 3, 4, 5]);
});

/** The column takes no negative number. */
const REFUSED = { durationMs: -1 };

it('the result writer records the results of other webhooks when MySQL refuses those of one', async () => {
  const writer = newWriter({ clock: fastClock });
  const writes = leases.map((lease, at) =>
    writer.write(recordOf(lease, [success(5, at === 4 ? REFUSED : {})])),
  );
  await Promise.all(writes.filter((_, at) => at !== 4));
  expect(await stored()).toEqual([0, 1, 2, 3, 5]);
  expect(await counts()).toEqual([1, 1, 1, 1, 0, 1]);
  // The writer gives it up after a while. MySQL's message may contain values, so it is only in the log.
  await expect(writes[4]).rejects.toThrow(
    'MySQL refuses the results of its deliveries (ER_WARN_DATA_OUT_OF_RANGE)',
  );
});

it('the result writer gives up each of many webhooks of one customer whose results MySQL refuses', async () => {
  const writer = newWriter({ clock: fastClock });
  const writes = leases.map((lease) => writer.write(recordOf(lease, [success(5, REFUSED)])));
  const ends = await Promise.allSettled(writes);
  expect(ends.map(({ status }) => status)).toEqual(Array(6).fill('rejected'));
});

it('the result writer tries results that MySQL refuses alone, and others together', async () => {
  const groups: number[][] = [];
  const { results: port } = createMysqlPorts(service.runtime.database, service.runtime.secrets);
  const writer = createResultWriter(
    {
      record(records) {
        groups.push(records.map(({ lease }) => leases.indexOf(lease)));
        return port.record(records);
      },
    },
    fastClock,
    { log: service.runtime.log },
  );
  const [bad, ...good] = leases;
  if (bad === undefined) throw new Error('no leases');
  const refused = writer.write(recordOf(bad, [success(5, REFUSED)]));
  await expect(refused).rejects.toThrow('MySQL refuses');
  const times = groups.filter((group) => group.includes(0)).length;
  expect(times).toBe(10);
  await Promise.all(good.map((lease) => writer.write(recordOf(lease, [success(5)]))));
  expect(groups.filter((group) => group.length > 1 && group.includes(0))).toEqual([]);
});

it('the result writer keeps trying when MySQL refuses results of many customers, because no endpoint is the cause', async () => {
  const { results: port } = createMysqlPorts(service.runtime.database, service.runtime.secrets);
  let alone = 0;
  const writer = createResultWriter(
    {
      record(records) {
        if (records.length === 1) alone += 1;
        return port.record(records);
      },
    },
    fastClock,
    { log: service.runtime.log },
  );
  let given = 0;
  const writes = leases.map((lease, at) =>
    writer
      .write({ ...recordOf(lease, [success(5, at === 0 ? {} : REFUSED)]), customerId: `${at}` })
      .finally(() => {
        given += 1;
      }),
  );
  await writes[0];
  await until('each was tried more often than one of a single customer', () => alone > 5 * 15);
  expect(given).toBe(1);
  writer.stop();
  await Promise.allSettled(writes);
  expect(given).toBe(6);
});

it('the lease of a webhook whose results cannot be recorded can be renewed after each failure', async () => {
  const [lease] = leases;
  if (lease === undefined) throw new Error('no leases');
  const { database, secrets, log } = service.runtime;
  const { webhooks, results } = createMysqlPorts(database, secrets);
  const holder = database.createQueryRunner();
  await holder.query('LOCK TABLES deliveries WRITE');
  const renewed: Promise<Lease[]>[] = [];
  const onLocked = (held: Lease) => void renewed.push(webhooks.renewLeases([held]));
  const write = createResultWriter(results, systemClock, { log, onLocked }).write(
    recordOf(lease, [success(5)]),
  );
  await until('it has failed twice', () => renewed.length >= 2);
  expect(await Promise.all(renewed)).toEqual(renewed.map(() => [lease]));
  await holder.query('UNLOCK TABLES');
  await holder.release();
  expect(await write).toEqual(RECORDED);
});

it('the result writer tries locked records again while it records the rest, and stops when the lease is lost', async () => {
  const writer = newWriter();
  const [first, second] = leases;
  if (first === undefined || second === undefined) throw new Error('no leases');
  const release = await lockCursors([first, second]);
  const ended: number[] = [];
  const writes = leases.map((lease, at) =>
    writer.write(recordOf(lease, [success(5)])).finally(() => ended.push(at)),
  );
  await Promise.all(writes.slice(2));
  // Longer than a statement waits for a lock, and than all its repetitions took before.
  await sleep(10_000);
  expect(ended.toSorted()).toEqual([2, 3, 4, 5]);
  await release(second);
  expect(await Promise.all(writes)).toEqual(leases.map((_, at) => (at === 1 ? null : RECORDED)));
  expect(await counts()).toEqual([1, 0, 1, 1, 1, 1]);
});

it('the result writer calls back everyone that asks for a flush at the same moment, each once', async () => {
  const writer = newWriter();
  const called: string[] = [];
  const ask = (name: string) => writer.flushSoon(() => void called.push(name));
  ask('early');
  ask('late');
  const seen = new Set<string>();
  await until('the call', () => seen.add(called.join(' ')) && called.length > 0);
  expect([...seen]).toEqual(['', 'early late']);
  ask('next');
  await until('the next call', () => called.length > 2);
  expect(called).toEqual(['early', 'late', 'next']);
});

it('the result writer waits longer for results while records wait for a writer', async () => {
  const writer = newWriter();
  const locked = leases.slice(0, 2);
  const release = await lockCursors(locked);
  // Each of the two occupies a writer, so the third waits for one.
  const written: Promise<unknown>[] = [];
  for (const lease of leases.slice(0, 3)) {
    written.push(writer.write(recordOf(lease, [success(5)])));
    await nextPass();
  }
  let calls = 0;
  writer.flushSoon(() => {
    calls += 1;
  });
  // A writer without records shows that the usual time has passed.
  const idle = newWriter();
  for (let i = 0; i < 3; i += 1) await new Promise<void>((resolve) => idle.flushSoon(resolve));
  expect(calls).toBe(0);
  await release();
  expect(await Promise.all(written)).toEqual(Array(3).fill(RECORDED));
  await until('the call', () => calls === 1);
});

/** Locks the cursors of these leases. @returns what releases them, and first gives the lease that it gets to another run. */
async function lockCursors(held: readonly Lease[]): Promise<(lost?: Lease) => Promise<void>> {
  const runner = service.runtime.database.createQueryRunner();
  await runner.startTransaction();
  const ids = held.map(({ webhookId }) => webhookId);
  await runner.query('SELECT webhook_id FROM webhook_cursors WHERE webhook_id IN (?) FOR UPDATE', [ids]);
  return async (lost) => {
    if (lost !== undefined) {
      await runner.query("UPDATE webhook_cursors SET lease_token = 'of another run' WHERE webhook_id = ?", [
        lost.webhookId,
      ]);
    }
    await runner.commitTransaction();
    await runner.release();
  };
}

/** A proxy to MySQL that loses the answer to the next COMMIT, and the connection with it. */
function useLossyWay() {
  const target = new URL(inject('databaseUrl'));
  const sockets = new Set<Socket>();
  let armed = false;
  let lost = 0;
  const server = createServer((client) => {
    const socketPath = target.searchParams.get('socketPath');
    const upstream =
      socketPath === null
        ? createConnection(Number(target.port || 3306), target.hostname)
        : createConnection(socketPath);
    let swallow = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (data) => {
      if (armed && data.includes('COMMIT')) {
        armed = false;
        swallow = true;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!swallow) return void client.write(data);
      lost += 1;
      client.destroy();
    });
  });
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    /** The URL of the same database through this proxy. */
    through(database: string): string {
      const url = new URL(target);
      url.search = '';
      url.hostname = '127.0.0.1';
      url.port = String((server.address() as AddressInfo).port);
      url.pathname = `/${database}`;
      return url.href;
    },
    loseNextCommit: () => {
      armed = true;
    },
    lost: () => lost,
  };
}

const way = useLossyWay();

it('the result writer counts results only once when their COMMIT got no answer, and goes on under the same lease', async () => {
  const [row] = await service.runtime.database.query<{ name: string }[]>('SELECT DATABASE() AS name');
  const database = createDataSource(way.through(row?.name ?? ''), { poolSize: 2 });
  await database.initialize();
  try {
    const writer = newWriter({ database });
    way.loseNextCommit();
    const [first, second] = leases as [Lease, Lease];
    const revisions = await Promise.all([
      writer.write(recordOf(first, [success(5)], { release: true })),
      writer.write(recordOf(second, [success(5)])),
    ]);
    expect(way.lost()).toBe(1);
    expect(revisions).toEqual([RECORDED, RECORDED]);
    expect(await writer.write(recordOf({ ...second, writes: 1 }, [success(6)]))).toEqual(RECORDED);
    expect(await counts()).toEqual([1, 2, 0, 0, 0, 0]);
    expect(await cursorOf(service, first.webhookId)).toMatchObject({ lease_until: null, lease_writes: 1 });
  } finally {
    await database.destroy();
  }
});
