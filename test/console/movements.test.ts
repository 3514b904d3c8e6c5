import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { readCsv, readStoredTotal, totalOf } from '../support/csv.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { type TestService, useOwnService, useService } from '../support/service.ts';
import { createSubscriber, NOWHERE } from '../support/subscriber.ts';
import { subscribe } from '../support/webhooks.ts';

/** The page of movements, and how the search leads there. Each test makes its own customer. */

const service = useService({ roles: ['api', 'importer'] });

const page = async (path: string, { callOps }: Pick<TestService, 'callOps'> = service) => {
  const { status, body, headers } = await callOps('GET', path, { headers: { Accept: 'text/html' } });
  return { status, html: String(body), location: headers.get('location') };
};

const pathOf = (customerId: string, query: Record<string, string> = {}) =>
  `/ops/movements?${new URLSearchParams({ customer: customerId, ...query })}`;

/** The ids of the movements that a page lists, in its order. */
const idsOf = (html: string) =>
  [...html.matchAll(/data-label="Movement"><a class="id" href="\/ops\/trace\?movement=(\d+)"/g)].map(
    ([, id]) => id,
  );

const nextOf = (html: string) =>
  /<a href="([^"]+)" rel="next">/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? null;

async function createBooks() {
  const name = `Customer ${crypto.randomUUID()}`;
  const { api_key: key, customer } = await service.customer(name);
  return {
    id: customer.id,
    key,
    name,
    account: async (fields: object = {}) => (await createAccount(service, key, fields)).id,
    store: (...movements: object[]) => importMovements(service, key, movements),
  };
}

