import { describe, expect, it } from 'vitest';
import type { NewCustomer } from '../../src/customers/customers.ts';
import { mt940 } from '../intake/statement-files.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { countRows } from '../support/rows.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'it counts the rows of all tables', roles: ['api', 'importer'] });

const ACCOUNT = { bank: 'Ziraat Bankası', title: 'Şirket Hesabı', currency: 'TRY' };
const IBAN = 'TR330006100519786457841326';

describe('accounts', () => {
  it('are created, listed in order, and shown one by one', async () => {
    const { api_key: key } = await service.customer();
    expect((await service.call('GET', '/v1/accounts', { key })).body).toEqual({ accounts: [] });
    const first = await service.call('POST', '/v1/accounts', {
      key,
      body: { ...ACCOUNT, iban: 'tr33 0006 1005 1978 6457 8413 26' },
    });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      account: {
        id: expect.any(Number),
        bank: { id: expect.any(Number), name: 'Ziraat Bankası' },
        title: 'Şirket Hesabı',
        balance: null,
        balance_source: 'computed',
        balance_date: null,
        difference: null,
        currency: 'TRY',
        iban: IBAN,
        number: null,
        status: 'active',
        on_conflict: 'hold',
        late_after_days: null,
        check_balances: false,
        statement_numbers: 'use',
        encoding: null,
        last_work: null,
        last_update: null,
        error: null,
      },
    });
    const { account } = first.body;
    const second = await service.call('POST', '/v1/accounts', {
      key,
      body: { bank_id: Number(account.bank.id), title: 'İkinci', currency: 'EUR' },
    });
    expect(second.body.account.bank).toEqual(account.bank);
    const { body } = await service.call('GET', '/v1/accounts', { key });
    expect(body).toEqual({ accounts: [account, second.body.account] });
    expect((await service.call('GET', `/v1/accounts/${account.id}`, { key })).body).toEqual({
      accounts: [account],
    });
  });

  it('have a number, by which a statement without an IBAN finds its account', async () => {
    const { api_key: key } = await service.customer();
    const body = { ...ACCOUNT, number: ' 1234-567 890 ' };
    const { account } = (await service.call('POST', '/v1/accounts', { key, body })).body;
    expect(account).toMatchObject({ number: '1234-567 890', iban: null });
    const answer = await service.call('POST', '/v1/imports', {
      key,
      body: Buffer.from(mt940([{ day: 2, amount: 10 }], { account: '1234567890' })),
      type: 'application/octet-stream',
    });
    const done = await importDone(service, key, answer.body.import.id);
    expect(done).toMatchObject({ inserted: 1, rejected: 0 });
    const listed = await service.call('GET', `/v1/accounts/${account.id}/transactions?starts=2026-01-01`, {
      key,
    });
    expect(listed.body.transactions).toHaveLength(1);
  });

  it.each([[''], [' '], ['1'.repeat(65)], [12345]])('refuse the number %j', async (number) => {
    const { api_key: key } = await service.customer();
    const answer = await service.call('POST', '/v1/accounts', { key, body: { ...ACCOUNT, number } });
    expect(expectProblem(answer, 422)).toEqual(['number']);
  });

  it('get an IBAN, a number and a title later, and can lose the IBAN and the number', async () => {
    const { api_key: key } = await service.customer();
    const { account } = (await service.call('POST', '/v1/accounts', { key, body: ACCOUNT })).body;
    const change = (body: object) => service.call('PATCH', `/v1/accounts/${account.id}`, { key, body });
    const sent = { iban: 'tr33 0006 1005 1978 6457 8413 26', number: ' 42 ', title: 'Yeni' };
    const changed = await change(sent);
    expect(changed).toMatchObject({ status: 200 });
    expect(changed.body.account).toEqual({ ...account, iban: IBAN, number: '42', title: 'Yeni' });
    const file = { key, body: Buffer.from(mt940([{ day: 2, amount: 10 }], { account: IBAN })) };
    const { body } = await service.call('POST', '/v1/imports', { ...file, type: 'application/octet-stream' });
    expect(await importDone(service, key, body.import.id)).toMatchObject({ inserted: 1, rejected: 0 });
    const removed = (await change({ iban: null })).body.account;
    expect(removed).toMatchObject({ iban: null, number: '42', title: 'Yeni' });
  });

  it('refuse a change to invalid or conflicting values', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key, { iban: IBAN });
    const { id: other } = await createAccount(service, key);
    const euro = (await service.call('POST', '/v1/accounts', { key, body: { ...ACCOUNT, currency: 'EUR' } }))
      .body.account.id;
    const change = (to: string, body: object) => service.call('PATCH', `/v1/accounts/${to}`, { key, body });
    for (const [body, path] of [
      [{ iban: 'TR330006100519786457841327' }, 'iban'],
      [{ iban: IBAN }, 'iban'],
      [{ number: ' ' }, 'number'],
      [{ title: null }, 'title'],
      [{ currency: 'EUR' }, 'currency'],
      [{}, ''],
    ] as const)
      expect(expectProblem(await change(other, body), 422)).toEqual([path]);
    expect((await change(other, { iban: IBAN })).body.detail).toBe(
      `iban is that of account ${id}, in the same currency.`,
    );
    // Its own values, and one IBAN for two currencies, are no conflict.
    expect((await change(id, { iban: IBAN, title: 'Aynı' })).status).toBe(200);
    expect((await change(euro, { iban: IBAN })).status).toBe(200);
  });

  it('never get one IBAN twice, however many are changed at the same time', async () => {
    const { api_key: key } = await service.customer();
    const ids = await Promise.all([1, 2, 3, 4].map(() => createAccount(service, key)));
    const answers = await Promise.all(
      ids.map(({ id }) => service.call('PATCH', `/v1/accounts/${id}`, { key, body: { iban: IBAN } })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422, 422, 422]);
  });

  it('can be changed only by their owner, with a key of the scope admin for all accounts', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key);
    const body = { title: 'Benim' };
    const key2 = async (options: object) =>
      (await service.call('POST', '/v1/apikeys', { key, body: { title: 'Sınırlı', ...options } })).body.apikey
        .apikey;
    const limited = await key2({ account: [Number(id)] });
    const reader = await key2({ account: 'all', scopes: ['read', 'import'] });
    const stranger = (await service.customer()).api_key;
    const change = (by: string) => service.call('PATCH', `/v1/accounts/${id}`, { key: by, body });
    expectProblem(await change(limited), 403, 'limited-api-key');
    expectProblem(await change(reader), 403, 'missing-scope');
    expectProblem(await change(stranger), 404);
    expect((await change(key)).status).toBe(200);
  });

  it('show the balance and the time of the newest movement', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key);
    await importMovements(service, key, [
      movement(id, { date_issue: '2026-02-02', balance: '77.70', unique_id: 'new' }),
      movement(id, { date_issue: '2026-02-01', balance: '1.00', unique_id: 'old' }),
      movement(id, { date_issue: '2026-02-03', balance: null, unique_id: 'without' }),
    ]);
    const { body } = await service.call('GET', `/v1/accounts/${id}`, { key });
    expect(body.accounts).toEqual([
      expect.objectContaining({
        balance: '77.70',
        last_work: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+03$/),
        last_update: body.accounts[0].last_work,
      }),
    ]);
  });

  it('share one bank, however often it is named, and it is listed under /v1/banks', async () => {
    const { api_key: key } = await service.customer();
    const made = await Promise.all([1, 2, 3].map(() => createAccount(service, key, { bank: 'Kuveyt Türk' })));
    expect(new Set(made.map(({ id }) => id)).size).toBe(3);
    const { status, body } = await service.call('GET', '/v1/banks', { key });
    expect(status).toBe(200);
    expect(body).toEqual({ banks: [{ id: expect.any(Number), name: 'Kuveyt Türk' }] });
  });

  it('name banks as their own customer spells them, not as another customer did first', async () => {
    const [one, two] = [await service.customer('Bir'), await service.customer('İki')];
    const bankOf = async ({ api_key: key }: NewCustomer, bank: string) =>
      (await service.call('POST', '/v1/accounts', { key, body: { ...ACCOUNT, bank } })).body.account.bank;
    const theirs = await bankOf(one, 'AKBANK');
    const mine = await bankOf(two, 'Akbank');
    expect([theirs.name, mine.name]).toEqual(['AKBANK', 'Akbank']);
    expect(mine.id).not.toBe(theirs.id);
    for (const [{ api_key: key }, bank] of [
      [one, theirs],
      [two, mine],
    ]) {
      expect((await service.call('GET', '/v1/banks', { key })).body).toEqual({ banks: [bank] });
    }
    const answer = await service.call('POST', '/v1/accounts', {
      key: two.api_key,
      body: { ...ACCOUNT, bank: undefined, bank_id: theirs.id },
    });
    expect(expectProblem(answer, 422)).toEqual(['bank_id']);
  });

  it.each([
    ['bank', { bank: undefined }],
    ['bank', { bank_id: 1 }],
    ['bank', { bank: '   ' }],
    ['bank', { bank: 'MARKER'.repeat(40) }],
    ['bank_id', { bank: undefined, bank_id: 999_999 }],
    ['bank_id', { bank: undefined, bank_id: 'MARKER' }],
    ['bank_id', { bank: undefined, bank_id: 1.5 }],
    ['title', { title: undefined }],
    ['title', { title: '' }],
    ['title', { title: 7 }],
    ['title', { title: 'MARKER\ud800' }],
    ['bank', { bank: 'MARKER\ud800' }],
    ['title', { title: null }],
    ['currency', { currency: 'try' }],
    ['currency', { currency: 'MARKER' }],
    ['currency', { currency: undefined }],
    ['iban', { iban: 'TR330006100519786457841327' }],
    ['iban', { iban: 'MARKER' }],
    ['iban', { iban: 12 }],
    ['customer_id', { customer_id: 1 }],
    ['toString', { toString: 'MARKER' }],
    ['__proto__', JSON.parse('{"__proto__": "MARKER"}')],
  ])('are refused for a wrong %s: %j', async (path, fields) => {
    const { api_key: key } = await service.customer();
    const before = await countRows(service);
    const body = Object.defineProperties({ ...ACCOUNT }, Object.getOwnPropertyDescriptors(fields));
    const answer = await service.call('POST', '/v1/accounts', { key, body });
    expect(expectProblem(answer, 422)).toEqual([path]);
    expect(JSON.stringify(answer.body)).not.toContain('MARKER');
    expect(await countRows(service)).toEqual(before);
  });

  it.each(['0', '-1', '1.0', '01', '999999999999', '99999999999999999999', 'all', 'null', '1%20', '１'])(
    'with an impossible id are not found: %s',
    async (id) => {
      const { api_key: key } = await service.customer();
      expectProblem(await service.call('GET', `/v1/accounts/${id}`, { key }), 404);
      expectProblem(
        await service.call('GET', `/v1/accounts/${id}/transactions?starts=2026-01-01`, { key }),
        404,
      );
    },
  );
});
