import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { looksLikeBai2, parseBai2 } from '../../../src/statements/bai2/parse.ts';
import { balanceDifferences, describeEvents, entriesOf, readEvents } from '../statement-events.ts';

const textOf = (name: string) => readFileSync(new URL(`../../samples/bai2/${name}`, import.meta.url), 'utf8');

it.each<[string, string[], bigint[]]>([
  [
    'two-accounts.bai',
    [
      'statement 0012345 USD',
      '2026-03-01 +100.00',
      '2026-03-01 +500.00',
      '2026-03-01 +300.00',
      '2026-03-01 +200.00',
      '2026-03-01 -250.00',
      '2026-03-01 -100.00',
      'end 1750.00',
      'statement DE89370400440532013000 EUR',
      'end -50.00',
    ],
    [0n, 0n],
  ],
  [
    'one-line.bai',
    ['statement 0012345 USD', '2026-03-01 +5.00', '2026-03-01 +1.00', '2026-03-01 -3.00', 'end 13.00'],
    [0n],
  ],
  [
    'untidy.bai',
    [
      'statement 0012345 USD',
      'warning at 8', // The text that the bank broke.
      '2026-03-01 +3.00',
      'warning at 11', // The control total.
      'end 13.00',
      'warning at 11', // No trailer of the group,
      'warning at 11', // and none of the file.
    ],
    [0n],
  ],
  [
    'yen-and-dinar.bai',
    [
      'statement 777 JPY',
      '2026-03-01 +1234.00',
      'end 6234.00',
      'statement 888 KWD',
      '2026-03-01 +2.23',
      'issue at 8: amount',
      'end 7.23',
    ],
    [0n, 0n],
  ],
  [
    'test-group.bai',
    [
      'issue at 3: group status',
      'statement 0012345 USD',
      'issue at 10: type code',
      'issue at 11: amount',
      '2026-03-01 +1.00',
      'end',
    ],
    [],
  ],
])('a BAI2 file is read: %s', async (name, expected, differences) => {
  const text = textOf(name);
  expect(looksLikeBai2(text.slice(0, 4096))).toBe(true);
  for (const ends of ['\n', '\r\n', '\r']) {
    const events = await readEvents(parseBai2, text.replaceAll('\n', ends), [7]);
    expect(describeEvents(events)).toEqual(expected);
    expect(balanceDifferences(events)).toEqual(differences);
  }
});

it('a BAI2 file keeps its references and texts', async () => {
  const entries = [
    ...entriesOf(await readEvents(parseBai2, textOf('two-accounts.bai'))),
    ...entriesOf(await readEvents(parseBai2, textOf('one-line.bai'))),
    ...entriesOf(await readEvents(parseBai2, textOf('untidy.bai'))),
  ];
  expect(entries.map(({ code, reference, description }) => `${code} ${reference}: ${description}`)).toEqual([
    '165 DD1620: DEALER PAYMENTS',
    '195 WIRE-1: PAYMENT FROM ACME, INVOICE 12/2026/5137 SECOND LINE INV 5137',
    '175 DEP-7: BRANCH DEPOSIT',
    '142 null: null',
    '475 CHK-1: CHECK 000319',
    '455 CARD-9: CARD PAYMENT CARD-9',
    '195 W-1: PAID 12/16,000 USD AND 1/88',
    '195 W-2: NO SLASH',
    '475 C-1: CHECK 77',
    '195 W-1: A TEXT THAT THE BANK BROKE WITHOUT A RECORD CODE',
  ]);
});
