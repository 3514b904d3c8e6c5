import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Sql } from '../../src/database/transaction.ts';
import { findOldest } from '../../src/intake/worker.ts';
import { itemsUntilAborted } from '../../src/sources/runs/collector.ts';
import { findEndedFiles, hasEndedFiles } from '../../src/sources/runs/source-files.ts';
import { useDatabase } from '../support/database.ts';
import { watchReads } from '../support/reads.ts';
import { never } from './test-source.ts';

/** A folder with many files costs no more per file than one with few. */

const { database } = useDatabase();

/** The files that a run has collected faster than they are imported. */
const WAITING = [200, 2_000];

/** Adds files to the source, which has the id of the customer. The imports of the first files have ended. */
async function addFiles(customerId: string, count: number, ended: number): Promise<void> {
  const [last] = await database.query<{ id: string }[]>('SELECT COALESCE(MAX(id), 0) AS id FROM imports');
  const ids = Array.from({ length: count }, (_, at) => Number(last?.id) + 1 + at);
  const imports = ids.map((id, at) => [id, customerId, customerId, 'mt940', at < ended ? 'done' : 'queued']);
  await database.query('INSERT INTO imports (id, customer_id, source_id, format, status) VALUES ?', [
    imports,
  ]);
  const files = ids.map((id) => [customerId, customerId, 1, String(id).padStart(32), 'a.sta', '1', id]);
  await database.query(
    'INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version, import_id) VALUES ?',
    [files],
  );
}

async function addCustomer(id: string): Promise<void> {
  await database.query("INSERT INTO customers (id, name, api_secret) VALUES (?, 'Müşteri', '-')", [id]);
  await database.query(
    `INSERT INTO sources (id, customer_id, title, kind, settings, schedule, format, create_accounts)
     VALUES (?, ?, 'Klasör', 'folder', '{}', '{"every":"5m"}', 'auto', 0)`,
    [id, id],
  );
}

describe('files that wait for their imports', () => {
  const CASES: [name: string, work: (sql: Sql, id: string) => Promise<unknown>][] = [
    ['finding the files whose imports have ended', findEndedFiles],
    ['asking whether there are such files', hasEndedFiles],
    ['finding the next import of a customer', findOldest],
  ];

  it('does not make MySQL read more for each file', async () => {
    const reads = new Map<string, number[]>();
    for (const [at, waiting] of WAITING.entries()) {
      const [other, id] = [String(2 * at + 1), String(2 * at + 2)];
      for (const customer of [other, id]) {
        await addCustomer(customer);
        await addFiles(customer, waiting, 0);
      }
      await database.query('ANALYZE TABLE imports, source_files');
      for (const [name, work] of CASES) {
        const { read } = await watchReads(database, (sql) => work(sql, id));
        reads.set(name, [...(reads.get(name) ?? []), read]);
      }
    }
    for (const [name, [few = 0, many = 0]] of reads) expect(many, name).toBeLessThanOrEqual(few + 10);
  });

  it('are found as soon as their imports have ended, the oldest first', async () => {
    const id = '9';
    await addCustomer(id);
    await addFiles(id, 300, 150);
    const found = await findEndedFiles(database, id);
    const ids = found.map((it) => Number(it.id));
    expect(ids).toHaveLength(100);
    expect(ids).toEqual(ids.toSorted((one, other) => one - other));
    expect(await hasEndedFiles(database, id)).toBe(true);
    const [first] = await database.query<{ id: string }[]>(
      "SELECT MIN(id) AS id FROM imports WHERE status = 'queued' AND customer_id = ?",
      [id],
    );
    expect(await findOldest(database, id)).toBe(first?.id);
    await database.query("UPDATE imports SET status = 'running' WHERE id = ?", [first?.id]);
    expect(await findOldest(database, id)).toBe(first?.id);
  });
});

describe('the files of a run', () => {
  it('do not stay in memory until it ends', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const refs: WeakRef<object>[] = [];
    async function* files() {
      for (let at = 0; at < 1_000; at += 1) {
        const file = { name: `${at}.sta` };
        refs.push(new WeakRef(file));
        yield file;
      }
    }
    let seen = 0;
    for await (const _ of itemsUntilAborted(files(), never)) {
      seen += 1;
      if (seen < 1_000) continue;
      // The targets of new references stay until the next pass of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      collectGarbage();
      expect(refs.filter((it) => it.deref() !== undefined).length).toBeLessThan(10);
    }
    expect(seen).toBe(1_000);
  });
});
