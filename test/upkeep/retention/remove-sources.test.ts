import { describe, expect, it } from 'vitest';
import { createAccount } from '../../support/movements.ts';
import { useOwnService } from '../../support/service.ts';
import { countRows, removeAt } from './kept.ts';

const service = useOwnService({ because: 'retention removes what any customer has', roles: ['api'] });

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
const insert = async (sql: string, ...values: unknown[]) =>
  String(((await query(sql, ...values)) as unknown as { insertId: string }).insertId);
const remove = () => removeAt(service, { imports: 90 });

const LONG_AGO = '2026-01-15 12:00:00';
const LATELY = '2026-05-20 12:00:00';

/** A source that has collected files, each of which became an import that has ended. */
async function createSource(
  fields: { status?: string; outcome?: string; importEnded?: string; lastRun?: string } = {},
) {
  const { status = 'active', outcome = 'done', importEnded = LONG_AGO, lastRun = LONG_AGO } = fields;
  const { api_key: key, customer } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  const sourceId = await insert(
    `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts, status, last_run_at, created_at)
     VALUES (?, 'Klasör', 'folder', '{}', '{}', 'auto', 0, ?, ?, ?)`,
    customer.id,
    status,
    lastRun,
    LONG_AGO,
  );
  await query('INSERT INTO source_accounts (source_id, account_id) VALUES (?, ?)', sourceId, accountId);
  const runId = await insert(
    "INSERT INTO source_runs (source_id, customer_id, status, finished_at) VALUES (?, ?, 'done', ?)",
    sourceId,
    customer.id,
    lastRun,
  );
  for (const name of ['one.sta', 'two.sta']) {
    const importId = await insert(
      `INSERT INTO imports (customer_id, source_id, format, status, received_at, finished_at)
       VALUES (?, ?, 'mt940', 'done', ?, ?)`,
      customer.id,
      sourceId,
      LONG_AGO,
      importEnded,
    );
    await query(
      `INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version, import_id, outcome)
       VALUES (?, ?, ?, UNHEX(SHA2(?, 256)), ?, '1', ?, ?)`,
      sourceId,
      customer.id,
      runId,
      name,
      name,
      importId,
      outcome,
    );
  }
  return {
    rows: async () => {
      const tables = ['imports', 'source_files', 'source_runs', 'sources'];
      const accounts = await query('SELECT 1 FROM source_accounts WHERE source_id = ?', sourceId);
      return { ...(await countRows(service, customer.id, tables)), source_accounts: accounts.length };
    },
  };
}

const ALL = { imports: 2, source_files: 2, source_runs: 1, sources: 1, source_accounts: 1 };
const NONE = { imports: 0, source_files: 0, source_runs: 0, sources: 0, source_accounts: 0 };

describe('for a source,', () => {
  it.each(['active', 'paused'])(
    'retention keeps the records of its known files while it is %s, although their imports are removed',
    async (status) => {
      const { rows } = await createSource({ status });
      expect(await remove()).toMatchObject({ imports: 2, sources: 0 });
      expect(await rows()).toEqual({ ...ALL, imports: 0 });
    },
  );

  it('retention keeps imports until their files are marked, because the mark is made from them', async () => {
    const { rows } = await createSource({ status: 'paused', outcome: 'pending' });
    expect(await remove()).toMatchObject({ imports: 0 });
    expect(await rows()).toEqual(ALL);
    await query("UPDATE source_files SET outcome = 'done'");
    expect(await remove()).toMatchObject({ imports: 2 });
  });
});

describe('a deleted source', () => {
  it('is removed with its runs and files when the last of its imports is', async () => {
    // A file that was not marked before is not marked any more.
    const { rows } = await createSource({ status: 'deleted', outcome: 'pending' });
    expect(await remove()).toMatchObject({ imports: 2, sources: 1 });
    expect(await rows()).toEqual(NONE);
  });

  it.each([
    ['an import of it has ended recently', { importEnded: LATELY }, ALL],
    ['its last run is recent', { lastRun: LATELY }, { ...ALL, imports: 0 }],
  ])('stays while %s', async (_, fields, left) => {
    const { rows } = await createSource({ status: 'deleted', ...fields });
    expect(await remove()).toMatchObject({ sources: 0 });
    expect(await rows()).toEqual(left);
  });
});
