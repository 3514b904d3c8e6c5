import { describe, expect, it } from 'vitest';
import { parseProfile, readStatements } from '../../../packages/statements/src/index.ts';
import { splitAccount } from '../../../packages/statements/src/profiles/cells.ts';
import { createAmountReader, createDateReader } from '../../../packages/statements/src/profiles/values.ts';
import { testProfile } from './profile.fixture.ts';

/** Files in which something would be read that the bank does not mean. */

/** Reads a table, and lists the balances of its account, its entries and its rejected rows. */
async function read(lines: readonly string[], changes: Record<string, unknown> = {}) {
  const profile = testProfile({ account: { currency: { value: 'EUR' } }, ...changes });
  const found = {
    opening: null as string | null,
    closing: null as string | null,
    entries: [] as string[],
    rejected: [] as string[],
  };
  for await (const it of readStatements(Buffer.from(`${lines.join('\n')}\n`), { profiles: [profile] })) {
    found.opening ??= it.opening?.amount ?? null;
    found.closing ??= it.closing?.amount ?? null;
    found.entries.push(...it.entries.map(({ date, amount }) => `${date} ${amount}`));
    found.rejected.push(...it.rejected.map(({ line, path }) => `${line} ${path}`));
  }
  return found;
}

const HEADING = 'Date;Amount;Text;Balance';

it.each([
  ['SE45 5000 0000 0583 9825 7466 SEK', 'SE4550000000058398257466'],
  ['BE68 5390 0754 7034 Main account', 'BE68539007547034'],
  ['AT61 1904 3002 3457 3201 EUR', 'AT611904300234573201'],
  ['DE89 3704 0044 0532 0130 00', 'DE89370400440532013000'],
])('an IBAN ends where those of its country do: %s', (text, iban) => {
  expect(splitAccount(text)).toEqual({ iban, number: null });
});

describe('an amount', () => {
  const rupees = () => createAmountReader({ decimalSign: '.', currencyTexts: ['Rs', 'INR'] });
  it.each<[string, bigint | null]>([
    ['Rs.500.00', 500_000n],
    ['Rs.1,500.50', 1_500_500n],
    ['Rs.50', null],
    ['Rs 50', 50_000n],
    ['500.00(Dr)', -500_000n],
    ['500.00 (Cr)', 500_000n],
    ['500.00 INR Dr', -500_000n],
    ['Dr INR 500.00', -500_000n],
    ['5.-', 5_000n],
    ['1,250.--', 1_250_000n],
    [`${'9'.repeat(32_000)}.00`, null],
  ])('is read or refused: %j', (text, amount) => {
    expect(rupees()(text)).toBe(amount);
  });

  it('with a point behind letters shows no decimals', async () => {
    const rows = [HEADING.replaceAll(';', '|'), '02.03.2026|EUR.500|a|', '03.03.2026|1.500|b|'];
    const changes = { decimalSign: '.', delimiter: '|', currencyTexts: ['EUR'] };
    expect((await read(rows, changes)).entries).toEqual([]);
  });
});

it.each([
  ['DD MMM YYYY', 'FR', '1er mars 2026', '2026-03-01'],
  ['DD MMM YYYY', 'CH', '2 Mrz 2026', '2026-03-02'],
  ['DD MMM YYYY', 'AT', '2. Jänner 2026', '2026-01-02'],
  ['DD-MMM-YY', 'IN', '02-Mar-26', '2026-03-02'],
  ['DD/MMM/YYYY', 'IN', '02/Mar/2026', '2026-03-02'],
  ['YYYY-MM-DD', 'US', '2026-03-02 10:00:00 GMT', '2026-03-02'],
  ['YYYY-MM-DD', 'US', '2026-03-02 10:00:00+00', '2026-03-02'],
] as const)('a date of the format %s is read in %s: %s', (format, country, text, date) => {
  expect(createDateReader([format], country)(text)).toBe(date);
});

it.each([
  [
    'in years of two and of four digits',
    ['DD/MM/YYYY', 'MM/DD/YYYY', 'DD/MM/YY', 'MM/DD/YY'],
    ['02/03/26', '03/25/26'],
    ['2026-02-03', '2026-03-25'],
  ],
  [
    'in formats that differ in their years',
    ['DD/MM/YY', 'MM/DD/YYYY'],
    ['02/03/26', '25/03/26'],
    ['2026-03-02', '2026-03-25'],
  ],
])('one row decides whether dates begin with the day, %s', async (_, dateFormats, dates, expected) => {
  const { entries } = await read([HEADING, ...dates.map((date) => `${date};1,00;a;`)], { dateFormats });
  expect(entries).toEqual(expected.map((date) => `${date} 1.00`));
});

