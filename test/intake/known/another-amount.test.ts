import { expect, it } from 'vitest';
import { useService } from '../../support/service.ts';
import { createDryRunCustomer } from '../dry-run-customer.ts';
import { mt940 } from '../statement-files.ts';

/** Entries with the bank's id of a movement and another amount, such as a card payment before its tip and with it. */

const service = useService({ roles: ['api', 'importer'] });

const early = { day: 3, amount: -50, reference: 'NONREF//R7001', text: 'RESTAURANT' };
const other = { day: 3, amount: -9, reference: 'NONREF//R7002', text: 'KIOSK' };
const report = mt940([early, other], { interim: true });
const statement = mt940([{ ...early, amount: -55 }, other]);

it('a final statement that has the other amount only is held, once, and stored when somebody decides so', async () => {
  const { key, dryRun, importFile } = await createDryRunCustomer(service);
  expect(await importFile(report)).toMatchObject({ inserted: 2 });
  const tried = await dryRun(statement);
  expect(tried.dry_run).toMatchObject({ inserted: 0, duplicates: 1, conflicts: 1 });
  expect(await importFile(statement)).toMatchObject({
    inserted: 0,
    duplicates: 1,
    conflicts: 1,
    rejected: 0,
  });
  expect(await importFile(statement)).toMatchObject({ inserted: 0, duplicates: 1, conflicts: 1 });
  const { body } = await service.call('GET', '/v1/conflicts', { key });
  expect(body.conflicts).toMatchObject([
    { status: 'open', stored: { amount: '50.00' }, received: { amount: '55.00' } },
  ]);
  const decided = await service.call('POST', `/v1/conflicts/${body.conflicts[0].id}`, {
    key,
    body: { decision: 'store' },
  });
  expect(decided.body.conflict.status).toBe('stored');
  const again = await dryRun(statement);
  expect(again.dry_run).toMatchObject({ inserted: 0, duplicates: 2, conflicts: 0 });
  expect(await importFile(statement)).toMatchObject({ inserted: 0, duplicates: 2, conflicts: 0 });
});

it('a payment and its charge with one id are both stored', async () => {
  const { importFile } = await createDryRunCustomer(service);
  await importFile(report);
  const both = mt940([early, { ...early, amount: -1, text: 'CHARGE' }, other]);
  expect(await importFile(both)).toMatchObject({ inserted: 1, duplicates: 2, conflicts: 0 });
});

it('two reports with two amounts are both stored, as an assumption', async () => {
  const { key, importFile } = await createDryRunCustomer(service);
  await importFile(report);
  const second = await importFile(mt940([{ ...early, amount: -55 }, other], { interim: true }));
  expect(second).toMatchObject({ inserted: 1, assumed_new: 1, conflicts: 0 });
  const { body } = await service.call('GET', `/v1/imports/${second.id}/duplicates`, { key });
  expect(body.duplicates).toContainEqual(expect.objectContaining({ reason: 'assumed_new' }));
});
