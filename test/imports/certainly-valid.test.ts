import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { isCertainlyValid } from '../../src/imports/certainly-valid.ts';
import { Movement } from '../../src/imports/movement.ts';
import { formatAmount } from '../../src/statements/values.ts';

const amount = fc.bigInt(-(10n ** 21n), 10n ** 21n).map(formatAmount);
const text = fc.option(
  fc.string({ unit: fc.constantFrom('a', ' ', 'ş', '🙂', '\ud83d', '\ude00'), maxLength: 64 }),
);
const date = fc.oneof(
  fc.constantFrom(
    '2024-02-29',
    '2026-02-29',
    '2026-04-31',
    '0999-12-31',
    '1000-01-01',
    '26-01-01',
    '2026-1-1',
    '',
  ),
  fc.date({ noInvalidDate: true }).map((day) => day.toISOString().slice(0, 10)),
);
const plain: Movement = {
  account_id: '7',
  dc: 'Debit',
  code: null,
  amount: '1.00',
  balance: null,
  description: null,
  date_issue: '2026-01-31',
  opponent_id: null,
  opponent_iban: null,
  unique_id: null,
  name: null,
};

/** Each with one field that may be wrong. */
const movements: fc.Arbitrary<Movement> = fc
  .oneof(
    fc.record({ amount }),
    fc.record({ balance: amount }),
    fc.record({ date_issue: date }),
    ...(['code', 'description', 'name', 'opponent_id', 'opponent_iban'] as const).map((name) =>
      text.map((value) => ({ [name]: value })),
    ),
  )
  .map((fields) => ({ ...plain, ...fields }));

describe('a movement of a statement', () => {
  it('is certainly valid only if the schema takes it as it is', () => {
    const seen = { certain: 0, invalid: 0 };
    fc.assert(
      fc.property(movements, (movement) => {
        const result = v.safeParse(Movement, movement);
        if (!result.success) seen.invalid += 1;
        if (!isCertainlyValid(movement)) return;
        seen.certain += 1;
        expect(result).toMatchObject({ success: true, output: movement });
      }),
      { numRuns: 2_000 },
    );
    expect(seen.certain).toBeGreaterThan(0);
    expect(seen.invalid).toBeGreaterThan(0);
  });

  it('is certainly valid with the longest amounts, and not beyond them', () => {
    const of = (fields: Partial<Movement>) => isCertainlyValid({ ...plain, ...fields });
    expect(of({})).toBe(true);
    expect(of({ amount: formatAmount(10n ** 20n - 1n) })).toBe(true);
    expect(of({ amount: formatAmount(10n ** 20n) })).toBe(false);
    expect(of({ balance: formatAmount(10n ** 20n) })).toBe(false);
    expect(of({ date_issue: '2026-02-29' })).toBe(false);
    expect(of({ name: 'a\ud83d' })).toBe(false);
  });
});
