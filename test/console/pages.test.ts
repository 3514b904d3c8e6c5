import { beforeAll, describe, expect, it } from 'vitest';
import { movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { createTemplate } from '../support/templates.ts';
import {
  CUSTOMER,
  createTrouble,
  DEAD_TITLE,
  DELIVERIES,
  MATCHED,
  type Trouble,
} from '../support/trouble.ts';

const receiver = useReceiver();
const service = useOwnService({ because: 'the pages show all customers' });
let trouble: Trouble;
let template: Awaited<ReturnType<typeof createTemplate>>;
let webhookOfTemplate: string;

beforeAll(async () => {
  trouble = await createTrouble(service, receiver);
  template = await createTemplate(service, { title: DEAD_TITLE, endpoint: `${receiver.url}/template` });
  webhookOfTemplate = await template.webhookOf(trouble.customerId);
  trouble.secrets.push(template.secret);
});

const page = async (path: string) => {
  const { status, body, headers } = await service.callOps('GET', path, { headers: { Accept: 'text/html' } });
  return { status, headers, text: String(body) };
};

/** The text of a page, without its tags. */
const textOf = async (path: string) =>
  (await page(path)).text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');

const firstDelivery = () => `${trouble.webhooks.healthy}-${trouble.movementIds[0]}`;
const deadDelivery = () => `${trouble.webhooks.dead}-${trouble.movementIds[0]}`;

describe('every page', () => {
  const PAGES: [name: string, path: () => string][] = [
    ['now', () => '/ops'],
    ['webhooks', () => '/ops/webhooks'],
    ['a webhook', () => `/ops/webhooks/${trouble.webhooks.dead}`],
    ['a webhook with custom headers', () => `/ops/webhooks/${trouble.webhooks.healthy}`],
    ['a template', () => `/ops/templates/${template.id}`],
    ['a webhook of a template', () => `/ops/webhooks/${webhookOfTemplate}`],
    ['deliveries', () => '/ops/deliveries'],
    ['a delivery', () => `/ops/deliveries/${firstDelivery()}`],
    ['a failing delivery', () => `/ops/deliveries/${deadDelivery()}`],
    ['imports', () => '/ops/imports'],
    ['an import', () => `/ops/imports/${trouble.imports.rejected}`],
    ['the withdrawal of an import', () => `/ops/imports/${trouble.imports.rejected}/withdraw`],
    ['sources', () => '/ops/sources'],
    ['a failing source', () => `/ops/sources/${trouble.sources.failing}`],
    ['a source with a wrong file', () => `/ops/sources/${trouble.sources.wrongFile}`],
    ['a customer', () => `/ops/customers/${trouble.customerId}`],
    ['books', () => '/ops/books'],
    ['the statements of an account', () => `/ops/books/accounts/${trouble.accountId}`],
    ['a decision', () => `/ops/books/conflicts/${trouble.conflicts[0]}/store`],
    ['trace', () => '/ops/trace'],
    ['the trace of a movement', () => `/ops/trace?movement=${trouble.movementIds[0]}`],
    ['audit', () => '/ops/audit'],
    ['a question', () => `/ops/webhooks/${trouble.webhooks.dead}/pause`],
  ];

  it.each(PAGES)('shows no secret, and escapes text: %s', async (_name, path) => {
    const { status, text, headers } = await page(path());
    expect(status).toBe(200);
    for (const secret of trouble.secrets) expect(text).not.toContain(secret);
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('<b>kapalı');
    expect(text).not.toContain('<i>2026');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it.each(PAGES)('may load nothing from elsewhere and run no inline script: %s', async (_name, path) => {
    const { text, headers } = await page(path());
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(text).not.toMatch(/ style="| on\w+="|(src|href)="(https?:)?\/\//);
  });
});

describe('the pages of the console', () => {
  it('show all accounts with their statements, and each conflict with the stored and the received value', async () => {
    const text = await textOf('/ops/books');
    const { database } = service.runtime;
    const accounts = await database.query<{ id: string; title: string; currency: string }[]>(
      'SELECT id, title, currency FROM accounts ORDER BY id DESC',
    );
    const places = accounts.map(({ title, currency }) => text.indexOf(`${title}, ${currency}`));
    expect(places.every((place) => place > 0 && place < text.indexOf('Conflicts that wait'))).toBe(true);
    expect(text).toMatch(
      /GB20260115-1 2026-01-15 \+1250\.00 Fatura 1 ?, import \d+ 2026-01-15 \+1\.77.*, import \d+ ?, line/,
    );
    expect(await textOf(`/ops/books/conflicts/${trouble.conflicts[0]}/ignore`)).toContain(
      'Received was 2026-01-15 +',
    );
    expect(await textOf(`/ops/books/accounts/${trouble.accountId}`)).toContain('unknown');
  });

  it('say first what is wrong, for which customer, and what is pending', async () => {
    const text = await textOf('/ops');
    expect(text).toMatch(
      new RegExp(
        `${CUSTOMER}: webhook ${trouble.webhooks.dead} .* has been failing for 1 h, 7 times in a row, ${MATCHED} deliveries pending`,
      ),
    );
    expect(text).toContain('crashed its process ten times');
    expect(text).toContain('api, importer, delivery, maintenance');
  });

  it('list webhooks in trouble first, and the webhooks of a customer', async () => {
    const text = await textOf('/ops/webhooks');
    expect(text.indexOf('kapalı')).toBeLessThan(text.indexOf('Depo'));
    for (const shown of ['circuit open', 'next attempt in 9 min', 'answered 503', 'disabled', 'paused']) {
      expect(text).toContain(shown);
    }
    expect(await textOf(`/ops/webhooks?customer=${trouble.customerId}`)).toContain(`Webhooks of ${CUSTOMER}`);
    expect(await textOf('/ops/webhooks?customer=999')).toContain('There are none.');
  });

  it('show the attempts of a webhook with the beginning of each answer', async () => {
    const text = await textOf(`/ops/webhooks/${trouble.webhooks.dead}`);
    expect(text).toMatch(/has been failing for 1 h( \d min)?, 7 times in a row/);
    expect(text).toContain('failed 503');
    expect(text).toContain('no healthy upstream &lt;script&gt;');
  });

  it('find deliveries by webhook, status, account and time', async () => {
    const count = async (query: string) =>
      [...(await page(`/ops/deliveries?${query}`)).text.matchAll(/<td data-label="Delivery">/g)].length;
    const { healthy, dead, paused, disabled } = trouble.webhooks;
    expect(await count(`webhook=${healthy}&status=delivered`)).toBe(MATCHED);
    expect(await count(`webhook=${dead}&status=pending`)).toBe(MATCHED);
    expect(await count(`webhook=${dead}&status=delivered`)).toBe(0);
    // A page has at least 50, and all deliveries of its last movement.
    expect(await count('')).toBe(51);
    expect(await count(`account=${trouble.accountId}&status=delivered`)).toBe(MATCHED);
    expect(await count(`account=999`)).toBe(0);
    expect(await count(`webhook=${paused}&since=2099-01-01 00:00:00`)).toBe(0);
    expect(await count(`webhook=${paused}&until=2099-01-01 00:00:00`)).toBe(MATCHED);
    expect(await count(`webhook=${disabled}&until=2001-01-01 00:00:00`)).toBe(0);
  });

  it('list every delivery once across their pages', async () => {
    const seen: string[] = [];
    let path: string | undefined = '/ops/deliveries';
    while (path !== undefined) {
      const { text } = await page(path);
      seen.push(...[...text.matchAll(/href="\/ops\/deliveries\/(\d+-\d+)"/g)].map(([, id = '']) => id));
      path = /href="(\/ops\/deliveries\?before=\d+)"/.exec(text)?.[1];
    }
    expect(seen).toHaveLength(DELIVERIES);
    expect(new Set(seen).size).toBe(DELIVERIES);
  });

  it('show a delivery as it was sent, with secrets and signatures masked', async () => {
    const text = await textOf(`/ops/deliveries/${firstDelivery()}`);
    expect(text).toContain(`POST ${receiver.url}/healthy`);
    expect(text).toContain('x-token: •••');
    expect(text).toContain('webhook-signature: •••');
    expect(text).toContain(`webhook-id: msg_${firstDelivery()}`);
    expect(text).toContain('"hash":"•••"');
    expect(text).toContain('"description":"Fatura 0"');
  });

  it('find imports by id, status, customer, account and time', async () => {
    const ids = async (query: string) =>
      [...(await page(`/ops/imports?${query}`)).text.matchAll(/href="\/ops\/imports\/(\d+)"/g)].map(
        ([, id]) => id,
      );
    const { done, conflicting, rejected, failed } = trouble.imports;
    expect(await ids('')).toEqual([failed, rejected, conflicting, done]);
    expect(await ids('status=failed')).toEqual([failed]);
    expect(await ids(`customer=${trouble.customerId}&status=done`)).toEqual([rejected, conflicting, done]);
    expect(await ids(`account=${trouble.accountId}`)).toEqual([rejected, done]);
    expect(await ids('since=2099-01-01 00:00:00')).toEqual([]);
    expect(await ids('since=2001-01-01 00:00:00&until=2099-01-01 00:00:00')).toEqual([
      failed,
      rejected,
      conflicting,
      done,
    ]);
    expect((await page(`/ops/imports?id=${done}`)).headers.get('location')).toBe(`/ops/imports/${done}`);
  });

  it('show the issues of an import, and the movements it stored', async () => {
    const text = await textOf(`/ops/imports/${trouble.imports.rejected}`);
    expect(text).toMatch(/rejected amount must be/);
    const stored = await page(`/ops/imports/${trouble.imports.done}`);
    for (const id of trouble.movementIds) expect(stored.text).toContain(`/ops/trace?movement=${id}`);
  });

  it('show how many statements and warnings an import has, and its warnings after 200 rejected rows', async () => {
    const { database } = service.runtime;
    const id = trouble.imports.rejected;
    const [before] = await database.query<object[]>('SELECT statements, warnings FROM imports WHERE id = ?', [
      id,
    ]);
    const setCounts = 'UPDATE imports SET statements = ?, warnings = ? WHERE id = ?';
    await database.query(setCounts, [4_711, 1, id]);
    const issues = Array.from({ length: 250 }, (_, at) => [id, 'error', at + 100, 'amount', 'is wrong']);
    await database.query('INSERT INTO import_errors (import_id, severity, line, path, message) VALUES ?', [
      [...issues, [id, 'warning', 3, '', 'The closing balance is 612.71.']],
    ]);
    const list = await textOf('/ops/imports');
    expect(list).toMatch(/Rejected Statements Warnings Deliveries/);
    expect(list).toMatch(/ 4,711 1 \d+ /);
    const text = await textOf(`/ops/imports/${id}`);
    expect(text).toMatch(/ Warnings 1 .* Statements 4,711 /);
    expect(text).toMatch(/ 3 warning The closing balance is 612\.71\./);
    await database.query('DELETE FROM import_errors WHERE import_id = ? AND line >= 100', [id]);
    await database.query("DELETE FROM import_errors WHERE import_id = ? AND severity = 'warning'", [id]);
    await database.query(setCounts, [...Object.values(before ?? {}), id]);
  });

  it('show the movements that an import stored before it was retried', async () => {
    const { database } = service.runtime;
    const { done } = trouble.imports;
    const [before] = await database.query<object[]>(
      'SELECT started_at, finished_at, retried_at FROM imports WHERE id = ?',
      [done],
    );
    const setTimes = 'UPDATE imports SET started_at = ?, finished_at = ?, retried_at = ? WHERE id = ?';
    const later = new Date(Date.now() + 60_000);
    await database.query(setTimes, [later, later, later, done]);
    expect((await page(`/ops/imports/${done}`)).text).toContain(
      `/ops/trace?movement=${trouble.movementIds[0]}`,
    );
    await database.query(setTimes, [...Object.values(before ?? {}), done]);
  });

  it('trace a movement by its unique_id: its import, its deliveries, and the answers of the endpoints', async () => {
    const found = await page(`/ops/trace?q=${trouble.uniqueId}`);
    expect(found.headers.get('location')).toBe(`/ops/trace?movement=${trouble.movementIds[0]}`);
    const text = await textOf(`/ops/trace?movement=${trouble.movementIds[0]}`);
    for (const shown of [
      `import ${trouble.imports.done}`,
      'Depo',
      'delivered 200',
      'failed 503',
      'pending',
    ]) {
      expect(text).toContain(shown);
    }
  });

  it('find everything that an id or a name may mean', async () => {
    expect((await page(`/ops/trace?q=msg_${firstDelivery()}`)).headers.get('location')).toBe(
      `/ops/deliveries/${firstDelivery()}`,
    );
    const one = await textOf('/ops/trace?q=1');
    for (const kind of ['movement 1', 'webhook 1', 'import 1', 'source 1', 'customer 1', 'account 1'])
      expect(one).toContain(kind);
    expect((await page(`/ops/trace?q=${encodeURIComponent('Şahin')}`)).headers.get('location')).toBe(
      `/ops/customers/${trouble.customerId}`,
    );
    expect(await textOf('/ops/trace?q=%25')).toContain('Nothing was found');
  });

  it.each([
    '/ops/webhooks/999',
    '/ops/webhooks/x',
    '/ops/templates/999',
    '/ops/templates/1',
    '/ops/deliveries/1-999999',
    '/ops/deliveries/x',
    '/ops/imports/999',
    '/ops/sources/999',
    '/ops/customers/999',
    '/ops/books/accounts/999',
    '/ops/books/conflicts/999/store',
    '/ops/sources/x',
    '/ops/sources/999/run',
    '/ops/trace?movement=999999',
    '/ops/webhooks/999/pause',
  ])('say in words that there is nothing at %s', async (path) => {
    const { status, text } = await page(path);
    expect(status).toBe(404);
    expect(text).toContain('does not exist');
    expect(text).not.toContain('API key');
    expectProblem(await service.callOps('GET', path), 404);
  });

  it('say what is wrong with a filter', async () => {
    const { status, text } = await page('/ops/deliveries?since=gestern');
    expect(status).toBe(422);
    expect(text).toContain('since must be a date and time that exist');
  });
});

it('the page of an import shows the rows that cannot be proved known or new', async () => {
  const { key, accountId } = trouble;
  const { unique_id: _, ...row } = movement(accountId, { amount: '3.21' });
  const send = async () =>
    (await service.call('POST', '/v1/imports', { key, body: { transactions: [row] } })).body.import;
  const [first, second] = [await send(), await send()];
  const text = await textOf(`/ops/imports/${second.id}`);
  expect(text).toMatch(/Rows that may be another movement.*the known movement \d+ .*\+3\.21.*import/);
  expect(text).toContain(`import ${first.id}`);
});
