import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { parse } from 'valibot';
import { describe, expect, it } from 'vitest';
import { createDataSource } from '../../src/database/data-source.ts';
import { createGroupCommit, MAX_GROUP_MOVEMENTS } from '../../src/ledger/group-commit.ts';
import type { GroupUpload } from '../../src/ledger/group-import.ts';
import { Movement } from '../../src/ledger/movement.ts';
import { useImports } from '../intake/sent-imports.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';

// No importer: everything that is stored was stored inline.
const service = useService({ roles: ['api', 'delivery'] });
const { customerWithAccount, query, storedRows } = useImports(service);

/** An upload as the API passes it on. */
function uploadOf(
  customerId: string,
  movements: readonly object[],
  fields: Partial<GroupUpload> = {},
): GroupUpload {
  return {
    customerId,
    sender: { apiKeyId: '1' },
    format: 'json',
    idempotencyKey: null,
    body: [Buffer.from(JSON.stringify(movements))],
    movements: movements.map((it) => parse(Movement, it)),
    removals: 0,
    ...fields,
  };
}

/** Creates a store, and records the webhooks that it wakes. */
function newStore(database = service.runtime.database) {
  const { log } = service.runtime;
  const woken: (readonly string[])[] = [];
  return { woken, store: createGroupCommit({ database, log, wake: async (ids) => void woken.push(ids) }) };
}

/** Starts all imports at the same time, so that one transaction stores them. @returns outcomes, rows and woken webhooks. */
async function storeTogether(uploads: readonly GroupUpload[], database?: DataSource) {
  const { woken, store } = newStore(database);
  const outcomes = await Promise.all(uploads.map(store));
  const ids = outcomes.map((it) => (it?.outcome === 'stored' ? it.importId : null));
  const rows = await query<{ id: string }>(
    'SELECT id, customer_id, status, received, inserted, duplicates, deliveries FROM imports WHERE id IN (?)',
    [ids],
  );
  return { woken, outcomes, imports: ids.map((id) => rows.find((it) => it.id === id)) };
}

/** Runs `work` with a separate pool. `statement` is run on each of its connections first. */
async function withPool<T>(
  poolSize: number,
  statement: string,
  work: (database: DataSource) => Promise<T>,
): Promise<T> {
  const database = createDataSource(service.runtime.config.databaseUrl ?? '', { poolSize });
  await database.initialize();
  try {
    await onAll(database, statement, poolSize);
    return await work(database);
  } finally {
    await database.destroy();
  }
}

/** Runs a statement on each connection of a pool. None of them may be in use. */
async function onAll(database: DataSource, statement: string, poolSize: number): Promise<void> {
  const runners = Array.from({ length: poolSize }, () => database.createQueryRunner());
  for (const runner of runners) await runner.query(statement);
  for (const runner of runners) await runner.release();
}

/** A pool whose connections wait for locks for up to 60 s, which is enough on a busy machine. */
const withPatience = <T>(work: (database: DataSource) => Promise<T>) =>
  withPool(4, 'SET innodb_lock_wait_timeout = 60', work);

/** Number of transactions that the only connection of a pool has committed. */
async function commitsOf(database: DataSource): Promise<number> {
  const [row] = await database.query<{ Value: string }[]>("SHOW SESSION STATUS LIKE 'Com_commit'");
  return Number(row?.Value);
}

/** Holds a customer's import lock in another transaction. @returns a function that releases it. */
async function holdLock(customerId: string): Promise<() => Promise<void>> {
  const holder = service.runtime.database.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SELECT 1 FROM import_locks WHERE customer_id = ? FOR UPDATE', [customerId]);
  return async () => {
    await holder.rollbackTransaction();
    await holder.release();
  };
}

