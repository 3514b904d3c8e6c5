import { expect, it } from 'vitest';
import { runDeletions } from '../../../src/upkeep/deletions.ts';
import { requestCustomerDeletion } from '../../../src/upkeep/request-deletion.ts';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';
import { readState } from '../../api/tenants/state.ts';
import { movement } from '../../support/movements.ts';
import { useOwnService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { createFull } from './full-customer.ts';

const service = useOwnService({
  because: 'deleted customers are removed one after the other',
  roles: ['api'],
});

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
const work = () => runDeletions(service.runtime, createSteps({ pauses: false }));
const rowsOf = async (customerId: string) =>
  Object.fromEntries(
    Object.entries(await readState(service, customerId)).flatMap(([table, { rows }]) =>
      // The audit log stays.
      rows === 0 || table === 'audit_events' ? [] : [[table, rows]],
    ),
  );

it('the deletion of a customer removes every row of the customer, and none of another customer', async () => {
  const other = await createFull(service);
  const before = await readState(service, other.customerId);
  const { key, customerId } = await createFull(service);
  const full = await rowsOf(customerId);
  // All tables except those whose rows exist only for a moment.
  const tables = Object.keys(await readState(service, customerId));
  expect(tables.filter((table) => !(table in full))).toEqual([
    'segment_checkpoints',
    'transaction_segments',
    'deletions',
    'audit_events',
  ]);
  await requestCustomerDeletion(service.runtime.database, customerId, async () => {});
  await until(
    'an unknown key',
    async () => (await service.call('GET', '/v1/accounts', { key })).status === 401,
  );
  expect(await work()).toBe(1);
  expect(await rowsOf(customerId)).toEqual({});
  expect(await readState(service, other.customerId)).toEqual(before);
});

it('the request to delete a customer stops all imports and deliveries, although the key is still cached', async () => {
  const { key, accountId, customerId } = await createFull(service);
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
  expect(webhooks.map(({ status }) => status)).toEqual(['deleted', 'deleted', 'deleted', 'deleted']);
});

it('the deletion of a customer continues where it stopped, in several processes, and ends once', async () => {
  const { customerId, store } = await createFull(service);
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
