import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { type Entry, NO_IDENTITY, type StatementEvent } from '../../packages/statements/src/statement.ts';
import type { Row } from '../../src/intake/importer/rows.ts';
import { createRowReader, type FindAccount } from '../../src/intake/importer/statement-rows.ts';
import { Movement } from '../../src/ledger/movement.ts';

const entry = (fields: Partial<Entry> = {}): StatementEvent => ({
  type: 'entry',
  entry: {
    line: 7,
    status: 'booked',
    date: '2026-03-31',
    dc: 'Credit',
    amount: 12_340n,
    currency: null,
    balance: null,
    code: null,
    description: null,
    name: null,
    opponentId: null,
    opponentIban: null,
    reference: null,
    ...fields,
  },
});
const begin = (fields: object = {}): StatementEvent => ({
  type: 'statement',
  line: 1,
  account: { iban: 'TR1', number: null, currency: 'TRY', bank: null },
  kind: 'final',
  opening: { amount: 100_000n, date: null },
  identity: NO_IDENTITY,
  ...fields,
});
const end = (closing: bigint | null): StatementEvent => ({
  type: 'end',
  line: 9,
  closing: closing === null ? null : { amount: closing, date: null },
});

const find: FindAccount = async ({ iban }) =>
  iban === 'TR1' ? { id: '5', currency: 'TRY' } : { problem: `${iban} is not one of your accounts` };

async function rowsOf(...events: StatementEvent[]): Promise<Row[]> {
  const read = createRowReader(find, { format: 'mt940', file: null });
  const rows: Row[] = [];
  for (const event of events) rows.push(...(await read([event])));
  return rows;
}
const movementsOf = (rows: readonly Row[]) =>
  rows.flatMap((row) => ('movement' in row ? [row.movement] : []));
const issuesOf = (rows: readonly Row[]) => rows.filter((row) => 'issue' in row);
const messagesOf = (rows: readonly Row[]) =>
  rows.flatMap((row) => ('issue' in row ? [row.issue] : 'warning' in row ? [row.warning] : []));

describe('the rows of a statement', () => {
  it('have a warning when a text has bytes that are not of its encoding', async () => {
    const broken = await rowsOf(begin(), entry({ name: 'M\ufffdller' }), end(112_340n));
    expect(broken).toContainEqual({
      line: expect.any(Number),
      warning: expect.stringContaining('bytes that are not'),
    });
  });

  it('have a warning when an entity of HTML is a part of a text', async () => {
    const texts = ['Tea&nbsp;house', 'A &amp; B', 'A & B', 'R&D'];
    const events = texts.map((description, at) => entry({ description, line: at + 2 }));
    const rows = await rowsOf(begin(), ...events, end(null));
    const warned = rows.flatMap((row) => ('warning' in row ? [[row.line, row.warning]] : []));
    expect(warned).toEqual([
      [2, expect.stringContaining('encoded twice')],
      [3, expect.stringContaining('encoded twice')],
    ]);
  });

  it('become movements with the balance after each, computed from the opening balance', async () => {
    const rows = await rowsOf(begin(), entry(), entry({ dc: 'Debit', amount: 200_000n }), end(-87_660n));
    expect(movementsOf(rows).map(({ amount, dc, balance }) => [dc, amount, balance])).toEqual([
      ['Credit', '12.34', '112.34'],
      ['Debit', '200.00', '-87.66'],
    ]);
    expect(messagesOf(rows)).toEqual([]);
    expect(rows[0]).toMatchObject({ line: 1, begun: { format: 'mt940', account: { id: '5' } } });
    for (const movement of movementsOf(rows)) expect(v.is(Movement, movement)).toBe(true);
  });

  it('keep the balance that the file gives for an entry, and have no other balance without an opening balance', async () => {
    const rows = await rowsOf(begin({ opening: null }), entry({ balance: 50n }), entry(), end(70n));
    expect(movementsOf(rows).map(({ balance }) => balance)).toEqual(['0.05', null]);
    expect(messagesOf(rows)).toEqual([]);
  });

  it('have a warning when the closing balance differs', async () => {
    const unread: StatementEvent = { type: 'issue', line: 3, path: 'amount', message: 'is "x"' };
    expect(messagesOf(await rowsOf(begin(), entry(), end(112_350n)))).toEqual([
      'The closing balance is 112.35, but the opening balance 100.00 and the entries give 112.34: a difference of 0.01.',
    ]);
    expect(messagesOf(await rowsOf(begin(), unread, end(0n)))).toEqual([
      'is "x"',
      'The closing balance is 0.00, but the opening balance 100.00 and the entries give 100.00: a difference of -100.00. 1 of its entries could not be read.',
    ]);
  });

  it('leave out pending entries, which do not count for the balance', async () => {
    const rows = await rowsOf(begin(), entry({ status: 'pending' }), entry(), end(112_340n));
    expect(movementsOf(rows)).toHaveLength(1);
    expect(messagesOf(rows)).toEqual([]);
  });

  it('are rejected for an unknown account with one message for the statement, and the next statement is read', async () => {
    const other = { account: { iban: 'TR2', number: null, currency: null, bank: null } };
    const rows = await rowsOf(begin(other), entry(), entry(), end(124_680n), begin(), entry(), end(null));
    expect(issuesOf(rows)).toEqual([
      { line: 7, path: 'account', issue: 'TR2 is not one of your accounts' },
      { line: 7, path: 'account', issue: null },
    ]);
    expect(movementsOf(rows)).toHaveLength(1);
  });

  it('are rejected when their currency is not the account’s', async () => {
    const rows = await rowsOf(begin(), entry({ currency: 'EUR' }), entry({ currency: 'TRY' }), end(null));
    expect(messagesOf(rows)).toEqual(['is EUR, and the account is kept in TRY']);
    expect(movementsOf(rows)).toHaveLength(1);
  });

  it('have long texts cut, with a warning, and never within a character', async () => {
    const rows = await rowsOf(
      begin(),
      entry({ description: `${'x'.repeat(3_999)}😀`, code: '  ' }),
      end(null),
    );
    expect(movementsOf(rows)).toMatchObject([{ description: 'x'.repeat(3_999), code: null }]);
    expect(messagesOf(rows)).toEqual([
      'description is longer than 4000 characters. The rest of it is not stored.',
    ]);
  });

  it('pass the balance check when the closing balance fits, for any entries', async () => {
    const some = fc.array(
      fc.record({
        dc: fc.constantFrom('Debit' as const, 'Credit' as const),
        amount: fc.bigInt(0n, 10n ** 15n).map((cents) => 10n * cents),
      }),
    );
    await fc.assert(
      fc.asyncProperty(some, async (entries) => {
        const sum = entries.reduce(
          (total, { dc, amount }) => total + (dc === 'Credit' ? amount : -amount),
          100_000n,
        );
        const rows = await rowsOf(begin(), ...entries.map((fields) => entry(fields)), end(sum));
        expect(messagesOf(rows)).toEqual([]);
        expect(movementsOf(rows)).toHaveLength(entries.length);
      }),
    );
  });
});
