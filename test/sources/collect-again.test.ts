import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { mt940 } from '../intake/statement-files.ts';
import { listed, withdrawn } from '../intake/withdrawals/withdrawn.ts';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { insertWithdrawnFile } from '../support/withdrawn-files.ts';
import { createFolderCustomer, useFolderService } from './folder-source.ts';
import { createTestSource, fileOf, STATEMENT } from './test-source.ts';

const { service, sourcesDir } = useFolderService();

const MARCH = mt940([
  { day: 2, amount: 150, reference: 'A1' },
  { day: 3, amount: -20.5, reference: 'A2' },
]);

/** A folder source of the wrong account that has collected a file. Its account can be set to the right one. */
async function createWrongSource() {
  const customer = await createFolderCustomer(service, sourcesDir);
  const { id: rightId } = await createAccount(service, customer.key, {});
  const id = await customer.createSource({ account_id: customer.accountId, force_account: true });
  await customer.drop('march.sta', MARCH);
  const [collected] = (await customer.run(id)).imports;
  const importId = collected?.id ?? 0;
  const again = (body: object = { import_id: importId }, source = id) =>
    customer.call('POST', `/v1/sources/${source}/collect-again`, body);
  const accounts = async () =>
    (await listed(service, customer.key)).map(({ account_id }) => account_id).toSorted();
  return { customer, id, importId, rightId, again, accounts };
}

it('collects a withdrawn file again into the right account, exactly once', async () => {
  const { customer, id, importId, rightId, again, accounts } = await createWrongSource();
  expect(await accounts()).toEqual([Number(customer.accountId), Number(customer.accountId)]);
  expectProblem(await again(), 409, 'not-collectable-again');
  await withdrawn(service, customer.key, `imports/${importId}`);
  expect(await customer.run(id)).toMatchObject({ files: 0 });

  await customer.call('PATCH', `/v1/sources/${id}`, { account_id: rightId });
  const answer = await again();
  expect([answer.status, answer.body.source.id]).toEqual([202, Number(id)]);
  // A request that is repeated before the file is collected changes nothing. Otherwise it is refused.
  expect([202, 409]).toContain((await again()).status);
  await customer.run(id);
  expect(await customer.list('inbox/done')).toEqual(['march.sta']);
  expect(await customer.list('inbox/processing')).toEqual([]);
  expect(await accounts()).toEqual([Number(rightId), Number(rightId)]);
  expect(await customer.imports()).toHaveLength(2);

  expect(await customer.run(id)).toMatchObject({ files: 0, imports: [], error: null });
  expectProblem(await again(), 409, 'not-collectable-again');
  expect(await customer.imports()).toHaveLength(2);
});

it('says where it has looked for a file that is gone, and leaves another file of its name alone', async () => {
  const { customer, id, importId, again } = await createWrongSource();
  await withdrawn(service, customer.key, `imports/${importId}`);
  await rm(join(customer.root, 'inbox/done/march.sta'));
  await customer.drop('march.sta', mt940([{ day: 9, amount: 1, reference: 'B' }]), 'inbox/done');
  const { body } = await again();
  await customer.run(id);
  const told = (await customer.runs(id)).findLast((run) => run.id > body.previous_run_id);
  expect(told).toMatchObject({
    status: 'done',
    error: expect.stringContaining('march.sta: It is to be collected again, but is not in "done/march.sta"'),
  });
  expect(await customer.list('inbox/done')).toEqual(['march.sta']);
  expect(await customer.imports()).toHaveLength(1);
});

it('collects a file again that was moved back by hand', async () => {
  const { customer, id, importId, again, accounts } = await createWrongSource();
  await withdrawn(service, customer.key, `imports/${importId}`);
  await customer.call('PATCH', `/v1/sources/${id}`, { status: 'paused' });
  await rename(join(customer.root, 'inbox/done/march.sta'), join(customer.root, 'inbox/march.sta'));
  await again();
  await customer.run(id);
  expect(await accounts()).toHaveLength(2);
  expect(await customer.imports()).toHaveLength(2);
});

it('refuses an import of another source, and one whose source has other settings now', async () => {
  const { customer, id, importId, again } = await createWrongSource();
  const other = await customer.createSource({ settings: { path: 'other' } });
  expectProblem(await again({ import_id: importId }, other), 404);
  expectProblem(await again({ import_id: 999_999_999 }), 404);
  expectProblem(await again({}), 422);
  await withdrawn(service, customer.key, `imports/${importId}`);
  await customer.call('PATCH', `/v1/sources/${id}`, { settings: { path: 'elsewhere' } });
  const { body } = await again();
  expect(body.detail).toContain('The settings of the source were changed');
});

it('refuses pages of a JSON API that are not asked for again', async () => {
  const customer = await createFolderCustomer(service, sourcesDir);
  const id = await customer.createSource({
    kind: 'http',
    settings: { url: 'http://127.0.0.1:9/rows', format: 'json' },
  });
  const importId = await insertWithdrawnFile(service.runtime.database, id);
  const { status, body } = await customer.call('POST', `/v1/sources/${id}/collect-again`, {
    import_id: importId,
  });
  expect([status, body.detail]).toEqual([409, expect.stringContaining('does not ask for single pages')]);
});

/** As the API marks the file of the first import. */
const markAgain = async (sourceId: string) => {
  const { database } = service.runtime;
  await database.query('UPDATE imports SET idempotency_key = NULL WHERE source_id = ?', [sourceId]);
  await database.query("UPDATE source_files SET outcome = 'again' WHERE source_id = ?", [sourceId]);
};

it('a source that moves nothing is asked for all its files, and only the one is collected again', async () => {
  const asked: (string | null)[] = [];
  const source = await createTestSource(service, {
    async *files(since) {
      asked.push(since);
      if (since === null) yield fileOf('a.sta', STATEMENT);
    },
  });
  await source.run();
  await markAgain(source.id);
  for (let i = 0; i < 2; i += 1) {
    await source.isDue();
    await source.run();
  }
  expect(asked).toEqual([null, null, '1']);
  expect((await source.runs()).map(({ files, error }) => [files, error])).toEqual([
    [1, null],
    [1, null],
    [0, null],
  ]);
  expect(await source.imports()).toHaveLength(2);

  await markAgain(source.id);
  await source.isDue();
  await source.run();
  expect((await source.imports()).length).toBe(3);
});

it('looks for nothing in the old place when the settings were changed before the run', async () => {
  const source = await createTestSource(service, {
    async *files() {
      yield fileOf('a.sta', STATEMENT);
    },
    putBack: async () => {
      throw new Error('must not be called');
    },
  });
  await source.run();
  await markAgain(source.id);
  await service.runtime.database.query('UPDATE sources SET revision = revision + 1 WHERE id = ?', [
    source.id,
  ]);
  await source.isDue();
  await source.run();
  expect((await source.runs()).at(-1)).toMatchObject({
    files: 1,
    error: expect.stringContaining('the settings of the source were changed'),
  });
});

it('says that a file is not offered any more', async () => {
  let files = [fileOf('a.sta', STATEMENT)];
  const source = await createTestSource(service, {
    async *files() {
      yield* files;
    },
  });
  await source.run();
  await markAgain(source.id);
  files = [];
  await source.isDue();
  await source.run();
  expect((await source.runs()).at(-1)?.error).toMatch(
    /^a\.sta: .*, but the source does not offer it any more/,
  );
  await source.isDue();
  await source.run();
  expect((await source.runs()).at(-1)?.error).toBeNull();
});
