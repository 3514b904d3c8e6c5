import { execFile } from 'node:child_process';
import { rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { mt940 } from '../intake/statement-files.ts';
import { until } from '../support/until.ts';
import { createFolderCustomer, IBAN, useFolderService } from './folder-source.ts';

const { service, sourcesDir } = useFolderService();

const newCustomer = () => createFolderCustomer(service, sourcesDir);

const MARCH = [
  { day: 2, amount: 150, reference: 'A1' },
  { day: 3, amount: -20.5, reference: 'A2' },
];
const APRIL = [...MARCH.slice(1), { day: 4, amount: 99, reference: 'A3' }];

describe('a run of a folder source', () => {
  it('moves an imported statement to done/, and a broken file to failed/ with the reason', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    await customer.drop('march.sta', mt940(MARCH));
    await customer.drop('notes.doc', 'These are no statements.');
    const run = await customer.run(id);
    expect(run).toMatchObject({ status: 'done', files: 2, error: expect.stringMatching(/^notes\.doc: /) });
    expect(run.imports.map(({ file }) => file).toSorted()).toEqual(['march.sta', 'notes.doc']);
    expect(await customer.list('inbox')).toEqual(['done', 'failed', 'processing']);
    expect(await customer.list('inbox/processing')).toEqual([]);
    expect(await customer.list('inbox/done')).toEqual(['march.sta']);
    expect(await customer.list('inbox/failed')).toEqual(['notes.doc', 'notes.doc.error.txt']);
    expect(await customer.read('inbox/failed/notes.doc.error.txt')).toMatch(/in no format that is supported/);
    expect(await customer.read('inbox/done/march.sta')).toBe(mt940(MARCH));
    expect((await customer.movements()).map(({ amount }) => amount)).toEqual(['150.00', '20.50']);
    // The file failed, but the source did not.
    expect(await customer.source(id)).toMatchObject({
      consecutive_failures: 0,
      error: expect.stringMatching(/notes\.doc/),
    });
    for (const { id: importId } of run.imports) {
      const { body } = await customer.call('GET', `/v1/imports/${importId}`);
      expect(body.import.source_id).toBe(Number(id));
    }
  });

  it('names files that cannot be moved, and collects the others', async ({ skip }) => {
    const setAttribute = async (flag: '+i' | '-i', path: string) =>
      promisify(execFile)('chattr', [flag, path]);
    const customer = await newCustomer();
    const id = await customer.createSource();
    const names = ['a.sta', 'b.sta', 'c.sta', 'd.sta'];
    for (const name of names) await customer.drop(name, mt940(MARCH));
    const inInbox = (name: string) => join(customer.root, 'inbox', name);
    try {
      // Only root may do this, and only on some file systems.
      for (const name of names) await setAttribute('+i', inInbox(name)).catch(() => skip());
      await customer.drop('good.sta', mt940(APRIL));
      const run = await customer.run(id);
      expect(run).toMatchObject({
        status: 'done',
        error: 'a.sta: It cannot be moved: give the user of the service access to it. 3 more files failed.',
      });
      expect(await customer.list('inbox/done')).toEqual(['good.sta']);
      expect(await customer.source(id)).toMatchObject({ consecutive_failures: 0 });
    } finally {
      for (const name of names) await setAttribute('-i', inInbox(name)).catch(() => {});
    }
    expect(await customer.run(id)).toMatchObject({ status: 'done', files: 4 });
  });

  it('stores nothing twice when the same file arrives twice, and keeps both files', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    for (const expected of [{ inserted: 2 }, { inserted: 0, duplicates: 2 }]) {
      await customer.drop('march.sta', mt940(MARCH));
      const { imports } = await customer.run(id);
      const { body } = await customer.call('GET', `/v1/imports/${imports[0]?.id}`);
      expect(body.import).toMatchObject(expected);
    }
    expect(await customer.list('inbox/done')).toEqual([
      expect.stringMatching(/^march-[0-9a-f]{16}\.sta$/),
      'march.sta',
    ]);
    expect(await customer.movements()).toHaveLength(2);
  });

  it('stores the common movements of overlapping statements once', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    await customer.drop('march.sta', mt940(MARCH));
    await customer.drop('april.sta', mt940(APRIL, { opening: 1_150 }));
    expect(await customer.run(id)).toMatchObject({ status: 'done', files: 2 });
    const movements = await customer.movements();
    expect(movements.map(({ amount }) => amount).toSorted()).toEqual(['150.00', '20.50', '99.00']);
  });

  it('takes a file that is put back from failed/ after the reason is gone', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    const iban = 'TR380006400000099423106133';
    await customer.drop('other.sta', mt940(MARCH, { account: iban }));
    await customer.run(id);
    const report = await customer.read('inbox/failed/other.sta.error.txt');
    expect(report).toContain('give the source an account, or let the source create accounts');
    expect(report).not.toMatch(/account_id|The other rows/);
    const body = { bank: 'İş Bankası', title: 'İkinci', currency: 'TRY', iban };
    expect((await customer.call('POST', '/v1/accounts', body)).status).toBe(200);
    await rename(join(customer.root, 'inbox/failed/other.sta'), join(customer.root, 'inbox/other.sta'));
    expect(await customer.run(id)).toMatchObject({ status: 'done', files: 1, error: null });
    expect(await customer.list('inbox/done')).toEqual(['other.sta']);
    expect(await customer.movements()).toHaveLength(2);
    expect(await customer.source(id)).toMatchObject({ error: null });
  });

  it.each([
    { what: 'imported', content: mt940(MARCH), place: 'done' },
    { what: 'failed', content: 'The first half of', place: 'failed' },
  ])('collects an $what file again that has grown since', async ({ content, place }) => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    await customer.drop('march.sta', content);
    await customer.run(id);
    expect(await customer.list(`inbox/${place}`)).toContain('march.sta');
    // A program that has the file open goes on writing to it, wherever the file was moved.
    await customer.drop('march.sta', mt940([...MARCH, ...APRIL.slice(1)]), `inbox/${place}`);
    expect(await customer.run(id)).toMatchObject({ status: 'done', files: 1, error: null });
    expect(await customer.list('inbox/done')).toEqual(['march.sta']);
    expect(await customer.list('inbox/processing')).toEqual([]);
    const amounts = (await customer.movements()).map(({ amount }) => amount).toSorted();
    expect(amounts).toEqual(['150.00', '20.50', '99.00']);
    expect(await customer.run(id)).toMatchObject({ status: 'done', files: 0 });
  });

  it('leaves a marked file alone while it grows, and after a day', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource({ settle_seconds: 3_600 });
    await customer.drop('march.sta', mt940(MARCH));
    const path = join(customer.root, 'inbox/march.sta');
    const setAge = (it: string, seconds: number) => {
      const then = new Date(Date.now() - seconds * 1_000);
      return utimes(it, then, then);
    };
    expect(await customer.run(id)).toMatchObject({ files: 0 });
    await setAge(path, 3_601);
    expect(await customer.run(id)).toMatchObject({ files: 1 });
    const done = join(customer.root, 'inbox/done/march.sta');
    await writeFile(done, mt940([...MARCH, ...APRIL.slice(1)]));
    expect(await customer.run(id)).toMatchObject({ files: 0 });
    await setAge(done, 3_601);
    const { database } = service.runtime;
    const shift = (hours: number) =>
      database.query('UPDATE source_files SET marked_at = marked_at + INTERVAL ? HOUR WHERE source_id = ?', [
        hours,
        id,
      ]);
    await shift(-25);
    expect(await customer.run(id)).toMatchObject({ files: 0 });
    await shift(25);
    expect(await customer.run(id)).toMatchObject({ files: 1 });
    expect(await customer.movements()).toHaveLength(3);
  });

  it('does not confuse a file with another one that has taken its name', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    await customer.drop('march.sta', mt940(MARCH));
    await customer.run(id);
    await rename(join(customer.root, 'inbox/done/march.sta'), join(customer.root, 'archived.sta'));
    await customer.drop('march.sta', mt940(APRIL, { opening: 1_150 }));
    expect(await customer.run(id)).toMatchObject({ files: 1 });
    expect(await customer.list('inbox/done')).toEqual(['march.sta']);
    expect(await customer.run(id)).toMatchObject({ files: 0 });
  });

  it('reads files with the settings of the source: account, format, profile, new accounts', async () => {
    const customer = await newCustomer();
    const fixed = await customer.createSource({ account_id: customer.accountId, force_account: true });
    await customer.drop('elsewhere.sta', mt940(MARCH, { account: 'TR000000000000000000000000' }));
    expect(await customer.run(fixed)).toMatchObject({ status: 'done', error: null });
    const creating = await customer.createSource({ settings: { path: 'new' }, create_accounts: true });
    const iban = 'TR380006400000099423106133';
    await customer.drop('new.sta', mt940(MARCH, { account: iban }), 'new');
    expect(await customer.run(creating)).toMatchObject({ status: 'done', error: null });
    const { body } = await customer.call('GET', '/v1/accounts');
    expect(body.accounts.map((it: { iban: string }) => it.iban)).toEqual([IBAN, iban]);
    const other = await customer.createSource({ settings: { path: 'camt' }, format: 'camt' });
    await customer.drop('march.sta', mt940(MARCH), 'camt');
    expect(await customer.run(other)).toMatchObject({ status: 'done', error: expect.any(String) });
    expect(await customer.list('camt/failed')).toContain('march.sta');
  });

  it('shows its result in the accounts', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource({ account_id: customer.accountId });
    expect(await customer.account()).toMatchObject({ last_work: null, last_update: null, error: null });
    await customer.run(id);
    const worked = await customer.account();
    expect(worked).toMatchObject({ last_work: expect.any(String), last_update: null, error: null });
    await customer.drop('march.sta', mt940(MARCH));
    await customer.drop('x.txt', 'x');
    await customer.run(id);
    const updated = await customer.account();
    expect(updated).toMatchObject({
      last_update: expect.any(String),
      error: expect.stringMatching(/^x\.txt: /),
    });
    await customer.drop('april.sta', mt940(APRIL, { opening: 1_150 }));
    await customer.run(id);
    expect(await customer.account()).toMatchObject({ error: null });
  });

  it('shows its error in the accounts of its statements, until the source is deleted', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    await customer.drop('march.sta', mt940(MARCH));
    await customer.run(id);
    await customer.drop('x.txt', 'x');
    await customer.run(id);
    expect(await customer.account()).toMatchObject({ error: expect.stringMatching(/^x\.txt: /) });
    // A run that finds nothing keeps the error.
    await customer.run(id);
    expect(await customer.account()).toMatchObject({ error: expect.stringMatching(/^x\.txt: /) });
    await customer.call('DELETE', `/v1/sources/${id}`);
    expect(await customer.account()).toMatchObject({ error: null });
  });

  it('begins by itself when the source is created with an interval, and again when the source is due', async () => {
    const customer = await newCustomer();
    await customer.drop('march.sta', mt940(MARCH));
    const id = await customer.createSource({ schedule: { every: '10s' } });
    await until('the first run', async () => (await customer.movements()).length === 2);
    await customer.drop('april.sta', mt940(APRIL, { opening: 1_150 }));
    await until('a later run', async () => (await customer.movements()).length === 3);
    expect(await customer.source(id)).toMatchObject({ next_run_at: expect.any(String) });
  });
});
