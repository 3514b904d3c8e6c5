import { describe, expect, it } from 'vitest';
import { createImporter } from '../../src/importing/importer.ts';
import { type Chunk, ImportTakenOverError, storeChunk, storeChunks } from '../../src/importing/store.ts';
import { createAccount, movement } from '../support/movements.ts';
import { watchReads } from '../support/reads.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

// No importer role: the test runs imports itself, and interrupts them where it likes.
const service = useService({ roles: ['api'] });

const never = new AbortController().signal;

async function staged(rows: number, fields: (i: number) => object = () => ({})) {
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key);
  const body = Array.from({ length: rows }, (_, i) => JSON.stringify(movement(account.id, fields(i)))).join(
    '\n',
  );
  const answer = await service.call('POST', '/v1/imports', { key, body, type: 'application/x-ndjson' });
  expect(answer.status).toBe(202);
  return { key, customer, account, importId: answer.body.import.id as string };
}

const newImporter = () => {
  const woken: string[][] = [];
  const importer = createImporter({
    database: service.runtime.database,
    log: service.runtime.log,
    wake: async (ids) => void woken.push([...ids]),
  });
  return { importer, woken };
};

const show = async (key: string, importId: string) =>
  (await service.call('GET', `/v1/imports/${importId}`, { key })).body.import;

const storedRows = async (customerId: string) => {
  const [row] = await service.runtime.database.query<{ n: string }[]>(
    'SELECT COUNT(*) AS n FROM transactions WHERE customer_id = ?',
    [customerId],
  );
  return Number(row?.n);
};

