import { expect, it } from 'vitest';
import { ACCOUNT_IBAN, dayStatement } from '../support/day-statement.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService();

async function customer() {
  const { api_key: key } = await service.customer();
  const { id } = await createAccount(service, key, { iban: ACCOUNT_IBAN });
  const get = (query = '', by = key) =>
    service.call('GET', `/v1/accounts/${id}/balances${query}`, { key: by });
  return {
    key,
    account: id,
    get,
    balances: async (query = '') => (await get(query)).body.balances,
    days: async (query = '') =>
      (await get(query)).body.balances.map((it: { date: string; balance: string; source: string }) =>
        [it.date, it.balance, it.source].join(' '),
      ),
    async send(body: string, query = '') {
      const answer = await service.call('POST', `/v1/imports${query}`, {
        key,
        body,
        type: 'application/octet-stream',
      });
      return importDone(service, key, answer.body.import.id);
    },
    store: (rows: [day: string, amount: string, balance: string | null][]) =>
      importMovements(
        service,
        key,
        rows.map(([date_issue, amount, balance]) =>
          movement(id, { unique_id: `${date_issue} ${amount}`, date_issue, dc: 'Credit', amount, balance }),
        ),
      ),
  };
}

it('balances are taken from statements, or else from the last movements, and the last day comes first', async () => {
  const { balances, send, store } = await customer();
  await store([
    ['2026-03-01', '10.00', '60.00'],
    ['2026-03-01', '40.00', '100.00'],
    ['2026-03-02', '1.00', '999.00'],
    ['2026-03-03', '1.00', null],
  ]);
  await send(dayStatement(1, 2, 100, [50]));
  const known = { currency: 'TRY', import_id: expect.any(Number) };
  expect(await balances()).toEqual([
    {
      date: '2026-03-02',
      balance: '150.00',
      source: 'statement',
      statement_id: expect.any(Number),
      transaction_id: null,
      ...known,
    },
    {
      date: '2026-03-01',
      balance: '100.00',
      source: 'movement',
      statement_id: null,
      transaction_id: expect.any(Number),
      ...known,
    },
  ]);
});

it('the balance of a day is that of its last movement, also if the bank lists the last movement first', async () => {
  const { days, store } = await customer();
  await store([
    ['2026-03-05', '5.00', '18.00'],
    ['2026-03-05', '3.00', '13.00'],
    ['2026-03-05', '2.00', '10.00'],
  ]);
  expect(await days()).toEqual(['2026-03-05 18.00 movement']);
});

it('a final statement takes precedence over an interim one, and the last statement of a day over earlier ones', async () => {
  const { account, days, send } = await customer();
  await send(dayStatement(2, 2, 150, [-30]));
  await send(dayStatement(1, 2, 100, [50]));
  expect(await days()).toEqual(['2026-03-02 120.00 statement']);
  const ADD = `
    INSERT INTO statements (customer_id, account_id, import_id, line, format, kind, to_date, closing_balance, credits,
      debits, entries, fingerprint)
    SELECT customer_id, id, 1, 1, 'mt942', 'interim', ?, 777, 0, 0, 1, ? FROM accounts WHERE id = ?`;
  for (const date of ['2026-03-02', '2026-03-03'])
    await service.runtime.database.query(ADD, [date, date, account]);
  expect(await days()).toEqual(['2026-03-03 777.00 statement', '2026-03-02 120.00 statement']);
});

it('the list of balances is limited by page, days and key', async () => {
  const { key, account, days, get, store } = await customer();
  await store(['01', '02', '05', '09'].map((day) => [`2026-03-${day}`, '1.00', `${Number(day)}.00`]));
  const first = await get('?per_page=3');
  expect(first.body.balances.map(({ date }: { date: string }) => date)).toEqual([
    '2026-03-09',
    '2026-03-05',
    '2026-03-02',
  ]);
  const [, next = ''] = /^<(.+)>; rel="next"$/.exec(first.headers.get('link') ?? '') ?? [];
  const second = await service.call('GET', next, { key });
  expect(second.body.balances).toMatchObject([{ date: '2026-03-01', balance: '1.00' }]);
  expect(second.headers.get('link')).toBeNull();
  expect(await days('?from=2026-03-02&to=2026-03-05')).toEqual([
    '2026-03-05 5.00 movement',
    '2026-03-02 2.00 movement',
  ]);

  for (const query of ['?from=2026-03-02&to=2026-03-01', '?days=1', '?from=2026-02-30', '?cursor=x'])
    expect((await get(query)).status, query).toBe(422);
  // A cursor that was never given out is one for another day.
  const far = Buffer.from('d1:999999999999999999').toString('base64url');
  expect((await get(`?cursor=${far}`)).status).toBe(200);
  const other = await createAccount(service, key);
  const { body } = await service.call('POST', '/v1/apikeys', {
    key,
    body: { title: 'Limited', account: [other.id] },
  });
  expect((await get('', body.apikey.apikey)).status).toBe(404);
  const { api_key: stranger } = await service.customer();
  expect((await get('', stranger)).status).toBe(404);
  const empty = await service.call('GET', `/v1/accounts/${other.id}/balances`, { key });
  expect(empty.body).toEqual({ balances: [] });
  expect((await service.call('GET', `/v1/accounts/${account}/balances`, { key })).status).toBe(200);
});

it('the list of balances continues on the next page after a page that very many movements have ended', async () => {
  const { account, get, store } = await customer();
  await store([['2026-03-01', '1.00', '1.00']]);
  // As many movements of the following days as are read for a page.
  const ADD = `
    INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, balance, date_issue, date_readed)
    WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 899)
    SELECT a.customer_id, a.id, 1, CONCAT(d.day, '-', n.i), 'Credit', 1, IF(d.day = 5, NULL, 1 + n.i), CONCAT('2026-03-0', d.day), NOW(6)
    FROM accounts a JOIN n JOIN (SELECT 2 AS day UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8) d
    WHERE a.id = ?`;
  await service.runtime.database.query(ADD, [account]);
  const dates: string[] = [];
  let pages = 0;
  for (let query: string | null = ''; query !== null; pages += 1) {
    const { body, headers }: Awaited<ReturnType<typeof get>> = await get(query);
    dates.push(...body.balances.map(({ date }: { date: string }) => date.slice(-1)));
    query = /\?[^>]+/.exec(headers.get('link') ?? '')?.[0] ?? null;
  }
  expect(dates).toEqual(['8', '7', '6', '4', '3', '2', '1']);
  expect(pages).toBe(2);
});

it('the balance of an account is the newest of a statement with what was booked on later days, and says how far the movements differ', async () => {
  const { key, account, send, store } = await customer();
  const now = async () => {
    const { balance, balance_source, balance_date, difference } = (
      await service.call('GET', `/v1/accounts/${account}`, { key })
    ).body.accounts[0];
    return [balance, balance_source, balance_date, difference];
  };
  expect(await now()).toEqual([null, 'computed', null, null]);
  await store([
    ['2026-03-01', '10.00', '60.00'],
    ['2026-03-01', '1.00', null],
  ]);
  expect(await now()).toEqual(['60.00', 'computed', '2026-03-01', null]);
  await send(dayStatement(1, 2, 100, [50]));
  expect(await now()).toEqual(['150.00', 'statement', '2026-03-02', null]);
  await store([['2026-03-02', '5.00', '155.00']]);
  expect(await now()).toEqual(['150.00', 'statement', '2026-03-02', '-5.00']);
  await store([['2026-03-04', '7.00', null]]);
  expect(await now()).toEqual(['157.00', 'statement', '2026-03-02', null]);
});
