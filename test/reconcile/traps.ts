import { expect } from 'vitest';
import type { findKnown, KnownOptions } from '../../packages/reconcile/src/known.ts';
import { createBooks, type Given, statementOf, told } from './books.ts';

/** Traps: what comes, and what an accountant wants. */

/** @returns what became of the rows of each file. A file may have several statements. */
type Receive = (files: readonly (Given | readonly Given[])[], options?: KnownOptions) => string[];

export const createReceive =
  (decide?: typeof findKnown): Receive =>
  (files, options = {}) => {
    const books = createBooks(options, decide);
    return files.map((file) => told(books.receive(...[file].flat().map((it) => statementOf(it as Given)))));
  };

export const TRAPS: [name: string, check: (receive: Receive) => void][] = [
  [
    '1: three statements of a day with equal entries follow each other, so all are stored',
    (receive) => {
      const files = [
        { number: '1', opening: 1000, rows: 'D15' },
        { number: '2', opening: 985, rows: 'D15' },
        { number: '3', opening: 970, rows: 'D15' },
      ];
      expect(receive(files)).toEqual(['new', 'new', 'new']);
      expect(receive(files.toReversed())).toEqual(['new', 'new', 'new']);
      // Until the second one has come, nothing links the other two.
      expect(receive([files[0], files[2], files[1]] as Given[])).toEqual(['new', 'new?', 'new']);
    },
  ],

  [
    '2: the evening statement repeats the entry of the noon statement, renumbered by the bank',
    (receive) => {
      const noon = { opening: 1000, rows: 'C10//1' };
      const evening = { opening: 1000, rows: 'C5//1, C10//2' };
      expect(receive([noon, evening])).toEqual(['new', 'new same']);
      expect(
        receive([
          { ...noon, number: '1' },
          { ...evening, number: '2' },
        ]),
      ).toEqual(['new', 'new same']);
      expect(receive([evening, noon])).toEqual(['new new', 'same']);
      expect(receive([{ ...noon, format: 'mt942', kind: 'interim' }, evening])).toEqual(['new', 'new same']);
    },
  ],

  [
    '3: a row with its balance and later the same row as JSON without an id are one movement',
    (receive) => {
      const file = { format: 'csv', opening: 1000, isPrinted: true, rows: 'D15=985 Metro' };
      const json: Given = { format: 'json', kind: 'none', rows: 'D15=985 Metro' };
      expect(receive([file, json])).toEqual(['new', 'same']);
      expect(receive([json, file])).toEqual(['new', 'same']);
      expect(receive([file, { ...json, rows: 'D15 Metro' }])).toEqual(['new', 'assumed']);
    },
  ],

  [
    '4: overlapping windows of a day with printed balances bring each row once',
    (receive) => {
      const csv = { format: 'csv', isPrinted: true };
      expect(
        receive([
          { ...csv, rows: 'D15=985 METRO, D20=965 SHELL' },
          { ...csv, rows: 'D20=965 SHELL, D15=950 METRO, D7=943 BIM' },
          { ...csv, rows: 'D7=943 BIM, D15=928 METRO' },
        ]),
      ).toEqual(['new new', 'same new new', 'same new']);
    },
  ],

  [
    '5: statements whose entries cancel out are told apart by their numbers, as an assumption',
    (receive) => {
      const files = ['1', '2', '3'].map((number) => ({ number, opening: 1000, rows: 'D10, C10' }));
      expect(receive(files)).toEqual(['new new', 'new? new?', 'new? new?']);
      expect(receive(files, { useNumbers: false })).toEqual([
        'new new',
        'assumed assumed',
        'assumed assumed',
      ]);
      expect(receive([files[0], files[0]] as Given[])).toEqual(['new new', 'same same']);
    },
  ],

  [
    '8: a statement is matched as a whole, so an equal first entry alone does not make it known',
    (receive) => {
      const one = { opening: 1000, rows: 'D10, C10' };
      const other = { opening: 1000, rows: 'D10, D10' };
      expect(receive([one, other])).toEqual(['new new', 'new new']);
      expect(receive([other, one])).toEqual(['new new', 'new new']);
      const day = { format: 'camt', opening: 1000, rows: 'D10, C10, D10, D10' };
      expect(receive([one, other, day])).toEqual(['new new', 'new new', 'same same same same']);
      expect(receive([day, one, other])[0]).toBe('new new new new');
    },
  ],

  [
    '9: a constant number proves nothing, and pages are told apart',
    (receive) => {
      const zero = { opening: 1000, rows: 'D10, C10' };
      expect(
        receive([
          { ...zero, number: '3', sequence: '1' },
          { ...zero, number: '3', sequence: '2' },
        ]),
      ).toEqual(['new new', 'new? new?']);
      expect(
        receive([
          { ...zero, number: '1' },
          { ...zero, number: '1' },
        ]),
      ).toEqual(['new new', 'same same']);
    },
  ],

  [
    '9: numbers that count downloads do not double the overlapping entries',
    (receive) => {
      expect(
        receive([
          { number: '1', opening: 1000, rows: 'D10' },
          { number: '2', opening: 1000, rows: 'D10, D7' },
          { number: '3', opening: 1000, rows: 'D10, D7, C17' },
          { number: '4', opening: 1000, rows: 'D10, D7, C17' },
        ]),
      ).toEqual(['new', 'same new', 'assumed assumed new', 'assumed assumed assumed']);
    },
  ],

  [
    '9: a month beside its days, and another format, bring the same bookings',
    (receive) => {
      const days = [
        { number: '41', opening: 1000, rows: '01:D10, 01:C10' },
        { number: '42', opening: 1000, rows: '02:D10, 02:C10, 02:D5' },
      ];
      const month = {
        number: '3',
        opening: 1000,
        rows: '01:D10, 01:C10, 02:D10, 02:C10, 02:D5',
        to: '2026-03-31',
      };
      expect(receive([...days, month])).toEqual(['new new', 'new new new', 'same same same same same']);
      expect(receive([month, days[1] as Given])).toEqual(['new new new new new', 'same same same']);
      const camt = days.map((it) => ({ ...it, number: '7', format: 'camt' }));
      expect(receive([...days, ...camt].map((it) => it))).not.toContain('new');
    },
  ],

  [
    '10: a booking with another date in another format is known when its balances and a neighbour agree',
    (receive) => {
      const camt = { format: 'camt', opening: 1000, rows: '01:D10, 01:D20', to: '2026-03-01' };
      const mt940 = { format: 'mt940', opening: 1000, rows: '01:D10, 03:D20', to: '2026-03-01' };
      expect(receive([camt, mt940])).toEqual(['new new', 'same changed']);
      expect(receive([mt940, camt])).toEqual(['new new', 'same changed']);
    },
  ],

  [
    '11: a final statement absorbs the movements of interim reports without balances',
    (receive) => {
      const interim = { format: 'mt942', kind: 'interim' } as const;
      const final = { opening: 1000, rows: 'D10, D10, C7' };
      expect(receive([{ ...interim, rows: 'D10' }, { ...interim, rows: 'D10, C7' }, final])).toEqual([
        'new',
        'assumed new',
        'assumed new assumed',
      ]);
      expect(receive([final, { ...interim, rows: 'D10, C7' }])).toEqual(['new new new', 'assumed assumed']);
    },
  ],

  [
    '12: texts of other formats rank the candidates, and never exclude one',
    (receive) => {
      const csv = { format: 'csv', rows: 'D15 Metro, D15 Shell' };
      const ofx = { format: 'ofx', rows: 'D15 SHELL STATION, D15 METRO AG, D15 BIM' };
      expect(receive([csv, ofx])).toEqual(['new new', 'assumed assumed new']);
      expect(receive([csv, { format: 'csv', rows: 'D15 Shell, D15 Bim' }])).toEqual([
        'new new',
        'assumed new?',
      ]);
    },
  ],

  [
    '13: a balance that links with no other balance is not believed',
    (receive) => {
      const json = { format: 'json', kind: 'none' } as const;
      const file = { opening: 1000, rows: 'D15, D20' };
      expect(receive([{ ...json, rows: 'D15=1000, D20=1000' }, file])).toEqual([
        'new new',
        'assumed assumed',
      ]);
      expect(receive([{ ...json, rows: 'D15=-15, D20=-35' }, file])).toEqual(['new new', 'assumed assumed']);
      expect(receive([{ ...json, rows: 'D15=985, D20=965' }, file])).toEqual(['new new', 'same same']);
    },
  ],

  [
    '14: an entry on an earlier day shifts all later balances',
    (receive) => {
      const before = {
        format: 'csv',
        isPrinted: true,
        rows: '01:D10=990, 02:D20=970, 02:D5=965, 03:C7=972, 04:D1=971',
      };
      const after = {
        ...before,
        rows: '01:D10=990, 01:D100=890, 02:D20=870, 02:D5=865, 03:C7=872, 04:D1=871',
      };
      expect(receive([before, after])).toEqual(
        ['new new new new new', 'same new changed changed changed changed'].map((it) =>
          it.replaceAll('changed', 'same'),
        ),
      );
      const window = { ...before, rows: '02:D5=865, 03:C7=872, 04:D1=871' };
      expect(receive([before, window])).toEqual(['new new new new new', 'changed changed changed']);
    },
  ],

  [
    '15: a day whose entries cancel out is read in the order of the other days',
    (receive) => {
      const first = { format: 'csv', isPrinted: true, rows: '01:D10=990, 01:C10=1000' };
      const newestFirst = { format: 'csv', isPrinted: true, rows: '01:C10=1000, 01:D10=990' };
      expect(receive([first, newestFirst])).toEqual(['new new', 'assumed assumed']);
      expect(receive([first, first])).toEqual(['new new', 'same same']);
    },
  ],

  [
    '10: the bank books a charge late, and issues that statement and the one after it again',
    (receive) => {
      const february = { from: '2026-03-01', to: '2026-03-05', number: '2', opening: 1000 };
      const march = { from: '2026-03-06', to: '2026-03-09', number: '3', rows: '06:D10 Café, 08:D10 Café' };
      const files = [
        { ...february, rows: '01:D100 Rent' },
        { ...march, opening: 900 },
        { ...february, rows: '01:D100 Rent, 05:D5 Charge' },
        { ...march, opening: 895 },
      ];
      expect(receive(files)).toEqual(['new', 'new new', 'same new', 'changed changed']);
      expect(receive([files[0], files[1], [files[2], files[3]]] as Given[])[2]).toBe(
        'same new changed changed',
      );
      expect(receive(files.toReversed())).toEqual(['new new', 'new new', 'changed changed', 'same']);
    },
  ],

  [
    '10: a statement of one day with other balances may be that day again, or go on after a part of it',
    (receive) => {
      const day = { from: '2026-03-01', to: '2026-03-01', rows: 'D10 Café' };
      expect(
        receive([
          { ...day, opening: 1000 },
          { ...day, opening: 995 },
        ]),
      ).toEqual(['new', 'new?']);
      expect(
        receive([
          { ...day, opening: 1000 },
          { ...day, opening: 990 },
        ]),
      ).toEqual(['new', 'new']);
    },
  ],

  [
    '11: a word that stands beside many entries is no id',
    (receive) => {
      const report = { format: 'mt942', kind: 'interim' as const, rows: 'D15//POS Metro' };
      expect(
        receive([
          { ...report, number: '1' },
          { ...report, number: '2' },
        ]),
      ).toEqual(['new', 'assumed']);
    },
  ],

  [
    '12: one format has a lump, and the other one its payments',
    (receive) => {
      const lump = { opening: 1000, rows: 'D300 Lump, C40' };
      const payments = { format: 'csv', isPrinted: true, rows: 'C40=740, D100=700, D120=800, D80=920' };
      expect(receive([lump, payments])).toEqual(['new new', 'same same same same']);
      expect(receive([payments, lump])).toEqual(['new new new new', 'same same']);
      expect(receive([payments, lump, payments, lump]).slice(2)).toEqual([
        'same same same same',
        'same same',
      ]);
      // Other steps between the same balances are other bookings, unless all go in one direction.
      expect(receive([lump, { ...payments, rows: 'C40=740, D400=700, C100=1100' }])[1]).toMatch(
        /new\? new\?$/,
      );
    },
  ],

  [
    '13: a balance that comes back proves nothing',
    (receive) => {
      const table = { format: 'csv', isPrinted: true };
      expect(
        receive([
          { ...table, rows: 'C7=1000, D7=993' },
          { ...table, rows: 'C7=1000' },
        ])[1],
      ).toBe('assumed');
      // The second one may go on after the first one, or begin with its last rows.
      const days = { number: null, from: '2026-03-01' };
      const [, second] = receive([
        { ...days, to: '2026-03-01', opening: 1000, rows: 'D10, C10, D10' },
        { ...days, to: '2026-03-02', opening: 990, rows: 'C10, D10, 02:C10' },
      ]);
      expect(second).toMatch(/^(new|assumed|new\?) (assumed|new\?) (new|new\?)$/);
    },
  ],

  [
    '14: references that are positions in the file name other entries in the next file',
    (receive) => {
      const noon = { format: 'csv', rows: 'D10//1 Rent, D20//2 Café, D30//3 Shop' };
      const evening = { format: 'csv', rows: 'D5//1 Charge, D10//2 Rent, D20//3 Café, D30//4 Shop' };
      expect(receive([noon, evening])[1]).toBe('new assumed assumed assumed');
      const long = (given: typeof noon) => ({ ...given, rows: given.rows.replaceAll('//', '//9000') });
      expect(receive([long(noon), long(evening)])[1]).toBe('new assumed assumed assumed');
      // Two references with other amounts, and more with the same, are ids.
      const ids = { format: 'csv', rows: 'D10//R1 A, D20//R2 B, D30//R3 C, D40//R4 D, D50//R5 E' };
      expect(
        receive([ids, { ...ids, rows: 'D11//R1 A, D21//R2 B, D30//R3 C, D40//R4 D, D50//R5 E' }])[1],
      ).toBe('new? new? same same same');
    },
  ],

  [
    '15: an id with another amount is a conflict only if a final statement of the day has the one and not the other',
    (receive) => {
      const report = {
        format: 'mt942',
        kind: 'interim' as const,
        rows: 'D50//R7001 Restaurant, D9//R7002 Kiosk',
      };
      const day = { opening: 1000, rows: 'D55//R7001 Restaurant, D9//R7002 Kiosk' };
      expect(receive([report, day])).toEqual(['new new', 'conflict same']);
      expect(receive([report, day, day])[2]).toBe('conflict same');
      expect(receive([day, report])).toEqual(['new new', 'new? same']);
      expect(
        receive([
          report,
          [
            { ...day, rows: `D1 A, ${day.rows}` },
            { ...day, opening: 999 },
          ],
        ])[1],
      ).toBe('new conflict same conflict same');
      // The bank gives a payment and its charge one id.
      const both = { opening: 1000, rows: 'D50//R7001 Restaurant, D1//R7001 Charge, D9//R7002 Kiosk' };
      expect(receive([report, both])[1]).toMatch(/^(same|assumed) new same$/);
      expect(receive([report, { ...report, rows: 'D55//R7001 Restaurant' }])[1]).toBe('new?');
    },
  ],

  [
    '16: a text with a broken letter is no other text',
    (receive) => {
      const table = { format: 'csv' };
      const whole = { ...table, rows: 'D10 Café, D20 Müller, D10 Rent' };
      for (const broken of ['D10 Caf\uFFFD, D20 Müller', 'D10 Café, D20 M\uFFFD']) {
        const file = { ...table, rows: broken };
        expect(receive([file, whole])).toEqual([
          'new new',
          expect.stringMatching(/^assumed assumed new\??$/),
        ]);
        expect(receive([whole, file])).toEqual(['new new new', 'assumed assumed']);
      }
    },
  ],

  [
    '17: a file has an entry under another day than before, and both files have both days',
    (receive) => {
      const file = { format: 'ofx', rows: '01:D10//R8001 A, 02:D20//R8002 B, 03:D5//R8003 C' };
      const moved = { format: 'ofx', rows: '01:D10//R8001 A, 03:D20//R8002 B, 03:D5//R8003 C' };
      expect(receive([file, moved])[1]).toBe('same assumed same');
      expect(receive([moved, file])[1]).toBe('same assumed same');
      // The second file does not say that the first day is without the entry.
      expect(receive([file, { format: 'ofx', rows: '03:D20//R8002 B' }])[1]).toBe('new?');
    },
  ],
];
