import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileDeliveries } from '../../src/delivery/reconcile.ts';
import { addDeliveryJobs } from '../../src/platform/queues.ts';
import { keepTemplates, sumTemplates } from '../../src/webhooks/template-webhooks.ts';
import { asOperator, newExternalId, tokenOf } from '../operators/support.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService();
const receiver = useReceiver();
let token: string;
const created: number[] = [];

beforeAll(async () => {
  token = await tokenOf(service, 'operator');
});

afterAll(async () => {
  for (const id of created) await call('DELETE', `/v1/webhook-templates/${id}`);
  await keepTemplates(service.runtime.database, AbortSignal.timeout(30_000));
});

const call = (method: string, path: string, options = {}) =>
  asOperator(service, token, method, path, options);

/** A word that only the customers of one test have. */
const newGroup = () => newExternalId();

async function createTemplate(group: string, fields = {}) {
  const { status, body } = await call('POST', '/v1/webhook-templates', {
    body: {
      title: 'All customers',
      endpoint: `${receiver.url}/${group}`,
      event: 'NEW_TRANSACTION',
      customers: { metadata: { group } },
      ...fields,
    },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  created.push(body.webhook_template.id);
  return body.webhook_template;
}

interface Customer {
  id: number;
  external_id: string;
  key: string;
  accountId: number;
}

async function createCustomer(group: string): Promise<Customer> {
  const external_id = `kunde ${newExternalId()}/ü`;
  const { body } = await call('POST', '/v1/customers', {
    body: {
      name: 'Acme',
      external_id,
      metadata: { group, plan: 'pro' },
      accounts: [{ bank: 'Bank', title: 'Konto', currency: 'EUR' }],
    },
  });
  return { id: body.customer.id, external_id, key: body.api_key, accountId: body.accounts[0].id };
}

let rows = 0;
async function addMovement({ key, accountId }: Customer): Promise<string> {
  rows += 1;
  const { status, body } = await service.call('POST', '/v1/imports', {
    key,
    body: {
      transactions: [
        {
          account_id: accountId,
          unique_id: `u${rows}`,
          dc: 'Credit',
          amount: '1.00',
          date_issue: '2026-01-05',
          description: `row ${rows}`,
        },
      ],
    },
  });
  expect(status, JSON.stringify(body)).toBe(202);
  return `row ${rows}`;
}

const webhooksOf = async (id: number) =>
  (await call('GET', `/v1/webhook-templates/${id}/webhooks`)).body.webhooks as {
    id: number;
    customer: { id: number; external_id: string };
    status: string;
  }[];

const change = (id: number, body: object) => call('PATCH', `/v1/webhook-templates/${id}`, { body });

const descriptions = (group: string) => arrived(group).map(({ body }) => JSON.parse(body).description);

const arrived = (group: string) => receiver.at(`/${group}`);

/** What the maintenance role does every ten seconds. */
const reconcile = () =>
  reconcileDeliveries(service.runtime.database, (ids) => addDeliveryJobs(service.runtime.queues, ids));

describe('a template', () => {
  it('has a webhook for each customer that it matches, old and new, and sends their movements', async () => {
    const group = newGroup();
    const before = await createCustomer(group);
    await createCustomer(newGroup());
    const template = await createTemplate(group);
    expect(template).toMatchObject({
      customers: { metadata: { group } },
      webhooks: { active: 1, ended: 0, customers_left: 0 },
      secret: expect.stringMatching(/^whsec_/),
    });
    const after = await createCustomer(group);
    const webhooks = await webhooksOf(template.id);
    expect(webhooks.map(({ customer }) => customer.id)).toEqual([before.id, after.id]);
    const texts = [await addMovement(before), await addMovement(after)];
    await until('the notifications', async () => {
      await reconcile();
      return arrived(group).length === 2;
    });
    const seen = arrived(group).map(({ headers, body }) => [
      headers['ledgerbell-customer'],
      decodeURIComponent(String(headers['ledgerbell-external-id'])),
      JSON.parse(body).description,
    ]);
    expect(seen).toContainEqual([String(before.id), before.external_id, texts[0]]);
    expect(seen).toContainEqual([String(after.id), after.external_id, texts[1]]);
    await until('the notifications', async () => {
      await sumTemplates(service.runtime.database);
      const { body } = await call('GET', `/v1/webhook-templates/${template.id}`);
      return body.webhook_template.deliveries.delivered === 2;
    });
  });

  it('does not hold up the reconciler while it has no webhook with something to send', async () => {
    await createTemplate(newGroup());
    await expect(reconcile()).resolves.toBeGreaterThanOrEqual(0);
  });

  it('is probed by the others while the service has paused many of its webhooks', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    await change(template.id, { status: 'paused' });
    const customers: Customer[] = [];
    for (let n = 0; n < 21; n += 1) customers.push(await createCustomer(group));
    for (const it of customers) await addMovement(it);
    await change(template.id, { status: 'active' });
    const last = customers.at(-1)?.id;
    await service.runtime.database.query(
      "UPDATE webhooks SET status = 'paused' WHERE template_id = ? AND customer_id <> ?",
      [template.id, last],
    );
    for (let n = 0; n < 3; n += 1) await reconcile();
    await until('the notification', () => arrived(group).length > 0, 10_000);
    expect(arrived(group)[0]?.headers['ledgerbell-customer']).toBe(String(last));
  });

  it('is probed at once, although many of its webhooks have just sent everything', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customers: Customer[] = [];
    for (let n = 0; n < 105; n += 1) customers.push(await createCustomer(group));
    const [waiting, ...sent] = customers;
    if (waiting === undefined) throw new Error('no customer');
    for (const it of sent) await addMovement(it);
    await until('the notifications', async () => {
      await reconcile();
      return new Set(descriptions(group)).size === sent.length;
    });
    await change(template.id, { status: 'paused' });
    // As a burst that was sent since the reconciler last looked.
    await service.runtime.database.query(
      'UPDATE webhook_backlogs b JOIN webhooks w ON w.id = b.webhook_id SET b.due_at = NOW(6) - INTERVAL 1 SECOND WHERE w.template_id = ?',
      [template.id],
    );
    const last = await addMovement(waiting);
    await service.runtime.database.query(
      'UPDATE webhook_backlogs b JOIN webhooks w ON w.id = b.webhook_id SET b.due_at = NOW(6) WHERE w.template_id = ? AND w.customer_id = ?',
      [template.id, waiting.id],
    );
    await change(template.id, { status: 'active' });
    await reconcile();
    await until('the notification', () => descriptions(group).includes(last), 30_000);
  });

  it('ends the webhook of a customer that it does not match any more, after what is pending was sent', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customer = await createCustomer(group);
    await change(template.id, { status: 'paused' });
    const pending = await addMovement(customer);
    const setGroup = (name: string) =>
      call('PATCH', `/v1/customers/${customer.id}`, { body: { metadata: { group: name } } });
    await setGroup('other');
    expect(await webhooksOf(template.id)).toMatchObject([{ status: 'ended' }]);
    await addMovement(customer);
    await change(template.id, { status: 'active' });
    await until('the notifications', async () => {
      await reconcile();
      return arrived(group).length > 0;
    });
    expect(descriptions(group)).toEqual([pending]);
    await setGroup(group);
    const again = await addMovement(customer);
    await until('the notification', () => arrived(group).length > 1);
    expect(descriptions(group)).toEqual([pending, again]);
    expect(await webhooksOf(template.id)).toHaveLength(1);
  });

  it('changes its endpoint, its secret and its pause with one write, for all', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customers = [await createCustomer(group), await createCustomer(group)];
    await change(template.id, { status: 'paused' });
    for (const it of customers) await addMovement(it);
    const { body } = await call('POST', `/v1/webhook-templates/${template.id}/rotate-secret`);
    expect(body.webhook_template.secret).not.toBe(template.secret);
    await change(template.id, { status: 'active', endpoint: `${receiver.url}/${group}-2` });
    await until('the notifications', async () => {
      await reconcile();
      return arrived(`${group}-2`).length === 2;
    });
    expect(arrived(group)).toEqual([]);
    for (const { headers, body: sent } of arrived(`${group}-2`)) {
      for (const secret of [template.secret, body.webhook_template.secret])
        expect(new Webhook(secret).verify(sent, headers)).toEqual(JSON.parse(sent));
    }
  });

  it('changes its events and its customers one webhook after the other', async () => {
    const group = newGroup();
    const customer = await createCustomer(group);
    const template = await createTemplate(group, { event: 'NEW_DEBIT' });
    await addMovement(customer);
    await change(template.id, { event: 'NEW_CREDIT' });
    const sent = await addMovement(customer);
    await until('the notifications', async () => {
      await reconcile();
      return arrived(group).length > 0;
    });
    expect(descriptions(group)).toEqual([sent]);
    const { body } = await change(template.id, { customers: { metadata: { group: newGroup() } } });
    expect(body.webhook_template.webhooks).toEqual({ active: 0, ended: 1, customers_left: 0 });
  });

  it('is not shown to its customers, and its webhooks are not changed by themselves', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customer = await createCustomer(group);
    const [webhook] = await webhooksOf(template.id);
    await addMovement(customer);
    await until('the notifications', async () => {
      await reconcile();
      return arrived(group).length > 0;
    });
    const { key } = customer;
    expect((await service.call('GET', '/v1/webhooks', { key })).body.webhooks).toEqual([]);
    expect((await service.call('GET', `/v1/webhooks/${webhook?.id}`, { key })).status).toBe(404);
    const { body } = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key });
    const [{ id: transactionId }] = body.transactions;
    const path = `/v1/transactions/${transactionId}/deliveries`;
    expect((await service.call('GET', path, { key })).body.deliveries).toEqual([]);
    const asCustomer = { customer: customer.id };
    const shown = await call('GET', path, asCustomer);
    expect(shown.body.deliveries).toMatchObject([{ webhook_id: webhook?.id }]);
    expect((await call('GET', `/v1/webhooks/${webhook?.id}`, asCustomer)).body.webhook).toMatchObject({
      title: 'All customers',
      endpoint: `${receiver.url}/${group}`,
    });
    for (const [method, of] of [
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
    ] as const) {
      const refused = await call(method, `/v1/webhooks/${webhook?.id}${of}`, {
        ...asCustomer,
        ...(method === 'PATCH' ? { body: { title: 'x' } } : {}),
      });
      expect(refused.status, `${method} ${of}`).toBe(409);
      expect(refused.body.type).toBe('/problems/webhook-of-template');
    }
  });

  it('ends with all its webhooks when it is deleted', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customer = await createCustomer(group);
    const { status } = await call('DELETE', `/v1/webhook-templates/${template.id}`);
    expect(status).toBe(200);
    await keepTemplates(service.runtime.database, AbortSignal.timeout(30_000));
    await addMovement(customer);
    const rest = await service.runtime.database.query('SELECT status FROM webhooks WHERE template_id = ?', [
      template.id,
    ]);
    expect(rest).toEqual([{ status: 'deleted' }]);
    expect((await call('GET', `/v1/webhook-templates/${template.id}`)).status).toBe(404);
  });
});
