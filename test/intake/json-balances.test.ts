import { describe, expect, it } from 'vitest';
import { createAccount, importDone, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService();

type Entry = [dc: 'Debit' | 'Credit', amount: string, balance: string | null];

async function customer(fields: object = { check_balances: true }) {
  const { api_key: key } = await service.customer();
  const { id: account } = await createAccount(service, key, fields);
  let count = 0;
  const rows = (entries: readonly Entry[], of = account) =>
    entries.map(([dc, amount, balance]) => {
      count += 1;
      return movement(of, { unique_id: String(count), dc, amount, balance });
    });
  const send = async (body: object | string, query = '') => {
    const type = typeof body === 'string' ? 'application/x-ndjson' : undefined;
    const answer = await service.call('POST', `/v1/imports${query}`, { key, body, ...(type && { type }) });
    if (query !== '') return answer.body;
    const done = await importDone(service, key, answer.body.import.id);
    const { body: listed } = await service.call('GET', `/v1/imports/${done.id}/errors`, { key });
    return { ...done, listed: listed.warnings };
  };
  return { key, account, rows, send };
}

const fitting: Entry[] = [
  ['Credit', '10', '110.00'],
  ['Debit', '0.5', '109.50'],
  ['Credit', '1.25', '110.75'],
];
const wrong: Entry[] = [...fitting, ['Debit', '10.00', '99.75'], ['Credit', '1.00', '100.75']];
const WARNING = {
  line: 4,
  message:
    'By its balance and amount, this entry began at 109.75, but the entry before it ends at 110.75: a row may be missing or cut off.',
};

describe('the balance check of movements in JSON', () => {
  it('runs in an account that asks for it, and warns of a row that contradicts the others', async () => {
    const { rows, send } = await customer();
    const done = { status: 'done', rejected: 0 };
    expect(await send({ transactions: rows(fitting) })).toMatchObject({
      ...done,
      inserted: 3,
      warnings: 0,
      listed: [],
    });
    expect(await send({ transactions: rows(wrong) })).toMatchObject({
      ...done,
      inserted: 5,
      warnings: 1,
      listed: [WARNING],
    });
  });

  it('also runs in NDJSON and in a dry run', async () => {
    const { rows, send } = await customer();
    const lines = rows(wrong).map((row) => JSON.stringify(row));
    expect(await send(lines.join('\n'), '?dry_run=true')).toMatchObject({
      warnings: [WARNING],
    });
    expect(await send(lines.join('\n'))).toMatchObject({ inserted: 5, warnings: 1, listed: [WARNING] });
  });

  it('runs for each account separately, from the first row to the last or in reverse', async () => {
    const { key, rows, send } = await customer();
    const { id: other } = await createAccount(service, key, { check_balances: true });
    const [one, two] = [rows(fitting), rows(fitting.toReversed(), other)];
    const transactions = one.flatMap((row, index) => [row, two[index]]);
    expect(await send({ transactions })).toMatchObject({ inserted: 6, warnings: 0 });
  });

  it('does not compare across a row without a balance', async () => {
    const { rows, send } = await customer();
    const broken: Entry[] = [...fitting, ['Debit', '1.00', null], ['Credit', '1.00', '500.00']];
    expect(await send({ transactions: rows(broken) })).toMatchObject({ inserted: 5, warnings: 0 });
  });

  it('covers all chunks of an import', async () => {
    const { rows, send } = await customer();
    const many = Array.from(
      { length: 2_500 },
      (_, index): Entry => ['Credit', '1.00', `${index === 1_999 ? 0 : index + 1}.00`],
    );
    const warning = { line: 2_000, message: expect.stringContaining('2 times in this import') };
    expect(await send({ transactions: rows(many) })).toMatchObject({ inserted: 2_500, listed: [warning] });
  });

  it('runs only when the account asks for it, and a change of the setting takes effect at once', async () => {
    const { key, account, rows, send } = await customer({});
    const view = async () =>
      (await service.call('GET', `/v1/accounts/${account}`, { key })).body.accounts?.[0]?.check_balances;
    expect(await send({ transactions: rows(wrong) })).toMatchObject({ inserted: 5, warnings: 0 });
    for (const [check_balances, warnings] of [
      [true, 1],
      [false, 0],
    ] as const) {
      const { body } = await service.call('PATCH', `/v1/accounts/${account}`, {
        key,
        body: { check_balances },
      });
      expect(body.account).toMatchObject({ check_balances });
      expect(await view()).toBe(check_balances);
      expect(await send({ transactions: rows(wrong) })).toMatchObject({ inserted: 5, warnings });
    }
  });
});
