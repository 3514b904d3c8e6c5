import { beforeAll, describe, expect, it } from 'vitest';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import { upload, withdrawn } from '../intake/withdrawals/withdrawn.ts';
import { type Listed, readAll, readPage, uniqueIds } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

const ALL = 'starts=2026-01-01&withdrawn=only';

let key: string;
let customerId: string;
let one: string;
let two: string;
/** The movements before their withdrawal. */
let before: Map<string, Listed>;

const get = (path: string, as = key) => service.call('GET', path, { key: as });

beforeAll(async () => {
  const customer = await service.customer();
  key = customer.api_key;
  customerId = String(customer.customer.id);
  one = (await createAccount(service, key, { title: 'Bir' })).id;
  two = (await createAccount(service, key, { title: 'İki' })).id;
  const imports: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    const { id } = await importMovements(service, key, [
      movement(one, { unique_id: `${name} 1`, amount: '-5.5', name: null, balance: null }),
      movement(two, { unique_id: `${name} 2` }),
    ]);
    imports.push(id);
  }
  before = new Map(
    (await readAll(service, key, '/v1/transactions?starts=2026-01-01')).map((it) => [it.unique_id, it]),
  );
  await withdrawn(service, key, `imports/${imports[2]}`, 'sent twice');
  await withdrawn(service, key, `imports/${imports[0]}`, '=wrong "account"');
  // An hour between the withdrawals, in their order.
  const [first] = await service.runtime.database.query(
    'SELECT MIN(withdrawal_id) AS id FROM withdrawn_transactions WHERE customer_id = ?',
    [customerId],
  );
  await service.runtime.database.query(
    `UPDATE withdrawn_transactions SET withdrawn_at = '2026-05-05 09:00:00.5' + INTERVAL withdrawal_id - ? HOUR WHERE customer_id = ?`,
    [first.id, customerId],
  );
});

describe('the listing of withdrawn movements', () => {
  it('shows them as they were, with the moment and the reason, in the order of withdrawals', async () => {
    const rows = await readAll(service, key, `/v1/transactions?${ALL}&per_page=1`);
    expect(uniqueIds(rows)).toEqual(['c 1', 'c 2', 'a 1', 'a 2']);
    expect(rows).toEqual(
      rows.map(({ unique_id }) => ({
        ...before.get(unique_id),
        ...(unique_id.startsWith('c')
          ? { withdrawn_at: '2026-05-05 12:00:00+03', withdrawn_reason: 'sent twice' }
          : { withdrawn_at: '2026-05-05 13:00:00+03', withdrawn_reason: '=wrong "account"' }),
      })),
    );
    const newest = await readAll(service, key, `/v1/transactions?${ALL}&order=newest&per_page=3`);
    expect(uniqueIds(newest)).toEqual(['a 2', 'a 1', 'c 2', 'c 1']);
  });

  it('is left out of the other listing, which shows neither', async () => {
    const rows = await readAll(service, key, '/v1/transactions?starts=2026-01-01');
    expect(rows).toEqual([before.get('b 1'), before.get('b 2')]);
  });

  it.each([
    ['2026-05-05 12:00:01%2B03', ['a 1', 'a 2']],
    ['2026-05-05 09:00:00Z', ['c 1', 'c 2', 'a 1', 'a 2']],
    ['2026-05-05 13:00:00', ['a 1', 'a 2']],
    ['2026-05-05 13:00:01', []],
  ])('begins with the first withdrawal after %s', async (after, names) => {
    for (const order of ['oldest', 'newest']) {
      const path = `/v1/transactions?after=${after}&withdrawn=only&order=${order}`;
      const wanted = order === 'oldest' ? names : names.toReversed();
      expect(uniqueIds(await readAll(service, key, path))).toEqual(wanted);
    }
  });

  it('of one account has only its movements', async () => {
    const rows = await readAll(service, key, `/v1/accounts/${two}/transactions?${ALL}&per_page=1`);
    expect(uniqueIds(rows)).toEqual(['c 2', 'a 2']);
  });

  it('shows a limited key only its accounts, and another customer nothing', async () => {
    const { apikey } = await insertApiKey(service.runtime.database, {
      customerId,
      title: 'dar',
      accountIds: [two],
    });
    expect(uniqueIds(await readAll(service, apikey, `/v1/transactions?${ALL}`))).toEqual(['c 2', 'a 2']);
    const seen = (name: string) => get(`/v1/transactions/${before.get(name)?.id}`, apikey);
    expect((await seen('a 2')).status).toBe(200);
    expectProblem(await seen('a 1'), 404);
    const stranger = (await service.customer()).api_key;
    expect(await readAll(service, stranger, `/v1/transactions?${ALL}`)).toEqual([]);
    expectProblem(await get(`/v1/transactions/${before.get('a 1')?.id}`, stranger), 404);
  });

  it('has cursors of its own, and says how far it has come', async () => {
    const { next } = await readPage(service, key, `/v1/transactions?${ALL}&per_page=1`);
    const issue = async (path: string) => (await get(path)).body.errors[0];
    expect(await issue(`${next}&order=newest`)).toMatchObject({
      path: 'cursor',
      message: expect.stringContaining('order'),
    });
    expect(await issue((next ?? '').replace('withdrawn=only&', ''))).toMatchObject({
      path: 'cursor',
      message: expect.stringContaining('withdrawn'),
    });
    const { headers } = await get(`/v1/transactions?${ALL}&q=nowhere`);
    expect(headers.get('ledgerbell-searched-through')).toBe('2026-05-05 13:00:00+03');
  });

  it('as CSV has two further columns, in which nothing can be executed', async () => {
    const header = async (query: string) => {
      const { body } = await get(`/v1/transactions?starts=2026-01-01&format=csv${query}`);
      return body.split('\r\n')[0] as string;
    };
    const usual = await header('');
    expect(usual).toMatch(/,unique_id$/);
    expect(await header('&withdrawn=only')).toBe(`${usual},withdrawn_at,withdrawn_reason`);
    expect(await header('&withdrawn=only&fields=extended')).toContain('withdrawn_reason,value_date');
    const { body, headers } = await get(
      `/v1/transactions?${ALL}&format=csv&columns=unique_id,withdrawn_at,withdrawn_reason`,
    );
    expect(headers.get('content-disposition')).toContain('withdrawn-movements-2026-01-01.csv');
    expect(body.split('\r\n').slice(1)).toEqual([
      'c 1,2026-05-05 12:00:00+03,sent twice',
      'c 2,2026-05-05 12:00:00+03,sent twice',
      `a 1,2026-05-05 13:00:00+03,"'=wrong ""account"""`,
      `a 2,2026-05-05 13:00:00+03,"'=wrong ""account"""`,
      '',
    ]);
  });

  it('lists a movement whose withdrawal retention has removed, without its reason', async () => {
    const { api_key: own } = await service.customer();
    const account = await createAccount(service, own);
    const { id } = await importMovements(service, own, [movement(account.id)]);
    await withdrawn(service, own, `imports/${id}`);
    await service.runtime.database.query('DELETE FROM withdrawals WHERE import_id = ?', [id]);
    const { body } = await get(`/v1/transactions?${ALL}`, own);
    expect(body.transactions).toMatchObject([{ withdrawn_reason: '' }]);
  });
});

