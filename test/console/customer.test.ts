import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { FIRST_ACCOUNTS, findBookedAccounts } from '../../src/console/books/booked-accounts.tsx';
import { asOperator, newExternalId, tokenOf } from '../operators/support.ts';
import { dayStatement } from '../support/day-statement.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { setCursor } from '../support/subscriber.ts';
import { subscribe } from '../support/webhooks.ts';

/** The page of a customer, the search for accounts, and the books of a customer. Each test makes its own customer. */

const service = useService({ roles: ['api', 'importer'] });

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

/** The accounts of a page's first table of them, in its order. */
async function accountsOf(path: string): Promise<(string | undefined)[]> {
  const [, table = ''] =
    /<caption class="hidden">Accounts<\/caption>(.*?)<\/table>/s.exec((await page(path)).html) ?? [];
  return [...table.matchAll(/data-label="Account"><a href="\/ops\/books\/accounts\/(\d+)"/g)].map(
    ([, id]) => id,
  );
}

/** An IBAN that no other account has. */
function createIban(): string {
  const number = Array.from({ length: 18 }, () => randomInt(10)).join('');
  return `DE${String(98n - (BigInt(`${number}131400`) % 97n)).padStart(2, '0')}${number}`;
}

const inGroups = (text: string) => text.replaceAll(/(.{4})/g, '$1 ').trim();

const createUniqueText = (kind: string) => `${kind} ${crypto.randomUUID()}`;

async function createBooks(name = createUniqueText('Customer')) {
  const { api_key: key, customer } = await service.customer(name);
  const { database } = service.runtime;
  return {
    key,
    name,
    id: customer.id,
    account: async (fields: object = {}) => (await createAccount(service, key, fields)).id,
    check: (accountId: string, completeness: string) =>
      database.query(
        'INSERT INTO statement_checks (account_id, customer_id, completeness) SELECT id, customer_id, ? FROM accounts WHERE id = ?',
        [completeness, accountId],
      ),
    setAccount: (accountId: string, assignments: string) =>
      database.query(`UPDATE accounts SET ${assignments} WHERE id = ?`, [accountId]),
    async send(body: string) {
      const type = 'application/octet-stream';
      const { body: answer } = await service.call('POST', '/v1/imports', { key, body, type });
      return importDone(service, key, answer.import.id);
    },
  };
}

