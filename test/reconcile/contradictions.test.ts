import { describe, expect, it } from 'vitest';
import { findContradictions } from '../../packages/reconcile/src/contradictions.ts';
import type { StatementRow, StoredStatement } from '../../packages/reconcile/src/statement.ts';

const row = (amount: number, day = '2026-05-05'): StatementRow => ({
  day,
  amount: BigInt(amount),
  balance: null,
  reference: null,
  text: '',
});

/** A final statement of one day, whose rows lead from its opening to its closing balance. */
function statement(amounts: readonly number[], fields: Partial<StoredStatement> = {}): StoredStatement {
  const opening = fields.opening === undefined ? 1_000n : fields.opening;
  return {
    id: '5',
    kind: 'final',
    format: 'mt940',
    number: '5',
    sequence: null,
    from: '2026-05-05',
    to: '2026-05-05',
    opening,
    closing: opening === null ? null : opening + amounts.reduce((sum, it) => sum + BigInt(it), 0n),
    rows: amounts.map((it) => row(it)),
    movements: [],
    fingerprint: null,
    ...fields,
  };
}

const STORED = [100, -50, 20];

const areContradictory = (received: StoredStatement, stored = statement(STORED), useNumbers = true) =>
  findContradictions([stored], [received], { useNumbers }).length > 0;

describe('a statement contradicts a stored one', () => {
  it.each<[string, StoredStatement]>([
    ['with another amount', statement([100, -50, 25])],
    ['with another amount and one row more', statement([100, -50, 25, 7])],
    ['with a row less and another amount', statement([100, 25])],
    ['of the same days and opening balance, with another number', statement([100, -50, 25], { number: '9' })],
    ['without a number', statement([100, -50, 25], { number: null })],
  ])('%s', (_, received) => {
    expect(areContradictory(received)).toBe(true);
    expect(areContradictory(statement(STORED), received)).toBe(true);
  });

  it('with the same number, if neither has balances', () => {
    const bare = { opening: null, closing: null };
    expect(areContradictory(statement([100, 25], bare), statement(STORED, bare))).toBe(true);
  });
});

describe('no contradiction is', () => {
  it.each<[string, StoredStatement]>([
    ['the same statement', statement(STORED)],
    ['the same rows in another order', statement([20, 100, -50])],
    ['a longer version', statement([...STORED, 7])],
    ['a shorter version', statement([100, -50])],
    ['an interim statement', statement([100, 25], { kind: 'interim' })],
    ['another format', statement([100, 25], { format: 'camt' })],
    ['a statement of another day', statement([100, 25], { from: '2026-05-06', to: '2026-05-06' })],
    ['the next statement of the day with the same number', statement([9], { opening: 1_070n })],
    ['the one after the next', statement([9], { opening: 1_079n })],
    ['another page', statement([9], { sequence: '2', opening: 1_070n })],
    ['other rows that sum to the same', statement([50, 20])],
    ['one without days', statement([100, 25], { from: null, to: null })],
  ])('%s', (_, received) => {
    expect(areContradictory(received)).toBe(false);
  });

  it('a number that may not be believed, of other days', () => {
    const later = statement([100, 25], { to: '2026-05-06' });
    expect(areContradictory(later)).toBe(true);
    expect(areContradictory(later, statement(STORED), false)).toBe(false);
  });
});

it('many statements of one day and number are compared in bounded time, and at most 100 are named', () => {
  const many = (count: number, first: number) =>
    Array.from({ length: count }, (_, n) => statement([first + n, ...Array<number>(100).fill(1)]));
  expect(findContradictions(many(2_000, 1_000), many(2_000, 9_000), { useNumbers: true })).toHaveLength(100);
});
