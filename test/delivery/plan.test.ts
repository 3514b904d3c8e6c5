import type { DataSource } from 'typeorm';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Sql } from '../../src/database/transaction.ts';
import { expandReplay } from '../../src/delivery/engine/expand-replay.ts';
import { readRanges } from '../../src/delivery/engine/log-ranges.ts';
import { recordResults } from '../../src/delivery/engine/record-results.ts';
import { readRetries } from '../../src/delivery/engine/retries.ts';
import { reconcileDeliveries } from '../../src/delivery/reconcile.ts';
import { readStates } from '../../src/delivery/webhook-state.ts';
import type { Filter } from '../../src/webhook-record/filter.ts';
import { renewLeases, takeLeases } from '../../src/webhook-record/lease.ts';
import { watchOwnReads, watchReads } from '../support/reads.ts';
import { recordOf, success } from '../support/records.ts';
import { createReplay } from '../support/replays.ts';
import { useOwnService } from '../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../support/subscriber.ts';
import { until } from '../support/until.ts';

/**
 * Checks how many entries of tables and indexes MySQL reads. The bounds hold on MariaDB, which counts what it skips inside an
 * index, and on MySQL, which does not.
 */
const MOVEMENTS = 50_000;
const RETRIES = 100_000;
const RARE = 5;
const OTHER_WEBHOOKS = 900;

const service = useOwnService({ because: 'MySQL plans by the size of the tables', roles: ['api'] });
const watchOwn = <T>(work: (database: DataSource) => Promise<T>) =>
  watchOwnReads(service.runtime.config.databaseUrl, work);
const watch = <T>(work: (sql: Sql) => Promise<T>) => watchReads(service.runtime.database, work);

let subscriber: Subscriber;
/** `all` matches everything, from the start; `rare` matches rarely; the retries of `due` are due, those of `waiting` are not. */
let all: string;
let rare: string;
let due: string;
let waiting: string;
/** The newest movement that is not rare, and the newest of all. */
let beforeRare: number;
let newest: number;

/** A derived table of `n` rows. @param n at most 1,000 times 1,000. */
const numbers = (n: number) => `
  (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999)
   SELECT a.n * 1000 + b.n AS n FROM s a JOIN s b WHERE a.n * 1000 + b.n < ${n})`;

/** As right after an import, when MySQL has not yet updated its statistics. */
beforeAll(async () => {
  const { database } = service.runtime;
  subscriber = await createSubscriber(service, NOWHERE, {}, { event: 'NEW_DEBIT' }, {}, {});
  [all = '', rare = '', due = '', waiting = ''] = subscriber.webhookIds;
  const { customerId, accountId } = subscriber;
  for (const table of ['transactions', 'retries', 'deliveries']) {
    await database.query(`ALTER TABLE ${table} STATS_AUTO_RECALC = 0`);
    await database.query(`ANALYZE TABLE ${table}`);
  }
  await database.query(
    `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
     SELECT ?, ?, 1, CONCAT('m', n), 'Credit', '1.00', '2026-01-15', '2026-01-15 09:00:00' FROM ${numbers(MOVEMENTS)} it`,
    [customerId, accountId],
  );
  const [row] = await database.query<{ id: string }[]>('SELECT MAX(id) AS id FROM transactions');
  beforeRare = Number(row?.id);
  await database.query('UPDATE import_locks SET last_transaction_id = ? WHERE customer_id = ?', [
    beforeRare,
    customerId,
  ]);
  newest = Number(
    (await subscriber.store(Array.from({ length: RARE }, () => ({ dc: 'Debit' as const })))).at(-1),
  );
  for (const [id, dueAt] of [
    [due, 'NOW(6) - INTERVAL 1 SECOND'],
    [waiting, 'NOW(6) + INTERVAL 1 HOUR'],
  ]) {
    await database.query(
      `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
       SELECT ?, n + 1, ?, ${dueAt}, 1, 1 FROM ${numbers(RETRIES)} it`,
      [id, customerId],
    );
    await database.query('UPDATE webhook_cursors SET sent_through = ? WHERE webhook_id = ?', [newest, id]);
  }
  const copies: [table: string, id: string, columns: string][] = [
    [
      'webhooks',
      'id',
      'title, endpoint, event, status, secret, encoding, hash_encoding, ordered, max_in_flight',
    ],
    ['webhook_cursors', 'webhook_id', 'sent_through, highest_recorded_id'],
    ['webhook_backlogs', 'webhook_id', 'matched_through'],
  ];
  for (const [table, id, columns] of copies) {
    await database.query(
      `INSERT INTO ${table} (${id}, customer_id, ${columns})
       SELECT w.${id} + 1000 + it.n, w.customer_id, ${columns} FROM ${table} w JOIN ${numbers(OTHER_WEBHOOKS)} it WHERE w.${id} = ?`,
      [waiting],
    );
    await database.query(`ANALYZE TABLE ${table}`);
  }
});

const EVERYTHING: Filter = { event: 'NEW_TRANSACTION', accountId: null, withdrawals: false };
const range = (fields: object) => ({
  customerId: subscriber.customerId,
  filter: EVERYTHING,
  after: 0,
  through: null,
  withoutResultsOf: null,
  limit: 300,
  ...fields,
});

