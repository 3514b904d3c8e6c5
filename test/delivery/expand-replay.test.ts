import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { expandReplay } from '../../src/delivery/engine/expand-replay.ts';
import type { ReplayRequest } from '../../src/delivery/replays.ts';
import { createAccount } from '../support/movements.ts';
import { createReplay } from '../support/replays.ts';
import { useService } from '../support/service.ts';
import { type Recorded, recordDeliveries } from '../support/stored.ts';
import { createSubscriber, cursorOf, NOWHERE, type Subscriber } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });
let subscriber: Subscriber;
let webhookId: string;

beforeEach(async () => {
  subscriber = await createSubscriber(service, NOWHERE, {}, {});
  webhookId = subscriber.webhook.id;
});

const query = <T>(statement: string, values: unknown[] = [webhookId]) =>
  service.runtime.database.query<T[]>(statement, values);

const record = (
  ids: readonly string[],
  statusAt: (at: number) => Recorded['status'],
  webhook = subscriber.webhook,
) =>
  recordDeliveries(
    service.runtime.database,
    webhook,
    ids.map((transactionId, at) => ({
      transactionId,
      status: statusAt(at),
      attempts: statusAt(at) === 'failed' ? 12 : 1,
    })),
  );

async function replay(fields: Partial<ReplayRequest> = {}): Promise<string> {
  const made = await createReplay(service.runtime.database, {
    webhook: subscriber.webhook,
    since: '2000-01-01 00:00:00',
    ...fields,
  });
  return made.id;
}

const expand = () => expandReplay(service.runtime.database, webhookId);

const dueIds = async () =>
  (
    await query<{ transaction_id: string }>(
      'SELECT transaction_id FROM retries WHERE webhook_id = ? AND due_at <= NOW(6) ORDER BY transaction_id',
    )
  ).map(({ transaction_id }) => transaction_id);
const statuses = async () =>
  (
    await query<{ status: string }>(
      'SELECT status FROM deliveries WHERE webhook_id = ? ORDER BY transaction_id',
    )
  ).map(({ status }) => status);