describe('GET /v1/transactions/:id', () => {
  it('shows a withdrawn movement as its listing does', async () => {
    const [first] = (await get(`/v1/transactions?${ALL}&fields=extended`)).body.transactions;
    const one = await get(`/v1/transactions/${first.id}?fields=extended`);
    expect([one.status, one.body]).toEqual([200, { transaction: first }]);
    expect(first).toMatchObject({ withdrawn_reason: 'sent twice', extended: { currency: 'TRY' } });
  });
});

const IBAN = 'DE89370400440532013000';

/** A camt.053 of a day of March with one entry. */
const camt = (day: string, dc: string, isReversal: boolean) =>
  `<Document><BkToCstmrStmt><GrpHdr/><Stmt><Id>S-${day}</Id><Acct><Id><IBAN>${IBAN}</IBAN></Id><Ccy>EUR</Ccy></Acct>
<Ntry><Amt Ccy="EUR">10.00</Amt><CdtDbtInd>${dc}</CdtDbtInd><RvslInd>${isReversal}</RvslInd><Sts>BOOK</Sts>
<BookgDt><Dt>2026-03-${day}</Dt></BookgDt><ValDt><Dt>2026-03-${day}</Dt></ValDt>
<NtryDtls><TxDtls><Refs><EndToEndId>E-1</EndToEndId></Refs></TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>`;

describe('the extended object', () => {
  it('of a withdrawn movement stays as it was, and what took it back says so no more', async () => {
    const { api_key: own } = await service.customer();
    await createAccount(service, own, { iban: IBAN, currency: 'EUR' });
    const first = await upload(service, own, camt('02', 'CRDT', false));
    const second = await upload(service, own, camt('04', 'DBIT', true));
    const extended = async (query: string) =>
      (await get(`/v1/transactions?starts=2026-01-01&fields=extended${query}`, own)).body.transactions;
    const [paid, back] = await extended('');
    expect(back.extended).toMatchObject({ end_to_end_id: 'E-1', reverses: paid.id });

    await withdrawn(service, own, `imports/${first.id}`);
    expect(await extended('')).toEqual([{ ...back, extended: { ...back.extended, reverses: null } }]);
    const [gone] = await extended('&withdrawn=only');
    expect(gone).toMatchObject({ id: paid.id, extended: paid.extended });
    await withdrawn(service, own, `imports/${second.id}`);
    expect((await extended('&withdrawn=only')).map((it: { extended: object }) => it.extended)).toEqual([
      paid.extended,
      back.extended,
    ]);
  });
});
