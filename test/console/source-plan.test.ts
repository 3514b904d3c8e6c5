import { beforeAll, describe, expect, it } from 'vitest';
import { readWrongFiles } from '../../src/console/sources/source-page.tsx';
import { actFor } from '../../src/customers/caller.ts';
import type { Sql } from '../../src/database/transaction.ts';
import { findSource, listRuns, listSources } from '../../src/sources/find-source.ts';
import { nameSourceTroubles, sourceTroubleOf } from '../../src/verdict/work.ts';
import { watchReads } from '../support/reads.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../support/subscriber.ts';

/** Checks how many entries MySQL reads for the pages of sources. None of them may grow with the number of sources, runs or files. */
const FEW = 2_500;

const service = useService({ roles: ['api'] });
let subscriber: Subscriber;
let newestSource: string;

const numbers = (n: number) => `
  (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999)
   SELECT a.n * 1000 + b.n AS n FROM s a JOIN s b WHERE a.n * 1000 + b.n < ${n})`;

beforeAll(async () => {
  const { database } = service.runtime;
  subscriber = await createSubscriber(service, NOWHERE, {}, {}, {});
  const { customerId } = subscriber;
  await database.query(
    `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts)
     SELECT ?, 'x', 'folder', '{}', '{"every":"5m"}', 'auto', 0 FROM ${numbers(5_000)} it`,
    [customerId],
  );
  newestSource = await insertSourceHistory(subscriber);
});

/** Of 5,000 sources, 20 are paused and 20 have an error. The newest has files, and the largest number of runs that is kept. @returns its id. */
async function insertSourceHistory({ customerId, accountId }: Subscriber): Promise<string> {
  const { database } = service.runtime;
  await database.query("UPDATE sources SET status = 'paused' WHERE id % 250 = 1");
  await database.query("UPDATE sources SET error = 'x', consecutive_failures = 1 WHERE id % 250 = 2");
  await database.query('UPDATE sources SET account_id = ? WHERE id % 250 = 3', [accountId]);
  const [source] = await database.query<{ id: string }[]>('SELECT MAX(id) AS id FROM sources');
  const id = source?.id ?? '';
  await database.query(
    `INSERT INTO source_runs (source_id, customer_id, status, started_at)
     SELECT s.id, s.customer_id, 'failed', '2026-01-01' + INTERVAL n MINUTE FROM ${numbers(1_000)} it JOIN sources s
     WHERE s.id > ? - 20 ORDER BY s.id, n`,
    [id],
  );
  await database.query(
    `INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version, outcome)
     SELECT ?, ?, 1, UNHEX(SHA2(n, 256)), 'x', '1', IF(n % 2 = 0, 'failed', 'done') FROM ${numbers(5_000)} it`,
    [id, customerId],
  );
  return id;
}

const viewerOf = (customerId: string) =>
  actFor(customerId, { source: 'console', name: 'test', role: 'admin' });
const NO_SOURCE_FILTER = { viewer: null, after: '0' } as const;
const ANY_RUN = { before: '999999999999999999' } as const;

const CASES: [name: string, work: (sql: Sql) => Promise<unknown[]>][] = [
  ['sources', async (sql) => (await listSources(sql, NO_SOURCE_FILTER, 50)).rows],
  [
    'paused sources',
    async (sql) => (await listSources(sql, { ...NO_SOURCE_FILTER, status: 'paused' }, 50)).rows,
  ],
  [
    'the sources of a customer',
    async (sql) =>
      (await listSources(sql, { ...NO_SOURCE_FILTER, viewer: viewerOf(subscriber.customerId) }, 50)).rows,
  ],
  [
    'the sources of an account',
    async (sql) =>
      (await listSources(sql, { ...NO_SOURCE_FILTER, accountId: subscriber.accountId }, 50)).rows,
  ],
  ['sources in trouble', (sql) => nameSourceTroubles(sql, 10)],
  ['a source', async (sql) => [await findSource(sql, null, newestSource)]],
  ['the runs of a source', (sql) => listRuns(sql, newestSource, ANY_RUN, 50)],
  [
    'runs of a source until a moment',
    (sql) => listRuns(sql, newestSource, { ...ANY_RUN, status: 'failed', until: '2026-01-01 01:00:00' }, 50),
  ],
  [
    'the trouble of a source',
    async (sql) => {
      const source = await findSource(sql, null, newestSource);
      return [await sourceTroubleOf(sql, { ...source, consecutive_failures: 3 })];
    },
  ],
  ['the wrong files of a source', (sql) => readWrongFiles(sql, newestSource, 20)],
];

describe('the console reads few rows', () => {
  it.each(CASES)('for %s', async (_name, work) => {
    const { result, read } = await watchReads(service.runtime.database, work);
    expect(result.length).toBeGreaterThan(0);
    expect(result[0]).toBeDefined();
    expect(read).toBeLessThanOrEqual(FEW);
  });
});
