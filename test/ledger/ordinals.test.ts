import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Movement } from '../../src/ledger/movement.ts';
import { createOrdinals, UnorderedFileError } from '../../src/ledger/ordinals.ts';
import { entriesOf } from '../intake/stored-movements.ts';

const on = (day: number, amount: number): Movement =>
  entriesOf(`2026-03-${String(day).padStart(2, '0')}`, [`${amount}.00`])[0]?.movement as Movement;

describe('the ordinal of an entry among equal entries of its day', () => {
  const movements = fc.array(
    fc.record({ day: fc.integer({ min: 1, max: 9 }), amount: fc.integer({ min: 1, max: 3 }) }),
  );
  const count = (all: readonly { day: number; amount: number }[]) =>
    all.map(
      ({ day, amount }, at) =>
        all.slice(0, at + 1).filter((other) => other.day === day && other.amount === amount).length,
    );

  it('counts from 1, in a file in any order', () => {
    fc.assert(
      fc.property(movements, (all) => {
        const ordinalOf = createOrdinals({ keepAll: true, most: 1 });
        expect(all.map(({ day, amount }) => ordinalOf(on(day, amount)))).toEqual(count(all));
      }),
    );
  });

  it('stays correct when counts of earlier days are dropped, in a file sorted by date', () => {
    fc.assert(
      fc.property(movements, fc.boolean(), (all, isDescending) => {
        const sorted = all.toSorted((one, other) => (one.day - other.day) * (isDescending ? -1 : 1));
        const ordinalOf = createOrdinals({ most: 1 });
        expect(sorted.map(({ day, amount }) => ordinalOf(on(day, amount)))).toEqual(count(sorted));
      }),
    );
  });

  it('raises an error when the file goes back to a day whose counts were dropped', () => {
    const ordinalOf = createOrdinals({ most: 1 });
    for (const day of [1, 2, 3]) ordinalOf(on(day, 1));
    expect(() => ordinalOf(on(1, 1))).toThrow(UnorderedFileError);
  });
});
