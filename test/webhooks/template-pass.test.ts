import { beforeAll, expect, it } from 'vitest';
import { inTransaction } from '../../src/database/transaction.ts';
import { reconcileDeliveries } from '../../src/delivery/reconcile.ts';
import { keepTemplates, lockTemplates } from '../../src/webhooks/template-webhooks.ts';
import { newExternalId, tokenOf } from '../operators/support.ts';
import { watchOwnReads } from '../support/reads.ts';
import { useOwnService } from '../support/service.ts';
import { NOWHERE } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { useTemplates } from './template-support.ts';

const service = useOwnService({ because: 'it has many customers', roles: ['api'] });
let token: string;
const { call, createTemplate, createCustomer } = useTemplates(service, () => token);

const CUSTOMERS = 1_000;
const GROUP = 'many';

beforeAll(async () => {
  token = await tokenOf(service, 'operator');
  const names = Array.from({ length: CUSTOMERS }, (_, at) => [
    `Customer ${at}`,
    '',
    JSON.stringify({ group: GROUP }),
  ]);
  await service.runtime.database.query('INSERT INTO customers (name, api_secret, metadata) VALUES ?', [
    names,
  ]);
  await service.runtime.database.query(
    'INSERT INTO import_locks (customer_id) SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM import_locks l WHERE l.customer_id = c.id)',
  );
});

const show = async (id: number) =>
  (await call('GET', `/v1/webhook-templates/${id}`)).body.webhook_template.webhooks;

/** Customers that the template matches and that have no active webhook of it, and webhooks of others. */
async function differences(id: number, group: string): Promise<[missing: string, others: string]> {
  const [row] = await service.runtime.database.query(
    `SELECT SUM(u.metadata = ? AND w.id IS NULL) AS missing, SUM(u.metadata <> ? AND w.id IS NOT NULL) AS others
     FROM customers u LEFT JOIN webhooks w ON w.template_id = ? AND w.customer_id = u.id AND w.status = 'active' WHERE u.metadata IS NOT NULL`,
    [JSON.stringify({ group }), JSON.stringify({ group }), id],
  );
  return [String(row.missing), String(row.others)];
}

it('the pass over all customers continues where it was ended', async () => {
  const { database } = service.runtime;
  const template = await createTemplate(newExternalId(), { endpoint: NOWHERE });
  await database.query(
    'UPDATE webhook_templates SET metadata = ?, checked_through = 0 WHERE webhook_id = ?',
    [JSON.stringify({ group: GROUP }), template.id],
  );
  for (const left of [900, 700]) {
    const ending = new AbortController();
    // The signal is looked at between two parts.
    const signal = {
      get aborted() {
        return ending.signal.aborted;
      },
    } as AbortSignal;
    const before = (await show(template.id)).customers_left;
    const working = keepTemplates(database, signal);
    ending.abort();
    await working;
    const after = (await show(template.id)).customers_left;
    expect(after).toBeLessThan(before);
    expect(after).toBeGreaterThanOrEqual(left - 100);
  }
  await keepTemplates(database, AbortSignal.timeout(60_000));
  expect(await show(template.id)).toEqual({ active: CUSTOMERS, ended: 0, customers_left: 0 });
  expect(await differences(template.id, GROUP)).toEqual(['0', '0']);
  // Once more changes nothing.
  await database.query('UPDATE webhook_templates SET checked_through = 0 WHERE webhook_id = ?', [
    template.id,
  ]);
  await keepTemplates(database, AbortSignal.timeout(60_000));
  expect(await show(template.id)).toEqual({ active: CUSTOMERS, ended: 0, customers_left: 0 });
  await call('DELETE', `/v1/webhook-templates/${template.id}`);
  await keepTemplates(database, AbortSignal.timeout(60_000));
  expect(await differences(template.id, GROUP)).toEqual([String(CUSTOMERS), '0']);
}, 120_000);

it('no customer that is created beside a new template is without its webhook', async () => {
  const group = newExternalId();
  const creating = Array.from({ length: 30 }, () => createCustomer(group));
  const template = await createTemplate(group, { endpoint: NOWHERE });
  const customers = await Promise.all(creating);
  await keepTemplates(service.runtime.database, AbortSignal.timeout(60_000));
  expect((await show(template.id)).active).toBe(customers.length);
});

it('a customer whose metadata changes while another transaction changes the templates waits for it', async () => {
  const group = newExternalId();
  const customer = await createCustomer(group);
  const order: string[] = [];
  let changing: Promise<unknown> = Promise.resolve();
  await inTransaction(service.runtime.database, async (sql) => {
    await lockTemplates(sql);
    changing = call('PATCH', `/v1/customers/${customer.id}`, { body: { metadata: { group: 'x' } } }).then(
      () => order.push('changed'),
    );
    await until('the change waits for the lock', async () => {
      const waiting = await service.runtime.database.query(
        `SELECT 1 FROM information_schema.processlist
         WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%installation_id%'`,
      );
      return waiting.length > 0;
    });
    order.push('committed');
  });
  await changing;
  expect(order).toEqual(['committed', 'changed']);
});

it('thousands of webhooks that their template holds cost the reconciler a few index entries each', async () => {
  const { database } = service.runtime;
  const template = await createTemplate(GROUP, { endpoint: NOWHERE });
  await keepTemplates(database, AbortSignal.timeout(60_000));
  await database.query(
    'UPDATE webhook_backlogs b JOIN webhooks w ON w.id = b.webhook_id SET b.due_at = NOW(6), b.matched_count = 1, b.matched_through = b.matched_through + 1 WHERE w.template_id = ?',
    [template.id],
  );
  await call('PATCH', `/v1/webhook-templates/${template.id}`, { body: { status: 'paused' } });
  await database.query('ANALYZE TABLE webhooks, webhook_cursors, webhook_backlogs');
  const { result, read } = await watchOwnReads(service.runtime.config.databaseUrl, (watched) =>
    reconcileDeliveries(watched, async () => {}),
  );
  expect(result).toBe(0);
  expect(read).toBeLessThan(CUSTOMERS * 8);
  await call('PATCH', `/v1/webhook-templates/${template.id}`, { body: { status: 'active' } });
  const woken: string[] = [];
  await reconcileDeliveries(database, async (ids) => void woken.push(...ids));
  // The endpoint is probed first.
  expect(woken).toHaveLength(1);
}, 120_000);
