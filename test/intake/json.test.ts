import { describe, expect, it } from 'vitest';
import { readAll, uniqueIds } from '../support/listing.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { countRows } from '../support/rows.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useOwnService({ because: 'it counts the rows of all tables', roles: ['api', 'importer'] });

const customerWithAccount = async () => {
  const { api_key: key } = await service.customer();
  return { key, account: (await createAccount(service, key)).id };
};

describe('a JSON import', () => {
  it('is accepted with 202 and Location, can be followed, and ends as done', async () => {
    const { key, account } = await customerWithAccount();
    const { status, headers, body } = await service.call('POST', '/v1/imports', {
      key,
      body: { transactions: [movement(account), movement(account)] },
    });
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/v1/imports/${body.import.id}`);
    expect(body).toEqual({
      import: {
        id: expect.any(Number),
        source_id: null,
        status: expect.stringMatching(/^(queued|running|done)$/),
        format: 'json',
        received: 2,
        inserted: expect.any(Number),
        duplicates: expect.any(Number),
        changed: 0,
        assumed_duplicates: 0,
        assumed_new: 0,
        conflicts: 0,
        statements: 0,
        warnings: 0,
        first_warnings: [],
        contradicts: [],
        detected_format: null,
        rejected: 0,
        deliveries: 0,
        received_at: expect.any(String),
        started_at: body.import.started_at,
        finished_at: body.import.finished_at,
        error: null,
      },
    });
    const done = await importDone(service, key, body.import.id);
    expect(done).toMatchObject({ received: 2, inserted: 2, duplicates: 0, rejected: 0, error: null });
    expect(Date.parse(done.finished_at)).toBeGreaterThanOrEqual(Date.parse(done.received_at));
    const { gaps, ...listed } = done;
    expect(gaps).toEqual([]);
    const list = await service.call('GET', '/v1/imports', { key });
    expect(list.body).toEqual({ imports: [listed] });
    expect((await service.call('GET', `/v1/imports/${done.id}/errors`, { key })).body).toEqual({
      import: listed,
      errors: [],
      warnings: [],
    });
  });

  it('of more than one chunk is stored completely, and its staged bytes are released', async () => {
    const { key, account } = await customerWithAccount();
    const rows = Array.from({ length: 3_333 }, (_, i) => movement(account, { unique_id: `row ${i}` }));
    const done = await importMovements(service, key, rows);
    expect(done).toMatchObject({ received: 3_333, inserted: 3_333, duplicates: 0 });
    const listed = await readAll(service, key, '/v1/transactions?starts=2026-01-15');
    expect(uniqueIds(listed)).toEqual(rows.map(({ unique_id }) => unique_id));
    await until('the staged bytes gone', async () => {
      const [row] = await service.runtime.database.query<{ n: string }[]>(
        'SELECT COUNT(*) AS n FROM import_parts WHERE import_id = ?',
        [done.id],
      );
      return row?.n === '0';
    });
  });

  it('of no movements is done with zero rows', async () => {
    const { key } = await customerWithAccount();
    expect(await importMovements(service, key, [])).toMatchObject({ received: 0, inserted: 0, rejected: 0 });
  });

  it('may begin with a byte order mark', async () => {
    const { key, account } = await customerWithAccount();
    const { status, body } = await service.call('POST', '/v1/imports', {
      key,
      body: `\uFEFF${JSON.stringify({ transactions: [movement(account)] })}`,
    });
    expect(status).toBe(202);
    expect(await importDone(service, key, body.import.id)).toMatchObject({ received: 1, inserted: 1 });
  });

  it("keeps the bank's texts unchanged", async () => {
    const { key, account } = await customerWithAccount();
    const sent = {
      description: ' İĞÜŞÖÇ ığüşöç 🙂 👩‍👩‍👧 "\'\\ \0 \n %s ? :a <b> ',
      name: 'Şükrü',
      opponent_id: ' 12345678901',
      opponent_iban: 'TR00 not an IBAN',
      code: '🙂',
      amount: '999999999999999999.99',
      balance: '-0.05',
      unique_id: 'ığ 🙂',
    };
    await importMovements(service, key, [
      movement(account, sent),
      movement(account, { amount: '7', balance: '-12.5', date_issue: '2024-02-29', unique_id: '2' }),
      movement(account, {
        amount: '0.1',
        description: '',
        code: null,
        opponent_iban: undefined,
        unique_id: '3',
      }),
      movement(account, { amount: '-0.00', balance: '-0', unique_id: '4' }),
    ]);
    const rows = await readAll(service, key, '/v1/transactions?starts=2000-01-01');
    expect(rows).toEqual([
      expect.objectContaining(sent),
      expect.objectContaining({ amount: '7.00', balance: '-12.50', date_issue: '2024-02-29' }),
      expect.objectContaining({ amount: '0.10', description: '', code: '', opponent_iban: '' }),
      expect.objectContaining({ amount: '0.00', balance: '0.00' }),
    ]);
  });

  const LONG = '1'.repeat(19);
  it.each([
    [
      'amount',
      ['12,3', '1e5', 'NaN', '', ' ', LONG, '0.001', '1.', '.5', '+1', '0x1F', '1 000', '١٢', 'Infinity'],
    ],
    ['amount', [7, 7.5, null, undefined, true, ['7'], {}, '7\n', '--1', `-${LONG}`, `${LONG}.00`]],
    ['balance', ['12,3', '1e5', 'NaN', '', LONG, '1.234', 7, false]],
    [
      'date_issue',
      ['2026-02-30', '2026-2-3', '2026-13-01', '2026-00-10', '2026-01-00', '2025-02-29', '1900-02-29'],
    ],
    [
      'date_issue',
      ['20260203', '03.02.2026', '2026-02-03T00:00:00Z', '0000-00-00', '0999-01-01', '', null, undefined],
    ],
    ['date_issue', [20260203, '2026-02-03 ', '+2026-02-03']],
    ['dc', ['debit', 'D', '', null, undefined, 1]],
    [
      'account_id',
      ['MARKER', '', '0', '-1', '1.0', '01', null, undefined, 1.5, {}, '9'.repeat(30), '1 OR 1=1'],
    ],
    ['account_id', ['999999999', 999_999_999]],
    ['unique_id', [7, true, [], 'MARKER'.repeat(50), '\ud800']],
    ['description', [7, 'MARKER'.repeat(1_000), 'MARKER\udfff']],
    ['name', [{}, 'x'.repeat(256)]],
    ['code', [0, 'x'.repeat(65)]],
    ['opponent_id', [12345678901, 'x'.repeat(65)]],
    ['opponent_iban', [1, 'x'.repeat(65)]],
    ['MARKED', ['x', null, 1]],
    ['toString', ['x']],
    ['__proto__', ['x']],
  ])('with a wrong %s is refused completely, and nothing of it is stored: %j', async (field, values) => {
    const { key, account } = await customerWithAccount();
    const before = await countRows(service);
    for (const value of values) {
      const wrong = Object.defineProperty({ ...movement(account) }, field, { value, enumerable: true });
      const answer = await service.call('POST', '/v1/imports', {
        key,
        body: { transactions: [movement(account), wrong, movement(account)] },
      });
      expect(expectProblem(answer, 422), `for ${JSON.stringify(value)}`).toEqual([`transactions.1.${field}`]);
      expect(JSON.stringify(answer.body)).not.toMatch(/MARKER|12,3/);
    }
    expect(await countRows(service)).toEqual(before);
  });

  it('with several issues lists each issue with its path', async () => {
    const { key, account } = await customerWithAccount();
    const answer = await service.call('POST', '/v1/imports', {
      key,
      body: {
        transactions: [
          movement(account, { amount: '1,0', dc: 'x' }),
          movement(account),
          movement(account, { date_issue: '2026-02-30' }),
        ],
      },
    });
    expect(expectProblem(answer, 422).sort()).toEqual([
      'transactions.0.amount',
      'transactions.0.dc',
      'transactions.2.date_issue',
    ]);
  });

  it('with thousands of issues gets an answer with at most 100 issues', async () => {
    const { key, account } = await customerWithAccount();
    const transactions = Array.from({ length: 5_000 }, () => movement(account, { amount: 1 }));
    const answer = await service.call('POST', '/v1/imports', { key, body: { transactions } });
    expect(expectProblem(answer, 422).length).toBeLessThanOrEqual(100);
  });

  it.each([
    ['transactions', {}],
    ['transactions', { transactions: null }],
    ['transactions', { transactions: {} }],
    ['transactions.0', { transactions: ['MARKER'] }],
    ['transactions.0', { transactions: [null] }],
    ['more', { transactions: [], more: 'MARKER' }],
  ])('with a wrong outer structure is refused: %s in %j', async (path, body) => {
    const { key } = await customerWithAccount();
    const before = await countRows(service);
    const answer = await service.call('POST', '/v1/imports', { key, body });
    expect(expectProblem(answer, 422)).toEqual([path]);
    expect(JSON.stringify(answer.body)).not.toContain('MARKER');
    expect(await countRows(service)).toEqual(before);
  });
});

it('a wrong account is named together with the other errors of the body', async () => {
  const { key, account } = await customerWithAccount();
  const { account: foreign } = await customerWithAccount();
  const answer = await service.call('POST', '/v1/imports', {
    key,
    body: {
      transactions: [
        movement(account, { amount: 'a lot' }),
        movement(foreign, { date_issue: 'yesterday' }),
        movement('999999999'),
        movement('none'),
        'no movement',
      ],
    },
  });
  expect(expectProblem(answer, 422).toSorted()).toEqual([
    'transactions.0.amount',
    'transactions.1.account_id',
    'transactions.1.date_issue',
    'transactions.2.account_id',
    'transactions.3.account_id',
    'transactions.4',
  ]);
});

it('a JSON import refuses a query parameter that it would ignore', async () => {
  const { api_key: key } = await service.customer();
  const { status, body } = await service.call('POST', '/v1/imports?account_id=1', {
    key,
    body: { transactions: [] },
  });
  expect([status, body.errors?.[0]?.path]).toEqual([422, 'account_id']);
});
