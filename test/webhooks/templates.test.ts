import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probeNow } from '../../src/delivery/reconcile.ts';
import { replayTemplates } from '../../src/webhooks/template-replays.ts';
import { keepTemplates, sumTemplates } from '../../src/webhooks/template-webhooks.ts';
import { newExternalId, tokenOf } from '../operators/support.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type TemplateCustomer, useTemplates } from './template-support.ts';

const service = useService();
const receiver = useReceiver();
let token: string;
const created: number[] = [];

const templates = useTemplates(service, () => token);
const { call, change, webhooksOf, createCustomer, addMovement, reconcile } = templates;

beforeAll(async () => {
  token = await tokenOf(service, 'operator');
});

afterAll(async () => {
  for (const id of created) await call('DELETE', `/v1/webhook-templates/${id}`);
  await keepTemplates(service.runtime.database, AbortSignal.timeout(30_000));
});

async function createTemplate(group: string, fields = {}) {
  const template = await templates.createTemplate(group, { endpoint: `${receiver.url}/${group}`, ...fields });
  created.push(template.id);
  return template;
}

/** A word that only the customers of one test have. */
const newGroup = () => newExternalId();

const arrived = (group: string) => receiver.at(`/${group}`);
const descriptions = (group: string) => arrived(group).map(({ body }) => JSON.parse(body).description);

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
    const customers: TemplateCustomer[] = [];
    for (let n = 0; n < 21; n += 1) customers.push(await createCustomer(group));
    for (const it of customers) await addMovement(it);
    const last = customers.at(-1)?.id;
    const { database } = service.runtime;
    await database.query("UPDATE webhooks SET status = 'paused' WHERE template_id = ? AND customer_id <> ?", [
      template.id,
      last,
    ]);
    // Not over the API, which makes all of them active too.
    await database.query("UPDATE webhooks SET status = 'active' WHERE id = ?", [template.id]);
    await until('the notification', async () => {
      await reconcile();
      return arrived(group).length > 0;
    });
    expect(arrived(group)[0]?.headers['ledgerbell-customer']).toBe(String(last));
  });

  it('is probed at once, although many of its webhooks have just sent everything', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customers: TemplateCustomer[] = [];
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
    await until('the notification', async () => {
      await reconcile();
      return descriptions(group).includes(last);
    });
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

  it('replays what has failed at any of its webhooks', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customers = await Promise.all(Array.from({ length: 3 }, () => createCustomer(group)));
    const { database } = service.runtime;
    await Promise.all(customers.map(addMovement));
    await until('all have arrived', async () => {
      await reconcile();
      return arrived(group).length === 3;
    });
    const path = `/v1/webhook-templates/${template.id}/replay`;
    const body = { since: '2000-01-01 00:00:00', status: ['failed', 'delivered'] };
    const { status, body: accepted } = await call('POST', path, { body });
    expect(status).toBe(202);
    expect(accepted.webhook_template.replay).toEqual({ webhooks_left: 3 });
    expect((await call('POST', path, { body })).body.type).toBe('/problems/replay-under-way');
    expect(await replayTemplates(service.runtime, AbortSignal.timeout(30_000))).toBeGreaterThanOrEqual(3);
    await until('all have arrived again', async () => {
      await reconcile();
      return arrived(group).length === 6;
    });
    const { body: shown } = await call('GET', `/v1/webhook-templates/${template.id}`);
    expect(shown.webhook_template.replay).toBeNull();
    const [{ replays }] = await database.query(
      'SELECT COUNT(*) AS replays FROM replays r JOIN webhooks w ON w.id = r.webhook_id WHERE w.template_id = ?',
      [template.id],
    );
    expect(Number(replays)).toBe(3);
  });

  it('of feeds is pulled with the token of an operator, customer by customer', async () => {
    const group = newGroup();
    const template = await createTemplate(group, { endpoint: undefined, delivery: 'pull' });
    expect(template).toMatchObject({ delivery: 'pull', endpoint: null });
    const customer = await createCustomer(group);
    const [webhook] = await webhooksOf(template.id);
    const sent = await addMovement(customer);
    const feed = `/v1/webhooks/${webhook?.id}/feed?wait=0`;
    const { body } = await call('GET', feed, { customer: customer.id });
    expect(body.events.map((it: { body: { description: string } }) => it.body.description)).toEqual([sent]);
    expect((await service.call('GET', feed, { key: customer.key })).status).toBe(404);
  });

  it('loses the webhook of a customer that is deleted, and the customer of the operator cannot be deleted', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customers = [await createCustomer(group), await createCustomer(group)];
    const gone = await call('DELETE', `/v1/customers/${customers[0]?.id}?confirm=Acme`);
    expect(gone.status).toBe(202);
    expect((await webhooksOf(template.id)).map(({ customer }) => customer.id)).toEqual([customers[1]?.id]);
    // Looking at all customers again does not bring it back.
    await change(template.id, { customers: { metadata: { group } } });
    expect(await webhooksOf(template.id)).toHaveLength(1);
    const [operator] = await service.runtime.database.query('SELECT id FROM customers WHERE is_operator = 1');
    const { body } = await call('DELETE', `/v1/customers/${operator.id}?confirm=Operator`);
    expect(body.type).toBe('/problems/operator-customer');
  });

  it('that is made active sends for a webhook again that the service has paused', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customer = await createCustomer(group);
    const [webhook] = await webhooksOf(template.id);
    await service.runtime.database.query(
      "UPDATE webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id SET w.status = 'paused', w.status_reason = 'It crashes.', c.crash_count = 10 WHERE w.id = ?",
      [webhook?.id],
    );
    await addMovement(customer);
    expect(await webhooksOf(template.id)).toMatchObject([{ status: 'paused', status_reason: 'It crashes.' }]);
    await change(template.id, { status: 'active' });
    expect(await webhooksOf(template.id)).toMatchObject([{ status: 'active', status_reason: null }]);
    await until('the movement', async () => {
      await reconcile();
      return arrived(group).length === 1;
    });
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

describe('the endpoint of a template', () => {
  const MANY = 20;

  it('is not looked at by the reconciler while nothing is pending', async () => {
    await createTemplate(newGroup());
    await expect(reconcile()).resolves.toEqual(expect.any(Number));
  });

  it('is sent everything as soon as its first probe has succeeded', async () => {
    const group = newGroup();
    const { customers } = await createMany(group);
    await Promise.all(customers.map(addMovement));
    await until('all have arrived', () => arrived(group).length === MANY);
  });

  async function createMany(group: string) {
    const template = await createTemplate(group);
    const customers = await Promise.all(Array.from({ length: MANY }, () => createCustomer(group)));
    return { template, customers };
  }

  /** The circuit is half-open from now on, as after the time for which it is open. */
  const halfOpen = (id: number) =>
    service.runtime.database.query(
      'UPDATE webhook_cursors SET circuit_open_until = NOW(6) WHERE webhook_id = ?',
      [id],
    );

  const show = async (id: number) => (await call('GET', `/v1/webhook-templates/${id}`)).body.webhook_template;

  it('is probed by one webhook for all, and sent everything when it answers', async () => {
    const group = newGroup();
    const { template, customers } = await createMany(group);
    receiver.answer(`/${group}`, (_, response) => response.writeHead(500).end());
    const sent = await Promise.all(customers.map(addMovement));
    await until('the circuit is open', async () => {
      await reconcile();
      return (await show(template.id)).health.circuit === 'open';
    });
    // No other webhook has sent anything, and none does while the circuit is open.
    await reconcile();
    expect(arrived(group)).toHaveLength(1);
    await halfOpen(template.id);
    await until('the circuit is open again', async () => {
      await reconcile();
      return arrived(group).length > 1 && (await show(template.id)).health.circuit === 'open';
    });
    expect(arrived(group)).toHaveLength(2);
    expect(await show(template.id)).toMatchObject({
      health: { consecutive_failures: 2, last_error: 'answered 500' },
      standing: [{ kind: 'failing' }],
    });

    receiver.answer(`/${group}`, (_, response) => response.end());
    await halfOpen(template.id);
    await until('all have arrived', async () => {
      await reconcile();
      return new Set(descriptions(group).slice(2)).size >= MANY - 2;
    });
    await until('the circuit is closed', async () => {
      const { health } = await show(template.id);
      return health.circuit === 'closed' && health.failing_since === null;
    });
    expect(sent).toEqual(expect.arrayContaining(descriptions(group)));
    await until('what failed is due and sent again', async () => {
      await service.runtime.database.query(
        'UPDATE retries r JOIN webhooks w ON w.id = r.webhook_id SET r.due_at = NOW(6) WHERE w.template_id = ?',
        [template.id],
      );
      await service.runtime.database.query(
        'UPDATE webhook_backlogs b JOIN webhooks w ON w.id = b.webhook_id SET b.due_at = NOW(6) WHERE w.template_id = ?',
        [template.id],
      );
      await reconcile();
      return new Set(descriptions(group).slice(2)).size === MANY;
    });
  });

  it('is probed by a webhook that waits for a retry when an operator asks for it', async () => {
    const group = newGroup();
    const template = await createTemplate(group);
    const customer = await createCustomer(group);
    receiver.answer(`/${group}`, (_, response) => response.writeHead(503).end());
    await addMovement(customer);
    await until('the circuit is open', async () => {
      await sumTemplates(service.runtime.database);
      const { health, deliveries } = await show(template.id);
      return health.circuit === 'open' && deliveries.pending === 1;
    });
    expect((await show(template.id)).standing[0]).toMatchObject({
      kind: 'failing',
      next_attempt_at: expect.any(String),
    });
    receiver.answer(`/${group}`, (_, response) => response.end());
    await probeNow(service.runtime.database, String(template.id), async () => {});
    await until('the probe has arrived', async () => {
      await reconcile();
      return arrived(group).length === 2;
    });
  });

  it('that is gone disables the template once, and nothing is missing when it is active again', async () => {
    const group = newGroup();
    const { template, customers } = await createMany(group);
    receiver.answer(`/${group}`, (_, response) => response.writeHead(410).end());
    const [first, ...others] = customers;
    if (first === undefined) throw new Error('there are customers');
    await addMovement(first);
    await until('the template is disabled', async () => {
      await reconcile();
      return (await show(template.id)).status === 'disabled';
    });
    await Promise.all(others.map(addMovement));
    await reconcile();
    expect(arrived(group)).toHaveLength(1);
    receiver.answer(`/${group}`, (_, response) => response.end());
    await change(template.id, { status: 'active' });
    await until('what was stored meanwhile', async () => {
      await reconcile();
      return new Set(descriptions(group)).size === MANY;
    });
  });
});
