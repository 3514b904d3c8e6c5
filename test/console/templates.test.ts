import { beforeAll, describe, expect, it } from 'vitest';
import { chooseWebhooks } from '../../src/console/deliveries/delivery-rows.ts';
import { createNowReader } from '../../src/console/now/now-reader.ts';
import { search } from '../../src/console/trace/search.ts';
import { readFigures } from '../../src/verdict/state/figures.ts';
import { findWebhookTroubles } from '../../src/verdict/webhooks.ts';
import { sumTemplates } from '../../src/webhooks/template-webhooks.ts';
import { asOperator, newExternalId, tokenOf } from '../operators/support.ts';
import { expectProblem } from '../support/problem.ts';
import { useOwnService } from '../support/service.ts';
import { createTemplate } from '../support/templates.ts';

/** The pages about webhook templates. */

// A delivery process would change the counters that the tests set.
const service = useOwnService({ because: 'the pages show all templates', roles: ['api'] });

const HTML = { Accept: 'text/html' };
const page = async (path: string) => {
  const { status, body, headers } = await service.callOps('GET', path, { headers: HTML });
  return { status, html: String(body), location: headers.get('location') };
};

/** The text of a page, without its tags. */
const textOf = async (path: string) =>
  (await page(path)).html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');

/** Presses the button of a confirmation page. */
const press = (path: string) =>
  service.callOps('POST', path, { headers: { ...HTML, Origin: service.opsUrl } });

let template: Awaited<ReturnType<typeof createTemplate>>;
let well: Customer;
let failing: Customer;
let token: string;

interface Customer {
  id: string;
  name: string;
  externalId: string;
  webhook: string;
}

const call = (method: string, path: string, body?: object) =>
  asOperator(service, token, method, path, body === undefined ? {} : { body });

async function createCustomer(name: string, plan: string): Promise<Customer> {
  const externalId = newExternalId();
  const { body } = await call('POST', '/v1/customers', { name, external_id: externalId, metadata: { plan } });
  const { id } = body.customer;
  return { id: String(id), name, externalId, webhook: await template.webhookOf(id) };
}

beforeAll(async () => {
  token = await tokenOf(service, 'operator');
  template = await createTemplate(service, {
    title: 'Herkes',
    endpoint: 'http://127.0.0.1:9/hook',
    customers: { metadata: { plan: 'pro' } },
  });
  well = await createCustomer('Deniz <b>AŞ</b>', 'pro');
  failing = await createCustomer('Toprak Ltd.', 'pro');
  await template.setCounts(well.webhook, [5, 5, 0]);
  await template.setCounts(failing.webhook, [9, 2, 3]);
  await sumTemplates(service.runtime.database);
});

const templatePage = () => `/ops/templates/${template.id}`;
const refill = () =>
  service.runtime.database.query(
    "UPDATE webhooks SET status = 'active', status_reason = NULL, paused_by = NULL WHERE id = ?",
    [template.id],
  );

describe('the page of all webhooks', () => {
  it('lists templates in a section of their own, without the webhooks of templates', async () => {
    const { html } = await page('/ops/webhooks');
    const [, section = ''] = /<h2>Templates<\/h2>(.*?)<\/section>/s.exec(html) ?? [];
    expect(section).toContain(`href="${templatePage()}"`);
    expect(section.match(/<tr>/g)).toHaveLength(2);
    expect(section).toMatch(/data-label="Customers">2</);
    expect(section).toMatch(/data-label="Pending">4</);
    expect(html).not.toContain('Operator');
    for (const { webhook } of [well, failing]) expect(html).not.toContain(`href="/ops/webhooks/${webhook}"`);
  });

  it("shows a customer no section of templates, and does not list them on the customer's page", async () => {
    for (const path of [`/ops/webhooks?customer=${failing.id}`, `/ops/customers/${failing.id}`]) {
      const { html } = await page(path);
      expect(html).not.toContain('Templates</h2>');
      expect(html).not.toContain(`/ops/webhooks/${failing.webhook}"`);
    }
  });
});

