import { parse } from 'valibot';
import { describe, expect, it } from 'vitest';
import { type Chunk, ImportTakenOverError, storeChunk } from '../../src/intake/importer/store-chunk.ts';
import type { StatementEntry } from '../../src/intake/known/entry.ts';
import { createChunkIdentifier } from '../../src/intake/known/identify-chunk.ts';
import { createMatcher } from '../../src/ledger/matching.ts';
import { Movement } from '../../src/ledger/movement.ts';
import { createAccount, movement } from '../support/movements.ts';
import { watchOwnReads } from '../support/reads.ts';
import { useOwnService } from '../support/service.ts';
import { createSubscriber, NOWHERE } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { entriesOf } from './stored-movements.ts';

// No importer: the tests store the chunks.
const service = useOwnService({ because: 'MySQL plans by the size of the tables', roles: ['api'] });

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

/** A customer with an account, webhooks with the given fields, and a running import. */
async function runningImport(...webhooks: object[]) {
  const subscriber = await createSubscriber(service, NOWHERE, ...webhooks);
  const { key, customerId, accountId } = subscriber;
  const body = JSON.stringify(movement(accountId));
  const answer = await service.call('POST', '/v1/imports', { key, body, type: 'application/x-ndjson' });
  const importId = String(answer.body.import.id);
  await query("UPDATE imports SET status = 'running' WHERE id = ?", importId);
  const chunk = (from: number, movements: Chunk['movements'], fields: Partial<Chunk> = {}): Chunk => ({
    customerId,
    importId,
    from,
    to: from + movements.length,
    last: false,
    movements,
    entries: [],
    issues: [],
    warnings: [],
    warned: 0,
    rejected: 0,
    statementsBefore: 0,
    statements: 0,
    ended: [],
    format: null,
    members: null,
    removals: 0,
    ...fields,
  });
  return { ...subscriber, importId, chunk };
}

const one = (accountId: string, uniqueId: string, fields: object = {}): Chunk['movements'][number] => ({
  line: 1,
  uniqueId,
  movement: parse(Movement, movement(accountId, fields)),
});

/** @returns the webhooks to wake. */
const store = async (chunk: Chunk, matcher = createMatcher(), areKnown = false) => {
  const identify = createChunkIdentifier(chunk.importId);
  const { database } = service.runtime;
  return (await storeChunk({ database, matcher, identify, raised: { removals: 0 }, areKnown }, chunk))
    .webhookIds;
};

const show = async (key: string, importId: string) =>
  (await service.call('GET', `/v1/imports/${importId}`, { key })).body.import;

const storedRows = (customerId: string) =>
  query<{ id: string; date_readed: Date }>(
    'SELECT id, date_readed FROM transactions WHERE customer_id = ? ORDER BY id',
    customerId,
  );
const lockOf = async (customerId: string) =>
  (
    await query('SELECT last_transaction_id, movements FROM import_locks WHERE customer_id = ?', customerId)
  )[0];

