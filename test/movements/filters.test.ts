import { beforeAll, describe, expect, it } from 'vitest';
import { type Listed, readPage, uniqueIds } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

const DAYS = ['2025-12-31', '2026-01-01', '2026-01-02', '2026-02-28', '2026-03-01'];
/** `date_readed` of three imports (UTC). */
const READ = ['2026-03-01 20:59:59.999999', '2026-03-01 21:00:00.000000', '2026-03-01 21:00:00.500000'];

let key: string;
let one: string;
let two: string;
/** The two listings. Both contain account `one`. The first also contains account `two`. */
let routes: string[];

beforeAll(async () => {
  key = (await service.customer()).api_key;
  one = (await createAccount(service, key, { title: 'Bir' })).id;
  two = (await createAccount(service, key, { title: 'İki', bank: 'Akbank' })).id;
  routes = ['/v1/transactions', `/v1/accounts/${one}/transactions`];
  for (const read of READ) {
    const { id } = await importMovements(
      service,
      key,
      // Not in the order of their days, because a listing is in the order of ids.
      [...DAYS]
        .reverse()
        .map((day) => movement(one, { date_issue: day, unique_id: `${READ.indexOf(read)} ${day}` })),
    );
    await service.runtime.database.query('UPDATE transactions SET date_readed = ? WHERE import_id = ?', [
      read,
      id,
    ]);
  }
});

const list = (route: string, query: string) => readPage(service, key, `${route}?${query}`);

const expected = (reads: number[], days: string[]) =>
  reads.flatMap((read) => [...days].reverse().map((day) => `${read} ${day}`));