describe('imports that share a transaction', () => {
  it('have their own counts, even when they contain the same movement', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const other = (await createAccount(service, key)).id;
    const all = await subscribe(service, key, 'http://127.0.0.1:9/', { event: 'NEW_TRANSACTION' });
    const debits = await subscribe(service, key, 'http://127.0.0.1:9/', {
      event: 'NEW_DEBIT',
      account: other,
    });
    const a = movement(accountId, { unique_id: 'a' });
    const b = movement(other, { unique_id: 'b', dc: 'Debit' });
    const c = movement(other, { unique_id: 'c', dc: 'Credit' });
    const { imports, woken } = await storeTogether(
      [[a], [b, a, c], [b], [], [b, movement(other)]].map((movements) => uploadOf(customerId, movements)),
    );
    expect(imports).toMatchObject([
      { status: 'done', received: 1, inserted: 1, duplicates: 0, deliveries: 1 },
      { status: 'done', received: 3, inserted: 2, duplicates: 1, deliveries: 3 },
      { status: 'done', received: 1, inserted: 0, duplicates: 1, deliveries: 0 },
      { status: 'done', received: 0, inserted: 0, duplicates: 0, deliveries: 0 },
      { status: 'done', received: 2, inserted: 1, duplicates: 1, deliveries: 1 },
    ]);
    expect(woken.map((ids) => ids.toSorted())).toEqual([[all.id, debits.id].toSorted()]);
    const pending = await Promise.all([all, debits].map(({ id }) => deliveriesOf(service, id)));
    expect(pending.map((rows) => rows.length)).toEqual([4, 1]);
  });

  it('may belong to many customers: one transaction stores all of them, each for its own webhooks', async () => {
    const customers = await Promise.all(Array.from({ length: 12 }, customerWithAccount));
    const webhooks = await Promise.all(
      customers.map(({ key }, at) =>
        subscribe(service, key, 'http://127.0.0.1:9/', { event: at % 3 ? 'NEW_TRANSACTION' : 'NEW_DEBIT' }),
      ),
    );
    const uploads = customers.flatMap(({ customerId, accountId }) => {
      const a = movement(accountId, { unique_id: 'a' });
      const b = movement(accountId, { unique_id: 'b' });
      return [uploadOf(customerId, [a]), uploadOf(customerId, [a, b])];
    });
    const { imports, woken, commits } = await withPool(1, 'DO 0', async (database) => {
      const before = await commitsOf(database);
      const stored = await storeTogether(uploads, database);
      return { ...stored, commits: (await commitsOf(database)) - before };
    });
    expect(commits).toBe(1);
    for (const [at, { customerId }] of customers.entries()) {
      const matches = at % 3 ? 1 : 0;
      const counts = { customer_id: customerId, inserted: 1, deliveries: matches };
      expect(imports.slice(2 * at, 2 * at + 2)).toMatchObject([
        { ...counts, received: 1, duplicates: 0 },
        { ...counts, received: 2, duplicates: 1 },
      ]);
      const [lock] = await query<{ movements: string; newest: string; last: string }>(
        `SELECT l.movements, l.last_transaction_id AS last,
           (SELECT MAX(id) FROM transactions WHERE customer_id = l.customer_id) AS newest
         FROM import_locks l WHERE l.customer_id = ?`,
        [customerId],
      );
      expect(lock).toEqual({ movements: '2', last: lock?.newest, newest: expect.any(String) });
      expect(await deliveriesOf(service, webhooks[at]?.id ?? '')).toHaveLength(2 * matches);
    }
    const matching = webhooks.filter((_, at) => at % 3).map(({ id }) => id);
    expect(woken.map((ids) => ids.toSorted())).toEqual([matching.toSorted()]);
  });

  it("do not wait for a customer whose lock is held: that customer's imports wait separately and are stored later", () =>
    withPatience(async (database) => {
      const [locked, ...others] = await Promise.all(Array.from({ length: 4 }, customerWithAccount));
      if (locked === undefined) throw new Error('four of them');
      const release = await holdLock(locked.customerId);
      const { store } = newStore(database);
      const settled: string[] = [];
      const send = async ({ customerId, accountId }: typeof locked, name: string) => {
        const outcome = await store(uploadOf(customerId, [movement(accountId, { unique_id: name })]));
        settled.push(name);
        return outcome;
      };
      const waiting = [send(locked, 'locked 1'), send(locked, 'locked 2')];
      await Promise.all(others.map((it, at) => send(it, `other ${at}`)));
      // Later imports do not wait for the locked customer either.
      await Promise.all(others.map((it, at) => send(it, `later ${at}`)));
      expect(settled).toHaveLength(6);
      expect(settled.join()).not.toContain('locked');
      await release();
      expect(await Promise.all(waiting)).toMatchObject([
        { outcome: 'stored', inserted: 1 },
        { outcome: 'stored', inserted: 1 },
      ]);
      expect(await storedRows(locked.customerId)).toBe(2);
    }));

  it('are retried one by one when MySQL refuses one of them, so that only the refused import must be staged', async () => {
    const customers = await Promise.all(Array.from({ length: 3 }, customerWithAccount));
    // The code is too long for its column. The API would have rejected it.
    const uploads = customers.map(({ customerId, accountId }, at) => {
      const upload = uploadOf(customerId, [movement(accountId)]);
      const [only] = upload.movements;
      if (at !== 1 || only === undefined) return upload;
      return { ...upload, movements: [{ ...only, code: 'x'.repeat(65) }] };
    });
    const { outcomes } = await storeTogether(uploads);
    expect(outcomes.map((it) => it?.outcome ?? null)).toEqual(['stored', null, 'stored']);
    const stored = await Promise.all(customers.map(({ customerId }) => storedRows(customerId)));
    expect(stored).toEqual([1, 0, 1]);
    const left = await query('SELECT 1 FROM imports WHERE customer_id = ?', [customers[1]?.customerId]);
    expect(left).toEqual([]);
  });

  it('wait once for a locked row of one customer, whose imports then wait separately', () =>
    withPool(12, 'DO 0', async (database) => {
      const customers = await Promise.all(Array.from({ length: 9 }, customerWithAccount));
      const [locked, ...others] = customers;
      if (locked === undefined) throw new Error('nine of them');
      const held = service.runtime.database.createQueryRunner();
      await held.startTransaction();
      await held.query('SELECT id FROM accounts WHERE id = ? FOR UPDATE', [locked.accountId]);
      const { store } = newStore(database);
      const settled: string[] = [];
      const send = async ({ customerId, accountId }: typeof locked, name: string) => {
        const outcome = await store(uploadOf(customerId, [movement(accountId)]));
        settled.push(name);
        return outcome?.outcome ?? null;
      };
      const first = await Promise.all(customers.map((it, at) => send(it, `first ${at}`)));
      expect(first).toEqual(customers.map((it) => (it === locked ? null : 'stored')));
      await onAll(database, 'SET innodb_lock_wait_timeout = 60', 12);
      const waiting = send(locked, 'locked');
      const later = await Promise.all(others.map((it, at) => send(it, `later ${at}`)));
      expect(later).toEqual(others.map(() => 'stored'));
      expect(settled).not.toContain('locked');
      await held.rollbackTransaction();
      await held.release();
      expect(await waiting).toBe('stored');
    }));

  it('are split when a row of one of them is locked, so that only the blocked import must be staged', async () => {
    const customers = await Promise.all(Array.from({ length: 9 }, customerWithAccount));
    const held = service.runtime.database.createQueryRunner();
    await held.startTransaction();
    await held.query('SELECT id FROM accounts WHERE id = ? FOR UPDATE', [customers[4]?.accountId]);
    const uploads = customers.map(({ customerId, accountId }) => uploadOf(customerId, [movement(accountId)]));
    const { outcomes } = await storeTogether(uploads);
    await held.rollbackTransaction();
    await held.release();
    const expected = customers.map((_, at) => (at === 4 ? null : 'stored'));
    expect(outcomes.map((it) => it?.outcome ?? null)).toEqual(expected);
  });

  it('are staged when too many imports of the customer already wait', () =>
    withPatience(async (database) => {
      const { customerId, accountId } = await customerWithAccount();
      const release = await holdLock(customerId);
      const { store } = newStore(database);
      const full = Array.from({ length: 5 }, (_, at) => {
        const movements = Array.from({ length: MAX_GROUP_MOVEMENTS }, (__, i) =>
          movement(accountId, { unique_id: `${at} ${i}` }),
        );
        return store(uploadOf(customerId, movements));
      });
      const tooMuch = store(uploadOf(customerId, [movement(accountId)]));
      expect(await tooMuch).toBeNull();
      await release();
      const outcomes = await Promise.all(full);
      expect(outcomes.map((it) => it?.outcome)).toEqual(Array(5).fill('stored'));
      expect(await store(uploadOf(customerId, [movement(accountId)]))).toMatchObject({ outcome: 'stored' });
    }));
});