describe('MySQL reads few rows when', () => {
  it('the state of webhooks is read, however much is pending', async () => {
    const { result, read } = await watch((sql) => readStates(sql, [all, rare, due, waiting]));
    expect(
      result.map((state) => state && [state.matchedThrough > state.sentThrough, state.retryIn === null]),
    ).toEqual([
      [true, true],
      [true, true],
      [false, false],
      [false, false],
    ]);
    expect(read).toBeLessThan(200);
  });

  it('a batch is read from a long log: of all accounts, of one account, and where some movements have results', async () => {
    for (const fields of [
      {},
      { filter: { ...EVERYTHING, accountId: subscriber.accountId } },
      { withoutResultsOf: all, through: newest },
    ]) {
      const { result, read } = await watch((sql) => readRanges(sql, [range(fields)]));
      expect(result[0]?.movements).toHaveLength(300);
      expect(read).toBeLessThan(2_000);
    }
  });

  it('batches of many webhooks are read together, each from its own cursor', async () => {
    const reads = Array.from({ length: 40 }, (_, at) => range({ after: at * 1_000 }));
    const { result, read } = await watch((sql) => readRanges(sql, reads));
    expect(result.every(({ movements }) => movements.length > 0)).toBe(true);
    expect(read).toBeLessThan(41 * 4_000);
  });

  it('a webhook matches few among many movements', async () => {
    for (const accountId of [null, subscriber.accountId]) {
      const debits = { filter: { event: 'NEW_DEBIT' as const, accountId, withdrawals: false } };
      for (const others of [[], [range({ after: newest }), range({ ...debits, after: newest })]]) {
        const { result, read } = await watch((sql) => readRanges(sql, [range(debits), ...others]));
        expect(result[0]?.movements).toHaveLength(RARE);
        expect(read).toBeLessThan(200);
      }
    }
  });

  it('the end of the log is read and nothing is new', async () => {
    const { result, read } = await watch((sql) => readRanges(sql, [range({ after: newest })]));
    expect(result[0]).toMatchObject({ movements: [], complete: true });
    expect(read).toBeLessThan(50);
  });

  it(`retries are read among ${RETRIES}`, async () => {
    const many = await watch((sql) => readRetries(sql, due, { ordered: false, limit: 100 }));
    expect(many.result.deliveries).toHaveLength(100);
    expect(many.read).toBeLessThan(1_500);
    const none = await watch((sql) => readRetries(sql, waiting, { ordered: false, limit: 100 }));
    expect(none.result.deliveries).toHaveLength(0);
    expect(none.read).toBeLessThan(1_500);
  });

  it('the reconciler looks for webhooks with something due, without looking at the others again', async () => {
    const reconcile = async () => {
      const found: string[] = [];
      const { result, read } = await watchOwn((database) =>
        reconcileDeliveries(database, async (ids) => void found.push(...ids)),
      );
      expect([result, found.toSorted()]).toEqual([3, [all, rare, due].toSorted()]);
      return read;
    };
    expect(await reconcile()).toBeLessThan((4 + OTHER_WEBHOOKS) * 20);
    // The entries that the index had for the others are gone as soon as InnoDB has purged them.
    await until('a pass that reads little', async () => (await reconcile()) < 150);
  });

  it('leases are taken and prolonged among those of many webhooks', async () => {
    const requests = [all, due].map((webhookId) => ({
      webhookId,
      revision: 1,
      lastToken: '',
      lastWrites: 0,
    }));
    const taken = await watch((sql) => takeLeases(sql, requests));
    const leases = taken.result.filter((lease) => lease !== null);
    expect(leases).toHaveLength(2);
    const renewed = await watch((sql) => renewLeases(sql, leases));
    for (const { read } of [taken, renewed]) expect(read).toBeLessThan(50);
  });

  it('a part of a replay is made due', async () => {
    const { database } = service.runtime;
    const { customerId, webhook } = subscriber;
    await database.query(
      `INSERT INTO deliveries (webhook_id, transaction_id, customer_id, status, attempts, outcome, started_at, duration_ms)
       SELECT ?, id, customer_id, 'delivered', 1, 'delivered', NOW(6), 1 FROM transactions WHERE customer_id = ?`,
      [webhook.id, customerId],
    );
    await createReplay(database, { webhook, since: '2000-01-01 00:00:00', statuses: ['delivered'] });
    // All are counted once, before the first part.
    await expandReplay(database, webhook.id);
    const { result, read } = await watchOwn((database) => expandReplay(database, webhook.id));
    expect(result).toEqual({ added: 200, replaying: true });
    expect(read).toBeLessThan(5_000);
  });

  it('results are recorded', async () => {
    const [lease] = await takeLeases(service.runtime.database, [
      { webhookId: waiting, revision: 1, lastToken: '', lastWrites: 0 },
    ]);
    if (lease == null) throw new Error('the lease is held');
    const results = Array.from({ length: 100 }, (_, at) => success(at + 1, { number: 2 }));
    const { read } = await watchOwn((database) => recordResults(database, [recordOf(lease, results)]));
    expect(read).toBeLessThan(2_000);
  });
});
