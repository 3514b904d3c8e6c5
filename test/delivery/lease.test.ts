import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/database/transaction.ts';
import { LEASE_SECONDS, type Lease, renewLeases, takeLeases } from '../../src/webhook-record/lease.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, cursorOf, NOWHERE, setCursor } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });

const webhooks = async (count: number) =>
  (await createSubscriber(service, NOWHERE, ...Array.from({ length: count }, () => ({})))).webhookIds;

async function newWebhook(): Promise<string> {
  const [id = ''] = await webhooks(1);
  return id;
}

const take = (...requests: [webhookId: string, lastToken: string, lastWrites?: number][]) =>
  takeLeases(
    service.runtime.database,
    requests.map(([webhookId, lastToken, lastWrites = 0]) => ({
      webhookId,
      revision: 1,
      lastToken,
      lastWrites,
    })),
  );

async function takeOne(webhookId: string, lastToken: string, lastWrites = 0): Promise<Lease> {
  const [lease] = await take([webhookId, lastToken, lastWrites]);
  if (lease == null) throw new Error('the lease was not given');
  return lease;
}

const giveBack = (webhookId: string) => setCursor(service, webhookId, 'lease_until = NULL');

/** Seconds until the lease ends. */
async function secondsLeft(webhookId: string): Promise<number | null> {
  const [row] = await service.runtime.database.query<{ seconds: string | null }[]>(
    'SELECT TIMESTAMPDIFF(MICROSECOND, NOW(6), lease_until) / 1000000 AS seconds FROM webhook_cursors WHERE webhook_id = ?',
    [webhookId],
  );
  return row?.seconds == null ? null : Number(row.seconds);
}