describe('group commits of several processes', () => {
  const holdTurn = async () => {
    const holder = service.runtime.database.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SELECT id FROM group_commits FOR UPDATE');
    return async () => {
      await holder.rollbackTransaction();
      await holder.release();
    };
  };

  it('run one after the other, each with all imports that arrived before it began', () =>
    withPool(1, 'SET innodb_lock_wait_timeout = 60', (one) =>
      withPool(1, 'SET innodb_lock_wait_timeout = 60', async (other) => {
        const customers = await Promise.all(Array.from({ length: 3 }, customerWithAccount));
        const before = await Promise.all([one, other].map(commitsOf));
        const release = await holdTurn();
        const stores = [one, other].map((database) => newStore(database).store);
        const sendAll = () =>
          stores.flatMap((store) =>
            customers.map(({ customerId, accountId }) =>
              store(uploadOf(customerId, [movement(accountId, { unique_id: randomUUID() })])),
            ),
          );
        const first = sendAll();
        await until('both wait for their turn', async () => {
          const rows = await query<{ Info: string | null }>('SHOW FULL PROCESSLIST', []);
          return rows.filter(({ Info }) => Info?.includes('TAKE_COMMIT_TURN')).length === 2;
        });
        const later = sendAll();
        await release();
        const outcomes = await Promise.all([...first, ...later]);
        expect(outcomes.map((it) => it?.outcome)).toEqual(Array(12).fill('stored'));
        const after = await Promise.all([one, other].map(commitsOf));
        expect(after.map((commits, at) => commits - (before[at] ?? 0))).toEqual([1, 1]);
        for (const { customerId } of customers) expect(await storedRows(customerId)).toBe(4);
      }),
    ));

  it('go on without turns when a process stops during its own turn', async () => {
    const { customerId, accountId } = await customerWithAccount();
    const release = await holdTurn();
    const { store } = newStore();
    const send = () => store(uploadOf(customerId, [movement(accountId)]));
    expect(await send()).toMatchObject({ outcome: 'stored' });
    expect(await send()).toMatchObject({ outcome: 'stored' });
    await release();
  });
});