describe('the page of movements', () => {
  it('lets an accountant find a payment by its amount and a part of a name, and export a month whose sum is right', async () => {
    const { id, name, account, store } = await createBooks();
    const [lira, euro] = [
      await account({ title: 'Ana, "Hesap"' }),
      await account({ title: 'Döviz', currency: 'EUR' }),
    ];
    await store(
      ...Array.from({ length: 250 }, (_, at) =>
        movement(at % 3 === 0 ? euro : lira, {
          unique_id: `m-${at}`,
          dc: at % 2 === 0 ? 'Credit' : 'Debit',
          amount: at % 50 === 0 ? '1250.50' : `${at}.${String(at % 100).padStart(2, '0')}`,
          balance: null,
          name: at === 100 ? 'Işık Elektrik, "A.Ş."' : `Firma ${at}`,
          date_issue: at < 220 ? `2026-01-${String(1 + (at % 31)).padStart(2, '0')}` : '2026-02-01',
        }),
      ),
    );
    const { location } = await page(`/ops/trace?q=${encodeURIComponent(`1250.50 ${name.slice(0, -3)}`)}`);
    expect(location).toBe(pathOf(id, { amount: '1250.50' }));
    expect(idsOf((await page(location ?? '')).html)).toHaveLength(5);
    const { html } = await page(`${location}&q=isik`);
    const [found, ...others] = idsOf(html);
    expect(others).toEqual([]);
    expect(html).toContain('1250.50');
    expect((await page(`/ops/trace?movement=${found}`)).html).toContain('m-100');

    const path = pathOf(id, { starts: '2026-01-01', ends: '2026-01-31', currency: 'TRY', format: 'csv' });
    const response = await fetch(service.opsUrl + path);
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(response.headers.get('content-disposition')).toBe(
      'attachment; filename="movements-2026-01-01-2026-01-31.csv"',
    );
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.subarray(0, 3).toString('hex')).toBe('efbbbf');
    const records = readCsv(bytes.toString('utf8'));
    const month = { customerId: id, currency: 'TRY', first: '2026-01-01', last: '2026-01-31' };
    expect(totalOf(records)).toEqual(await readStoredTotal(service.runtime.database, month));
    expect(records.find((it) => it.unique_id === 'm-100')).toMatchObject({
      account: 'Ana, "Hesap"',
      currency: 'TRY',
      name: 'Işık Elektrik, "A.Ş."',
      signed_amount: '1250.50',
    });
  });

  it('lists every movement of the customer once, newest first, and none of another', async () => {
    const [one, other] = [await createBooks(), await createBooks()];
    const accountId = await one.account();
    await other.store(movement(await other.account()));
    await one.store(
      ...Array.from({ length: 205 }, (_, at) => movement(accountId, { unique_id: `m-${at}`, balance: null })),
    );
    const listed: (string | undefined)[] = [];
    const sizes: number[] = [];
    for (let path: string | null = pathOf(one.id); path !== null; ) {
      const { html } = await page(path);
      sizes.push(idsOf(html).length);
      listed.push(...idsOf(html));
      path = nextOf(html);
    }
    const stored = await service.runtime.database.query<{ id: string }[]>(
      'SELECT id FROM transactions WHERE customer_id = ? ORDER BY id DESC',
      [one.id],
    );
    expect(sizes).toEqual([100, 100, 5]);
    expect(listed).toEqual(stored.map(({ id }) => id));
    const { html } = await page(pathOf(one.id, { order: 'oldest' }));
    expect(idsOf(html)).toEqual(listed.toReversed().slice(0, 100));
  });

  it('passes every filter to the API, and keeps it in the form and in the link to the next page', async () => {
    const { id, account, store } = await createBooks();
    const accountId = await account();
    const debit = { dc: 'Debit', amount: '7.00', opponent_iban: 'DE89370400440532013000', balance: null };
    const { id: importId } = await store(
      movement(accountId, { unique_id: 'wanted', ...debit, name: 'Depo' }),
      movement(accountId, { unique_id: 'other', date_issue: '2026-03-01', balance: null }),
    );
    const filters = {
      account: accountId,
      starts: '2026-01-15',
      ends: '2026-01-15',
      amount: '7',
      amount_min: '6.5',
      amount_max: '7.5',
      currency: 'TRY',
      q: 'depo',
      opponent_iban: 'DE89 3704 0044 0532 0130 00',
      unique_id: 'wanted',
      import_id: String(importId),
      dc: 'Debit',
    };
    expect(idsOf((await page(pathOf(id))).html)).toHaveLength(2);
    for (const [name, value] of Object.entries(filters)) {
      const { html } = await page(pathOf(id, { [name]: value }));
      expect(html, name).toContain('wanted');
      expect(html, name).toContain(
        name === 'dc' ? '<option value="Debit" selected="">' : `name="${name}" value="${value}"`,
      );
    }
    const { html } = await page(pathOf(id, filters));
    expect(html).toMatch(/data-label="Amount"><span class="two-decimals">-7\.00</);
    for (const [name, value] of Object.entries({
      starts: '2026-03-01',
      q: 'kira',
      dc: 'Credit',
      amount_min: '8',
    }))
      expect(idsOf((await page(pathOf(id, { ...filters, [name]: value }))).html), name).toEqual([]);
  });

  it.each([
    [{ amount: '1,5,5' }, 'amount', 'must be an amount such as 1250 or 1250.50'],
    [{ starts: '2026-02-30' }, 'starts', 'must be'],
    [{ starts: '2026-02-02', ends: '2026-02-01' }, 'starts', 'must not be later than ends'],
    [{ amount_min: '2', amount_max: '1' }, 'amount_min', 'must not be more than amount_max'],
    [{ currency: 'euro' }, 'currency', 'must be a currency of three capital letters'],
    [{ import_id: '999999999' }, 'import_id', 'is not one of your imports'],
    [{ account: '999999999' }, 'account', 'has 999999999, which is not one of your accounts'],
    [{ customer: 'x' }, 'customer', 'must be an id'],
    [{ customer: '999999999' }, 'customer', 'does not exist'],
  ])(
    'shows a mistake beside its field, in the words of the API, also in place of a CSV: %j',
    async (query, name, words) => {
      const { id } = await createBooks();
      for (const format of [{}, { format: 'csv' }]) {
        const { status, html } = await page(pathOf(id, { ...query, ...format }));
        expect(status).toBe(422);
        const [, input, mistake] =
          new RegExp(`<input (name="${name}"[^>]*)/><span class="mistake"> ([^<]*)`).exec(html) ?? [];
        expect(input).toContain('aria-invalid="true"');
        expect(mistake).toContain(words);
      }
    },
  );

  it('answers HEAD as GET, without a body', async () => {
    const { id } = await createBooks();
    for (const [format, type] of [
      ['', 'text/html'],
      ['csv', 'text/csv'],
    ] as const) {
      const { status, headers, body } = await service.callOps('HEAD', pathOf(id, { format }));
      expect(status).toBe(200);
      expect(headers.get('content-type')).toContain(type);
      expect(body ?? '').toBe('');
    }
  });

  it('shows a mistake that has no field on top', async () => {
    const { id } = await createBooks();
    for (const query of [{ cursor: 'x' }, { dc: 'x' }, { order: 'x' }]) {
      const { status, html } = await page(pathOf(id, query));
      expect(status).toBe(422);
      expect(html).toMatch(
        new RegExp(`<p class="notice bad" role="status">${Object.keys(query)[0]} must be`),
      );
    }
  });

  it('asks for a customer, and does not read itself again', async () => {
    const { status, html } = await page('/ops/movements?amount=5');
    expect(status).toBe(200);
    expect(html).toContain('Enter the id of a customer.');
    expect(html).toContain('data-renewed="no"');
    expect((await page('/ops/books')).html).not.toContain('data-renewed');
  });

  it('is linked from the menu and from the pages of the customer, the account and the import', async () => {
    const { id, account, store } = await createBooks();
    const accountId = await account();
    const { id: importId } = await store(movement(accountId));
    for (const [path, query] of [
      [`/ops/customers/${id}`, {}],
      [`/ops/books/accounts/${accountId}`, { account: accountId }],
      [`/ops/imports/${importId}`, { import_id: String(importId) }],
    ] as const) {
      const { html } = await page(path);
      expect(html).toContain('<a href="/ops/movements">Movements</a>');
      const href = pathOf(id, query);
      expect(html, path).toContain(`href="${href.replaceAll('&', '&amp;')}"`);
      expect(idsOf((await page(href)).html), path).toHaveLength(1);
    }
  });
});

