import { expect, it } from 'vitest';
import { createReceive } from './traps.ts';

const receive = createReceive();
const camt = { format: 'camt' };
const csv = { format: 'csv' };

it('1: a statement that ends with the same balance, after others, is new', () => {
  const n1 = { number: '1', opening: 1000, rows: 'D10//RA0, D5//RA1, C10//RA2' };
  const n2 = { number: '2', opening: 995, rows: 'C10//RA3' };
  const n3 = { number: '3', opening: 1005, rows: 'D10//RA4' };
  expect(receive([n1, n2, n3])).toEqual(['new new new', 'new', 'new']);
  expect(receive([n1, n2, n3, n3])[3]).toBe('same');
});

it('2: another format lists the same day in another order', () => {
  const mt940 = { opening: 1000, rows: 'D10, C10, D10' };
  expect(receive([mt940, { ...camt, opening: 1000, rows: 'D10, D10, C10' }])[1]).toBe('same same same');
});

it('3: statements with a constant number are told apart by the references of their rows', () => {
  const rows = ['D10//R1', 'C10//R2', 'D10//R3'];
  const files = rows.map((it, index) => ({
    number: '1',
    opening: [1000, 990, 1000][index] as number,
    rows: it,
  }));
  expect(receive(files)[2]).toMatch(/^new\??$/);
});

it('4: a constant reference says nothing', () => {
  const files = [
    { opening: 1000, rows: 'D15//POS' },
    { opening: 970, rows: 'D15//POS' },
  ];
  expect(receive(files)).toEqual(['new', expect.stringMatching(/^new\??$/)]);
});

it('5: a place on a walk is found however often the walk comes back to its balance', () => {
  const rows = `${'D10, C10, '.repeat(70)}D10, C20, D10`;
  const printed = (text: string, opening: number) => {
    let balance = opening;
    return text
      .split(', ')
      .map((it) => {
        balance += (it.startsWith('D') ? -1 : 1) * Number(it.slice(1));
        return `${it}=${balance}`;
      })
      .join(', ');
  };
  const [, second] = receive([
    { ...csv, isPrinted: true, rows: printed(rows, 1000) },
    { ...csv, isPrinted: true, rows: printed('D10, C20, D10, C7', 1000) },
  ]);
  expect(second).toMatch(/^(same|assumed) (same|assumed) (same|assumed) new$/);
});

it('6: rows without balances and with other texts are other bookings', () => {
  const [, second] = receive([
    { ...csv, rows: 'D15 Metro, D20 Market' },
    { ...csv, rows: 'D15 Metro, D20 Bakery' },
  ]);
  expect(second).toMatch(/^assumed new\??$/);
});

it('7: the same statement again may be the first one again, unless one file lists all', () => {
  const files = [
    { opening: 1000, rows: 'D10' },
    { opening: 990, rows: 'C10' },
    { opening: 1000, rows: 'D10' },
  ];
  expect(receive([files])).toEqual(['new new new']);
  expect(receive(files)).toEqual(['new', 'new', 'assumed']);
});

it('8: a reference that is no id proves nothing', () => {
  const report = { format: 'mt942', kind: 'interim' } as const;
  for (const reference of ['SALARY', 'ACMEPAYROLL', '00000000000', 'EF']) {
    const [, second] = receive([
      { ...report, rows: `D15//${reference} ANNA` },
      { ...report, rows: `D15//${reference} BEAT` },
    ]);
    expect(second).toMatch(/^new\??$/);
  }
});

it('9: the same id a few days later is an assumption', () => {
  const ofx = { format: 'ofx' };
  const [, second] = receive([
    { ...ofx, rows: '02:D15//2026030200077 CAFE' },
    { ...ofx, rows: '03:D15//2026030200077 CAFE, 04:D2//2026030400001 BUS' },
  ]);
  expect(second).toBe('new? new');
  const [, later] = receive([
    { ...ofx, rows: '02:D15//2026030200077 CAFE' },
    { ...ofx, rows: '09:D15//2026030200077 CAFE' },
  ]);
  expect(later).toBe('new');
});

it('8: an id with another text is an assumption, unless balances pair the rows, and an id that the bank repeats is none', () => {
  const report = { format: 'mt942', kind: 'interim' } as const;
  const [anna, beat] = ['D15//REF0199 ANNA', 'D15//REF0199 BEAT'];
  expect(
    receive([
      { ...report, rows: anna },
      { ...report, rows: beat },
    ]),
  ).toEqual(['new', 'assumed']);
  const others = { anna: `${anna}, D20//REF0199 CARL`, beat: `${beat}, D20//REF0199 DORA` };
  expect(
    receive([
      { ...report, rows: others.anna },
      { ...report, rows: others.beat },
    ]),
  ).toEqual(['new new', 'new? new?']);
  expect(
    receive([
      { ...camt, opening: 1000, rows: anna },
      { ...camt, opening: 1000, rows: beat },
    ]),
  ).toEqual(['new', 'changed']);
});

it('9: new ids of days that both files have are no other bookings', () => {
  const ofx = { format: 'ofx' };
  const [, second] = receive([
    { ...ofx, rows: '02:D15//202603020001 CAFE, 02:D15//202603020002 CAFE, 03:D8//202603030001 BUS' },
    { ...ofx, rows: '02:D15//X9A01 CAFE, 02:D15//X9A02 CAFE, 03:D8//X9A03 BUS, 04:D4//X9A04 KIOSK' },
  ]);
  expect(second).toBe('assumed assumed assumed new');
});

it('10: final statements of one file have no booking in common, unless one contains the other', () => {
  const bai2 = { format: 'bai2' };
  const groups = [
    { ...bai2, rows: 'D20 MALL, D90 MALL, D5 PLAZA' },
    { ...bai2, rows: 'D100 MONTREAL, D20 WOODSTOCK, D5 GALERIES' },
  ];
  expect(receive([groups, groups])).toEqual([
    'new new new new new new',
    'assumed assumed assumed assumed assumed assumed',
  ]);
  // Each member of a zip is a file.
  const members = groups.map((it, index) => ({ ...it, file: `${index}.bai` }));
  expect(receive([members])).toEqual(['new new new new assumed assumed']);
  const day = { opening: 1000, rows: '02:D10, 02:D15' };
  const month = { opening: 1000, rows: '02:D10, 02:D15, 03:C7' };
  expect(receive([[day, month]])).toEqual(['new new same same new']);
  expect(receive([[month, day]])).toEqual(['new new new same same']);
});

it('unidentified=store takes nothing for known that nothing proves', () => {
  const files = [
    { opening: 1000, rows: 'D10, D15' },
    { opening: 990, rows: 'D15' },
  ];
  expect(receive(files)[1]).toBe('assumed');
  expect(receive(files, { mayAssume: false })[1]).toMatch(/^new/);
  expect(receive([files[0], files[0]] as never, { mayAssume: false })[1]).toBe('same same');
});

it('11: the same statement twice in a file, whose balances come back to their beginning, has the same bookings if the bank gives them ids', () => {
  const day = { number: '1', sequence: '1', opening: 1000, rows: 'C20//R1, D5, D15//R2' };
  const before = { number: '1', sequence: '1', opening: 990, rows: 'C10' };
  expect(receive([before, [day, day]])[1]).toBe('new new new same same same');
  const withoutIds = { ...day, rows: 'C20, D5, D15' };
  expect(receive([before, [withoutIds, withoutIds]])[1]).toMatch(/^new new new new/);
});
