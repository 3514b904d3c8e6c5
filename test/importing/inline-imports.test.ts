import type { DataSource } from 'typeorm';
import { parse } from 'valibot';
import { afterEach, describe, expect, it } from 'vitest';
import { createDataSource } from '../../src/database/data-source.ts';
import type { InlineUpload } from '../../src/importing/inline-import.ts';
import { createInlineImports, MAX_INLINE } from '../../src/importing/inline-imports.ts';
import { Movement } from '../../src/importing/movement.ts';
import { startImporterWorker } from '../../src/importing/worker.ts';
import type { Role } from '../../src/runtime.ts';
import { createAccount, importDone, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';

// No importer: until a test starts one, everything that is stored was stored inline.
const service = useService({ roles: ['api', 'delivery'] });
const receiver = useReceiver();

let importer: Role | undefined;
afterEach(async () => {
  await importer?.stop();
  importer = undefined;
});

const customerWithAccount = async () => {
  const { api_key: key, customer } = await service.customer();
  return { key, customerId: customer.id, accountId: (await createAccount(service, key)).id };
};

const send = (key: string, transactions: object[], headers: Record<string, string> = {}) =>
  service.call('POST', '/v1/imports', { key, body: { transactions }, headers });

const query = <T>(sql: string, values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

const storedRows = async (customerId: string) =>
  (await query('SELECT id FROM transactions WHERE customer_id = ?', [customerId])).length;

/** An upload as the API passes it on. */
function uploadOf(
  customerId: string,
  movements: readonly object[],
  fields: Partial<InlineUpload> = {},
): InlineUpload {
  return {
    customerId,
    apiKeyId: '1',
    format: 'json',
    received: movements.length,
    idempotencyKey: null,
    body: [Buffer.from(JSON.stringify(movements))],
    movements: movements.map((it) => parse(Movement, it)),
    ...fields,
  };
}

/** Creates a store, and records the webhooks that it wakes. */
function newStore(database = service.runtime.database) {
  const { log } = service.runtime;
  const woken: (readonly string[])[] = [];
  return { woken, store: createInlineImports({ database, log, wake: async (ids) => void woken.push(ids) }) };
}

/** Starts all imports at the same time, so that one transaction stores them. @returns outcomes, rows and woken webhooks. */
async function storeTogether(uploads: readonly InlineUpload[], database?: DataSource) {
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
    const runners = Array.from({ length: poolSize }, () => database.createQueryRunner());
    for (const runner of runners) await runner.query(statement);
    for (const runner of runners) await runner.release();
    return await work(database);
  } finally {
    await database.destroy();
  }
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

describe('a small import', () => {
  it('is done when it is answered, without being staged, and its movements are delivered', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    await subscribe(service, key, `${receiver.url}/one`);
    const answer = await send(key, [movement(accountId), movement(accountId)]);
    expect([answer.status, answer.headers.get('location')]).toEqual([
      202,
      `/v1/imports/${answer.body.import.id}`,
    ]);
    const { received_at, started_at, finished_at, ...counts } = answer.body.import;
    expect(counts).toMatchObject({ status: 'done', received: 2, inserted: 2, duplicates: 0, deliveries: 2 });
    expect([received_at, started_at, finished_at].toSorted()).toEqual([received_at, started_at, finished_at]);
    expect(await query('SELECT 1 FROM import_parts WHERE import_id = ?', [counts.id])).toEqual([]);
    await until('two POSTs', () => receiver.at('/one').length === 2);
    const uniqueIds = await query<{ unique_id: string }>(
      'SELECT CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions WHERE customer_id = ? ORDER BY id',
      [customerId],
    );
    expect(uniqueIds.map(({ unique_id }) => unique_id.replace(/:.*:/, ':'))).toEqual([
      'content:1',
      'content:2',
    ]);
  });

  it('may be one of many at once: each is stored once, counted for itself and delivered once', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    await subscribe(service, key, `${receiver.url}/many`);
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, i) => send(key, [movement(accountId, { unique_id: `many ${i}` })])),
    );
    for (const { status, body } of answers) {
      expect([status, body.import]).toMatchObject([
        202,
        { status: 'done', received: 1, inserted: 1, duplicates: 0, deliveries: 1 },
      ]);
    }
    expect(await storedRows(customerId)).toBe(120);
    await until('120 POSTs', () => receiver.at('/many').length >= 120);
    expect(new Set(receiver.at('/many').map(({ headers }) => headers['webhook-id'])).size).toBe(120);
    // Ids and date_readed grow together across transactions.
    const rows = await query<{ date_readed: Date }>(
      'SELECT date_readed FROM transactions WHERE customer_id = ? ORDER BY id',
      [customerId],
    );
    expect(rows).toEqual(rows.toSorted((a, b) => a.date_readed.getTime() - b.date_readed.getTime()));
  });

  it('of more movements than are stored inline is staged', async () => {
    const { key, accountId } = await customerWithAccount();
    const rows = Array.from({ length: MAX_INLINE + 1 }, () => movement(accountId));
    expect((await send(key, rows)).body.import).toMatchObject({ status: 'queued', inserted: 0 });
    expect((await send(key, rows.slice(1))).body.import).toMatchObject({
      status: 'done',
      inserted: MAX_INLINE,
    });
  });

  it('updates its accounts', async () => {
    const { key, accountId } = await customerWithAccount();
    await send(key, [movement(accountId, { balance: '77.70' })]);
    const { body } = await service.call('GET', `/v1/accounts/${accountId}`, { key });
    expect(body.accounts[0]).toMatchObject({ balance: '77.70', last_update: expect.any(String) });
  });
});

