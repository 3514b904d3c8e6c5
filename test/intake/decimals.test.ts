import { describe, expect, it } from 'vitest';
import { type FileFormat, renderDays, renderWorkbookOf } from '../../bench/statement-files.ts';
import { createVerifier } from '../../packages/sdk/src/receiver/index.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer', 'delivery'] });
const receiver = useReceiver();

/** The decimals that ISO 4217 gives the currency, and those with which Ledgerbell shows it. */
const CURRENCIES = [
  ['KWD', 3, 3],
  ['BHD', 3, 3],
  ['IQD', 3, 3],
  ['JOD', 3, 3],
  ['LYD', 3, 3],
  ['OMR', 3, 3],
  ['TND', 3, 3],
  ['TRY', 2, 2],
  ['JPY', 0, 2],
] as const;

const FORMATS = ['mt940', 'camt', 'ofx', 'csv', 'bai2', 'xlsx', 'json', 'ndjson'] as const;
type Format = (typeof FORMATS)[number];

const IBAN = 'TR320010009999901234567890';
const OPENING = 100_000;
/** In the smallest unit. In a currency with three decimals, the first ends with a zero, and only the others need all three. */
const AMOUNTS = [1_250, 5, -1_234];

/** The month of an account. */
function monthOf(currency: string, decimals: number, shown: number) {
  const write = (units: number) => (units / 10 ** decimals).toFixed(decimals);
  const show = (units: number) => (units / 10 ** decimals).toFixed(shown);
  let balance = OPENING;
  const movements = AMOUNTS.map((units, index) => {
    balance += units;
    return { units: Math.abs(units), isCredit: units > 0, balance, index };
  });
  const day = {
    date: '2026-03-02',
    opening: write(OPENING),
    entries: movements.map((it) => ({
      date: '2026-03-02',
      isCredit: it.isCredit,
      amount: write(it.units),
      balance: write(it.balance),
      reference: `R${it.index}`,
      text: `PAYMENT ${it.index}`,
      name: 'ADA',
      iban: 'TR330006100519786457841326',
    })),
  };
  return {
    account: { iban: IBAN, currency },
    days: [day],
    amounts: movements.map(({ units }) => show(units)),
    balances: movements.map((it) => show(it.balance)),
    opening: show(OPENING),
    closing: show(balance),
    show,
  };
}
type Month = ReturnType<typeof monthOf>;

function render(format: Format, { days, account }: Month, accountId: string): string | Uint8Array {
  if (format === 'xlsx') return renderWorkbookOf(days, account);
  if (format !== 'json' && format !== 'ndjson') return renderDays(format satisfies FileFormat, days, account);
  const rows = days.flatMap(({ entries }) =>
    entries.map((it) => ({
      account_id: accountId,
      dc: it.isCredit ? 'Credit' : 'Debit',
      amount: it.amount,
      balance: it.balance,
      description: it.text,
      date_issue: it.date,
    })),
  );
  return format === 'json'
    ? JSON.stringify({ transactions: rows })
    : rows.map((row) => JSON.stringify(row)).join('\n');
}

const CONTENT_TYPES = { json: 'application/json', ndjson: 'application/x-ndjson' };

function fieldsOf(form: string) {
  const fields = new URLSearchParams(form);
  const [description = '', amount = '', balance = ''] = ['description', 'amount', 'balance'].map(
    (name) => fields.get(name) ?? '',
  );
  return { description, amount, balance };
}

/** A new customer with an account and two webhooks, and what each place shows of its amounts. */
async function openAccount(month: Month, path: string) {
  const { api_key: key, api_secret: apiSecret } = await service.customer();
  const { id } = await createAccount(service, key, month.account);
  const secrets: string[] = [];
  for (const encoding of ['json', 'form'])
    secrets.push((await subscribe(service, key, `${receiver.url}${path}-${encoding}`, { encoding })).secret);
  const verify = createVerifier({ secrets, apiSecret });
  const get = async (where: string) => (await service.call('GET', where, { key })).body;
  const post = (format: Format, query = '') => {
    const isStatement = format !== 'json' && format !== 'ndjson';
    return service.call('POST', `/v1/imports?${isStatement ? `account_id=${id}&` : ''}${query}`, {
      key,
      body: render(format, month, id),
      type: isStatement ? 'application/octet-stream' : CONTENT_TYPES[format],
    });
  };
  return {
    id,
    key,
    get,
    post,
    async send(format: Format) {
      const { status, body } = await post(format);
      expect(status, JSON.stringify(body)).toBe(202);
      return importDone(service, key, body.import.id);
    },
    /** The notifications that a webhook got, each verified with its signature and its hash. */
    async notified(encoding: 'json' | 'form', count: number) {
      const received = await until(`${count} notifications`, () => {
        const all = receiver.at(`${path}-${encoding}`);
        return Promise.resolve(all.length === count && all);
      });
      const contents: { description: string; amount: string; balance: string }[] = [];
      for (const { headers, body } of received) {
        expect((await verify({ headers, body })).kind).toBe('movement');
        contents.push(encoding === 'json' ? JSON.parse(body) : fieldsOf(body));
      }
      return contents;
    },
    textOf: async (where: string) => {
      const { body } = await service.callOps('GET', where, { headers: { Accept: 'text/html' } });
      return String(body).replaceAll(/<[^>]*>/g, ' ');
    },
  };
}

