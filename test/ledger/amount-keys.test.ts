import { describe, expect, it } from 'vitest';
import { createAmountKeys, createOrdinals } from '../../src/ledger/ordinals.ts';

const keyOf = createAmountKeys();
/** The 64 bits that a tally reads. */
const read = (dc: 'Debit' | 'Credit', amount: string) => keyOf(dc, amount).toString('hex', 0, 8);

describe('the key of an amount', () => {
  // Up to 15 characters an amount is its own key; longer ones are hashed.
  const amounts = [
    '0.00',
    '0.01',
    '0.001',
    '0.011',
    '1.00',
    '99999999999.99',
    '42949672.95',
    '42949672.96',
    '42949672.97',
    '4294967.296',
    '999999999999.99',
    '99999999999.999',
    '999999999999.999',
    '1000000000000.00',
    '9999999999999.98',
    '9999999999999.99',
    '10000000000000.00',
    '10000000000000.01',
    '99999999999999.99',
    '100000000000000.00',
    '999999999999999999.98',
    '999999999999999999.99',
  ];

  it.each([14, 15, 16, 17])('is tested with an amount of %i characters', (length) => {
    expect(amounts.some((amount) => amount.length === length)).toBe(true);
  });

  it('differs for each amount and direction', () => {
    const keys = amounts.flatMap((amount) => [read('Debit', amount), read('Credit', amount)]);
    expect(new Set(keys).size).toBe(amounts.length * 2);
  });

  it.each(amounts)('is the same on each call for %s', (amount) => {
    const first = read('Debit', amount);
    read('Credit', '7.00');
    expect(read('Debit', amount)).toBe(first);
  });
});

it('entries whose amounts share the lower bits of their keys are counted as fast as others', () => {
  const COUNT = 40_000;
  const timeOf = (step: bigint) => {
    const ordinalOf = createOrdinals();
    let repeated = 0;
    const begun = process.cpuUsage();
    for (let i = 1n; i <= COUNT; i += 1n) {
      const hundredths = String(i * step).padStart(3, '0');
      const amount = `${hundredths.slice(0, -2)}.${hundredths.slice(-2)}`;
      repeated += ordinalOf({ account_id: '1', date_issue: '2026-03-02', dc: 'Credit', amount } as never) - 1;
    }
    expect(repeated).toBe(0);
    return process.cpuUsage(begun).user;
  };
  timeOf(7n);
  // With the amounts as their own slots, this took 400 times as long.
  expect(timeOf(2n ** 32n)).toBeLessThan(10 * timeOf(7n) + 50_000);
});
