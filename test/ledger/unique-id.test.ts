import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { createUniqueIds, Movement } from '../../src/ledger/movement.ts';
import { movement } from '../support/movements.ts';

const read = (fields: object) => v.parse(Movement, movement('1', fields));
const idsOf = (...rows: object[]) => rows.map(read).map(createUniqueIds());

describe('the id by which a movement is known', () => {
  it.each(['a', 'a ', ' a', 'A', 'ığ 🙂', '0', `content:${'0'.repeat(64)}:1`])(
    'is its unchanged unique_id %j',
    (unique_id) => {
      expect(idsOf({ unique_id })).toEqual([unique_id]);
    },
  );

  it.each([null, undefined, '', ' ', '\t\n', '\u00a0'])(
    'is made of its content when unique_id is %j',
    (unique_id) => {
      expect(idsOf({ unique_id })).toEqual(idsOf({ unique_id: null }));
      expect(idsOf({ unique_id })[0]).toMatch(/^content:[0-9a-f]{64}:1$/);
    },
  );

  it('counts equal movements within one import, and restarts the count in the next import', () => {
    const [first, second, other, third] = idsOf({}, {}, { amount: '1' }, {});
    expect([first, second, third].map((id) => id?.split(':')[2])).toEqual(['1', '2', '3']);
    expect(new Set([first, second, other, third]).size).toBe(4);
    expect(idsOf({}, {})).toEqual([first, second]);
  });

  it('ignores movements with a unique_id when it counts equal movements', () => {
    expect(idsOf({ unique_id: 'x' }, {})[1]).toBe(idsOf({})[0]);
  });

  it.each([
    ['account_id', '2'],
    ['date_issue', '2026-01-16'],
    ['dc', 'Debit'],
    ['amount', '1250.01'],
    ['amount', '-1250.00'],
    ['balance', null],
    ['balance', '0'],
    ['description', null],
    ['description', ''],
    ['description', 'EFT gönderen Şükrü Özgür İnce '],
    ['code', 'other'],
    ['name', 'other'],
    ['opponent_id', 'other'],
    ['opponent_iban', 'other'],
  ])('changes with the field %s: %j', (field, value) => {
    expect(idsOf({ [field]: value })).not.toEqual(idsOf({}));
  });

  it('does not confuse equal text in different fields', () => {
    expect(idsOf({ balance: null, description: '["1"]' })).not.toEqual(
      idsOf({ balance: '1', description: '[]' }),
    );
  });

  it('is the same for every spelling of an amount, and differs for other amounts', () => {
    const cents = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
    const written = (value: bigint, zeros: number, short: boolean) => {
      const digits = String(value < 0n ? -value : value).padStart(3, '0');
      const fraction = short ? digits.slice(-2).replace(/0+$/, '') : digits.slice(-2);
      return `${value < 0n ? '-' : ''}${'0'.repeat(zeros)}${digits.slice(0, -2)}${fraction && `.${fraction}`}`;
    };
    fc.assert(
      fc.property(cents, cents, fc.nat(2), fc.boolean(), (one, other, zeros, short) => {
        for (const field of ['amount', 'balance']) {
          const plain = idsOf({ [field]: written(one, 0, false) });
          expect(idsOf({ [field]: written(one, zeros, short) })).toEqual(plain);
          if (one !== other) expect(idsOf({ [field]: written(other, zeros, short) })).not.toEqual(plain);
        }
      }),
    );
    expect(idsOf({ amount: '-0.00' })).toEqual(idsOf({ amount: '0' }));
  });
});
