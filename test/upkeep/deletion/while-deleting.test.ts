import { describe, expect, it } from 'vitest';
import { runDeletions } from '../../../src/upkeep/deletions.ts';
import { requestAccountDeletion } from '../../../src/upkeep/request-deletion.ts';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';
import { importDone, importMovements, movement } from '../../support/movements.ts';
import { expectProblem } from '../../support/problem.ts';
import { useOwnService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { NOWHERE } from '../../support/subscriber.ts';
import { createTwoAccounts } from './two-accounts.ts';

const service = useOwnService({
  because: 'deleted customers are removed one after the other',
  roles: ['api', 'importer'],
});

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
const work = () => runDeletions(service.runtime, createSteps({ pauses: false }));
const record = (...args: Parameters<typeof recordDeliveries> extends [unknown, ...infer R] ? R : never) =>
  recordDeliveries(service.runtime.database, ...args);
const createTwo = (...webhooks: object[]) => createTwoAccounts(service, ...webhooks);

describe('while an account is being deleted', () => {
  it('no import stores a movement of the account, whatever the format', async () => {
    const { key, accountId, otherId, remove } = await createTwo();
    // So that this process has cached the accounts.
    await importMovements(service, key, [movement(accountId)]);
    await remove();
    const rows = [movement(accountId, { unique_id: 'new' }), movement(otherId, { unique_id: 'other' })];
    const json = await service.call('POST', '/v1/imports', { key, body: { transactions: rows } });
    if (json.status === 202) {
      expect(await importDone(service, key, json.body.import.id)).toMatchObject({ inserted: 1, rejected: 1 });
    } else expectProblem(json, 422);
    const ndjson = await service.call('POST', '/v1/imports', {
      key,
      body: rows.map((row) => JSON.stringify(row)).join('\n'),
      type: 'application/x-ndjson',
    });
    expect(await importDone(service, key, ndjson.body.import.id)).toMatchObject({ rejected: 1 });
    const stored = await query('SELECT 1 FROM transactions WHERE account_id = ?', accountId);
    expect(stored).toHaveLength(1);
    const file = await service.call('POST', `/v1/imports?account_id=${accountId}`, {
      key,
      body: 'x',
      type: 'text/csv',
    });
    expectProblem(file, 422);
  });

  it('an import that has already checked its rows checks them again', async () => {
    const { key, accountId, customerId } = await createTwo();
    const rows = Array.from({ length: 3_000 }, (_, at) => movement(accountId, { unique_id: `row ${at}` }));
    const body = rows.map((row) => JSON.stringify(row)).join('\n');
    const { body: sent } = await service.call('POST', '/v1/imports', {
      key,
      body,
      type: 'application/x-ndjson',
    });
    await requestAccountDeletion(service.runtime.database, { customerId, accountId }, async () => {});
    const done = await importDone(service, key, sent.import.id);
    expect(done.inserted + done.rejected).toBe(3_000);
    const before = await query('SELECT 1 FROM transactions WHERE account_id = ?', accountId);
    expect(before).toHaveLength(done.inserted);
    await work();
    expect(await query('SELECT 1 FROM transactions WHERE account_id = ?', accountId)).toEqual([]);
  });

  it('the deliveries of the account are not sent again, and no webhooks or keys can be created for it', async () => {
    const { key, accountId, webhook, remove, store } = await createTwo();
    const [id = ''] = await store([{}]);
    await record(webhook, [{ transactionId: id, status: 'failed' }]);
    await remove();
    const again = await service.call('POST', `/v1/deliveries/${webhook.id}-${id}/redeliver`, { key });
    expect([again.status, again.body.type]).toEqual([409, '/problems/account-deleting']);
    const body = { title: 'Yeni', endpoint: NOWHERE, event: 'NEW_DEBIT', account: Number(accountId) };
    expectProblem(await service.call('POST', '/v1/webhooks', { key, body }), 422);
    const limited = { title: 'Yeni', account: [Number(accountId)] };
    expectProblem(await service.call('POST', '/v1/apikeys', { key, body: limited }), 422);
  });
});
