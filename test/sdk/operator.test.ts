import { beforeAll, describe, expect, it } from 'vitest';
import { ApiError, Ledgerbell, LedgerbellOperator } from '../../packages/sdk/src/index.ts';
import { newExternalId, tokenOf } from '../operators/support.ts';
import { useService } from '../support/service.ts';

const service = useService();

const ACCOUNT = { bank: 'Örnek Bank', title: 'Ana hesap', currency: 'TRY' as const };
const WEBHOOK = {
  title: 'Muhasebe',
  endpoint: 'http://127.0.0.1:9/hook',
  event: 'NEW_TRANSACTION' as const,
  account: 'all' as const,
};

let access: { url: string; token: string };
let operator: LedgerbellOperator;
beforeAll(async () => {
  access = { url: service.opsUrl, token: await tokenOf(service, 'admin') };
  operator = new LedgerbellOperator(access);
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Loses the first answers, after the service has carried out the request. */
function loseAnswers(count: number): typeof fetch {
  let left = count;
  return async (input, init) => {
    const response = await fetch(input, init);
    if (left === 0) return response;
    left -= 1;
    await response.body?.cancel();
    throw new TypeError('fetch failed');
  };
}

describe('customers of LedgerbellOperator', () => {
  it('getOrCreate creates a customer with an account, a webhook and an API key once', async () => {
    const externalId = newExternalId();
    const wanted = { externalId, name: 'Acme', metadata: { plan: 'büyük' }, accounts: [ACCOUNT] };
    const made = await operator.customers.getOrCreate({ ...wanted, webhooks: [WEBHOOK] });
    expect(made).toMatchObject({
      created: true,
      customer: { name: 'Acme', external_id: externalId, metadata: { plan: 'büyük' } },
      accounts: [{ title: 'Ana hesap' }],
      webhooks: [{ secret: expect.stringMatching(/^whsec_/) }],
      apiSecret: expect.any(String),
    });
    const ledgerbell = new Ledgerbell({ url: service.url, apiKey: made.apiKey ?? '' });
    const { data } = await ledgerbell.listAccounts();
    expect(data.accounts.map(({ id }) => id)).toEqual(made.accounts.map(({ id }) => id));
    const again = await operator.customers.getOrCreate({ ...wanted, name: 'Other' });
    expect(again).toMatchObject({
      created: false,
      customer: made.customer,
      accounts: [{ id: made.accounts[0]?.id }],
      apiKey: null,
      apiSecret: null,
    });
  });

  it('getOrCreate returns the customer without its secrets if the first answer was lost', async () => {
    const losing = new LedgerbellOperator({ ...access, fetch: loseAnswers(1) });
    const made = await losing.customers.getOrCreate({ externalId: newExternalId(), name: 'Lost' });
    expect(made).toMatchObject({ created: true, apiKey: null, apiSecret: null });
    const { counts } = await operator.customers.get(made.customer.id);
    expect(counts.api_keys).toBe(1);
  });

  it('create makes a customer without an API key, if none is wanted', async () => {
    const made = await operator.customers.create({ name: 'Keyless', apiKey: false });
    expect(made).toMatchObject({ created: true, apiKey: null, apiSecret: expect.any(String) });
    const { counts, standing } = await operator.customers.get(made.customer.id);
    expect({ counts, standing }).toMatchObject({ counts: { api_keys: 0 }, standing: [] });
  });

  it('list iterates over all pages, filtered by name or external id', async () => {
    const name = newExternalId();
    const ids: number[] = [];
    for (let at = 0; at < 5; at += 1) {
      const { customer } = await operator.customers.create({ name, externalId: newExternalId() });
      ids.push(customer.id);
    }
    const found = await collect(operator.customers.list({ name, perPage: 2 }));
    expect(found.map(({ id }) => id)).toEqual(ids);
    const externalId = found[3]?.external_id ?? '';
    expect(await collect(operator.customers.list({ externalId }))).toEqual([found[3]]);
  });

  it('update changes the name and the metadata, and removes the external id', async () => {
    const { customer } = await operator.customers.create({ name: 'Before', externalId: newExternalId() });
    const change = { name: 'After', externalId: null, metadata: { plan: 'small' } };
    expect(await operator.customers.update(customer.id, change)).toMatchObject({
      id: customer.id,
      name: 'After',
      external_id: null,
      metadata: { plan: 'small' },
    });
  });

  it('delete needs the name of the customer', async () => {
    const { customer } = await operator.customers.create({ name: 'Leaving' });
    const refused = operator.customers.delete(customer.id, { confirm: 'Staying' });
    await expect(refused).rejects.toMatchObject({ name: 'ApiError', errors: [{ path: 'confirm' }] });
    const deleted = await operator.customers.delete(customer.id, { confirm: 'Leaving' });
    expect(deleted).toMatchObject({ id: customer.id, status: 'deleting' });
  });
});

describe('an operator who acts for a customer', () => {
  it.each(['by its id', 'by its id as a string', 'by its external id'])(
    'calls the methods of the customer, named %s',
    async (how) => {
      const externalId = `${newExternalId()} / ü%`;
      const { customer } = await operator.customers.getOrCreate({
        externalId,
        name: 'Acted for',
        accounts: [ACCOUNT],
      });
      const name = { 'by its id': customer.id, 'by its id as a string': String(customer.id) }[how];
      const ledgerbell = operator.customer(name ?? { externalId });
      const { data } = await ledgerbell.listAccounts();
      const id = data.accounts[0]?.id ?? 0;
      const row = { dc: 'Credit' as const, amount: '1.00', date_issue: '2026-01-05', description: 'x' };
      const accepted = await ledgerbell.importMovements([{ ...row, account_id: id, unique_id: 'u1' }]);
      expect(await ledgerbell.waitForImport(accepted.id, { every: 50 })).toMatchObject({ inserted: 1 });
      const listed = await collect(ledgerbell.movements({ starts: '2026-01-01' }));
      expect(listed.map(({ unique_id }) => unique_id)).toEqual(['u1']);
      const csv = await ledgerbell.exportMovements({ starts: '2026-01-01', columns: 'unique_id' });
      expect(await new Response(csv).text()).toBe('unique_id\r\nu1\r\n');
      const file = new Blob([JSON.stringify({ ...row, account_id: id, unique_id: 'u2' })]);
      const uploaded = await ledgerbell.upload(file, { contentType: 'application/x-ndjson' });
      expect(await ledgerbell.waitForImport(uploaded.id, { every: 50 })).toMatchObject({ inserted: 1 });
    },
  );

  it('is made by the constructor of Ledgerbell too, and gets the options of the operator', async () => {
    const { customer } = await operator.customers.create({ name: 'Constructed', accounts: [ACCOUNT] });
    const ledgerbell = new Ledgerbell({ operator: access, customer: customer.id });
    expect((await ledgerbell.listAccounts()).data.accounts).toHaveLength(1);
    const offline = new LedgerbellOperator({
      ...access,
      retries: 0,
      fetch: () => Promise.reject(new Error('offline')),
    });
    await expect(offline.customer(customer.id).listAccounts()).rejects.toThrow('offline');
  });

  it('is refused for a customer that does not exist', async () => {
    const refused = operator.customer({ externalId: newExternalId() }).listAccounts();
    await expect(refused).rejects.toBeInstanceOf(ApiError);
    await expect(refused).rejects.toMatchObject({ status: 404 });
  });
});

describe('LedgerbellOperator', () => {
  it('creates, lists and deletes tokens', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { id, token } = await operator.operatorTokens.create({ title: 'CI', role: 'viewer', expiresAt });
    const viewer = new LedgerbellOperator({ ...access, token: token ?? '', retries: 0 });
    await expect(viewer.customers.create({ name: 'No' })).rejects.toMatchObject({
      status: 403,
      type: '/problems/missing-role',
    });
    const listed = await collect(operator.operatorTokens.list({ perPage: 1 }));
    expect(listed.find((it) => it.id === id)).toMatchObject({ title: 'CI', role: 'viewer' });
    await operator.operatorTokens.delete(id);
    await expect(viewer.verdict()).rejects.toMatchObject({ status: 401 });
  });

  it('reads the verdict and the audit log', async () => {
    expect(await operator.verdict()).toMatchObject({ migrations: 'ok', troubles: expect.any(Array) });
    const { customer } = await operator.customers.create({ name: 'Audited', accounts: [ACCOUNT] });
    await operator.customers.update(customer.id, { name: 'Audited again' });
    const changes = await collect(operator.audit.list({ customer: customer.id, perPage: 1 }));
    expect(changes.length).toBeGreaterThan(1);
    expect(changes.every(({ customer_id }) => customer_id === customer.id)).toBe(true);
  });

  it('verifies the books of a customer with more accounts than a page has, in one report', async () => {
    const accounts = Array.from({ length: 25 }, (_, at) => ({ ...ACCOUNT, title: `Hesap ${at}` }));
    const made = await operator.customers.create({ name: 'Verified', accounts });
    const report = await operator.verify({ customer: made.customer.id });
    expect(report).toMatchObject({ status: 'right', deliveries: 'done', pending: [] });
    expect(report.accounts.map(({ title }) => title)).toEqual(accounts.map(({ title }) => title));
    const [account] = made.accounts;
    const one = await operator.verify({ customer: made.customer.id, account: account?.id ?? 0 });
    expect(one.accounts).toHaveLength(1);
  });
});
