import { beforeEach, describe, expect, it } from 'vitest';
import type { WriteResult } from '../../src/database/transaction.ts';
import { replay } from '../../src/delivering/replay.ts';
import { useDatabase } from '../support/database.ts';

const { database } = useDatabase();

const WEBHOOK = '7';
const NOON = '2026-01-31 12:00:00';

interface Delivery {
  transaction: number;
  status?: string;
  webhook?: string;
  createdAt?: string;
}

beforeEach(() => database.query('DELETE FROM deliveries'));

const store = (deliveries: readonly Delivery[]) =>
  database.query(
    'INSERT INTO deliveries (webhook_id, transaction_id, status, attempts, failures, due_at, created_at, finished_at) VALUES ?',
    [
      deliveries.map(({ transaction, status = 'delivered', webhook = WEBHOOK, createdAt = NOON }) => [
        webhook,
        transaction,
        status,
        12,
        3,
        status === 'pending' ? '2030-01-01 00:00:00' : null,
        createdAt,
        status === 'pending' ? null : '2026-02-01 00:00:00',
      ]),
    ],
  );

const pending = async (): Promise<number[]> =>
  (
    await database.query<{ transaction_id: string }[]>(
      "SELECT transaction_id FROM deliveries WHERE status = 'pending' ORDER BY id",
    )
  ).map(({ transaction_id }) => Number(transaction_id));

describe('a replay', () => {
  it('makes delivered and failed ones due at once with the whole schedule before them, and keeps counting attempts', async () => {
    await store([
      { transaction: 1, status: 'delivered' },
      { transaction: 2, status: 'failed' },
    ]);
    expect(await replay(database, { webhookId: WEBHOOK, since: NOON })).toBe(2);
    const rows = await database.query<object[]>(
      "SELECT status, attempts, failures, DATE_FORMAT(due_at, '%Y-%m-%d %T') AS due_at, finished_at FROM deliveries",
    );
    const owed = {
      status: 'pending',
      attempts: 12,
      failures: 0,
      due_at: '1970-01-01 00:00:00',
      finished_at: null,
    };
    expect(rows).toEqual([owed, owed]);
  });

  it('leaves alone what is cancelled, what is pending, and what is owed to others', async () => {
    await store([
      { transaction: 1, status: 'cancelled' },
      { transaction: 2, status: 'pending' },
      { transaction: 3, webhook: '8' },
    ]);
    const before = await database.query('SELECT * FROM deliveries');
    expect(await replay(database, { webhookId: WEBHOOK, since: NOON })).toBe(0);
    expect(await database.query('SELECT * FROM deliveries')).toEqual(before);
  });

  it('takes those made from since to until, both included', async () => {
    await store([
      { transaction: 1, createdAt: '2026-01-31 11:59:59.999999' },
      { transaction: 2, createdAt: NOON },
      { transaction: 3, createdAt: '2026-01-31 13:00:00' },
      { transaction: 4, createdAt: '2026-01-31 13:00:00.000001' },
    ]);
    const range = { since: new Date(`${NOON}Z`), until: '2026-01-31 13:00:00' };
    expect(await replay(database, { webhookId: WEBHOOK, ...range })).toBe(2);
    expect(await pending()).toEqual([2, 3]);
  });

  it.each([
    [['failed'], [2]],
    [['delivered'], [1]],
    [
      ['failed', 'delivered'],
      [1, 2],
    ],
    [[], []],
  ] as const)('of %j only takes those that ended so', async (statuses, expected) => {
    await store([
      { transaction: 1, status: 'delivered' },
      { transaction: 2, status: 'failed' },
    ]);
    expect(await replay(database, { webhookId: WEBHOOK, since: NOON, statuses })).toBe(expected.length);
    expect(await pending()).toEqual(expected);
  });

  it('takes each one once, over many batches, while the pump delivers them again', async () => {
    const transactions = Array.from({ length: 7_001 }, (_, transaction) => transaction);
    await store(
      transactions.map((transaction) => ({ transaction, status: transaction % 3 ? 'delivered' : 'failed' })),
    );
    let replaying = true;
    let deliveredAgain = 0;
    const deliver = async () => {
      const { affectedRows } = await database.query<WriteResult>(
        "UPDATE deliveries SET status = 'delivered', due_at = NULL WHERE status = 'pending' LIMIT 500",
      );
      deliveredAgain += affectedRows;
      return affectedRows;
    };
    const pump = (async () => {
      while (replaying || (await deliver()) > 0) await deliver();
    })();
    const replayed = await replay(database, { webhookId: WEBHOOK, since: NOON }).finally(() => {
      replaying = false;
    });
    await pump;
    expect(replayed).toBe(7_001);
    expect(deliveredAgain).toBe(7_001);
  });
});
