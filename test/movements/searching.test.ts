import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { withdrawn } from '../intake/withdrawals/withdrawn.ts';
import { type Listed, readAll, readPage, uniqueIds } from '../support/listing.ts';
import { createAccount, importMovements, largeImport, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService({ roles: ['api', 'importer'] });

const RUNS = 100;
const SEED = 20_261_129;

/** A movement, as the table has it. */
interface Row {
  id: string;
  account_id: string;
  import_id: string;
  unique_id: string;
  dc: string;
  amount: string;
  currency: string;
  description: string | null;
  name: string | null;
  code: string | null;
  opponent_id: string | null;
  opponent_iban: string | null;
  date_issue: string;
}

const read = (table: string, order: string) => `
  SELECT t.id, t.account_id, t.import_id, CONVERT(t.unique_id USING utf8mb4) AS unique_id, t.dc, t.amount, a.currency, t.description, t.name,
    t.code, t.opponent_id, t.opponent_iban, t.date_issue
  FROM ${table} t JOIN accounts a ON a.id = t.account_id WHERE t.customer_id = ? ORDER BY t.${order}`;

const NAMES = [
  'Şükrü IŞIK',
  'İnce & Söhne',
  'MÜLLER Straße 4',
  'ΟΔΟΣ Ερμού',
  'Łódź sp. z o.o.',
  null,
  'ﬁrma',
  'a\nb',
];
const TEXTS = [
  'Invoice 4711',
  'FATURA 4711-B',
  'rent März',
  null,
  'ISIK ödeme',
  '=SUM(A1)',
  'x'.repeat(4_000),
];
const IBANS = ['DE89 3704 0044 0532 0130 00', 'de89370400440532013000', 'TR330006100519786457841326', null];
const AMOUNTS = ['0.00', '-5.00', '9.99', '10.00', '1250.00', '1250.50', '999999999999999999.99'];
const WORDS = [
  'ışık',
  'ISIK',
  'işik',
  'strasse',
  'STRASSE müller',
  'οδοσ',
  'firma',
  '4711',
  'fatura b',
  '3704',
  'sp. o.o.',
  'ince ode',
  'ab',
  'nowhere',
  '%',
  '_',
  "' OR 1=1",
  '\\',
  'märz',
  'marz rent',
]; // prettier-ignore
const DAYS = ['2026-01-05', '2026-01-31', '2026-02-01', '2026-02-28', '2026-03-15'];

let key: string;
let customerId: string;
let accounts: string[];
let rows: Row[];
/** In the order of their withdrawals. */
let withdrawnRows: Row[];
let imports: string[];
/** Indexes of the imports that are withdrawn, in this order. No other import has their movements. */
const WITHDRAWN = [7, 5, 6];

const pick = <T>(list: readonly T[], at: number): T => list[at % list.length] as T;

beforeAll(async () => {
  const customer = await service.customer();
  key = customer.api_key;
  customerId = String(customer.customer.id);
  const made = [];
  for (const currency of ['TRY', 'EUR', 'EUR']) made.push(await createAccount(service, key, { currency }));
  accounts = made.map(({ id }) => id);
  imports = [];
  for (let part = 0; part < 8; part += 1) {
    const { id } = await importMovements(
      service,
      key,
      Array.from({ length: 60 }, (_, index) => {
        const n = part * 60 + index;
        return movement(pick(accounts, n * 7 + part), {
          unique_id: `${n % 50} ${part < 5 ? part % 3 : part}`,
          dc: n % 3 === 0 ? 'Debit' : 'Credit',
          name: pick(NAMES, n * 5 + part),
          description: pick(TEXTS, n * 3 + part),
          opponent_iban: pick(IBANS, n),
          opponent_id: n % 4 === 0 ? 'ıd 77' : null,
          code: n % 5 === 0 ? 'CHQ' : null,
          amount: pick(AMOUNTS, n * 11 + part),
          date_issue: pick(DAYS, n * 13),
        });
      }),
    );
    imports.push(String(id));
  }
  for (const at of WITHDRAWN) await withdrawn(service, key, `imports/${imports[at]}`, `reason ${at}`);
  const { database } = service.runtime;
  rows = await database.query(read('transactions', 'id'), [customerId]);
  withdrawnRows = await database.query(read('withdrawn_transactions', 'event_id'), [customerId]);
});

/** Without case and marks, character by character. */
const plain = (text: string | null): string =>
  [...(text ?? '').normalize('NFKD')]
    .filter((it) => !/^\p{M}$/u.test(it))
    .map((it) => (it === 'ß' ? 'ss' : it === 'ς' ? 'σ' : it === 'ı' ? 'i' : it.toLowerCase()))
    .join('')
    .replaceAll('ς', 'σ');

const thousandths = (amount: string): bigint => {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  return BigInt(sign + whole + fraction.padEnd(3, '0'));
};

type Query = Partial<Record<(typeof NAMES_OF_FILTERS)[number], string>>;
const NAMES_OF_FILTERS = [
  'dc',
  'amount',
  'amount_min',
  'amount_max',
  'currency',
  'q',
  'opponent_iban',
  'unique_id',
  'import_id',
  'account',
  'starts',
  'ends',
] as const; // prettier-ignore

/** Decides for one row and one filter. */
const IS_LISTED: Record<keyof Query, (row: Row, value: string) => boolean> = {
  dc: (row, value) => row.dc === value,
  amount: (row, value) => thousandths(row.amount) === thousandths(value),
  amount_min: (row, value) => thousandths(row.amount) >= thousandths(value),
  amount_max: (row, value) => thousandths(row.amount) <= thousandths(value),
  currency: (row, value) => row.currency === value,
  q: (row, value) => {
    const iban = (row.opponent_iban ?? '').replaceAll(' ', '');
    const fields = [row.description, row.name, row.opponent_id, iban, row.code].map(plain);
    return plain(value)
      .split(' ')
      .every((word) => fields.some((field) => field.includes(word)));
  },
  opponent_iban: (row, value) =>
    (row.opponent_iban ?? '').replaceAll(' ', '').toLowerCase() === value.replaceAll(' ', '').toLowerCase(),
  unique_id: (row, value) => row.unique_id === value,
  import_id: (row, value) => row.import_id === value,
  account: (row, value) => value.split(',').includes(row.account_id),
  starts: (row, value) => row.date_issue >= value,
  ends: (row, value) => row.date_issue <= value,
};

const expected = (query: Query, all = rows): string[] =>
  all
    .filter((row) =>
      Object.entries(query).every(([name, value]) => IS_LISTED[name as keyof Query](row, value)),
    )
    .map(({ id }) => id);

const NEEDED = ['starts', 'ends', 'unique_id', 'import_id'] as const;

/** Listings that the API accepts, with a few of the filters. */
const listings = (names: fc.Arbitrary<(keyof Query)[]>): fc.Arbitrary<Query> =>
  fc
    .tuple(
      names,
      fc.record({
        dc: fc.constantFrom('Debit', 'Credit'),
        amount: fc.constantFrom('10', '10.0', '1250.500', '-5', '0', '7'),
        amount_min: fc.constantFrom('-10', '9.991', '10'),
        amount_max: fc.constantFrom('10', '1250.5', '999999999999999999.990'),
        currency: fc.constantFrom('TRY', 'EUR', 'USD'),
        q: fc.constantFrom(...WORDS),
        opponent_iban: fc.constantFrom('DE89370400440532013000', 'tr33 0006 1005 1978 6457 8413 26', 'DE00'),
        unique_id: fc.constantFrom('7 1', '7 2', '11 0', '7 6', 'none'),
        import_id: fc.nat(7).map((it) => pick(imports, it)),
        account: fc.constantFrom([0], [1, 2], [2, 0]).map((it) => it.map((at) => accounts[at]).join(',')),
        starts: fc.constantFrom('2026-01-01', '2026-01-31', '2026-02-02'),
        ends: fc.constantFrom('2026-02-28', '2026-12-31'),
      }),
    )
    .map(([chosen, values]) => {
      const query: Query = Object.fromEntries(chosen.map((name) => [name, values[name]]));
      return NEEDED.some((name) => query[name] !== undefined) ? query : { ...query, starts: '2026-01-01' };
    });

const target = (query: Query, more: Record<string, string> = {}): string =>
  `/v1/transactions?${new URLSearchParams({ ...query, ...more })}`;

describe('the filters of a listing', () => {
  it.each(NAMES_OF_FILTERS)('%s alone lists what a plain comparison lists', async (name) => {
    await fc.assert(
      fc.asyncProperty(listings(fc.constant([name])), async (query) => {
        expect((await readAll(service, key, target(query))).map(({ id }) => id)).toEqual(expected(query));
      }),
      { numRuns: 8, seed: SEED },
    );
  });

  it('list together what a plain comparison lists, in both orders, in pages of any size, and as CSV', async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        listings(fc.subarray([...NAMES_OF_FILTERS], { maxLength: 4 })),
        fc.constantFrom('9', '40', '1000'),
        fc.constantFrom('oldest', 'newest'),
        async (query, per_page, order) => {
          const ids = expected(query);
          found += ids.length;
          const wanted = order === 'oldest' ? ids : [...ids].reverse();
          const listed = await readAll(service, key, target(query, { per_page, order }));
          expect(listed.map(({ id }) => id)).toEqual(wanted);
          const path = target(query, { per_page, order, format: 'csv', columns: 'id' });
          const csv = await service.call('GET', path, { key });
          expect(csv.body.split('\r\n')).toEqual(['id', ...wanted, '']);
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
    expect(found).toBeGreaterThan(RUNS);
  });

  it('list withdrawn movements alone, as a plain comparison lists them, in the order of withdrawals', async () => {
    expect(new Set(withdrawnRows.map((row) => row.import_id))).toEqual(
      new Set(WITHDRAWN.map((at) => imports[at])),
    );
    expect(withdrawnRows[0]?.import_id).toBe(imports[7]);
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        listings(fc.subarray([...NAMES_OF_FILTERS], { maxLength: 3 })),
        fc.constantFrom('9', '40', '1000'),
        fc.constantFrom('oldest', 'newest'),
        async (query, per_page, order) => {
          const ids = expected(query, withdrawnRows);
          found += ids.length;
          const wanted = order === 'oldest' ? ids : ids.toReversed();
          const more = { per_page, order, withdrawn: 'only' };
          const listed = await readAll(service, key, target(query, more));
          expect(listed.map(({ id }) => id)).toEqual(wanted);
          const csv = await service.call('GET', target(query, { ...more, format: 'csv', columns: 'id' }), {
            key,
          });
          expect(csv.body.split('\r\n')).toEqual(['id', ...wanted, '']);
        },
      ),
      { numRuns: RUNS / 2, seed: SEED },
    );
    expect(found).toBeGreaterThan(RUNS);
  });

  it('work on the listing of an account', async () => {
    const [account = ''] = accounts;
    const path = `/v1/accounts/${account}/transactions?starts=2026-01-01&q=4711&amount_min=10&order=newest`;
    const wanted = expected({ starts: '2026-01-01', q: '4711', amount_min: '10', account }).reverse();
    expect(wanted.length).toBeGreaterThan(0);
    expect((await readAll(service, key, path)).map(({ id }) => id)).toEqual(wanted);
  });

  it('count pages by number where MySQL decides, also newest first', async () => {
    for (const query of [
      { dc: 'Credit', starts: '2026-01-01' },
      { import_id: imports[3] ?? '' },
      { unique_id: '7 1' },
    ]) {
      for (const order of ['oldest', 'newest']) {
        const ids = expected(query);
        const wanted = order === 'oldest' ? ids : [...ids].reverse();
        const { rows: page } = await readPage(
          service,
          key,
          target(query, { order, page: '2', per_page: '9' }),
        );
        expect(page.map(({ id }) => id)).toEqual(wanted.slice(9, 18));
        const { rows: far } = await readPage(
          service,
          key,
          target(query, { order, page: '23', per_page: '2' }),
        );
        expect(far.map(({ id }) => id)).toEqual(wanted.slice(44, 46));
      }
    }
  });

  it('do not move the pages of listings without them', async () => {
    const { api_key } = await service.customer();
    const account = await createAccount(service, api_key);
    const names = Array.from({ length: 12 }, (_, n) => `${n}`);
    await importMovements(
      service,
      api_key,
      names.map((unique_id) =>
        movement(account.id, { unique_id, description: Number(unique_id) % 5 ? 'x' : 'rare' }),
      ),
    );
    const list = async (query: string) =>
      uniqueIds(
        (await readPage(service, api_key, `/v1/transactions?starts=2026-01-01&per_page=2&${query}`)).rows,
      );
    expect(await list('q=rare')).toEqual(['0', '5']);
    expect(await list('order=newest')).toEqual(['11', '10']);
    expect(await list('dc=Credit&page=3')).toEqual(['4', '5']);
    expect(await list('page=2')).toEqual(['2', '3']);
    expect(await list('page=3')).toEqual(['4', '5']);
    expect(await list('order=newest&page=2')).toEqual(['9', '8']);
  });

  it('say how far they have come, with a moment that can be pasted as after', async () => {
    const { headers, body } = await service.call('GET', target({ starts: '2026-01-01', q: 'nowhere' }), {
      key,
    });
    expect(body.transactions).toEqual([]);
    const through = headers.get('ledgerbell-searched-through') ?? '';
    const [last] = await readAll(service, key, '/v1/transactions?starts=2026-01-01&order=newest&per_page=1');
    expect(through).toBe(last?.date_readed);
    expect(await readAll(service, key, `/v1/transactions?after=${encodeURIComponent(through)}`)).not.toEqual(
      [],
    );
    const plainPage = await service.call('GET', target({ starts: '2026-01-01', dc: 'Debit' }), { key });
    expect(plainPage.headers.get('ledgerbell-searched-through')).toBeNull();
  });

  it.each([
    ['amount=1,5', 'amount', 'such as 1250'],
    ['amount_min=1.2345', 'amount_min', 'at most three'],
    ['amount_max=1e9', 'amount_max', 'such as 1250'],
    [`amount=${'9'.repeat(5_000)}`, 'amount', 'at most 18 digits'],
    ['amount_min=5&amount_max=4', 'amount_min', 'more than amount_max'],
    ['q=', 'q', '1 to 20 words'],
    ['q=%CC%81', 'q', '1 to 20 words'],
    [`q=${Array.from({ length: 21 }, (_, at) => at).join('+')}`, 'q', '1 to 20 words'],
    [`q=${'a'.repeat(201)}`, 'q', '200 characters'],
    ['opponent_iban=+', 'opponent_iban', 'blank'],
    ['unique_id=', 'unique_id', 'blank'],
    ['dc=debit', 'dc', '"Debit" or "Credit"'],
    ['currency=eur', 'currency', 'capital letters'],
    ['order=descending', 'order', '"oldest" or "newest"'],
    ['account=0', 'account', 'ids of accounts'],
    ['account=1,,2', 'account', 'ids of accounts'],
    ['separator=semicolon', 'separator', 'only for a CSV'],
    ['account=999999999', 'account', 'not one of your accounts'],
    [`account=${Array.from({ length: 101 }, (_, at) => at + 1)}`, 'account', 'at most 100'],
    ['import_id=999999999', 'import_id', 'not one of your imports'],
    ['page=2&q=x', 'page', 'Link'],
    ['page=2&amount=1', 'page', 'Link'],
    ['page=2&withdrawn=only', 'page', 'cursor'],
    ['withdrawn=all', 'withdrawn', '"only"'],
    ['columns=id', 'columns', 'only for a CSV'],
    ['format=xml', 'format', '"json" or "csv"'],
    ['format=csv&columns=id,secret', 'columns', 'unique_id'],
    ['format=csv&page=1', 'page', 'all pages'],
  ])('refuse %s', async (query, path, message) => {
    const response = await service.call('GET', `/v1/transactions?starts=2026-01-01&${query}`, { key });
    expectProblem(response, 422, 'invalid');
    const [issue] = response.body.errors;
    expect(issue.path).toBe(path);
    expect(issue.message).toContain(message);
  });

  it('refuse a cursor of the other order, and account on the listing of an account', async () => {
    const { next } = await readPage(service, key, '/v1/transactions?starts=2026-01-01&per_page=1');
    const other = await service.call('GET', `${next}&order=newest`, { key });
    expectProblem(other, 422, 'invalid');
    expect(other.body.errors[0].message).toContain('other order');
    const [account] = accounts;
    const own = await service.call(
      'GET',
      `/v1/accounts/${account}/transactions?starts=2026-01-01&account=${account}`,
      { key },
    );
    expectProblem(own, 422, 'invalid');
  });

  it('list what an import in several parts has stored, and a row of it that was decided later', async () => {
    const { api_key } = await service.customer();
    const account = await createAccount(service, api_key);
    const large = largeImport(account.id);
    const named = large.transactions.map((it, index) => ({ ...it, unique_id: `large ${index}` }));
    const first = await importMovements(service, api_key, [
      movement(account.id, { unique_id: 'large 0', amount: '1.00' }),
    ]);
    const second = await importMovements(service, api_key, named);
    await importMovements(service, api_key, [movement(account.id, { unique_id: 'after' })]);
    const list = (id: string) => readAll(service, api_key, `/v1/transactions?import_id=${id}`);
    expect(uniqueIds(await list(first.id))).toEqual(['large 0']);
    expect((await list(second.id)).length).toBe(named.length - 1);
    const { body } = await service.call('GET', '/v1/conflicts', { key: api_key });
    await service.call('POST', `/v1/conflicts/${body.conflicts[0].id}`, {
      key: api_key,
      body: { decision: 'store' },
    });
    expect((await list(second.id)).length).toBe(named.length);
  });

  it('miss nothing and repeat nothing while imports go on', async () => {
    const { api_key } = await service.customer();
    const account = await createAccount(service, api_key);
    const store = (part: number) =>
      importMovements(
        service,
        api_key,
        Array.from({ length: 300 }, (_, n) =>
          movement(account.id, { unique_id: `${part} ${n}`, description: n % 2 ? 'Odd' : 'Even' }),
        ),
      );
    for (const part of [0, 1]) await store(part);
    const before = await readAll(service, api_key, '/v1/transactions?starts=2026-01-01&q=odd');
    let importing = true;
    const storing = (async () => {
      for (let part = 2; part < 6; part += 1) await store(part);
    })().finally(() => {
      importing = false;
    });
    const read = async (order: string): Promise<Listed[][]> => {
      const all: Listed[][] = [];
      do {
        all.push(
          await readAll(
            service,
            api_key,
            `/v1/transactions?starts=2026-01-01&q=odd&order=${order}&per_page=40`,
          ),
        );
      } while (importing);
      return all;
    };
    const [oldest, newest] = await Promise.all([read('oldest'), read('newest'), storing]);
    for (const listed of [...oldest, ...newest]) {
      const ids = listed.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(before.every(({ id }) => ids.includes(id))).toBe(true);
    }
    await until('all are listed', async () => {
      const ids = uniqueIds(await readAll(service, api_key, '/v1/transactions?starts=2026-01-01&q=odd'));
      return ids.length === 900;
    });
  });
});