const TABLE = CURRENCIES.flatMap(([currency, decimals, shown]) =>
  FORMATS.map((format) => ({ currency, decimals, shown, format })),
);

describe('amounts in a currency with three decimals, with two, and with none', () => {
  it.each(TABLE)(
    'are shown with the same digits everywhere: $currency as $format',
    async ({ currency, decimals, shown, format }) => {
      const month = monthOf(currency, decimals, shown);
      const { amounts, opening, closing } = month;
      // OFX has the closing balance only.
      const balances = month.balances.map((balance) => (format === 'ofx' ? '' : balance));
      const it = await openAccount(month, `/${currency}-${format}`);
      const moneyOf = (rows: { amount: string; balance: string }[]) => [
        rows.map(({ amount }) => amount),
        rows.map(({ balance }) => balance),
      ];

      if (format !== 'json') {
        const { body: dry } = await it.post(format, 'dry_run=true');
        expect(moneyOf(dry.transactions)).toEqual([amounts, balances]);
        for (const statement of dry.statements) expect([opening, null]).toContain(statement.opening);
        for (const statement of dry.statements)
          if (statement.closing !== null) expect(statement.closing).toBe(closing);
      }
      expect(await it.send(format)).toMatchObject({ status: 'done', inserted: 3, rejected: 0, warnings: 0 });
      const { transactions } = await it.get('/v1/transactions?starts=2026-01-01');
      expect(moneyOf(transactions)).toEqual([amounts, balances]);
      const one = await it.get(`/v1/transactions/${transactions[0].id}`);
      expect(moneyOf([one.transaction])).toEqual([[amounts[0]], [balances[0]]]);
      for (const encoding of ['json', 'form'] as const) {
        const contents = await it.notified(encoding, 3);
        const sorted = contents.sort((one, other) => one.description.localeCompare(other.description));
        expect(moneyOf(sorted)).toEqual([amounts, balances]);
      }

      const { accounts } = await it.get('/v1/accounts');
      expect(accounts[0].balance).toBe(closing);
      const days = await it.get(`/v1/accounts/${it.id}/balances`);
      expect(days.balances[0].balance).toBe(closing);
      const { statements } = await it.get(`/v1/accounts/${it.id}/statements`);
      const isStatement = format !== 'json' && format !== 'ndjson';
      expect(statements).toHaveLength(isStatement ? 1 : 0);
      if (!isStatement || format === 'ofx') return;
      expect(statements[0]).toMatchObject({ opening_balance: opening, closing_balance: closing });
      const { completeness } = await it.get(`/v1/accounts/${it.id}/completeness`);
      expect(completeness).toMatchObject({
        status: 'complete',
        periods: [{ opening_balance: opening, closing_balance: closing, difference: month.show(0) }],
      });
      expect(await it.textOf(`/ops/books/accounts/${it.id}`)).toContain(` ${closing} `);
    },
  );

  it.each(CURRENCIES)(
    'are shown with the same digits in conflicts: %s',
    async (currency, decimals, shown) => {
      const month = monthOf(currency, decimals, shown);
      const it = await openAccount(month, `/${currency}-conflict`);
      const row = (amount: string) => movement(it.id, { amount, balance: null, unique_id: 'R1' });
      await importMovements(service, it.key, [row('7')]);
      expect(await importMovements(service, it.key, [row('7.000')])).toMatchObject({ duplicates: 1 });
      expect(await importMovements(service, it.key, [row('8.50')])).toMatchObject({ conflicts: 1 });
      const { conflicts } = await it.get('/v1/conflicts');
      expect(conflicts).toMatchObject([
        { stored: { amount: (7).toFixed(shown) }, received: { amount: (8.5).toFixed(shown) } },
      ]);
    },
  );
});

