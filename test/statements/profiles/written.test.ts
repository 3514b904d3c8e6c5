import { describe, expect, it } from 'vitest';
import { parseProfile, readStatements } from '../../../packages/statements/src/index.ts';

/** Numbers and months as banks of other countries write them in tables. */

const HEADING = ['Date', 'Text', 'Amount', 'Balance'];

interface Table {
  country?: string;
  currency: string;
  decimalSign?: ',' | '.';
  dates?: string;
  columns?: object;
  positive?: 'credit' | 'debit';
  rows: readonly string[];
}

/** The entries of a table with semicolons, each as `date amount balance`, and the rows that were rejected. */
async function read({
  currency,
  decimalSign = '.',
  dates = 'DD/MM/YYYY',
  columns = { amount: 'Amount' },
  rows,
  ...more
}: Table) {
  const profile = parseProfile('own', {
    ...more,
    ...{ bank: 'Own', source: 'test', delimiter: ';', decimalSign, dateFormats: [dates] },
    heading: [
      ...HEADING.slice(0, 2),
      ...(rows[0]?.split(';').length === 5 ? ['Debit', 'Credit'] : ['Amount']),
      'Balance',
    ],
    columns: { date: 'Date', description: 'Text', balance: 'Balance', ...columns },
    account: { currency: { value: currency } },
  });
  const heading = profile.heading?.join(';') ?? '';
  const source = Buffer.from(`${[heading, ...rows].join('\n')}\n`);
  const found: string[] = [];
  const rejected: string[] = [];
  for await (const it of readStatements(source, { profiles: [profile] })) {
    found.push(...it.entries.map(({ date, amount, balance }) => `${date} ${amount} ${balance}`));
    rejected.push(...it.rejected.map(({ line, path }) => `${line} ${path}`));
  }
  return { found, rejected };
}

const PAIR = { debit: 'Debit', credit: 'Credit' };

describe('three digits after the decimal sign', () => {
  it.each<[string, Table, string[]]>([
    [
      'are decimals where an amount has four digits before the sign, also in the rows before',
      { currency: 'SEK', rows: ['02/03/2026;Kiosk;-49.500;15660.100', '03/03/2026;Lön;30000.000;45660.100'] },
      ['2026-03-02 -49.50 15660.10', '2026-03-03 30000.00 45660.10'],
    ],
    [
      'are decimals where the other sign stands before them',
      {
        currency: 'SEK',
        decimalSign: ',',
        rows: ['02/03/2026;Kiosk;-49,500;1.660,100', '03/03/2026;Lön;100,000;1.760,100'],
      },
      ['2026-03-02 -49.50 1660.10', '2026-03-03 100.00 1760.10'],
    ],
    [
      'are decimals where an amount is below one',
      { currency: 'EUR', rows: ['02/03/2026;Fee;-0.500;9.500', '03/03/2026;Fee;-.500;9.000'] },
      ['2026-03-02 -0.50 9.50', '2026-03-03 -0.50 9.00'],
    ],
    [
      'are decimals in a currency that has three, where other amounts have fewer',
      { currency: 'BHD', rows: ['02/03/2026;Café;-2;227.175', '03/03/2026;Café;-2.5;224.675'] },
      ['2026-03-02 -2.000 227.175', '2026-03-03 -2.500 224.675'],
    ],
    [
      'are decimals in Jordan, with thousands',
      { currency: 'JOD', rows: ['02/03/2026;Salary;1,234.500;2,234.500', '03/03/2026;Café;-2;2,232.500'] },
      ['2026-03-02 1234.500 2234.500', '2026-03-03 -2.000 2232.500'],
    ],
  ])('%s', async (_, table, expected) => {
    expect(await read(table)).toEqual({ found: expected, rejected: [] });
  });

  it('may be thousands where nothing says what they are', async () => {
    const rows = ['02/03/2026;Rent;-1.500;8.500', '03/03/2026;Rent;-2.000;6.500'];
    expect(await read({ currency: 'EUR', rows })).toEqual({ found: [], rejected: ['2 amount', '3 amount'] });
  });

  it('are decided by the first 1,000 rows', async () => {
    const doubtful = Array.from({ length: 1_000 }, () => '02/03/2026;Rent;-1.500;');
    const { found, rejected } = await read({
      currency: 'EUR',
      rows: [...doubtful, '03/03/2026;Rent;-2000.000;'],
    });
    expect([found.length, rejected.length]).toEqual([0, 1_001]);
    const decided = await read({
      currency: 'EUR',
      rows: [...doubtful.slice(1), '03/03/2026;Rent;-2000.000;'],
    });
    expect([decided.found.length, decided.rejected.length]).toEqual([1_000, 0]);
  });
});