describe('an import', () => {
  it('that is interrupted goes on at its checkpoint, and gives rows without an id the same ids', async () => {
    const { key, customer, importId } = await staged(2_500, () => ({ unique_id: '' }));
    const { importer } = newImporter();
    const shutdown = new AbortController();
    shutdown.abort();
    expect(await importer.run(importId, shutdown.signal)).toBe('given back');
    expect(await storedRows(customer.id)).toBe(1_000);
    expect(await show(key, importId)).toMatchObject({ status: 'running', inserted: 1_000 });
    expect(await importer.run(importId, never)).toBe('done');
    expect(await show(key, importId)).toMatchObject({
      status: 'done',
      received: 2_500,
      inserted: 2_500,
      duplicates: 0,
    });
    expect(await storedRows(customer.id)).toBe(2_500);
  });

  it('that is worked on by two at the same time is stored once', async () => {
    const { key, customer, importId } = await staged(3_000);
    const { importer } = newImporter();
    const outcomes = await Promise.all([importer.run(importId, never), importer.run(importId, never)]);
    expect(outcomes.toSorted()).toEqual(['done', 'nothing to do']);
    expect(await storedRows(customer.id)).toBe(3_000);
    expect(await show(key, importId)).toMatchObject({ inserted: 3_000, duplicates: 0 });
  });

  it('that is done is not done again', async () => {
    const { importId } = await staged(1);
    const { importer } = newImporter();
    expect(await importer.run(importId, never)).toBe('done');
    expect(await importer.run(importId, never)).toBe('nothing to do');
    expect(await importer.run('999999', never)).toBe('nothing to do');
  });

  it('that takes its process down again and again is given up with its reason, and keeps its bytes', async () => {
    const { key, importId } = await staged(5);
    const { database } = service.runtime;
    // What a process that is killed in each of its runs leaves behind.
    await database.query("UPDATE imports SET status = 'running', crash_count = 10 WHERE id = ?", [importId]);
    expect(await newImporter().importer.run(importId, never)).toBe('nothing to do');
    expect(await show(key, importId)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/from row 1 .*10 times/),
    });
    const pieces = await database.query<unknown[]>('SELECT 1 FROM import_pieces WHERE import_id = ?', [
      importId,
    ]);
    expect(pieces).toHaveLength(1);
  });

  it('leaves no staged bytes behind', async () => {
    const { importId } = await staged(10);
    await newImporter().importer.run(importId, never);
    const pieces = await service.runtime.database.query<unknown[]>(
      'SELECT 1 FROM import_pieces WHERE import_id = ?',
      [importId],
    );
    expect(pieces).toEqual([]);
  });

  it('wakes the webhooks that are owed something, and no others', async () => {
    const { key, importId } = await staged(3, () => ({ dc: 'Debit' }));
    const webhook = async (event: string) =>
      (
        await service.call('POST', '/v1/webhooks', {
          key,
          body: { title: event, endpoint: 'http://127.0.0.1:9/', event, account: 'all' },
        })
      ).body.webhook.id;
    const all = await webhook('NEW_TRANSACTION');
    const debit = await webhook('NEW_DEBIT');
    await webhook('NEW_CREDIT');
    const { importer, woken } = newImporter();
    await importer.run(importId, never);
    expect(woken).toEqual([[all, debit]]);
  });

  it('is owed to every webhook, however many there are', async () => {
    const { key, importId } = await staged(2);
    const made = await Promise.all(
      Array.from({ length: 450 }, () => subscribe(service, key, 'http://127.0.0.1:9/one-of-many')),
    );
    const { importer, woken } = newImporter();
    expect(await importer.run(importId, never)).toBe('done');
    expect(await show(key, importId)).toMatchObject({ inserted: 2, deliveries: 900 });
    expect(new Set(woken.flat())).toEqual(new Set(made.map(({ id }) => id)));
    const owed = await service.runtime.database.query<{ n: string }[]>(
      'SELECT COUNT(*) AS n FROM deliveries WHERE webhook_id IN (?) GROUP BY webhook_id',
      [made.map(({ id }) => id)],
    );
    expect(owed.map(({ n }) => Number(n))).toEqual(made.map(() => 2));
  });

  it('is done although no webhook could be woken: the reconciler finds what is due', async () => {
    const { key, importId } = await staged(1);
    const { database, log } = service.runtime;
    const importer = createImporter({
      database,
      log,
      wake: () => Promise.reject(new Error('Redis is away')),
    });
    expect(await importer.run(importId, never)).toBe('done');
    expect(await show(key, importId)).toMatchObject({ status: 'done', inserted: 1 });
  });

  it('marks an account as updated only when one of its movements was new', async () => {
    const { key, importId, account } = await staged(1, () => ({ unique_id: 'known' }));
    await newImporter().importer.run(importId, never);
    const other = await createAccount(service, key);
    const lastUpdate = async () =>
      (await service.call('GET', `/v1/accounts/${account.id}`, { key })).body.accounts[0].last_update;
    const database = service.runtime.database;
    await database.query("UPDATE accounts SET last_update = '2020-01-01' WHERE id = ?", [account.id]);
    const body = [movement(account.id, { unique_id: 'known' }), movement(other.id)]
      .map((it) => JSON.stringify(it))
      .join('\n');
    const again = await service.call('POST', '/v1/imports', { key, body, type: 'application/x-ndjson' });
    await newImporter().importer.run(again.body.import.id, never);
    expect(await lastUpdate()).toBe('2020-01-01 03:00:00+03');
  });

  it('keeps the balance of the newest movement, also when an older statement comes later', async () => {
    const first = await staged(1, () => ({ date_issue: '2026-03-01', balance: '10.00' }));
    await newImporter().importer.run(first.importId, never);
    const body = JSON.stringify(movement(first.account.id, { date_issue: '2026-02-01', balance: '99.00' }));
    const { body: answer } = await service.call('POST', '/v1/imports', {
      key: first.key,
      body,
      type: 'application/x-ndjson',
    });
    await newImporter().importer.run(answer.import.id, never);
    const { body: accounts } = await service.call('GET', `/v1/accounts/${first.account.id}`, {
      key: first.key,
    });
    expect(accounts.accounts[0]).toMatchObject({
      balance: '10.00',
      last_update: expect.stringMatching(/\+03$/),
    });
  });
});