describe('a chunk', () => {
  it('is stored with its checkpoint, its counts and the matches of its webhooks', async () => {
    const { key, customerId, accountId, importId, chunk, webhookIds } = await runningImport(
      {},
      { event: 'NEW_DEBIT' },
    );
    const movements = [one(accountId, 'a'), one(accountId, 'b', { dc: 'Debit' }), one(accountId, 'c')];
    const woken = await store(
      chunk(0, movements, { to: 5, rejected: 2, issues: [{ line: 2, path: 'dc', message: 'is required' }] }),
    );
    expect(woken).toEqual(webhookIds);
    expect(await show(key, importId)).toMatchObject({
      status: 'running',
      inserted: 3,
      duplicates: 0,
      rejected: 2,
      deliveries: 4,
    });
    const rows = await storedRows(customerId);
    expect(rows).toHaveLength(3);
    expect(await lockOf(customerId)).toEqual({ last_transaction_id: rows[2]?.id, movements: '3' });
    expect(await query('SELECT line, path FROM import_errors WHERE import_id = ?', importId)).toEqual([
      { line: 2, path: 'dc' },
    ]);
  });

  it.each([false, true])(
    'never takes a new entry for the movement that has its id (most rows are known: %s)',
    async (areKnown) => {
      const { customerId, accountId, importId, chunk } = await runningImport();
      await store(chunk(0, [one(accountId, 'taken')]));
      const before = await storedRows(customerId);
      const [entry] = entriesOf('2026-03-02', ['1.00'], accountId) as [StatementEntry];
      const options = {
        database: service.runtime.database,
        matcher: createMatcher(),
        raised: { removals: 0 },
        areKnown,
      };
      const storing = storeChunk(
        { ...options, identify: async () => [{ uniqueId: 'taken', isAssumed: false, replaces: null }] },
        chunk(1, [], { to: 2, entries: [entry] }),
      );
      await expect(storing).rejects.toThrow(
        `import ${importId}: the new entry of line 1 got the id of movement ${before[0]?.id}, which is stored`,
      );
      expect(await storedRows(customerId)).toEqual(before);
    },
  );

  it('counts known movements as duplicates, from earlier chunks, other imports and the same chunk', async () => {
    const { key, customerId, accountId, importId, chunk, webhookIds } = await runningImport();
    await store(chunk(0, [one(accountId, 'a'), one(accountId, 'b')]));
    const before = await lockOf(customerId);
    // Nothing is new: no webhook is woken, and the customer's newest movement stays the same.
    expect(await store(chunk(2, [one(accountId, 'b'), one(accountId, 'a')]))).toEqual([]);
    expect(await lockOf(customerId)).toEqual(before);
    expect(await store(chunk(4, [one(accountId, 'b'), one(accountId, 'c'), one(accountId, 'c')]))).toEqual(
      webhookIds,
    );
    expect(await show(key, importId)).toMatchObject({ inserted: 3, duplicates: 4, deliveries: 3 });
    expect(await lockOf(customerId)).toMatchObject({ movements: '3' });
  });

  it('has the same counts, list and stored rows, whether known movements are read first or inserted again', async () => {
    const storeBoth = async (areKnown: boolean) => {
      const { key, customerId, accountId, importId, chunk, webhookIds } = await runningImport();
      await store(chunk(0, [one(accountId, 'a'), one(accountId, 'b'), one(accountId, 'c')]));
      const again = [
        one(accountId, 'a'),
        one(accountId, 'new'),
        one(accountId, 'b', { amount: '777.00' }),
        one(accountId, 'twice'),
        one(accountId, 'c', { description: 'another text' }),
        one(accountId, 'twice'),
      ].map((row, index) => ({ ...row, line: index + 1 }));
      expect(await store(chunk(3, again), createMatcher(), areKnown)).toEqual(webhookIds);
      const { inserted, duplicates, changed, conflicts, deliveries } = await show(key, importId);
      const { body } = await service.call('GET', `/v1/imports/${importId}/duplicates`, { key });
      const listed = body.duplicates.map(({ line, reason }: Record<string, unknown>) => ({ line, reason }));
      const ids = await query<{ unique_id: string }>(
        'SELECT CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions WHERE customer_id = ? ORDER BY id',
        customerId,
      );
      return { inserted, duplicates, changed, conflicts, deliveries, listed, ids };
    };
    const [read, inserted] = [await storeBoth(true), await storeBoth(false)];
    expect(read).toEqual(inserted);
    expect(read).toMatchObject({ inserted: 5, duplicates: 3, changed: 1, conflicts: 1, deliveries: 5 });
    expect(read.listed.map(({ reason }: { reason: string }) => reason).toSorted()).toEqual([
      'changed',
      'conflict',
      'same',
      'same',
    ]);
  });

  it('drops the staged bytes when it is the last chunk, which may be empty', async () => {
    const { key, accountId, importId, chunk } = await runningImport();
    await store(chunk(0, [one(accountId, 'a')]));
    const parts = () => query('SELECT 1 FROM import_parts WHERE import_id = ?', importId);
    expect(await parts()).toHaveLength(1);
    await store(chunk(1, [], { last: true }));
    expect(await parts()).toEqual([]);
    expect(await show(key, importId)).toMatchObject({ status: 'done', received: 1, inserted: 1 });
  });

  it('is stored completely or not at all: a checkpoint that moved undoes the rows', async () => {
    const { customerId, accountId, importId, chunk, webhookIds } = await runningImport();
    await query('UPDATE imports SET checkpoint = 7 WHERE id = ?', importId);
    await expect(store(chunk(0, [one(accountId, 'a')]))).rejects.toThrow(ImportTakenOverError);
    expect(await storedRows(customerId)).toEqual([]);
    expect(await lockOf(customerId)).toEqual({ last_transaction_id: '0', movements: '0' });
    expect(
      await query('SELECT matched_count FROM webhook_backlogs WHERE webhook_id = ?', webhookIds[0]),
    ).toEqual([{ matched_count: '0' }]);
  });

  it('takes its ids and its date_readed only when it has the import lock, so that they grow in the order of commits', async () => {
    const { customerId, accountId, chunk } = await runningImport();
    const { database } = service.runtime;
    let storing: Promise<unknown> = Promise.resolve();
    let given = new Date(0);
    await database.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM import_locks WHERE customer_id = ? FOR UPDATE', [customerId]);
      storing = store(chunk(0, [one(accountId, 'a')]));
      await until('the chunk waits for the lock', async () => {
        // Not innodb_trx: if it is read more often than every 100 ms, it returns its first result again.
        const waiting = await query<unknown>(
          `SELECT 1 FROM information_schema.processlist
           WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%import_locks%'`,
        );
        return waiting.length > 0;
      });
      const [row] = await sql.query<{ now: Date }[]>('SELECT NOW(6) AS now');
      given = row?.now ?? given;
    });
    await storing;
    const [stored] = await storedRows(customerId);
    expect(stored?.date_readed.getTime()).toBeGreaterThanOrEqual(given.getTime());
  });

  it('never goes back in date_readed, even when the clock does', async () => {
    const { customerId, accountId, chunk } = await runningImport();
    await query(
      "UPDATE import_locks SET last_date_readed = '2099-01-01 00:00:00' WHERE customer_id = ?",
      customerId,
    );
    await store(chunk(0, [one(accountId, 'a')]));
    const [row] = await storedRows(customerId);
    expect(row?.date_readed.toISOString()).toBe('2099-01-01T00:00:00.000Z');
  });

  it('updates the accounts that have new movements, and their balance when a new movement has a balance', async () => {
    const { key, accountId, chunk } = await runningImport();
    const quiet = (await createAccount(service, key)).id;
    const accountOf = async (id: string) =>
      (
        await query<Record<string, unknown>>(
          'SELECT balance, last_work, last_update FROM accounts WHERE id = ?',
          id,
        )
      )[0];
    await store(
      chunk(0, [
        one(accountId, 'newest', { date_issue: '2026-03-01', balance: '10.00' }),
        one(accountId, 'older', { date_issue: '2026-02-01', balance: '99.00' }),
        one(accountId, 'without', { date_issue: '2026-04-01', balance: null }),
      ]),
    );
    expect(await accountOf(accountId)).toEqual({
      balance: '10.000',
      last_work: expect.any(Date),
      last_update: expect.any(Date),
    });
    expect(await accountOf(quiet)).toEqual({ balance: null, last_work: null, last_update: null });
    await store(
      chunk(3, [one(quiet, 'q', { balance: null }), one(accountId, 'older', { balance: '99.00' })]),
    );
    expect(await accountOf(quiet)).toMatchObject({ balance: null, last_update: expect.any(Date) });
    expect(await accountOf(accountId)).toMatchObject({ balance: '10.000' });
  });

  it("is stored without reading the customer's whole history, even with outdated table statistics", async () => {
    const HISTORY = 5_000;
    const NEW = 500;
    await query('ALTER TABLE transactions STATS_AUTO_RECALC = 0');
    const { key, accountId, importId, chunk } = await runningImport();
    const rows = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, i) => one(accountId, `${prefix}${i}`));
    await store(chunk(0, rows('old', HISTORY)));

    // One movement is known already, so that the new ones have to be counted.
    const movements = [...rows('old', 1), ...rows('new', NEW)];
    const { read } = await watchOwnReads(service.runtime.config.databaseUrl, (database) =>
      storeChunk(
        {
          database,
          matcher: createMatcher(),
          identify: createChunkIdentifier(importId),
          raised: { removals: 0 },
        },
        chunk(HISTORY, movements),
      ),
    );
    expect(await show(key, importId)).toMatchObject({ inserted: HISTORY + NEW, duplicates: 1 });
    expect(read).toBeLessThan(HISTORY / 2);
  });
});
