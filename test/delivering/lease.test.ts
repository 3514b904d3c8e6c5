import { beforeAll, describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/delivering/address-guard.ts';
import { releaseLease, renewLeases, takeLeases } from '../../src/delivering/lease.ts';
import { createPoster } from '../../src/delivering/post.ts';
import { createPump } from '../../src/delivering/pump.ts';
import { waitsUntilDue } from '../../src/delivering/wait.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf, subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });
const receiver = useReceiver();
let webhookId: string;
/** Is owed one delivery that no test sends. */
let owedOne: string;
let key: string;
let accountId: string;

beforeAll(async () => {
  key = (await service.customer()).api_key;
  accountId = (await createAccount(service, key)).id;
  webhookId = (await subscribe(service, key, `${receiver.url}/lease`)).id;
  const other = (await service.customer()).api_key;
  await createAccount(service, other);
  owedOne = (await subscribe(service, other, `${receiver.url}/never`)).id;
  await service.runtime.database.query('INSERT INTO deliveries (webhook_id, transaction_id) VALUES (?, 1)', [
    owedOne,
  ]);
});

async function takeLease(id: string) {
  const [lease = null] = await takeLeases(service.runtime.database, [id]);
  return lease;
}

/** A pump whose runs the test starts itself; no worker competes with it. */
function newPump() {
  const { database, secrets, log } = service.runtime;
  const wakes: { webhookId: string; delay: number }[] = [];
  const poster = createPoster({ guard: createAddressGuard({ allow: ['127.0.0.0/8'] }) });
  const pump = createPump({
    database,
    secrets,
    poster,
    log,
    wake: async (id, delay) => {
      wakes.push({ webhookId: id, delay });
    },
  });
  return { pump, poster, wakes };
}
const never = new AbortController().signal;
const owe = (count: number, prefix: string) =>
  importMovements(
    service,
    key,
    Array.from({ length: count }, (_, i) => movement(accountId, { unique_id: `${prefix}${i}` })),
  );

describe('the lease of a webhook', () => {
  it('is held by one at a time, and given back', async () => {
    const { database } = service.runtime;
    const lease = await takeLease(owedOne);
    expect(lease).not.toBeNull();
    expect(await takeLease(owedOne)).toBeNull();
    if (lease === null) return;
    await releaseLease(database, lease);
    const next = await takeLease(owedOne);
    expect(next).not.toBeNull();
    // A former holder cannot give back what is not its own any more.
    await releaseLease(database, lease);
    expect(await takeLease(owedOne)).toBeNull();
    if (next !== null) await releaseLease(database, next);
  });

  it('is taken for many at once: by the first who asks, and where something is due', async () => {
    const { database } = service.runtime;
    const { api_key: other } = await service.customer();
    await createAccount(service, other);
    const due = [];
    for (const dueAt of ["'1970-01-01'", 'NOW(6) - INTERVAL 1 SECOND', 'NOW(6) + INTERVAL 1 HOUR', 'NULL']) {
      const { id } = await subscribe(service, other, `${receiver.url}/never`);
      const status = dueAt === 'NULL' ? 'delivered' : 'pending';
      await database.query(
        `INSERT INTO deliveries (webhook_id, transaction_id, status, due_at) VALUES (?, 1, ?, ${dueAt})`,
        [id, status],
      );
      due.push(id);
    }
    const [first = '', second = '', later = '', ended = ''] = due;
    const leases = await takeLeases(database, [first, later, first, ended, second]);
    expect(leases.map((lease) => lease?.webhookId ?? null)).toEqual([first, null, null, null, second]);
    expect(await waitsUntilDue(database, [ended, later, '999999'])).toEqual([
      null,
      expect.toSatisfy((wait) => wait > 3_590_000 && wait <= 3_600_000),
      null,
    ]);
    const held = await waitsUntilDue(database, [first, second]);
    expect(held).toEqual([1, 2].map(() => expect.toSatisfy((wait) => wait > 10_000 && wait <= 12_000)));
    for (const lease of leases) if (lease !== null) await releaseLease(database, lease);
    expect(await waitsUntilDue(database, [second, first])).toEqual([0, 0]);
  });

  it('is prolonged for whom it belongs to, and not for who has lost it', async () => {
    const { database } = service.runtime;
    const lease = await takeLease(owedOne);
    if (lease === null) throw new Error('the lease is held');
    const almostOver = "UPDATE pumps SET lease_until = '2000-01-01' WHERE webhook_id = ?";
    const isPast = async () => {
      const [row] = await database.query<{ past: string }[]>(
        'SELECT lease_until < NOW(6) AS past FROM pumps WHERE webhook_id = ?',
        [owedOne],
      );
      // MariaDB answers a number, MySQL a BIGINT, which comes as text.
      return Number(row?.past) === 1;
    };
    await database.query(almostOver, [owedOne]);
    await renewLeases(database, [{ ...lease, token: 'a former one' }]);
    expect(await isPast()).toBe(true);
    await renewLeases(database, [lease, { ...lease, webhookId: '999999' }]);
    expect(await isPast()).toBe(false);
    await releaseLease(database, lease);
  });

  it('that is taken again and again and never given back sets the webhook apart, and keeps what it is owed', async () => {
    const { pump, poster } = newPump();
    const { database } = service.runtime;
    const poisonous = await subscribe(service, key, `${receiver.url}/poison`);
    await owe(1, 'poison');
    // What a process that is killed in each of its runs leaves behind.
    for (let i = 0; i < 10; i += 1) {
      await takeLease(poisonous.id);
      await database.query("UPDATE pumps SET lease_until = '2000-01-01' WHERE webhook_id = ?", [
        poisonous.id,
      ]);
    }
    await pump.run(poisonous.id, never);
    const { body } = await service.call('GET', `/v1/webhooks/${poisonous.id}`, { key });
    expect(body.webhook).toMatchObject({
      status: 'paused',
      status_reason: expect.stringContaining('10 times'),
    });
    expect(await deliveriesOf(service, poisonous.id)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    expect(receiver.at('/poison')).toHaveLength(0);
    await pump.run(webhookId, never);
    pump.close();
    await poster.close();
  });

  it('is free again when it has run out, and when the clock was set back', async () => {
    const { database } = service.runtime;
    for (const until of ['NOW(6) - INTERVAL 1 SECOND', 'NOW(6) + INTERVAL 1 HOUR']) {
      await database.query(
        `UPDATE pumps SET lease_token = 'dead', lease_until = ${until} WHERE webhook_id = ?`,
        [owedOne],
      );
      const lease = await takeLease(owedOne);
      expect(lease).not.toBeNull();
      if (lease !== null) await releaseLease(database, lease);
    }
  });

  it('lets a second run at the same time send nothing, and look again later', async () => {
    const { pump, poster, wakes } = newPump();
    await owe(50, 'twice');
    const before = receiver.at('/lease').length;
    await Promise.all([pump.run(webhookId, never), pump.run(webhookId, never)]);
    expect(receiver.at('/lease')).toHaveLength(before + 50);
    // When the other one's lease must be over.
    expect(wakes).toEqual([
      { webhookId, delay: expect.toSatisfy((delay) => delay > 10_000 && delay <= 12_000) },
    ]);
    pump.close();
    await poster.close();
  });

  it('that was lost keeps the results from being written: they are sent again, never mixed', async () => {
    const { pump, poster } = newPump();
    let stolen = false;
    receiver.answer('/lease', async (_, response) => {
      if (!stolen) {
        stolen = true;
        await service.runtime.database.query("UPDATE pumps SET lease_token = 'thief' WHERE webhook_id = ?", [
          webhookId,
        ]);
      }
      response.end();
    });
    await owe(1, 'lost');
    await pump.run(webhookId, never);
    const pending = (await deliveriesOf(service, webhookId)).filter(({ status }) => status === 'pending');
    expect(pending).toMatchObject([{ attempts: 0 }]);
    await service.runtime.database.query('UPDATE pumps SET lease_token = NULL WHERE webhook_id = ?', [
      webhookId,
    ]);
    await pump.run(webhookId, never);
    expect((await deliveriesOf(service, webhookId)).every(({ status }) => status === 'delivered')).toBe(true);
    const twice = receiver
      .at('/lease')
      .filter(({ headers }) => headers['webhook-id'] === `msg_${pending[0]?.id}`);
    expect(twice).toHaveLength(2);
    pump.close();
    await poster.close();
  });

  it('writes what arrives while the process is shutting down', async () => {
    const { pump, poster } = newPump();
    let answer = () => {};
    receiver.answer('/lease', (_, response) => {
      answer = () => void response.end();
    });
    await owe(1, 'last');
    const before = receiver.at('/lease').length;
    const shutdown = new AbortController();
    const run = pump.run(webhookId, shutdown.signal);
    await until('the POST in flight', () => receiver.at('/lease').length > before);
    shutdown.abort();
    answer();
    await run;
    expect((await deliveriesOf(service, webhookId)).filter(({ status }) => status === 'pending')).toEqual([]);
    pump.close();
    await poster.close();
  });

  it('does not count an attempt that our own shutdown cut short', async () => {
    const { pump, poster, wakes } = newPump();
    receiver.answer('/lease', () => {});
    await owe(1, 'shutdown');
    const before = receiver.at('/lease').length;
    const shutdown = new AbortController();
    const run = pump.run(webhookId, shutdown.signal);
    await until('the POST in flight', () => receiver.at('/lease').length > before);
    shutdown.abort();
    poster.abort();
    await run;
    const [pending] = (await deliveriesOf(service, webhookId)).filter(({ status }) => status === 'pending');
    expect(pending).toMatchObject({ attempts: 0, failures: 0 });
    expect(
      (await attemptsOf(service, webhookId)).some(({ delivery_id }) => delivery_id === pending?.id),
    ).toBe(false);
    // Whoever goes on finds a job for it.
    expect(wakes).toEqual([{ webhookId, delay: 0 }]);
    pump.close();
    await poster.close();
  });
});

it('does not wait for a rate limit that was written before the clock was set back', async () => {
  const { pump, poster } = newPump();
  const { database } = service.runtime;
  const limited = await subscribe(service, key, `${receiver.url}/clock`, { rate_limit: 5 });
  await owe(2, 'clock');
  await database.query('UPDATE pumps SET rate_next_at = NOW(6) + INTERVAL 1 HOUR WHERE webhook_id = ?', [
    limited.id,
  ]);
  await pump.run(limited.id, never);
  expect(receiver.at('/clock')).toHaveLength(2);
  pump.close();
  await poster.close();
});

it('does not disable a webhook that its owner has changed while the 410 was under way', async () => {
  const { pump, poster } = newPump();
  const changed = await subscribe(service, key, `${receiver.url}/changed`);
  receiver.answer('/changed', async (_, response) => {
    await service.call('PATCH', `/v1/webhooks/${changed.id}`, { key, body: { title: 'a new beginning' } });
    response.statusCode = 410;
    response.end();
  });
  await owe(1, 'changed');
  const signal = new AbortController();
  const run = pump.run(changed.id, signal.signal);
  await until('the attempt logged', async () => (await attemptsOf(service, changed.id)).length > 0);
  const { body } = await service.call('GET', `/v1/webhooks/${changed.id}`, { key });
  signal.abort();
  await run;
  expect(body.webhook).toMatchObject({ status: 'active', title: 'a new beginning' });
  pump.close();
  await poster.close();
});
