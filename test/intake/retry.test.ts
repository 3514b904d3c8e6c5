import { describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { createImporter } from '../../src/intake/importer/importer.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';

// No importer role: the tests run the imports themselves, so that they can interrupt them.
const service = useService({ roles: ['api'] });

const ROWS = 1_500;
const never = new AbortController().signal;

const run = (importId: string, signal = never) =>
  createImporter({
    database: service.runtime.database,
    reader: createStatementFormats([], READ_SETTINGS),
    log: service.runtime.log,
    wake: async () => {},
  }).run(importId, signal);

const retry = (key: string, importId: string) =>
  service.call('POST', `/v1/imports/${importId}/retry`, { key });

const show = async (key: string, importId: string) =>
  (await service.call('GET', `/v1/imports/${importId}`, { key })).body.import;

/** An import that was quarantined after its first chunk was stored. */
async function quarantined() {
  const { api_key: key, customer } = await service.customer();
  const { id: account } = await createAccount(service, key);
  const body = Array.from({ length: ROWS }, () => JSON.stringify(movement(account))).join('\n');
  const answer = await service.call('POST', '/v1/imports', { key, body, type: 'application/x-ndjson' });
  const importId = String(answer.body.import.id);
  expect(await run(importId, AbortSignal.abort())).toBe('given back');
  // The state after ten runs that were killed.
  await service.runtime.database.query('UPDATE imports SET crash_count = 10 WHERE id = ?', [importId]);
  expect(await run(importId)).toBe('nothing to do');
  expect(await show(key, importId)).toMatchObject({ status: 'failed', inserted: 1_000 });
  return { key, customer, account, importId };
}

describe('POST /v1/imports/:id/retry', () => {
  it('queues a quarantined import, which continues after the stored rows', async () => {
    const { key, customer, importId } = await quarantined();
    const { status, body } = await retry(key, importId);
    expect([status, body.import]).toMatchObject([
      202,
      { id: Number(importId), status: 'queued', inserted: 1_000, error: null, finished_at: null },
    ]);
    const waiting = await service.runtime.queues.imports.getWaiting();
    expect(waiting.map(({ data }) => data.customerId)).toContain(customer.id);
    expect(await run(importId)).toBe('done');
    expect(await show(key, importId)).toMatchObject({
      status: 'done',
      received: ROWS,
      inserted: ROWS,
      duplicates: 0,
    });
  });

  it('refuses an import that has not failed, including an import that is already queued again', async () => {
    const { key, account, importId } = await quarantined();
    expect((await retry(key, importId)).status).toBe(202);
    const again = await retry(key, importId);
    expectProblem(again, 409);
    expect(again.body.detail).toBe('Only a failed import can be retried, but this import is queued.');
    const done = await importMovements(service, key, [movement(account)]);
    expectProblem(await retry(key, String(done.id)), 409);
    expect(await show(key, String(done.id))).toEqual(done);
  });

  it('refuses an import whose API key was deleted, because the accounts of the key are unknown', async () => {
    const { key, customer, importId } = await quarantined();
    const { body } = await service.call('POST', '/v1/apikeys', {
      key,
      body: { title: 'Second', account: 'all' },
    });
    const other = body.apikey.apikey as string;
    await service.runtime.database.query('DELETE FROM api_keys WHERE customer_id = ? AND id <> ?', [
      customer.id,
      body.apikey.id,
    ]);
    const refused = await retry(other, importId);
    expectProblem(refused, 409);
    expect(refused.body.detail).toContain('The API key that sent this import was deleted');
    expect(await show(other, importId)).toMatchObject({ status: 'failed' });
  });

  it('refuses an import whose body was deleted, because nothing is left to go on with', async () => {
    const { key, importId } = await quarantined();
    await service.runtime.database.query('DELETE FROM import_parts WHERE import_id = ?', [importId]);
    const refused = await retry(key, importId);
    expectProblem(refused, 409, 'import-not-retryable');
    expect(refused.body.detail).toBe('The body of this import was deleted. Send the file again.');
    expect(await show(key, importId)).toMatchObject({ status: 'failed' });
  });

  it("hides another customer's import", async () => {
    const { importId } = await quarantined();
    const { api_key: stranger } = await service.customer();
    expectProblem(await retry(stranger, importId), 404);
    expectProblem(await retry(stranger, '999999'), 404);
  });
});