describe('imports that share a transaction', () => {
  it('have their own counts, also where they bring the same movement', async () => {
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

  it('may be of many customers: one transaction stores all, each for its own webhooks', async () => {
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
    const { imports, woken, commits } = await withPool(1, 'FLUSH STATUS', async (database) => {
      const stored = await storeTogether(uploads, database);
      return { ...stored, commits: await commitsOf(database) };
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

  it('do not wait for a customer that somebody else has locked: its own wait apart, and are stored then', () =>
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

  it('are tried alone where MySQL refuses one of them: only that one is to be staged', async () => {
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

  it('are staged where too much of the customer waits already', () =>
    withPatience(async (database) => {
      const { customerId, accountId } = await customerWithAccount();
      const release = await holdLock(customerId);
      const { store } = newStore(database);
      const full = Array.from({ length: 5 }, (_, at) => {
        const movements = Array.from({ length: MAX_INLINE }, (__, i) =>
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

describe('an Idempotency-Key of small imports', () => {
  const once = { 'Idempotency-Key': 'once' };

  it('leads to the import of the first time, and is refused for another body', async () => {
    const { key, accountId } = await customerWithAccount();
    const first = await send(key, [movement(accountId)], once);
    const again = await send(key, [movement(accountId)], once);
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(expectProblem(await send(key, [], once), 422)).toEqual(['Idempotency-Key']);
  });

  it('of several requests at the same time leads to one import', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send(key, [movement(accountId)], once)),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    for (const answer of answers) if (answer.status !== 202) expectProblem(answer, 409);
    expect(new Set(accepted.map(({ body }) => body.import.id)).size).toBe(1);
    expect(await query('SELECT id FROM imports WHERE customer_id = ?', [customerId])).toHaveLength(1);
  });
});

describe('equal Idempotency-Keys that come in the same moment', () => {
  it('lead to one import, and do not keep others from being stored', async () => {
    const [one, other] = await Promise.all([customerWithAccount(), customerWithAccount()]);
    const same = () => uploadOf(one.customerId, [movement(one.accountId)], { idempotencyKey: 'same' });
    const { outcomes } = await storeTogether([
      same(),
      uploadOf(other.customerId, [movement(other.accountId)], { idempotencyKey: 'same' }),
      same(),
    ]);
    // The second is to be staged. Staging then finds the import of the first.
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

describe('a small import that cannot be stored inline', () => {
  /** Checks that an import is accepted and not stored yet. `storedByImporter` starts an importer and checks that it is stored. */
  async function expectStaged(key: string, customerId: string, answer: Awaited<ReturnType<typeof send>>) {
    expect([answer.status, answer.body.import.status]).toEqual([202, 'queued']);
    expect(await storedRows(customerId)).toBe(0);
    return {
      async storedByImporter() {
        importer = startImporterWorker(service.runtime);
        const done = await importDone(service, key, answer.body.import.id);
        expect(done).toMatchObject({ received: 1, inserted: 1 });
        expect(await storedRows(customerId)).toBe(1);
      },
    };
  }

  /** Waits for a transaction that has inserted its movements and is updating the accounts. @returns its connection. */
  const storing = () =>
    until('movements stored, and not committed', async () => {
      const [waiting] = await query<{ id: string }>(
        `SELECT id FROM information_schema.processlist
         WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%UPDATE accounts a JOIN%'`,
        [],
      );
      return waiting;
    });

  it('since somebody holds the import lock is staged', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const holder = service.runtime.database.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SELECT 1 FROM import_locks WHERE customer_id = ? FOR UPDATE', [customerId]);
    const staged = await expectStaged(key, customerId, await send(key, [movement(accountId)]));
    await holder.rollbackTransaction();
    await holder.release();
    await staged.storedByImporter();
  });

  it('since it lost a deadlock is staged', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const holder = service.runtime.database.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SELECT 1 FROM accounts WHERE id = ? FOR UPDATE', [accountId]);
    // InnoDB rolls back the transaction that has changed less: the import.
    const ballast = Array.from({ length: 200 }, (_, i) => [customerId, `ballast ${i}`]);
    await holder.query('INSERT INTO banks (customer_id, name) VALUES ?', [ballast]);
    const answer = send(key, [movement(accountId)]);
    await storing();
    await holder.query('SELECT 1 FROM import_locks WHERE customer_id = ? FOR UPDATE', [customerId]);
    const staged = await expectStaged(key, customerId, await answer);
    await holder.rollbackTransaction();
    await holder.release();
    await staged.storedByImporter();
  });

  it('since MySQL refuses a movement is staged, and does not hold up the next one', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const { database } = service.runtime;
    await database.query(
      `CREATE TRIGGER refuse BEFORE INSERT ON transactions FOR EACH ROW
       IF NEW.name = 'refused' THEN SIGNAL SQLSTATE '45000'; END IF`,
    );
    const refused = await send(key, [movement(accountId, { name: 'refused' })]);
    const staged = await expectStaged(key, customerId, refused);
    const next = await customerWithAccount();
    expect((await send(next.key, [movement(next.accountId)])).body.import.status).toBe('done');
    await database.query('DROP TRIGGER refuse');
    await staged.storedByImporter();
  });

  it('since its connection is lost is answered 503, and nothing of it is kept', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    await subscribe(service, key, `${receiver.url}/lost`);
    const holder = service.runtime.database.createQueryRunner();
    await holder.query('LOCK TABLES accounts READ');
    const answer = send(key, [movement(accountId)], { 'Idempotency-Key': 'lost' });
    const { id } = await storing();
    await service.runtime.database.query(`KILL ${id}`);
    await holder.query('UNLOCK TABLES');
    await holder.release();
    expectProblem(await answer, 503);
    expect(await query('SELECT id FROM imports WHERE customer_id = ?', [customerId])).toEqual([]);
    expect(await storedRows(customerId)).toBe(0);
    const again = await send(key, [movement(accountId)], { 'Idempotency-Key': 'lost' });
    expect(again.body.import).toMatchObject({ status: 'done', inserted: 1, deliveries: 1 });
    await until('its POST', () => receiver.at('/lost').length === 1);
  });
});