describe('the page of a customer', () => {
  it('shows its accounts, webhooks, sources and newest imports, and nothing of another customer', async () => {
    const { id, key, name, account, check, setAccount } = await createBooks();
    const other = await createBooks();
    await other.account({ title: 'Hesap of another' });
    const iban = createIban();
    const accountId = await account({ title: 'Döviz hesabı', iban });
    await check(accountId, 'complete');
    await setAccount(accountId, 'has_statements = 1');
    const { id: webhookId } = await subscribe(service, key, 'http://127.0.0.1:9/', { title: 'Muhasebe' });
    const { id: importId } = await importMovements(service, key, [movement(accountId, { balance: '77.50' })]);
    await service.runtime.database.query(
      `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts)
       VALUES (?, 'Gece ekstresi', 'folder', '{}', '{"every":"5m"}', 'auto', 0)`,
      [id],
    );
    const { html } = await page(`/ops/customers/${id}`);
    const text = await textOf(`/ops/customers/${id}`);
    for (const shown of [name, 'Döviz hesabı, TRY', iban, 'complete', 'Muhasebe', 'Gece ekstresi'])
      expect(text).toContain(shown);
    expect(html).toMatch(/data-label="Movements">1<.*data-label="Balance">77\.50</);
    for (const href of [
      `/ops/webhooks/${webhookId}`,
      `/ops/imports/${importId}`,
      ...['books', 'webhooks', 'imports', 'sources', 'audit'].map((list) => `/ops/${list}?customer=${id}`),
    ])
      expect(html).toContain(`href="${href}"`);
    expect(text).toMatch(/What is wrong now Nothing\./);
    expect(text).not.toContain('Hesap of another');
    expect(text).not.toContain(other.name);
  });

  it('says what is wrong with it now in the words of the page Now, the worst first', async () => {
    const { id, key, name, account, check } = await createBooks();
    const { database } = service.runtime;
    const accountId = await account({ title: 'Eksik' });
    await check(accountId, 'incomplete');
    const { id: webhookId } = await subscribe(service, key, 'http://127.0.0.1:9/', { title: 'Kapalı' });
    await setCursor(
      service,
      webhookId,
      'failing_since = NOW(6) - INTERVAL 1 HOUR, consecutive_failures = 3, circuit_open_until = NOW(6) + INTERVAL 1 HOUR',
    );
    const { id: importId } = await importMovements(service, key, [movement(accountId, { unique_id: 'a' })]);
    await database.query(
      "UPDATE imports SET status = 'failed', error = 'Not a statement', finished_at = NOW(6) WHERE id = ?",
      [importId],
    );
    await importMovements(service, key, [movement(accountId, { unique_id: 'a', amount: '7.77' })]);
    await database.query(
      `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts, error, consecutive_failures)
       VALUES (?, 'Gece', 'folder', '{}', '{"every":"5m"}', 'auto', 0, 'refused', 2)`,
      [id],
    );
    const text = await textOf(`/ops/customers/${id}`);
    const [, troubles = ''] = /What is wrong now (.*) Accounts Account/.exec(text) ?? [];
    const sentences = [
      `${name}: webhook ${webhookId} “Kapalı” has been failing for 1 h, 3 times in a row`,
      `Import ${importId} of ${name} has failed. Not a statement.`,
      'source',
      '1 conflict waits for a decision: a known movement came with another amount, direction or date. Not stored: 7.77 TRY.',
      `${name}: account ${accountId} “Eksik” lacks a statement.`,
    ];
    const places = sentences.map((sentence) => troubles.indexOf(sentence));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(text).toContain('circuit open');
  });

  it('says of a customer that is new that there is nothing', async () => {
    const { id } = await createBooks();
    expect((await textOf(`/ops/customers/${id}`)).match(/There are none\./g)).toHaveLength(4);
  });

  it('is found by its external id, and shows what the program that has created it says', async () => {
    const token = await tokenOf(service, 'operator');
    const external_id = newExternalId();
    const body = { name: 'Gömülü', external_id, metadata: { plan: '<büyük>' } };
    const made = await asOperator(service, token, 'POST', '/v1/customers', { body });
    const path = `/ops/customers/${made.body.customer.id}`;
    expect((await page(`/ops/trace?q=${external_id}`)).location).toBe(path);
    expect(await textOf(path)).toMatch(new RegExp(`External id ${external_id} plan &lt;büyük&gt;`));
  });

  it('is found by the name, and linked from the customer of every list', async () => {
    const { id, key, name, account } = await createBooks();
    const accountId = await account();
    await subscribe(service, key, 'http://127.0.0.1:9/');
    await importMovements(service, key, [movement(accountId)]);
    expect((await page(`/ops/trace?q=${encodeURIComponent(name)}`)).location).toBe(`/ops/customers/${id}`);
    const lists = ['books', 'webhooks', 'imports', 'audit'].map((it) => `/ops/${it}?customer=${id}`);
    for (const path of [...lists, `/ops/books/accounts/${accountId}`])
      expect((await page(path)).html, path).toContain(`href="/ops/customers/${id}"`);
    expect((await page(`/ops/audit?customer=${id}`)).html).toContain(
      `<a href="/ops/books/accounts/${accountId}">account ${accountId}</a>`,
    );
  });
});

describe('the search for an account', () => {
  const find = async (text: string) => (await page(`/ops/trace?q=${encodeURIComponent(text)}`)).location;

  it('finds an IBAN with and without blanks, in any case', async () => {
    const { account } = await createBooks();
    const iban = createIban();
    const path = `/ops/books/accounts/${await account({ iban })}`;
    for (const text of [iban, iban.toLowerCase(), inGroups(iban), ` ${inGroups(iban).toLowerCase()} `])
      expect(await find(text), text).toBe(path);
  });

  it('finds an account number as the bank writes it, and by its digits in groups', async () => {
    const { account } = await createBooks();
    const [digits, grouped] = [createIban().slice(4), inGroups(createIban())];
    const paths = [
      `/ops/books/accounts/${await account({ number: digits })}`,
      `/ops/books/accounts/${await account({ number: grouped })}`,
    ];
    expect(await find(digits)).toBe(paths[0]);
    expect(await find(inGroups(digits))).toBe(paths[0]);
    expect(await find(grouped)).toBe(paths[1]);
  });

  it('lists the accounts of all customers that have the same IBAN', async () => {
    const [one, other] = [await createBooks(), await createBooks()];
    const iban = createIban();
    const ids = [await one.account({ iban }), await other.account({ iban })];
    const { html } = await page(`/ops/trace?q=${iban}`);
    for (const id of ids) expect(html).toContain(`href="/ops/books/accounts/${id}"`);
  });
});