describe('the search', () => {
  const find = (text: string, query = '') => page(`/ops/trace?q=${encodeURIComponent(text)}${query}`);

  it('takes an amount on the page of a customer as the amount of its movements', async () => {
    const { id } = await createBooks();
    expect((await page(`/ops/customers/${id}`)).html).toContain(
      `<input type="hidden" name="customer" value="${id}"/>`,
    );
    expect((await find('1250.50', `&customer=${id}`)).location).toBe(pathOf(id, { amount: '1250.50' }));
    expect((await find('1250.50')).html).toContain('Nothing was found');
  });

  it('leads with an amount that is written in another way to the words that say how', async () => {
    const { id, name } = await createBooks();
    const { location } = await find(`1.250,505 ${name}`);
    expect((await page(location ?? '')).html).toContain('must be an amount such as 1250 or 1250.50');
    expect(location).toContain(`customer=${id}`);
  });

  it('finds accounts, webhooks and sources by the beginning of their title, in any case', async () => {
    const { id, key, account } = await createBooks();
    const unique = crypto.randomUUID();
    const accountId = await account({ title: `Kasa 50% ${unique}` });
    const { id: webhookId } = await subscribe(service, key, 'http://127.0.0.1:9/', {
      title: `Depo ${unique}`,
    });
    await service.runtime.database.query(
      `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts)
       VALUES (?, ?, 'folder', '{}', '{"every":"5m"}', 'auto', 0)`,
      [id, `Gece ${unique}`],
    );
    const beginning = (word: string) => `${word} ${unique.slice(0, 30)}`;
    expect((await find(beginning('kasa 50%'))).location).toBe(`/ops/books/accounts/${accountId}`);
    expect((await find(beginning('DEPO'))).location).toBe(`/ops/webhooks/${webhookId}`);
    expect((await find(beginning('Gece'))).location).toMatch(/^\/ops\/sources\/\d+$/);
    expect((await find(beginning('Kasa 50_'))).html).toContain('Nothing was found');
  });
});

describe('a customer with more movements than one search looks at', () => {
  const own = useOwnService({ because: 'a table is taken away for a moment', roles: ['api'] });
  const MOVEMENTS = 201_000;
  let customerId: string;

  beforeAll(async () => {
    const subscriber = await createSubscriber(own, NOWHERE, {});
    customerId = subscriber.customerId;
    await own.runtime.database.query(
      `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, description, date_issue, date_readed)
       WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999)
       SELECT ?, ?, 1, CONCAT('m', a.n * 1000 + b.n), 'Credit', IF(a.n = 0 AND b.n = 0, '7.77', '1.00'), REPEAT('x', 200), '2026-01-15',
         '2026-01-01' + INTERVAL a.n * 1000 + b.n SECOND
       FROM s a JOIN s b WHERE a.n * 1000 + b.n < ${MOVEMENTS} ORDER BY a.n, b.n`,
      [customerId, subscriber.accountId],
    );
  }, 300_000);

  it('is told how far the search has come, and can search on', async () => {
    const { html } = await page(pathOf(customerId, { amount: '7.77' }), own);
    expect(idsOf(html)).toEqual([]);
    expect(html).toMatch(/The search is not over\. .* stored 2026-01-01 00:16:\d\d UTC/s);
    expect(html).toMatch(/rel="next">Search on</);
    const rest = (await page(nextOf(html) ?? '', own)).html;
    expect(idsOf(rest)).toHaveLength(1);
    expect(nextOf(rest)).toBeNull();
    expect(rest).not.toContain('The search is not over');
  });

  it('gets a CSV that breaks off without a last chunk when the API cannot complete it', async () => {
    const { database } = own.runtime;
    const { hostname, port } = new URL(own.opsUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(
      `GET ${pathOf(customerId, { order: 'oldest', format: 'csv' })} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    // Takes no more of the file than the buffers hold.
    await once(socket, 'readable');
    await database.query('RENAME TABLE transactions TO transactions_away');
    try {
      const parts: Buffer[] = [];
      socket.on('data', (part: Buffer) => parts.push(part)).on('error', () => {});
      await once(socket, 'close');
      const text = Buffer.concat(parts).toString('utf8');
      // The whole text would fill the report of a failure.
      const facts = [/^HTTP\/1.1 200/, /,m1\r\n/, /\r\n0\r\n\r\n$/, new RegExp(`,m${MOVEMENTS - 1}\r\n`)].map(
        (it) => it.test(text),
      );
      expect(facts).toEqual([true, true, false, false]);
    } finally {
      await database.query('RENAME TABLE transactions_away TO transactions');
    }
  });
});