describe('the lease of a webhook', () => {
  it('is held by one run at a time, for 12 s', async () => {
    const id = await newWebhook();
    const lease = await takeOne(id, '');
    expect(lease).toEqual({ webhookId: id, token: expect.stringMatching(/^[\w-]{22}$/), writes: 0 });
    expect(await take([id, lease.token])).toEqual([null]);
    expect(await secondsLeft(id)).toSatisfy((left) => left > LEASE_SECONDS - 6 && left <= LEASE_SECONDS);
  });

  it("is not given if the webhook's settings or status were changed after the run read them", async () => {
    const id = await newWebhook();
    await service.runtime.database.query(
      "UPDATE webhooks SET status = 'paused', revision = revision + 1 WHERE id = ?",
      [id],
    );
    expect(await take([id, ''])).toEqual([null]);
    expect((await cursorOf(service, id)).crash_count).toBe(0);
  });

  it('is renewed although the cursor of another webhook is locked', async () => {
    const { database } = service.runtime;
    const [locked = '', free = ''] = await webhooks(2);
    const leases = [await takeOne(locked, ''), await takeOne(free, '')];
    await setCursor(service, free, 'lease_until = NOW(6) + INTERVAL 2 SECOND');
    const held = database.createQueryRunner();
    await held.startTransaction();
    await held.query('SELECT webhook_id FROM webhook_cursors WHERE webhook_id = ? FOR UPDATE', [locked]);
    const renewed = await inTransaction(database, (sql) => renewLeases(sql, leases));
    await held.rollbackTransaction();
    await held.release();
    expect(renewed).toEqual([leases[1]]);
    expect(await secondsLeft(free)).toSatisfy((left) => left > 5);
  });

  it('is given to only one of many runs that ask at the same time', async () => {
    const id = await newWebhook();
    const leases = await Promise.all(Array.from({ length: 12 }, () => take([id, ''])));
    const given = leases.flat().filter((lease) => lease !== null);
    expect(given).toHaveLength(1);
    expect((await cursorOf(service, id)).lease_token).toBe(given[0]?.token);
  });

  it('is refused to a run that read the webhook before another run had the lease, because its state is stale', async () => {
    const id = await newWebhook();
    const { token } = await takeOne(id, '');
    await giveBack(id);
    const before = await cursorOf(service, id);
    expect(await take([id, ''])).toEqual([null]);
    expect(await take([id, 'a token of long ago'])).toEqual([null]);
    expect(await cursorOf(service, id)).toEqual(before);
    expect(await take([id, token])).toEqual([expect.objectContaining({ webhookId: id })]);
  });

  it('is refused if its last holder recorded after the webhook was read, although the lease had expired by then', async () => {
    const id = await newWebhook();
    const { token } = await takeOne(id, '');
    // The webhook is read here, when the lease has expired. Its holder goes on, records and gives it back.
    await setCursor(service, id, 'lease_until = NOW(6) - INTERVAL 1 SECOND');
    await setCursor(service, id, 'lease_writes = 1, lease_until = NULL');
    expect(await take([id, token, 0])).toEqual([null]);
    expect(await take([id, token, 1])).toEqual([expect.objectContaining({ webhookId: id })]);
  });

  it('is taken for many webhooks in one statement, and once for a webhook that is asked for twice', async () => {
    const [free = '', held = '', stale = '', twice = '', last = ''] = await webhooks(5);
    await takeOne(held, '');
    await takeOne(stale, '');
    await giveBack(stale);
    const leases = await take(
      [twice, ''],
      [held, ''],
      [free, ''],
      [twice, ''],
      [stale, ''],
      ['999999', ''],
      [last, ''],
    );
    expect(leases.map((lease) => lease?.webhookId ?? null)).toEqual([
      twice,
      null,
      free,
      null,
      null,
      null,
      last,
    ]);
    const tokens = await Promise.all([twice, free, last].map((id) => cursorOf(service, id)));
    expect(new Set(tokens.map(({ lease_token }) => lease_token))).toEqual(new Set([leases[0]?.token]));
    expect(await take([free, ''], [last, ''])).toEqual([null, null]);
  });

  it.each([
    ['it has run out', 'NOW(6) - INTERVAL 1 SECOND'],
    ['the clock was set back', 'NOW(6) + INTERVAL 1 HOUR'],
  ])('is free when %s, for a run that has read the webhook since', async (_, until) => {
    const id = await newWebhook();
    const dead = await takeOne(id, '');
    await setCursor(service, id, `lease_until = ${until}`);
    expect(await take([id, ''])).toEqual([null]);
    const next = await takeOne(id, dead.token);
    expect(next.token).not.toBe(dead.token);
  });

  it('counts how often it was taken without a record, and counts its records anew', async () => {
    const id = await newWebhook();
    let { token } = await takeOne(id, '');
    await setCursor(service, id, 'lease_writes = 7, lease_until = NULL');
    token = (await takeOne(id, token, 7)).token;
    expect(await cursorOf(service, id)).toMatchObject({
      crash_count: 2,
      lease_writes: 0,
      lease_token: token,
    });
  });

  it('is prolonged for its holder, and not for a former holder', async () => {
    const [own = '', other = ''] = await webhooks(2);
    const lease = await takeOne(own, '');
    const former = await takeOne(other, '');
    for (const id of [own, other]) await setCursor(service, id, 'lease_until = NOW(6) + INTERVAL 1 SECOND');
    await setCursor(service, other, "lease_token = 'of another run'");
    // Each holds a lease, but not that of the other's webhook.
    await renewLeases(service.runtime.database, [lease, former, { ...lease, webhookId: other }]);
    expect(await secondsLeft(own)).toBeGreaterThan(2);
    expect(await secondsLeft(other)).toBeLessThan(2);
  });

  it('is not taken again by being prolonged after it was given back', async () => {
    const id = await newWebhook();
    const lease = await takeOne(id, '');
    await giveBack(id);
    await renewLeases(service.runtime.database, [lease]);
    expect(await secondsLeft(id)).toBeNull();
    await renewLeases(service.runtime.database, []);
  });
});
