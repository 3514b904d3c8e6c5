import { expect, it } from 'vitest';
import { runDeletions } from '../../src/deleting/deletions.ts';
import { requestCustomerDeletion } from '../../src/deleting/request-deletion.ts';
import { createSteps } from '../../src/retention/steps.ts';
import { readState } from '../api/tenants/state.ts';
import { createAccount, importMovements, largeImport, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber, NOWHERE } from '../support/subscriber.ts';
import { until } from '../support/until.ts';

const service = useService({ roles: ['api'] });

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
const work = () => runDeletions(service.runtime, createSteps({ pauses: false }));
const rowsOf = async (customerId: string) =>
  Object.fromEntries(
    Object.entries(await readState(service, customerId)).flatMap(([table, { rows }]) =>
      // Who has changed what stays.
      rows === 0 || table === 'audit_events' ? [] : [[table, rows]],
    ),
  );

/** A customer that has rows in every table. */
async function createFull() {
  const subscriber = await createSubscriber(service, NOWHERE, {}, { event: 'NEW_DEBIT' });
  const { key, accountId, customerId, webhook, store } = subscriber;
  const { id: otherId } = await createAccount(service, key, { title: 'İki' });
  await service.call('POST', '/v1/apikeys', {
    key,
    body: { title: 'Limited', account: [Number(accountId)] },
    headers: { 'Idempotency-Key': `key of ${customerId}` },
  });
  await importMovements(service, key, [movement(accountId), movement(otherId)]);
  const { body } = await service.call('POST', '/v1/imports', { key, body: largeImport(otherId) });
  await query(
    "INSERT INTO import_errors (import_id, severity, line, path, message) VALUES (?, 'error', 1, '', 'wrong')",
    body.import.id,
  );
  const source = await query<unknown>(
    `INSERT INTO sources (customer_id, title, kind, settings, schedule, account_id, format, create_accounts)
     VALUES (?, 'Folder', 'folder', '{}', '{}', ?, 'auto', 0)`,
    customerId,
    accountId,
  );
  const { insertId } = source as unknown as { insertId: string };
  await query('INSERT INTO source_runs (source_id, customer_id) VALUES (?, ?)', insertId, customerId);
  await query('INSERT INTO source_accounts (source_id, account_id) VALUES (?, ?)', insertId, accountId);
  await query(
    "INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version) VALUES (?, ?, 1, '', 'a', '1')",
    insertId,
    customerId,
  );
  const [delivered = '', failed = '', waiting = ''] = await store(5);
  await recordDeliveries(service.runtime.database, webhook, [
    { transactionId: delivered, status: 'delivered' },
    { transactionId: failed, status: 'failed' },
    { transactionId: waiting, status: 'pending' },
  ]);
  const path = `/v1/webhooks/${webhook.id}/replay`;
  await service.call('POST', path, { key, body: { since: '2000-01-01 00:00:00' } });
  return subscriber;
}

it('a customer is deleted with every row, and nothing of another one is touched', async () => {
  const other = await createFull();
  const before = await readState(service, other.customerId);
  const { key, customerId } = await createFull();
  expect(Object.keys(await rowsOf(customerId)).length).toBeGreaterThan(15);
  await requestCustomerDeletion(service.runtime.database, customerId, async () => {});
  await until(
    'an unknown key',
    async () => (await service.call('GET', '/v1/accounts', { key })).status === 401,
  );
  expect(await work()).toBe(1);
  expect(await rowsOf(customerId)).toEqual({});
  expect(await readState(service, other.customerId)).toEqual(before);
});

it('from the request on, nothing is stored or sent, although the key is still cached', async () => {
  const { key, accountId, customerId } = await createFull();
  const stored = async () =>
    (await query('SELECT 1 FROM transactions WHERE customer_id = ?', customerId)).length;
  const count = await stored();
  await service.call('GET', '/v1/accounts', { key });
  await requestCustomerDeletion(service.runtime.database, customerId, async () => {});
  const body = { transactions: [movement(accountId, { unique_id: 'too late' })] };
  // The key is unknown, or the account is.
  expect([401, 422]).toContain((await service.call('POST', '/v1/imports', { key, body })).status);
  expect(await stored()).toBe(count);
  const webhooks = await query<{ status: string }>(
    'SELECT status FROM webhooks WHERE customer_id = ?',
    customerId,
  );
  expect(webhooks.map(({ status }) => status)).toEqual(['deleted', 'deleted']);
});

it('goes on where it was, in several processes, and ends once', async () => {
  const { customerId, store } = await createFull();
  await store(900);
  await requestCustomerDeletion(service.runtime.database, customerId, async () => {});
  const stopping = new AbortController();
  const steps = createSteps({ signal: stopping.signal, pauses: false });
  let passes = 0;
  await runDeletions(service.runtime, {
    repeat: (step) =>
      steps.repeat(async (rows) => {
        passes += 1;
        if (passes === 8) stopping.abort();
        return step(Math.min(rows, 100));
      }),
  });
  expect(await rowsOf(customerId)).toHaveProperty('customers');
  await Promise.allSettled([work(), work()]);
  await work();
  expect(await rowsOf(customerId)).toEqual({});
});