describe('the books', () => {
  const CHECKED = ['complete', 'unknown', 'incomplete', 'contradictory'];

  it('list what is wrong first, and accounts without movements last, on one page and over several', async () => {
    const { id, account, check, setAccount } = await createBooks();
    const empty = await account();
    const checked: string[] = [];
    for (const completeness of CHECKED) {
      const accountId = await account();
      await check(accountId, completeness);
      await setAccount(accountId, 'has_statements = 1, last_update = NOW(6)');
      checked.unshift(accountId);
    }
    const withMovements = await account();
    await setAccount(withMovements, 'last_update = NOW(6)');
    const newerIncomplete = await account();
    await check(newerIncomplete, 'incomplete');
    await setAccount(newerIncomplete, 'has_statements = 1');
    const [contradictory, ...others] = checked;
    const expected = [contradictory, newerIncomplete, ...others, withMovements, empty];
    expect(await accountsOf(`/ops/books?customer=${id}`)).toEqual(expected);
    expect(await accountsOf(`/ops/customers/${id}`)).toEqual(expected);
    for (const limit of [1, 2, 3, 6, 7]) {
      const seen: string[] = [];
      for (let place: typeof FIRST_ACCOUNTS | null = FIRST_ACCOUNTS; place !== null; ) {
        const found = await findBookedAccounts(service.runtime.database, { customerId: id, place }, limit);
        expect(found.rows.length).toBeLessThanOrEqual(limit);
        seen.push(...found.rows.map((it) => it.id));
        place = found.next;
      }
      expect(seen).toEqual(expected);
    }
  });

  it('of all customers begin with contradictory accounts, and the link to more leads to the others', async () => {
    const { account, check, setAccount } = await createBooks();
    const accounts: string[] = [];
    for (let made = 0; made < 51; made += 1) accounts.push(await account());
    for (const accountId of accounts) {
      await check(accountId, 'contradictory');
      await setAccount(accountId, 'has_statements = 1');
    }
    const [oldest] = accounts;
    expect(await accountsOf('/ops/books')).toEqual(accounts.slice(1).toReversed());
    const [, more = ''] = /href="([^"]+)"[^>]*>More accounts</.exec((await page('/ops/books')).html) ?? [];
    expect((await accountsOf(more.replaceAll('&amp;', '&')))[0]).toBe(oldest);
  });

  it('of a customer have only its conflicts', async () => {
    const [one, other] = [await createBooks(), await createBooks()];
    const accountId = await one.account();
    for (const amount of ['1.00', '2.00'])
      await importMovements(service, one.key, [movement(accountId, { unique_id: 'c-1', amount })]);
    expect(await textOf(`/ops/books?customer=${one.id}`)).toMatch(/c-1 2026-01-15 \+1\.00/);
    expect(await textOf(`/ops/books?customer=${other.id}`)).toMatch(/wait for a decision .* None\./);
  });

  it('show an entry that is missing, with the import that took it for another movement', async () => {
    const { account, send } = await createBooks();
    const accountId = await account({ iban: 'TR330006100519786457841326' });
    await send(dayStatement(1, 1, 1_000, [-10]));
    const { id: importId } = await send(dayStatement(3, 1, 1_000, [-10]));
    await send(dayStatement(2, 1, 990, [10]));
    const text = await textOf(`/ops/books/accounts/${accountId}`);
    expect(text).toMatch(
      new RegExp(`Missing and too much .* 2026-03-01 2026-03-01 missing Debit 10\\.00 import ${importId} `),
    );
  });

  it('show a movement that is too much', async () => {
    const { key, account, send } = await createBooks();
    const accountId = await account({ iban: 'TR330006100519786457841326' });
    const own = (unique_id: string, amount: string) =>
      importMovements(service, key, [
        movement(accountId, { unique_id, dc: 'Debit', amount, date_issue: '2026-03-01', balance: undefined }),
      ]);
    await own('own-1', '15.00');
    await send(dayStatement(1, 1, 1_000, [-15, -20]));
    await own('own-2', '20.00');
    expect(await textOf(`/ops/books/accounts/${accountId}`)).toMatch(
      /Missing and too much .* 2026-03-01 2026-03-01 too much Debit 20\.00 movement \d+ /,
    );
  });

  it('show by how much a statement misses its closing balance', async () => {
    const { account, send } = await createBooks();
    const accountId = await account({ iban: 'TR330006100519786457841326' });
    await send(dayStatement(1, 1, 1_000, [-15]).replace('TRY985,00', 'TRY980,00'));
    const { html } = await page(`/ops/books/accounts/${accountId}`);
    expect(html).toMatch(/data-label="Difference">-?5\.00</);
  });
});