describe('a replay', () => {
  it('makes its deliveries due, with the whole retry schedule ahead of them, and counts them as pending', async () => {
    const ids = await subscriber.store(5);
    await record(ids, (at) => (at < 2 ? 'delivered' : at < 4 ? 'failed' : 'pending'));
    const id = await replay({ statuses: ['failed', 'delivered'] });
    expect(await expand()).toEqual({ added: 4, replaying: false });
    expect(await dueIds()).toEqual(ids.slice(0, 4));
    expect(await statuses()).toEqual(['pending', 'pending', 'pending', 'pending', 'pending']);
    const rows = await query(
      'SELECT attempts, failures FROM retries WHERE webhook_id = ? ORDER BY transaction_id',
    );
    expect(rows).toEqual([
      { attempts: 1, failures: 0 },
      { attempts: 1, failures: 0 },
      { attempts: 12, failures: 0 },
      { attempts: 12, failures: 0 },
      { attempts: 1, failures: 1 },
    ]);
    expect(await cursorOf(service, webhookId)).toMatchObject({ delivered_count: '0', failed_count: '0' });
    // The last attempt is kept.
    const attempts = await query(
      'SELECT number, outcome FROM attempts WHERE webhook_id = ? ORDER BY transaction_id',
    );
    expect(attempts).toMatchObject([
      { number: 1, outcome: 'delivered' },
      { number: 1, outcome: 'delivered' },
      { number: 12, outcome: 'failed' },
      { number: 12, outcome: 'failed' },
      { number: 1, outcome: 'failed' },
    ]);
    const [row] = await query('SELECT replayed, finished_at FROM replays WHERE id = ?', [id]);
    expect(row).toEqual({ replayed: '4', finished_at: expect.any(Date) });
    expect(await expand()).toEqual({ added: 0, replaying: false });
  });

  it.each([
    ['failed' as const, [1, 3]],
    ['delivered' as const, [0, 2]],
  ])('of %s deliveries leaves the others as they are', async (status, expected) => {
    const ids = await subscriber.store(4);
    await record(ids, (at) => (at % 2 ? 'failed' : 'delivered'));
    await replay({ statuses: [status] });
    expect(await expand()).toEqual({ added: 2, replaying: false });
    expect(await dueIds()).toEqual(expected.map((at) => ids[at]));
  });

  it('finds its deliveries before it locks the cursor, so that results are recorded and leases renewed meanwhile', async () => {
    await record(await subscriber.store(3), () => 'delivered');
    await replay({ statuses: ['delivered'] });
    const { database } = service.runtime;
    const [holder, other] = [database.createQueryRunner(), database.createQueryRunner()];
    try {
      await holder.query('LOCK TABLES deliveries WRITE');
      let isExpanded = false;
      const expanding = expand().finally(() => {
        isExpanded = true;
      });
      await sleep(500);
      await other.startTransaction();
      await other.query('SELECT webhook_id FROM webhook_cursors WHERE webhook_id = ? FOR UPDATE NOWAIT', [
        webhookId,
      ]);
      expect(isExpanded).toBe(false);
      await other.rollbackTransaction();
      await holder.query('UNLOCK TABLES');
      expect(await expanding).toEqual({ added: 3, replaying: false });
    } finally {
      await holder.query('UNLOCK TABLES');
      await Promise.all([holder.release(), other.release()]);
    }
  });

  it('is expanded in parts, in the order of the movements', async () => {
    const ids = await subscriber.store(450);
    await record(ids, () => 'failed');
    const id = await replay();
    const added = [];
    const positions = [];
    for (let replaying = true; replaying; ) {
      const expanded = await expand();
      added.push(expanded.added);
      replaying = expanded.replaying;
      const due = await dueIds();
      expect(due).toEqual(ids.slice(0, due.length));
      const [row] = await query<{ position: string }>('SELECT position FROM replays WHERE id = ?', [id]);
      positions.push(row?.position);
    }
    expect(added).toEqual([200, 200, 50]);
    expect(positions).toEqual([ids[199], ids[399], ids[449]]);
    const [row] = await query('SELECT replayed FROM replays WHERE id = ?', [id]);
    expect(row).toEqual({ replayed: '450' });
  });

  it('ends exactly where its range ends, also when a part is full there', async () => {
    const ids = await subscriber.store(
      Array.from({ length: 210 }, (_, at) => ({
        dateReaded: at < 200 ? '2026-01-31 12:00:00' : '2026-02-01 12:00:00',
      })),
    );
    await record(ids, () => 'failed');
    await replay({ until: '2026-01-31 23:59:59' });
    expect(await expand()).toEqual({ added: 200, replaying: true });
    expect(await expand()).toEqual({ added: 0, replaying: false });
    expect(await dueIds()).toEqual(ids.slice(0, 200));
  });

  it('waits for the replays before it', async () => {
    const ids = await subscriber.store(4);
    await record(ids, (at) => (at < 2 ? 'failed' : 'delivered'));
    await replay({ statuses: ['delivered'] });
    await replay();
    expect(await expand()).toEqual({ added: 2, replaying: true });
    expect(await dueIds()).toEqual(ids.slice(2));
    expect(await expand()).toEqual({ added: 2, replaying: false });
    expect(await dueIds()).toEqual(ids);
  });

  it.each(['failed', 'delivered'] as const)(
    'by a key limited to accounts covers only movements of those accounts: %s',
    async (status) => {
      const other = (await createAccount(service, subscriber.key)).id;
      const ids = [
        ...(await subscriber.store(2)),
        ...(await subscriber.store(2, other)),
        ...(await subscriber.store(1)),
      ];
      await record(ids, () => status);
      await replay({ statuses: [status], accountIds: [other] });
      expect(await expand()).toEqual({ added: 2, replaying: false });
      expect(await dueIds()).toEqual(ids.slice(2, 4));
    },
  );

  it('covers one webhook, and no other webhook of the customer', async () => {
    const ids = await subscriber.store(2);
    const neighbour = { id: subscriber.webhookIds[1] ?? '', customerId: subscriber.customerId };
    await record(ids, () => 'failed');
    await record(ids, () => 'failed', neighbour);
    await replay();
    expect(await expandReplay(service.runtime.database, neighbour.id)).toEqual({
      added: 0,
      replaying: false,
    });
    expect(await expand()).toEqual({ added: 2, replaying: false });
    const left = await query('SELECT 1 FROM retries WHERE webhook_id = ? AND due_at IS NOT NULL', [
      neighbour.id,
    ]);
    expect(left).toEqual([]);
  });
});