describe('a listing of movements', () => {
  it.each([
    ['starts=2026-01-01', [0, 1, 2], DAYS.slice(1)],
    ['ends=2026-01-02', [0, 1, 2], DAYS.slice(0, 3)],
    ['starts=2026-01-01&ends=2026-02-28', [0, 1, 2], DAYS.slice(1, 4)],
    ['starts=2026-01-02&ends=2026-01-02', [0, 1, 2], DAYS.slice(2, 3)],
    ['starts=2026-01-03&ends=2026-02-27', [], []],
    ['starts=2027-01-01', [], []],
    ['ends=1000-01-01', [], []],
    ['starts=1000-01-01&ends=9999-12-31', [0, 1, 2], DAYS],
    // Without an offset, the service's own applies: +03.
    ['after=2026-03-01 23:59:59', [0, 1, 2], DAYS],
    ['after=2026-03-02 00:00:00', [1, 2], DAYS],
    ['after=2026-03-02T00:00:00', [1, 2], DAYS],
    ['after=2026-03-02 00:00:01', [], []],
    ['after=2026-03-01 21:00:00%2B00', [1, 2], DAYS],
    ['after=2026-03-01 21:00:00+00', [1, 2], DAYS],
    ['after=2026-03-01 21:00:00Z', [1, 2], DAYS],
    ['after=2026-03-02 00:00:00%2B03', [1, 2], DAYS],
    ['after=2026-03-02 00:00:00+03', [1, 2], DAYS],
    ['after=2026-03-02 02:30:00%2B05:30', [1, 2], DAYS],
    ['after=2026-03-01%2017%3A30%3A00-03%3A30', [1, 2], DAYS],
    ['after=2026-03-01 21:00:00-03', [], []],
    ['after=2026-03-02 00:00:00&starts=2026-01-02&ends=2026-02-28', [1, 2], DAYS.slice(2, 4)],
  ])('shows only movements that match the filter, both ends inclusive: %s', async (query, reads, days) => {
    for (const route of routes) {
      expect(uniqueIds((await list(route, query)).rows)).toEqual(expected(reads, days));
    }
  });

  it('is in order of id, each movement with its account and bank, and no further fields', async () => {
    const answer = await service.call('GET', '/v1/transactions?starts=2000-01-01', { key });
    const rows = answer.body.transactions as Record<string, unknown>[];
    const ids = rows.map(({ id }) => id as number);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const { body } = await service.call('GET', `/v1/accounts/${one}`, { key });
    const [account] = body.accounts;
    expect(rows[0]).toEqual({
      ...movement(one, { date_issue: '2026-03-01', unique_id: '0 2026-03-01' }),
      id: expect.any(Number),
      account_id: Number(one),
      date_readed: '2026-03-01 23:59:59+03',
      account: {
        id: Number(one),
        title: 'Bir',
        currency: 'TRY',
        bank_id: account.bank.id,
        bank: account.bank,
      },
    });
    expect(Object.keys(rows[0] ?? {})).toEqual(
      'id account_id name dc code amount balance description date_issue date_readed opponent_id opponent_iban unique_id account'.split(
        ' ',
      ),
    );
  });

  it('accepts any date_readed as after, with its "+" encoded or not', async () => {
    const { rows } = await list(routes[0] ?? '', 'starts=2000-01-01');
    for (const { date_readed } of rows) {
      const first = rows.find((row) => row.date_readed === date_readed) as Listed;
      for (const text of [date_readed, encodeURIComponent(date_readed), date_readed.replace('+', ' ')]) {
        for (const route of routes) {
          expect((await list(route, `after=${text}`)).rows[0]?.id).toBe(first.id);
        }
      }
    }
  });

  it('of an account without movements is empty', async () => {
    for (const query of ['starts=2000-01-01', 'after=2000-01-01 00:00:00']) {
      expect(await list(`/v1/accounts/${two}/transactions`, query)).toEqual({ rows: [], next: null });
    }
  });

  it.each([
    ['starts', ''],
    ['starts', 'per_page=10&page=1'],
    ['starts', 'starts=2026-01-02&ends=2026-01-01'],
    ['starts', 'starts=2026-02-30'],
    ['starts', 'starts=2026-2-3'],
    ['starts', 'starts='],
    ['starts', 'starts=MARKER'],
    ['starts', 'starts=2026-01-01 00:00:00'],
    ['starts', 'starts=2026-01-01&starts=2026-01-02'],
    ['ends', 'ends=2025-02-29'],
    ['ends', 'ends=0000-00-00'],
    ['after', 'after=2026-01-01'],
    ['after', 'after=2026-02-30 00:00:00'],
    ['after', 'after=2026-01-01 24:00:00'],
    ['after', 'after=MARKER'],
    ['after', 'after=2026-01-01 00:00:00%2B99'],
    ['after', 'after='],
    ['page', 'starts=2026-01-01&page=0'],
    ['page', 'starts=2026-01-01&page=-1'],
    ['page', 'starts=2026-01-01&page=1.5'],
    ['page', 'starts=2026-01-01&page=abc'],
    ['page', 'starts=2026-01-01&page=1e3'],
    ['page', 'starts=2026-01-01&page='],
    ['page', 'starts=2026-01-01&page=99999999999999999999'],
    ['per_page', 'starts=2026-01-01&per_page=0'],
    ['per_page', 'starts=2026-01-01&per_page=1001'],
    ['per_page', 'starts=2026-01-01&per_page=abc'],
    ['per_page', 'starts=2026-01-01&per_page=-5'],
    ['per_page', 'starts=2026-01-01&per_page=10.0'],
    ['cursor', 'starts=2026-01-01&cursor='],
    ['cursor', 'starts=2026-01-01&cursor=MARKER'],
    ['cursor', 'starts=2026-01-01&cursor=1'],
    ['page', 'starts=2026-01-01&page=1&cursor=dDE6MQ'],
    ['MARKED', 'starts=2026-01-01&MARKED=1'],
    ['order', 'starts=2026-01-01&order=MARKER'],
  ])('is refused for %s in "%s"', async (path, query) => {
    for (const route of routes) {
      const answer = await service.call('GET', `${route}?${query}`, { key });
      expect(expectProblem(answer, 422)).toEqual([path]);
      expect(JSON.stringify(answer.body)).not.toContain('MARKER');
    }
  });
});
