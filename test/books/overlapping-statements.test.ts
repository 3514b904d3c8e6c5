import { expect, it } from 'vitest';
import { ACCOUNT_IBAN } from '../support/day-statement.ts';
import { createAccount, importDone } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { expectRightBooks } from './right-books.ts';

const service = useService({ roles: ['api', 'importer'] });

type Booked = readonly (readonly [day: number, amount: number])[];
/** The bookings of an account by day of March 2026, after which the balance is 1,000 more than their sum. */
const BOOKED: Booked = [
  [2, 200],
  [2, -140],
  [3, 250],
  [3, 45],
  [4, -55],
  [5, 10],
  [6, -20],
];
const balanceAfter = (count: number, booked = BOOKED) =>
  booked.slice(0, count).reduce((sum, [, amount]) => sum + amount, 1_000);

/** One MT940 statement of the bookings from a position to another. */
function download(number: string, from: number, to: number, booked = BOOKED): string {
  const day = (at: number) => `26030${booked[at]?.[0]}`;
  const money = (amount: number) => `${Math.abs(amount)},00`;
  return [
    ...[':20:X', `:25:${ACCOUNT_IBAN}`, `:28C:${number}`],
    `:60F:C${day(from)}TRY${money(balanceAfter(from, booked))}`,
    ...booked
      .slice(from, to)
      .map(([, amount], at) => `:61:${day(from + at)}${amount < 0 ? 'D' : 'C'}${money(amount)}NMSCNONREF`),
    `:62F:C${day(to - 1)}TRY${money(balanceAfter(to, booked))}`,
    ...['-', ''],
  ].join('\r\n');
}

async function importAll(key: string, files: readonly string[]): Promise<void> {
  for (const body of files) {
    const sent = await service.call('POST', '/v1/imports', { key, body, type: 'application/octet-stream' });
    await importDone(service, key, sent.body.import.id);
  }
}

/** Imports files into a new account, one after the other. @returns its completeness. */
async function importInto(key: string, files: readonly string[]) {
  const { id } = await createAccount(service, key, { iban: ACCOUNT_IBAN });
  await importAll(key, files);
  return (await service.call('GET', `/v1/accounts/${id}/completeness`, { key })).body.completeness;
}

it.each([
  ['by one day', [download('1', 0, 4), download('2', 2, 5)]],
  ['by one day, and the later file comes first', [download('2', 2, 5), download('1', 0, 4)]],
  ['by a part of one day', [download('1', 0, 3), download('2', 2, 5)]],
  ['by two days', [download('1', 0, 5), download('2', 2, 7)]],
  ['by one day, twice', [download('1', 0, 4), download('2', 2, 5), download('3', 4, 7)]],
  ['by one day, without numbers', [download('0', 0, 4), download('0', 2, 5)]],
])('statements that overlap %s are complete, and the books are right', async (_overlap, files) => {
  const { api_key: key, customer } = await service.customer();
  const completeness = await importInto(key, files);
  expect(completeness).toMatchObject({ status: 'complete' });
  expect(new Set(completeness.periods.map(({ status }: { status: string }) => status))).toEqual(
    new Set(['complete']),
  );
  expect(completeness.periods.at(-1).closing_balance).toBe(
    `${balanceAfter(files.some((it) => it.includes('260306')) ? 7 : 5)}.00`,
  );
  await expectRightBooks(service, customer.id);
});

it.each([
  ['by one day', [download('1', 0, 4), download('2', 2, 5)], 5],
  ['by one day, and the later one comes first', [download('2', 2, 5), download('1', 0, 4)], 5],
  ['by a part of one day', [download('1', 0, 3), download('2', 2, 5)], 5],
  ['by two days', [download('1', 0, 5), download('2', 2, 7)], 7],
  ['by one day, without numbers', [download('0', 0, 4), download('0', 2, 5)], 5],
  ['by one day, three times', [download('1', 0, 4), download('2', 2, 5), download('3', 2, 7)], 7],
  ['in a whole', [download('1', 0, 5), download('2', 0, 7)], 7],
])('statements of one file that overlap %s are stored once', async (_overlap, statements, count) => {
  const { api_key: key, customer } = await service.customer();
  const completeness = await importInto(key, [statements.join('')]);
  expect(completeness).toMatchObject({ status: 'complete' });
  const { body } = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key });
  expect(body.transactions).toHaveLength(count);
  await expectRightBooks(service, customer.id);
  // The same statements in files of their own bring nothing new.
  await importAll(key, statements);
  const again = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key });
  expect(again.body.transactions).toHaveLength(count);
});

it('a statement of a part of a day does not follow one of two days that ends with the balance between them', async () => {
  const { api_key: key, customer } = await service.customer();
  const booked: Booked = [
    [2, 100],
    [3, 50],
    [3, -50],
  ];
  const files = [download('0', 1, 2, booked), download('0', 0, 3, booked)];
  const completeness = await importInto(key, files);
  expect(completeness).toMatchObject({
    status: 'complete',
    periods: [{ from: '2026-03-02', to: '2026-03-03', closing_balance: '1100.00', surplus: [], missing: [] }],
  });
  await expectRightBooks(service, customer.id);
});

it('a missing statement between two statements of one day is still a gap', async () => {
  const { api_key: key } = await service.customer();
  const completeness = await importInto(key, [download('1', 0, 3), download('3', 4, 6)]);
  expect(completeness).toMatchObject({ status: 'incomplete' });
  expect(completeness.periods).toContainEqual(
    expect.objectContaining({ status: 'gap', difference: '45.00' }),
  );
});