describe('a month in a currency with three decimals', () => {
  it('is known in each format after the first, complete, and delivered once', async () => {
    const month = monthOf('KWD', 3, 3);
    const it = await openAccount(month, '/month');
    const formats = ['mt940', 'camt', 'ofx', 'csv', 'json'] as const;
    for (const [index, format] of formats.entries())
      expect(await it.send(format), format).toMatchObject(
        index === 0 ? { inserted: 3, duplicates: 0 } : { inserted: 0, duplicates: 3, assumed_new: 0 },
      );
    expect((await it.get(`/v1/accounts/${it.id}/completeness`)).completeness.status).toBe('complete');
    expect(await it.notified('json', 3)).toHaveLength(3);
  });

  it('has a gap whose difference has three digits', async () => {
    const month = monthOf('KWD', 3, 3);
    const it = await openAccount(month, '/gap');
    await it.send('mt940');
    const [day] = month.days;
    const later = { date: '2026-03-05', opening: '101.234', entries: [] };
    const body = renderDays('mt940', [later], month.account);
    const { body: sent } = await service.call('POST', '/v1/imports', {
      key: it.key,
      body,
      type: 'application/octet-stream',
    });
    await importDone(service, it.key, sent.import.id);
    const { completeness } = await it.get(`/v1/accounts/${it.id}/completeness`);
    expect(day?.opening).toBe('100.000');
    expect(completeness.periods).toContainEqual(
      expect.objectContaining({
        status: 'gap',
        opening_balance: '100.021',
        closing_balance: '101.234',
        difference: '1.213',
      }),
    );
  });
});

describe('an amount with more decimals than its currency', () => {
  const account = { iban: IBAN, currency: 'TRY' };
  const day = (amount: string, balance: string) => ({
    date: '2026-03-02',
    opening: '100.00',
    entries: [
      {
        isCredit: true,
        amount,
        balance,
        reference: 'R',
        text: 'PAYMENT',
        name: 'ADA',
        iban: IBAN,
        date: '2026-03-02',
      },
    ],
  });

  it.each(['mt940', 'camt', 'ofx', 'csv'] as const)(
    'is rejected with a sentence that names the currency and its digits, and its statement is kept: %s',
    async (format) => {
      const { api_key: key } = await service.customer();
      const { id } = await createAccount(service, key, account);
      const body = renderDays(format, [day('1.234', '101.23')], account);
      const { body: sent } = await service.call('POST', `/v1/imports?account_id=${id}`, {
        key,
        body,
        type: 'application/octet-stream',
      });
      expect(await importDone(service, key, sent.import.id)).toMatchObject({ inserted: 0, rejected: 1 });
      const { body: found } = await service.call('GET', `/v1/imports/${sent.import.id}/errors`, { key });
      expect(found.errors).toMatchObject([{ path: 'amount' }]);
      expect(found.errors[0].message).toContain('amounts in TRY have at most two decimals');
    },
  );

  it.each([
    ['a third digit', '1.234', '5.00', 'amount'],
    ['a third digit of the balance', '1.23', '5.001', 'balance'],
  ])('is refused in JSON, and nothing is stored: %s', async (_, amount, balance, path) => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key, account);
    const row = movement(id, { amount, balance });
    const answer = await service.call('POST', '/v1/imports', {
      key,
      body: { transactions: [movement(id), row] },
    });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([
      {
        path: `transactions.1.${path}`,
        message: expect.stringContaining('amounts in TRY have at most two decimals'),
      },
    ]);
    const ndjson = await service.call('POST', '/v1/imports', {
      key,
      body: JSON.stringify(row),
      type: 'application/x-ndjson',
    });
    expect(await importDone(service, key, ndjson.body.import.id)).toMatchObject({ inserted: 0, rejected: 1 });
  });

  it('may have more zeros than its currency has digits', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key, account);
    const row = movement(id, { amount: '1.500000', balance: '5.000' });
    expect(await importMovements(service, key, [row])).toMatchObject({ inserted: 1, rejected: 0 });
    const { body } = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key });
    expect(body.transactions).toMatchObject([{ amount: '1.50', balance: '5.00' }]);
  });

  it.each([
    ['5,000', 'three digits, of which all are zeros'],
    ['1,234', 'three digits'],
  ])('is rejected in a table where it may be thousands: %s (%s)', async (amount) => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key, account);
    const body = renderDays('csv', [day(amount.replace(',', '.'), '105.00')], account);
    const { body: sent } = await service.call('POST', `/v1/imports?account_id=${id}`, {
      key,
      body,
      type: 'application/octet-stream',
    });
    expect(await importDone(service, key, sent.import.id)).toMatchObject({ inserted: 0, rejected: 1 });
    const { body: found } = await service.call('GET', `/v1/imports/${sent.import.id}/errors`, { key });
    expect(found.errors[0].message).toContain('which may be thousands');
  });
});
