import { describe, expect, it } from 'vitest';
import { createAccount, largeImport } from '../../support/movements.ts';
import { expectProblem } from '../../support/problem.ts';
import { useOwnService } from '../../support/service.ts';
import { removeAt } from './kept.ts';

// No importer: larger imports stay queued.
const service = useOwnService({ because: 'retention removes what any customer has', roles: ['api'] });

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
const remove = () => removeAt(service, { imports: 90 });

const LONG_AGO = '2026-01-15 12:00:00';

/** An import with a body in parts, which was received and has ended long ago. */
async function oldImport(status: string) {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key);
  const { body } = await service.call('POST', '/v1/imports', { key, body: largeImport(account.id) });
  const id = String(body.import.id);
  await query(
    'UPDATE imports SET status = ?, received_at = ?, finished_at = ? WHERE id = ?',
    status,
    LONG_AGO,
    status === 'queued' || status === 'running' ? null : LONG_AGO,
    id,
  );
  for (let seq = 1; seq < 40; seq += 1) {
    await query("INSERT INTO import_parts (import_id, seq, bytes) VALUES (?, ?, 'part')", id, seq);
  }
  await query(
    `INSERT INTO import_errors (import_id, severity, line, path, message)
     SELECT ?, 'error', seq, '', 'wrong' FROM import_parts WHERE import_id = ?`,
    id,
    id,
  );
  return { key, id };
}

const rowsOf = async (id: string) => [
  (await query('SELECT 1 FROM imports WHERE id = ?', id)).length,
  (await query('SELECT 1 FROM import_parts WHERE import_id = ?', id)).length,
  (await query('SELECT 1 FROM import_errors WHERE import_id = ?', id)).length,
];

describe('retention of imports', () => {
  it('removes old ended imports with their errors and staged bodies', async () => {
    const failed = await oldImport('failed');
    const done = await oldImport('done');
    expect(await remove()).toMatchObject({ imports: 2 });
    expect([await rowsOf(failed.id), await rowsOf(done.id)]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
    expectProblem(await service.call('GET', `/v1/imports/${failed.id}`, { key: failed.key }), 404);
  });

  it.each(['queued', 'running'])('keeps an import that is %s, however old', async (status) => {
    const { id } = await oldImport(status);
    await remove();
    expect(await rowsOf(id)).toEqual([1, 40, 40]);
  });

  it('keeps an import that has ended recently, although it was received long ago', async () => {
    const { id } = await oldImport('failed');
    await query("UPDATE imports SET finished_at = '2026-05-20' WHERE id = ?", id);
    await remove();
    expect(await rowsOf(id)).toEqual([1, 40, 40]);
  });

  it('does not let a failed import be retried with the rest of a body that is being removed', async () => {
    const { key, id } = await oldImport('failed');
    const [removed, retried] = await Promise.all([
      remove(),
      service.call('POST', `/v1/imports/${id}/retry`, { key }),
    ]);
    // Whichever came first, either the whole body is there or the import is not queued.
    if (retried.status === 202) expect([removed.imports, (await rowsOf(id))[1]]).toEqual([0, 40]);
    else expect([404, 409]).toContain(retried.status);
  });
});
