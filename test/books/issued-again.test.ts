import { describe, expect, it } from 'vitest';
import { createDryRunCustomer } from '../intake/dry-run-customer.ts';
import { useService } from '../support/service.ts';

/** Statements that the bank issues again, and sums that no single statement shows to be wrong. */

const service = useService({ roles: ['api', 'importer'] });

interface Given {
  number: string;
  days: [from: string, to: string];
  balances: [opening: number, closing: number];
  rows: [day: string, amount: number, text: string][];
}

const mt940 = ({ number, days, balances, rows }: Given): string => {
  const balance = (tag: string, day: string, amount: number) =>
    `:${tag}:C2603${day}TRY${amount.toFixed(2).replace('.', ',')}`;
  return [
    ':20:X',
    ':25:TR330006100519786457841326',
    `:28C:${number}`,
    balance('60F', days[0], balances[0]),
    ...rows.flatMap(([day, amount, text]) => [
      `:61:2603${day}03${day}${amount < 0 ? 'D' : 'C'}${Math.abs(amount).toFixed(2).replace('.', ',')}NTRFNONREF`,
      `:86:${text}`,
    ]),
    balance('62F', days[1], balances[1]),
    '',
  ].join('\r\n');
};

async function customer() {
  const { key, accountId, importFile } = await createDryRunCustomer(service);
  return {
    send: (...given: Given[]) => importFile(given.map(mt940).join('')),
    completeness: async () =>
      (await service.call('GET', `/v1/accounts/${accountId}/completeness`, { key })).body.completeness,
  };
}

describe('a statement that the bank issues again', () => {
  const first: Given = {
    number: '2/1',
    days: ['01', '05'],
    balances: [200, 100],
    rows: [['01', -100, 'RENT']],
  };
  const next: Given = {
    number: '3/1',
    days: ['06', '09'],
    balances: [100, 80],
    rows: [
      ['06', -10, 'CAFE'],
      ['08', -10, 'CAFE'],
    ],
  };
  const firstAgain: Given = { ...first, balances: [200, 95], rows: [...first.rows, ['05', -5, 'CHARGE']] };
  const nextAgain: Given = { ...next, balances: [95, 75] };

  it.each([
    ['one by one', [[first], [next], [firstAgain], [nextAgain]]],
    ['in one file', [[first], [next], [firstAgain, nextAgain]]],
    ['before the first issue comes', [[firstAgain], [nextAgain], [first], [next]]],
  ])('stores each booking once, %s', async (_, files) => {
    const { send, completeness } = await customer();
    let inserted = 0;
    for (const file of files) inserted += (await send(...file)).inserted;
    expect(inserted).toBe(4);
    expect((await completeness()).status).toBe('complete');
  });
});

it('is never complete if the movements do not give what the balances say', async () => {
  const { send, completeness } = await customer();
  await send({
    number: '1/1',
    days: ['01', '03'],
    balances: [100, 130],
    rows: [
      ['02', 10, 'A1'],
      ['03', 20, 'A2'],
    ],
  });
  await send({
    number: '2/1',
    days: ['03', '04'],
    balances: [110, 137],
    rows: [
      ['03', 20, 'A2'],
      ['04', 7, 'A3'],
    ],
  });
  expect((await completeness()).status).toBe('complete');
  await send({ number: '3/1', days: ['05', '05'], balances: [137, 142], rows: [['05', 10, 'A4']] });
  const { status, periods } = await completeness();
  expect(status).toBe('contradictory');
  expect(periods).toContainEqual(expect.objectContaining({ status: 'contradiction', from: '2026-03-05' }));
});
