import { describe, expect, it } from 'vitest';
import { createCsvParser } from '../../../packages/statements/src/csv/parse.ts';
import { collect, entriesOf, inParts, show } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

const HEADING = 'Date;Amount;Text;Balance\n';

const parse = (text: string, changes: Record<string, unknown> = {}) =>
  collect(createCsvParser(testProfile(changes))(inParts(text)));

/** Entries, issues and warnings, each on one line. */
async function read(text: string, changes: Record<string, unknown> = {}): Promise<string[]> {
  return (await parse(text, changes)).flatMap((event) => {
    if (event.type === 'entry') return [show(event.entry)];
    if (event.type === 'issue') return [`${event.line} ${event.path}: ${event.message}`];
    if (event.type === 'warning') return [`${event.line} warning: ${event.message}`];
    return [];
  });
}

const PAIR = {
  heading: ['Date', 'Out', 'In'],
  columns: { date: 'Date', debit: 'Out', credit: 'In' },
};
const INDICATED = {
  heading: ['Date', 'Amount', 'D/C'],
  columns: {
    date: 'Date',
    amount: 'Amount',
    indicator: { column: 'D/C', debit: ['B', 'Borç'], credit: ['A', 'Alacak'] },
  },
};

describe('the CSV parser', () => {
  it.each<[string, string, Record<string, unknown>, string[]]>([
    [
      'CR LF, LF, CR and CR CR LF end a line; blank lines are skipped',
      'Date;Amount;Text;Balance\r\n\r\n01.02.2026;1,00;a;\r02.02.2026;2,00;b;\r\r\n\n03.02.2026;3,00;c;',
      {},
      ['2026-02-01 Credit 1.00 | a', '2026-02-02 Credit 2.00 | b', '2026-02-03 Credit 3.00 | c'],
    ],
    [
      'a row of delimiters is skipped',
      `${HEADING};;;\n01.02.2026;1,00;a;\n  ; ;;\n`,
      {},
      ['2026-02-01 Credit 1.00 | a'],
    ],
    [
      'a quoted text has a delimiter, a line break and a quotation mark',
      `${HEADING}01.02.2026;1,00;"a; ""b""\nc";5,00\n`,
      {},
      ['2026-02-01 Credit 1.00 = 5.00 | a; "b" c'],
    ],
    [
      'a quotation mark within a text that is not quoted stands for itself',
      `${HEADING}01.02.2026;1,00;TV 55" UHD;\n02.02.2026;2,00;b;\n`,
      {},
      ['2026-02-01 Credit 1.00 | TV 55" UHD', '2026-02-02 Credit 2.00 | b'],
    ],
    [
      'a quotation mark within a quoted text that is not doubled stands for itself',
      `${HEADING}01.02.2026;1,00;"the "best" shop";\n`,
      {},
      ['2026-02-01 Credit 1.00 | the "best" shop'],
    ],
    [
      'a quotation mark that is not closed costs its row only',
      `${HEADING}01.02.2026;1,00;"a;\n02.02.2026;2,00;b;\n03.02.2026;3,00;"c";\n`,
      {},
      [
        '2 row: a quotation mark is opened and not closed',
        '2026-02-02 Credit 2.00 | b',
        '2026-02-03 Credit 3.00 | c',
      ],
    ],
    [
      'a line that is too long costs its row only',
      `${HEADING}01.02.2026;1,00;${'x'.repeat(70_000)};\n02.02.2026;2,00;b;\n`,
      {},
      ['2 row: the line is longer than 64 KiB', '2026-02-02 Credit 2.00 | b'],
    ],
    [
      'a delimiter in a text without quotation marks is an issue, not a shifted row',
      `${HEADING}01.02.2026;1,00;a;b;5,00\n`,
      {},
      ['2 row: "5,00" is beyond the 4 columns of the heading: is a separator not in quotation marks?'],
    ],
    [
      'empty cells beyond the heading are no matter',
      `${HEADING}01.02.2026;1,00;a;;;;\n`,
      {},
      ['2026-02-01 Credit 1.00 | a'],
    ],
    [
      'a date and an amount that cannot be read are issues, cut to 40 characters',
      `${HEADING}31.11.2026;1,00;a;\n01.02.2026;${'9'.repeat(60)}x;b;\n`,
      {},
      [
        '2 date: "31.11.2026" is not a date. Allowed: DD.MM.YYYY, from 1900 to 2099',
        `3 amount: "${'9'.repeat(40)}…" is not an amount. Allowed: digits, "," before the cents, a sign`,
      ],
    ],
    [
      'a balance that cannot be read is a warning, and the row is read',
      `${HEADING}01.02.2026;1,00;a;n/a\n`,
      {},
      ['2 warning: the balance "n/a" cannot be read', '2026-02-01 Credit 1.00 | a'],
    ],
    [
      'a file without the heading of its profile',
      'Datum;Betrag\n01.02.2026;1,00\n',
      {},
      [
        '1 heading: the heading of the profile test is not in the first 100 rows: Date, Amount, Text, Balance',
      ],
    ],
    [
      'rows newest first come out as they are',
      `${HEADING}02.02.2026;2,00;b;\n01.02.2026;1,00;a;\n`,
      {},
      ['2026-02-02 Credit 2.00 | b', '2026-02-01 Credit 1.00 | a'],
    ],
    [
      'debits positive',
      `${HEADING}01.02.2026;1,00;a;\n01.02.2026;-1,00;b;\n`,
      { positive: 'debit' },
      ['2026-02-01 Debit 1.00 | a', '2026-02-01 Credit 1.00 | b'],
    ],
    [
      'columns for debit and credit',
      'Date;Out;In\n01.02.2026;1,00;\n02.02.2026;;2,00\n03.02.2026;0,00;3,00\n',
      PAIR,
      ['2026-02-01 Debit 1.00', '2026-02-02 Credit 2.00', '2026-02-03 Credit 3.00'],
    ],
    [
      'columns for debit and credit: both, none, or the wrong sign',
      'Date;Out;In\n01.02.2026;1,00;1,00\n02.02.2026;;\n03.02.2026;-1,00;\n04.02.2026;;-1,00\n',
      PAIR,
      [
        '2 amount: both a debit and a credit: one of the two must be empty or zero',
        '3 amount: neither a debit nor a credit: one of the two must have an amount',
        '4 debit: "-1,00" is negative: the debits of this profile must not be',
        '5 credit: "-1,00" is negative: a credit must not be',
      ],
    ],
    [
      'negative debits',
      'Date;Out;In\n01.02.2026;-1,00;\n02.02.2026;1,00;\n',
      { ...PAIR, negativeDebits: true },
      ['2026-02-01 Debit 1.00', '3 debit: "1,00" is positive: the debits of this profile must not be'],
    ],
    [
      'dashes in one of the columns for debit and credit are no amount, and in both of them are an issue',
      'Date;Out;In\n01.02.2026;1,00;-\n02.02.2026;--;2,00\n03.02.2026;—;-\n04.02.2026;1,00;n/a\n',
      PAIR,
      [
        '2026-02-01 Debit 1.00',
        '2026-02-02 Credit 2.00',
        '4 amount: neither a debit nor a credit: one of the two must have an amount',
        '5 credit: "n/a" is not an amount. Allowed: digits, "," before the cents, a sign',
      ],
    ],
    [
      'a row may end after its debit, and not before it',
      'Date;Out;In\n01.02.2026;1,00\n02.02.2026\n03.02.2026;;3,00\n',
      PAIR,
      [
        '2026-02-01 Debit 1.00',
        '3 amount: neither a debit nor a credit: one of the two must have an amount',
        '2026-02-03 Credit 3.00',
      ],
    ],
    [
      'a dash in place of a balance is no balance',
      `${HEADING}01.02.2026;1,00;a;-\n`,
      {},
      ['2026-02-01 Credit 1.00 | a'],
    ],
    [
      'a row that ends after its amount is read, and one that ends before it is not',
      `${HEADING}01.02.2026;1,00;a\n02.02.2026;2,00\n03.02.2026\n04.02.2026;4,00;d;7,00\n`,
      {},
      [
        '2026-02-01 Credit 1.00 | a',
        '2026-02-02 Credit 2.00',
        '4 row: the row has 1 cell, and needs 2: it may be cut off',
        '2026-02-04 Credit 4.00 = 7.00 | d',
      ],
    ],
    [
      'a row that ends before the column of its account is not read, because it may be of another account',
      'Date;Amount;Account\n01.02.2026;1,00;1\n02.02.2026;2,00\n',
      {
        heading: ['Date', 'Amount', 'Account'],
        columns: { date: 'Date', amount: 'Amount' },
        account: { number: { column: 'Account' } },
      },
      ['2026-02-01 Credit 1.00', '3 row: the row has 2 cells, and needs 3: it may be cut off'],
    ],
    [
      'a short row without its currency has that of its statement',
      'Date;Amount;Cur\n01.02.2026;1,00;EUR\n02.02.2026;2,00\n',
      {
        heading: ['Date', 'Amount', 'Cur'],
        columns: { date: 'Date', amount: 'Amount', currency: 'Cur' },
        account: { currency: { column: 'Cur' } },
      },
      ['2026-02-01 Credit 1.00 | EUR', '2026-02-02 Credit 2.00'],
    ],
    [
      'pending rows without a date or an amount are left out, and never continue a description',
      'Date;Amount;Text;State\n01.02.2026;1,00;a;\n;2,00;b;Pending\n03.02.2026;;c;PENDING\n04.02.2026;4,00;d;pending\n',
      {
        heading: ['Date', 'Amount', 'Text', 'State'],
        columns: {
          date: 'Date',
          amount: 'Amount',
          description: 'Text',
          status: { column: 'State', pending: ['pending'] },
        },
        continuationRows: true,
      },
      [
        '2026-02-01 Credit 1.00 | a',
        '2026-02-04 Credit 4.00 | pending | d',
        '5 warning: pending rows without a date or an amount are left out: 2',
      ],
    ],
    [
      'an indicator, with or without a sign',
      'Date;Amount;D/C\n01.02.2026;1,00;B\n02.02.2026;-2,00;BORÇ\n03.02.2026;3,00;Alacak\n',
      INDICATED,
      ['2026-02-01 Debit 1.00', '2026-02-02 Debit 2.00', '2026-02-03 Credit 3.00'],
    ],
    [
      'an indicator that is unknown, or says the opposite of the sign',
      'Date;Amount;D/C\n01.02.2026;1,00;X\n02.02.2026;-2,00;A\n',
      INDICATED,
      [
        '2 indicator: "X" is not one of B, Borç, A, Alacak',
        '3 amount: "-2,00" is negative, but "A" is a credit',
      ],
    ],
    [
      'a fee is subtracted',
      'Date;Amount;Fee\n01.02.2026;-500,00;4,25\n02.02.2026;10,00;\n',
      {
        heading: ['Date', 'Amount', 'Fee'],
        columns: { date: 'Date', amount: 'Amount', fee: 'Fee' },
      },
      ['2026-02-01 Debit 504.25', '2026-02-02 Credit 10.00'],
    ],
    [
      'a status: booked, pending, ignored, unknown',
      'Date;Amount;State\n01.02.2026;1,00;DONE\n02.02.2026;2,00;WAITING\n03.02.2026;3,00;REVERTED\n04.02.2026;4,00;?\n',
      {
        heading: ['Date', 'Amount', 'State'],
        columns: {
          date: 'Date',
          amount: 'Amount',
          status: { column: 'State', booked: ['done'], pending: ['waiting'], ignored: ['reverted'] },
        },
      },
      [
        '2026-02-01 Credit 1.00',
        '2026-02-02 Credit 2.00 | pending',
        '5 status: "?" is not one of done, waiting, reverted',
      ],
    ],
    [
      'a currency',
      'Date;Amount;Cur\n01.02.2026;1,00;eur\n02.02.2026;2,00;TL\n03.02.2026;3,00;euro\n',
      {
        heading: ['Date', 'Amount', 'Cur'],
        columns: { date: 'Date', amount: 'Amount', currency: 'Cur' },
      },
      [
        '2026-02-01 Credit 1.00 | EUR',
        '2026-02-02 Credit 2.00 | TRY',
        '4 currency: "euro" is not a currency. Allowed: three letters, such as TRY',
      ],
    ],
    [
      'rows without a heading, and a trailer',
      'Report of today\n01.02.2026;1,00\n02.02.2026;2,00\n\nTotal;3,00\nEnd\n',
      { heading: undefined, skipRows: 1, trailerRows: 2, columns: { date: 1, amount: 2 } },
      ['2026-02-01 Credit 1.00', '2026-02-02 Credit 2.00'],
    ],
    [
      'a description that goes on in the next rows',
      `${HEADING}01.02.2026;1,00;a;\n;;b;\n;;c;\n02.02.2026;2,00;d;\n`,
      { continuationRows: true },
      ['2026-02-01 Credit 1.00 | a b c', '2026-02-02 Credit 2.00 | d'],
    ],
    [
      'tabs, apostrophes for quotation marks, several columns for the description',
      "Date\tAmount\tText\tBalance\n01.02.2026\t1,00\t'it''s\ta'\t9,00\n",
      {
        delimiter: '\t',
        quote: "'",
        columns: { date: 'Date', amount: 'Amount', description: ['Text', 4] },
      },
      ["2026-02-01 Credit 1.00 | it's a 9,00"],
    ],
    [
      'no quotation marks at all',
      `${HEADING}01.02.2026;1,00;"a;\n`,
      { quote: null },
      ['2026-02-01 Credit 1.00 | "a'],
    ],
  ])('reads rows correctly: %s', async (_, text, changes, expected) => {
    expect(await read(text, changes)).toEqual(expected);
  });
});

describe('the details of a CSV row', () => {
  const DETAILED = {
    heading: ['Date', 'Amount', 'Value', 'E2E', 'Mandate', 'RF'],
    columns: {
      date: 'Date',
      amount: 'Amount',
      valueDate: 'Value',
      endToEndId: 'E2E',
      mandateReference: 'Mandate',
      creditorReference: 'RF',
    },
  };
  const detailsOf = async (cells: string) =>
    entriesOf(await parse(`Date;Amount;Value;E2E;Mandate;RF\n01.02.2026;1,00;${cells}\n`, DETAILED)).map(
      ({ details }) => details,
    );

  it('are the value date and the references that its columns have', async () => {
    expect(await detailsOf('02.02.2026;E-1; M-1 ;RF18 5390 0754 7034')).toEqual([
      {
        valueDate: '2026-02-02',
        endToEndId: 'E-1',
        mandateReference: 'M-1',
        creditorReference: 'RF18539007547034',
      },
    ]);
  });

  it('are absent where the columns are empty, have no reference, or no valid one', async () => {
    expect(await detailsOf(';;;')).toEqual([undefined]);
    expect(await detailsOf('--;NOTPROVIDED;;RF00 1')).toEqual([undefined]);
  });
});