describe('a chunk', () => {
  const chunkOf = (importId: string, accountId: string, from: number): Chunk => ({
    importId,
    from,
    to: from + 1,
    last: false,
    movements: [
      {
        uniqueId: `chunk-${from}`,
        movement: { ...movement(accountId), dc: 'Credit' } as Chunk['movements'][0]['movement'],
      },
    ],
    faults: [],
    rejected: 0,
  });

  it('is stored whole or not at all: a checkpoint that moved undoes the rows too', async () => {
    const { customer, account, importId } = await staged(1);
    const { database } = service.runtime;
    await database.query("UPDATE imports SET status = 'running', checkpoint = 7 WHERE id = ?", [importId]);
    await expect(storeChunk(database, customer.id, chunkOf(importId, account.id, 0))).rejects.toThrow(
      ImportTakenOverError,
    );
    expect(await storedRows(customer.id)).toBe(0);
  });

  it('takes its ids and its date_readed only when it has the import lock: they grow in the order of commits', async () => {
    const { customer, account, importId } = await staged(1);
    const { database } = service.runtime;
    await database.query("UPDATE imports SET status = 'running' WHERE id = ?", [importId]);
    let storing: Promise<unknown> = Promise.resolve();
    let given = new Date(0);
    await database.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM import_locks WHERE customer_id = ? FOR UPDATE', [customer.id]);
      storing = storeChunk(database, customer.id, chunkOf(importId, account.id, 0));
      await until('the chunk waits for the lock', async () => {
        // Not innodb_trx: asked more often than every 100 ms, it goes on telling what it told first.
        const waiting = await database.query<unknown[]>(
          `SELECT 1 FROM information_schema.processlist
           WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%import_locks%'`,
        );
        return waiting.length > 0;
      });
      const [row] = await sql.query<{ now: Date }[]>('SELECT NOW(6) AS now');
      given = row?.now ?? given;
    });
    await storing;
    const [stored] = await database.query<{ date_readed: Date }[]>(
      'SELECT date_readed FROM transactions WHERE customer_id = ?',
      [customer.id],
    );
    expect(stored?.date_readed.getTime()).toBeGreaterThanOrEqual(given.getTime());
  });

  it('is stored without looking at all that its customer has, also before MySQL has counted that', async () => {
    const HISTORY = 5_000;
    const NEW = 500;
    const { key, customer, account, importId } = await staged(1);
    const { database } = service.runtime;
    await service.call('POST', '/v1/webhooks', {
      key,
      body: { title: 'All', endpoint: 'http://127.0.0.1:9/', event: 'NEW_TRANSACTION', account: 'all' },
    });
    const bare = chunkOf(importId, account.id, 0);
    const rows = (prefix: string, count: number): Chunk['movements'] =>
      bare.movements.flatMap((it) =>
        Array.from({ length: count }, (_, i) => ({ ...it, uniqueId: `${prefix}${i}` })),
      );
    await database.query('ALTER TABLE transactions STATS_AUTO_RECALC = 0');
    await storeChunk(database, customer.id, { ...bare, to: HISTORY, movements: rows('old', HISTORY) });

    // One is known already, so that those that are not have to be counted.
    const movements = [...rows('old', 1), ...rows('new', NEW)];
    const chunk = { ...bare, from: HISTORY, to: HISTORY + NEW + 1, movements };
    const { read } = await watchReads(database, (sql) => storeChunks(sql, customer.id, [chunk]));
    expect(await show(key, importId)).toMatchObject({ inserted: HISTORY + NEW, duplicates: 1 });
    expect(read).toBeLessThan(HISTORY);
  });

  it('never goes back in date_readed, even when the clock does', async () => {
    const { customer, account, importId } = await staged(1);
    const { database } = service.runtime;
    await database.query("UPDATE imports SET status = 'running' WHERE id = ?", [importId]);
    await database.query(
      "UPDATE import_locks SET last_date_readed = '2099-01-01 00:00:00' WHERE customer_id = ?",
      [customer.id],
    );
    await storeChunk(database, customer.id, chunkOf(importId, account.id, 0));
    const [row] = await database.query<{ date_readed: Date }[]>(
      'SELECT date_readed FROM transactions WHERE customer_id = ?',
      [customer.id],
    );
    expect(row?.date_readed.toISOString()).toBe('2099-01-01T00:00:00.000Z');
  });
});