describe('the page of a template', () => {
  it('shows its settings, its circuit, its counts added up, and its customers', async () => {
    const text = await textOf(templatePage());
    for (const shown of [
      `Template ${template.id} “Herkes”`,
      'Endpoint http://127.0.0.1:9/hook',
      'Customers with plan=pro',
      'Webhooks 2 Ended 0 Customers left 0',
      'Pending 4 Failed 3 Delivered 7',
      'Circuit closed',
      'Sends NEW_TRANSACTION',
      `Deniz &lt;b&gt;AŞ&lt;/b&gt; ${well.externalId} ${well.webhook} active 0 0 5`,
      `Toprak Ltd. ${failing.externalId} ${failing.webhook} active 4 3 2`,
    ])
      expect(text).toContain(shown);
  });

  it('filters its customers by what they have, and leads to the deliveries of each', async () => {
    for (const having of ['failed', 'pending']) {
      const { html } = await page(`${templatePage()}?having=${having}`);
      expect(html).toContain(`href="/ops/customers/${failing.id}"`);
      expect(html).not.toContain(`href="/ops/customers/${well.id}"`);
      expect(html).toContain(`href="/ops/deliveries?webhook=${failing.webhook}&amp;status=${having}"`);
    }
    expect((await page(`${templatePage()}?having=x`)).status).toBe(422);
  });

  it('lists the customers of a template in pages', async () => {
    const many = await createTemplate(service, {
      endpoint: 'http://127.0.0.1:9/many',
      customers: { metadata: { plan: 'many' } },
    });
    await Promise.all(Array.from({ length: 51 }, (_, at) => createCustomer(`Müşteri ${at}`, 'many')));
    const rowsOf = (html: string) => html.match(/data-label="Customer"/g)?.length;
    const { html } = await page(`/ops/templates/${many.id}`);
    expect(rowsOf(html)).toBe(50);
    const [, next = ''] = /href="([^"]+)" rel="next"/.exec(html) ?? [];
    const last = await page(next.replaceAll('&amp;', '&'));
    expect(rowsOf(last.html)).toBe(1);
    expect(last.html).not.toContain('rel="next"');
    await call('DELETE', `/v1/webhook-templates/${many.id}`);
    expect(await textOf(`/ops/templates/${many.id}`)).toContain('It was deleted.');
  });

  it('pauses and enables it, gives it another secret, and says so', async () => {
    expect(await textOf(`${templatePage()}/pause`)).toContain(`Pause template ${template.id} “Herkes”?`);
    const paused = await press(`${templatePage()}/pause`);
    expect([paused.status, paused.headers.get('location')]).toEqual([303, `${templatePage()}?done=pause`]);
    const { html } = await page(`${templatePage()}?done=pause`);
    expect(html).toContain('The template is paused.');
    expect(html).toContain(`href="${templatePage()}/enable"`);
    expect(html).not.toContain(`href="${templatePage()}/pause"`);
    expect(await textOf(templatePage())).toContain('(console) has paused it. 4 deliveries are pending');
    expect((await press(`${templatePage()}/enable`)).status).toBe(303);
    const rotated = String((await press(`${templatePage()}/rotate-secret`)).body);
    expect(rotated).toMatch(/<code class="secret">whsec_[^<]+<\/code>/);
    expect(rotated).not.toContain(template.secret);
  });

  it('says what is wrong, and the trouble leads to it', async () => {
    const { database } = service.runtime;
    await database.query("UPDATE webhooks SET status = 'disabled', status_reason = 'Gone.' WHERE id = ?", [
      template.id,
    ]);
    expect(await textOf(templatePage())).toContain(`Template ${template.id} “Herkes” is disabled: Gone.`);
    // It keeps matching, so nothing is lost.
    expect(await textOf(`${templatePage()}/enable`)).not.toContain('are not sent');
    const troubles = await findWebhookTroubles(database, await readFigures(database), 10);
    expect(troubles.map(({ page: to }) => to)).toContainEqual({
      text: `Template ${template.id}`,
      href: templatePage(),
    });
    await refill();
  });

  it('offers a probe while its circuit is open, which its webhooks do not', async () => {
    await service.runtime.database.query(
      `UPDATE webhook_cursors SET failing_since = NOW(6) - INTERVAL 1 HOUR, consecutive_failures = 7, recovery_successes = 0, circuit_openings = 1,
         circuit_open_until = NOW(6) + INTERVAL 9 MINUTE WHERE webhook_id = ?`,
      [template.id],
    );
    const text = await textOf(templatePage());
    expect(text).toContain('has been failing for 1 h, 7 times in a row, 4 deliveries pending');
    expect(text).toMatch(/Circuit open, next probe in [89] min/);
    expect(await textOf(`/ops/webhooks/${failing.webhook}`)).not.toContain('Probe now');
    expect(await textOf(`${templatePage()}/probe`)).toContain('within ten seconds, if one is due');
    expect((await press(`${templatePage()}/probe`)).status).toBe(303);
    expect(await textOf(`${templatePage()}?done=probe`)).toContain('Circuit half-open');
    await call('PATCH', `/v1/webhook-templates/${template.id}`, { status: 'active' });
  });

  it('opens when the page of a webhook, or of its deliveries, is asked for with the id of a template', async () => {
    expect((await page(`/ops/webhooks/${template.id}`)).location).toBe(templatePage());
    const deliveries = `/ops/deliveries?webhook=${template.id}`;
    expect((await page(deliveries)).location).toBe(templatePage());
    expect((await page(`${deliveries}&status=failed`)).location).toBe(`${templatePage()}?having=failed`);
    expect((await page(`/ops/webhooks/${template.id}/pause`)).status).toBe(404);
    expectProblem(await service.callOps('GET', `/ops/templates/${well.webhook}`), 404);
  });
});

