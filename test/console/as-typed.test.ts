import { expect, it } from 'vitest';
import { asTyped } from '../../src/console/movements/as-typed.ts';

it.each([
  [{ amount: '89,90' }, { amount: '89.90' }],
  [{ amount: '1.250,50' }, { amount: '1250.50' }],
  [{ amount: '1,250.50' }, { amount: '1250.50' }],
  [
    { amount_min: '12.345.678,9', amount_max: '20' },
    { amount_min: '12345678.9', amount_max: '20' },
  ],
  [{ amount: '-89.90' }, { amount: '89.90', dc: 'Debit' }],
  [{ amount: '-1.250,50' }, { amount: '1250.50', dc: 'Debit' }],
  [{ amount: '+5' }, { amount: '5', dc: 'Credit' }],
  [
    { amount: '-3', dc: 'Credit' },
    { amount: '-3', dc: 'Credit' },
  ],
  [{ amount_min: '-3' }, { amount_min: '-3' }],
  [{ currency: 'eur' }, { currency: 'EUR' }],
  // The API says what is wrong with these, or reads them as they are.
  [{ amount: '1.250' }, { amount: '1.250' }],
  [{ amount: '1,2,3' }, { amount: '1,2,3' }],
  [{ amount: '1,250' }, { amount: '1,250' }],
  [{ amount: `${'9'.repeat(5_000)},` }, { amount: `${'9'.repeat(5_000)},` }],
])('%o is sought as %o', (typed, sought) => {
  const given = Object.entries(asTyped(typed)).filter(([, value]) => value !== undefined);
  expect(Object.fromEntries(given)).toEqual(sought);
});