describe('simultaneous requests with equal Idempotency-Keys', () => {
  it('lead to one import, and do not prevent other imports from being stored', async () => {
    const [one, other] = await Promise.all([customerWithAccount(), customerWithAccount()]);
    const same = () => uploadOf(one.customerId, [movement(one.accountId)], { idempotencyKey: 'same' });
    const uploads = [
      same(),
      uploadOf(other.customerId, [movement(other.accountId)], { idempotencyKey: 'same' }),
      same(),
    ];
    // With one connection, each import looks for an earlier import with its key before the first of them is stored.
    const { outcomes } = await withPool(1, 'DO 0', (database) => storeTogether(uploads, database));
    // The second import must be staged. Staging then finds the first import.
    expect(outcomes.map((it) => it?.outcome ?? null).toSorted()).toEqual(
      [null, 'stored', 'stored'].toSorted(),
    );
    expect(outcomes[1]).toMatchObject({ outcome: 'stored', inserted: 1 });
    for (const { customerId } of [one, other]) {
      expect(await query('SELECT id FROM imports WHERE customer_id = ?', [customerId])).toHaveLength(1);
      expect(await storedRows(customerId)).toBe(1);
    }
    const { store } = newStore();
    expect(await store(same())).toMatchObject({ outcome: 'replayed' });
    const another = uploadOf(one.customerId, [], { idempotencyKey: 'same' });
    expect(await store(another)).toMatchObject({ outcome: 'key reused' });
  });
});