describe('the page of a webhook of a template', () => {
  it('leads to its template, and offers nothing that would be refused', async () => {
    const path = `/ops/webhooks/${failing.webhook}`;
    const { html } = await page(path);
    expect(html).toContain(`href="${templatePage()}"`);
    const buttons = [...html.matchAll(/href="\/ops\/webhooks\/\d+\/([a-z-]+)"/g)].map(([, name]) => name);
    expect(buttons.sort()).toEqual(['replay', 'test']);
    for (const action of ['pause', 'enable', 'probe', 'raise-limit', 'rotate-secret']) {
      expectProblem(await service.callOps('GET', `${path}/${action}`), 409);
      expect((await press(`${path}/${action}`)).status).toBe(409);
    }
  });

  it('says that it has ended, or that the service has paused it', async () => {
    const ended = await createCustomer('Eski müşteri', 'pro');
    const path = `/ops/webhooks/${ended.webhook}`;
    expect(await textOf(path)).not.toContain('It has ended');
    await service.runtime.database.query(
      "UPDATE webhooks SET status = 'paused', status_reason = 'Its runs crashed.' WHERE id = ?",
      [ended.webhook],
    );
    expect((await page(path)).html).toContain(`href="${templatePage()}/enable"`);
    await call('PATCH', `/v1/customers/${ended.id}`, { metadata: {} });
    expect(await textOf(path)).toContain('It has ended: its template does not match its customer any more.');
    expect(await textOf(templatePage())).toMatch(/Eski müşteri \S+ \d+ ended/);
  });

  it('shows the title of its template, also in the search', async () => {
    expect(await textOf(`/ops/webhooks/${failing.webhook}`)).toContain(`Webhook ${failing.webhook} “Herkes”`);
    const hits = await search(service.runtime.database, failing.webhook);
    expect(hits.find(({ kind }) => kind === 'webhook')?.text).toBe('Herkes, Toprak Ltd.');
  });
});

it('the rate of deliveries does not count the sums of a template again', async () => {
  const read = createNowReader(service.runtime);
  await read();
  await template.setCounts(template.id, [1_009, 1_007, 3]);
  expect((await read()).sample.deliveriesPerSecond).toBe(0);
  await template.setCounts(well.webhook, [6, 6, 0]);
  expect((await read()).sample.deliveriesPerSecond).toBeGreaterThan(0);
});

it('the list of failed deliveries looks at no template, which has none of its own', async () => {
  const choose = { accountId: null, status: 'failed' } as const;
  expect(await chooseWebhooks(service.runtime.database, choose)).toEqual([failing.webhook]);
});
