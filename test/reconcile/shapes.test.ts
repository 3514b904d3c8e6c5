import { describe, expect, it } from 'vitest';
import { createReceive } from './traps.ts';

/** The same bookings in two shapes, in both orders, in statements of two formats. */

const receive = createReceive();
const table = { format: 'csv', isPrinted: true };

describe.each(['mt940', 'camt'])('in %s', (format) => {
  it('statements of two periods, and both again with a charge that was booked late', () => {
    const [first, next] = [
      { format, from: '2026-03-01', to: '2026-03-05' },
      { format, from: '2026-03-06', to: '2026-03-09', rows: '06:D10 Café, 08:D10 Café' },
    ];
    const before = [
      { ...first, opening: 200, rows: '01:D100 Rent' },
      { ...next, opening: 100 },
    ];
    const after = [
      { ...first, opening: 200, rows: '01:D100 Rent, 05:D5 Charge' },
      { ...next, opening: 95 },
    ];
    expect(receive([...before, ...after])).toEqual(['new', 'new new', 'same new', 'changed changed']);
    expect(receive([...after, ...before])).toEqual(['new new', 'new new', 'same', 'changed changed']);
  });

  it('an entry that the table has under a later day', () => {
    const days = [
      { format, opening: 900, rows: '01:D42 Fuel' },
      { format, opening: 858, rows: '03:D8 Market' },
    ];
    const rows = { ...table, rows: '04:D100=750 Rent, 03:D8=850 Market, 03:D42=858 Fuel' };
    expect(receive([...days, rows])[2]).toMatch(/^new (same|changed) (changed|assumed)$/);
    expect(receive([rows, ...days]).slice(1)).toEqual([expect.stringMatching(/^(changed|assumed)$/), 'same']);
  });

  it('a lump, and its payments in the table', () => {
    const lump = { format, opening: 1000, rows: 'D300 Lump, C40' };
    const payments = { ...table, rows: 'C40=740, D100=700, D120=800, D80=920' };
    expect(receive([lump, payments])[1]).toBe('same same same same');
    expect(receive([payments, lump])[1]).toBe('same same');
  });
});

it.each(['csv', 'xlsx'])('a table of later days with shifted balances: %s', (format) => {
  const first = { format, isPrinted: true, rows: '03:C70=157 Smith, 02:D12=87 Fuel, 01:D100=99 Rent' };
  const second = { format, isPrinted: true, rows: '04:D3=149 Café, 03:C70=152 Smith, 02:D12=82 Fuel' };
  expect(receive([first, second])[1]).toBe('new changed changed');
  expect(receive([second, first])[1]).toBe('changed changed new');
});

it('a file of statements of one day that go out and back, each from where the one before ends', () => {
  const day = { format: 'mt940', opening: 100, rows: 'D10 Café, C10 Café, D10 Café, C10 Café' };
  const file = Array.from({ length: 200 }, (_, at) => ({ ...day, number: String(at + 1) }));
  const [first, second] = receive([file, file]);
  expect(first?.split(' ').filter((it) => !it.startsWith('new'))).toEqual([]);
  expect(second?.split(' ').filter((it) => it.startsWith('new'))).toEqual([]);
});

it('a file of lumps that all begin and end with the balances of one long stretch of payments is decided in linear time', () => {
  const count = 10_000;
  const payments = { format: 'camt', opening: count, rows: Array(count).fill('D1').join(', ') };
  const lumps = {
    format: 'mt940',
    opening: count,
    rows: Array(count / 2)
      .fill(`D${count}, C${count}`)
      .join(', '),
  };
  const [, decided] = receive([payments, lumps]);
  expect(decided?.split(' ')).toHaveLength(count);
}, 60_000);

it('a file of payments that lead to the lumps of many days before is decided in linear time', () => {
  const count = 10_000;
  // Each lump goes from a place in the stretch to its end, and back.
  const lumps = Array.from({ length: count - 2 }, (_, at) => [`D${count - at}`, `C${count - at - 1}`]).flat();
  const [, decided] = receive([
    { format: 'camt', opening: count, rows: lumps.join(', ') },
    { format: 'mt940', opening: count, rows: [...Array(count - 1).fill('D1'), 'D1//KNOWN'].join(', ') },
  ]);
  expect(decided?.split(' ')).toHaveLength(count);
}, 60_000);

it('many statements of one lump each, which could all be one long stretch of payments, are decided in linear time', () => {
  const count = 5_000;
  const payments = { format: 'camt', opening: count, rows: Array(count).fill('D1').join(', ') };
  const lump = { format: 'mt940', opening: count, rows: `D${count}` };
  const lumps = Array.from({ length: 1_000 }, (_, at) => ({ ...lump, number: String(100 * at) }));
  const [, decided] = receive([payments, lumps]);
  expect(decided?.split(' ')).toHaveLength(lumps.length);
}, 60_000);