it('dates that no row decides are refused in whatever formats', async () => {
  const rows = [HEADING, '02/03/26;1,00;a;', '03/04/26;1,00;b;'];
  const dateFormats = ['DD/MM/YYYY', 'MM/DD/YYYY', 'DD/MM/YY', 'MM/DD/YY'];
  await expect(read(rows, { dateFormats })).rejects.toThrow('can be read in two ways');
});

it.each([
  ['a date before it', 'Opening;20260301;1500,00', '1500.00'],
  ['a year in the label', 'Opening 2026;1500,00', '1500.00'],
  ['the direction behind it', 'Opening;1500,00;Dr', '-1500.00'],
  ['its label in one cell', 'Opening: 1500,00', '1500.00'],
])('a balance beside a label is read with %s', async (_, row, opening) => {
  const changes = { openingBalance: { label: 'Opening' }, dateFormats: ['YYYYMMDD'] };
  expect(await read([row, HEADING, '20260302;1,00;a;'], changes)).toMatchObject({ opening });
});

it('letters of a fee say whether the bank takes it or gives it back', async () => {
  const heading = ['Date', 'Amount', 'Text', 'Fee'];
  const columns = { date: 'Date', amount: 'Amount', description: 'Text', fee: 'Fee' };
  const rows = [
    heading.join(';'),
    '02.03.2026;100,00;a;1,00 Dr',
    '03.03.2026;100,00;b;1,00 Cr',
    '04.03.2026;100,00;c;1,00',
  ];
  expect((await read(rows, { heading, columns })).entries).toEqual([
    '2026-03-02 99.00',
    '2026-03-03 101.00',
    '2026-03-04 99.00',
  ]);
});

it('letters that contradict the column of directions are refused', async () => {
  const heading = ['Date', 'Amount', 'Text', 'DC'];
  const indicator = { column: 'DC', debit: ['D'], credit: ['C'] };
  const columns = { date: 'Date', amount: 'Amount', description: 'Text', indicator };
  const rows = [
    '02.03.2026;1,00 Cr;a;D',
    '02.03.2026;1,00 Dr;a;C',
    '02.03.2026;1,00 Dr;a;D',
    '02.03.2026;-1,00;a;D',
    '02.03.2026;1,00;a;X',
  ];
  expect(await read([heading.join(';'), ...rows], { heading, columns })).toMatchObject({
    entries: ['2026-03-02 -1.00', '2026-03-02 -1.00'],
    rejected: ['2 amount', '3 amount', '6 indicator'],
  });
});

describe('a row with an amount is never lost without a word', () => {
  it('before the heading of the next page', async () => {
    const rows = [HEADING, '02.03.2026;-1,00;a;', '32.03.2026;-7,00;b;', HEADING, '03.03.2026;-2,00;c;'];
    expect(await read(rows)).toMatchObject({
      entries: ['2026-03-02 -1.00', '2026-03-03 -2.00'],
      rejected: ['3 date'],
    });
  });

  it('where rows without a date go on with the text before', async () => {
    const rows = [HEADING, '02.03.2026;-1,00;a;', ';;more;', ';-7,00;b;'];
    expect(await read(rows, { continuationRows: true })).toMatchObject({
      entries: ['2026-03-02 -1.00'],
      rejected: ['4 date'],
    });
  });
});

it('an amount that its decimal comma has cut is refused', async () => {
  const rows = [HEADING.replaceAll(';', ','), '02.03.2026,-500,25,a,', '02.03.2026,"-500,25",a,'];
  expect(await read(rows, { delimiter: ',' })).toMatchObject({
    entries: ['2026-03-02 -500.25'],
    rejected: ['2 row'],
  });
});

it('an account of MT940 may have its currency behind a blank, and a number without pages', async () => {
  const text = [
    ':20:A',
    ':25:DE89370400440532013000 EUR',
    ':28:12/3',
    ':60F:C260301EUR1,00',
    ':62F:C260301EUR1,00',
    '-',
  ].join('\r\n');
  for await (const { account, currency, number } of readStatements(Buffer.from(text)))
    expect([account.iban, currency, number]).toEqual(['DE89370400440532013000', 'EUR', '12']);
});

it('a profile with these formats of dates can be loaded', () => {
  expect(
    parseProfile('own', {
      bank: 'B',
      source: 's',
      delimiter: ';',
      decimalSign: ',',
      dateFormats: ['DD-MMM-YY', 'DD/MMM/YYYY'],
      skipRows: 0,
      columns: { date: 1, amount: 2 },
    }).name,
  ).toBe('own');
});