describe('amounts of India', () => {
  it.each<[string, Table, string[], string[]]>([
    [
      'have groups of two digits',
      {
        currency: 'INR',
        rows: [
          '02/03/2026;NEFT;12,34,567.00;13,34,567.00',
          '03/03/2026;Rent;-1,50,000.50;11,84,566.50',
          '04/03/2026;Chq;2,000.00;11,86,566.50',
        ],
      },
      [
        '2026-03-02 1234567.00 1334567.00',
        '2026-03-03 -150000.50 1184566.50',
        '2026-03-04 2000.00 1186566.50',
      ],
      [],
    ],
    [
      'are refused in a table that has groups of three',
      { currency: 'INR', rows: ['02/03/2026;NEFT;1,234,567.00;', '03/03/2026;Rent;-1,50,000.50;'] },
      ['2026-03-02 1234567.00 null'],
      ['3 amount'],
    ],
    [
      'have the direction behind them',
      {
        currency: 'INR',
        rows: [
          '02/03/2026;NEFT;5,00,000.00 Cr;5,00,000.00 Cr',
          '03/03/2026;Rent;6,00,000.00 Dr.;1,00,000.00 DR',
          '04/03/2026;Refund;-5.00 Cr;',
        ],
      },
      ['2026-03-02 500000.00 500000.00', '2026-03-03 -600000.00 -100000.00'],
      ['4 amount'],
    ],
    [
      'have the direction before them, which counts more than what is positive in the table',
      {
        currency: 'INR',
        positive: 'debit',
        rows: ['02/03/2026;Shop;D 20.00;', '03/03/2026;Paid;C 20.00;', '04/03/2026;Shop;20.00;'],
      },
      ['2026-03-02 -20.00 null', '2026-03-03 20.00 null', '2026-03-04 -20.00 null'],
      [],
    ],
    [
      'have the direction beside each column',
      {
        currency: 'INR',
        columns: PAIR,
        rows: [
          '02/03/2026;Shop;20.00 Dr;;80.00 Cr',
          '03/03/2026;Paid;;20.00 Cr;100.00 Cr',
          '04/03/2026;Shop;20.00 Cr;;',
          '05/03/2026;Shop;;20.00 Dr;',
        ],
      },
      ['2026-03-02 -20.00 80.00', '2026-03-03 20.00 100.00'],
      ['4 debit', '5 credit'],
    ],
  ])('%s', async (_, table, found, rejected) => {
    expect(await read(table)).toEqual({ found, rejected });
  });
});

describe('months by name', () => {
  it.each<[string | undefined, string, string | null]>([
    ['FR', '15 août 2026', '2026-08-15'],
    ['FR', '11 nov. 2026', '2026-11-11'],
    ['DE', '2. März 2026', '2026-03-02'],
    ['DE', '2 Mai 2026', '2026-05-02'],
    ['TR', '3 Oca 2026', '2026-01-03'],
    ['TR', '3 ŞUBAT 2026', '2026-02-03'],
    ['IT', '3 dicembre 2026', '2026-12-03'],
    ['PL', '3 marca 2026', '2026-03-03'],
    ['GR', '3 Μαρ 2026', '2026-03-03'],
    ['PL', '3 listopad 2026', '2026-11-03'],
    ['HR', '3 listopad 2026', '2026-10-03'],
    // Two months have the name, and no country says which.
    [undefined, '3 listopad 2026', null],
    [undefined, '3 Sept 2026', '2026-09-03'],
    ['TR', '3 Foo 2026', null],
  ])('are read in the languages of banks: %s, %s', async (country, date, expected) => {
    const rows = [`${date};Text;1.00;`];
    const table: Table = {
      currency: 'EUR',
      dates: 'DD MMM YYYY',
      rows,
      ...(country === undefined ? {} : { country }),
    };
    const { found, rejected } = await read(table);
    expect(found).toEqual(expected === null ? [] : [`${expected} 1.00 null`]);
    expect(rejected).toEqual(expected === null ? ['2 date'] : []);
  });
});

it.each([
  'C'.repeat(50_000),
  `${'1,23,'.repeat(10_000)} Dr`,
  `${'9'.repeat(50_000)}.000`,
  `${' '.repeat(50_000)}D`,
])('an amount of many characters is refused at once', async (amount) => {
  expect(await read({ currency: 'EUR', rows: [`02/03/2026;Text;${amount};`] })).toEqual({
    found: [],
    rejected: ['2 amount'],
  });
});
