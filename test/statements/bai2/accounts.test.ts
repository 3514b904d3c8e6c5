import { describe, expect, it } from 'vitest';
import { describeEvents, entriesOf, warningsOf } from '../statement-events.ts';
import { ACCOUNT, END, FILE, GROUP, read, STATEMENT } from './records.ts';

describe('an account of a BAI2 file', () => {
  const balances = async (record: string) => {
    const events = await read(`${FILE}${GROUP}${record}\n${END}`);
    const statement = events.find((event) => event.type === 'statement');
    const end = events.find((event) => event.type === 'end');
    return [statement?.opening?.amount, end?.closing?.amount, warningsOf(events).length];
  };

  it.each<[string, string]>([
    ['both in one record', '03,17,,010,100,,,015,-250,,/'],
    ['in a continuation', '03,17,,010,100,,/\n88,015,-250,,/'],
    ['an amount that begins a continuation', '03,17,,010,100,,,015/\n88,-250,,/'],
    ['an item count that begins a continuation', '03,17,,100,500/\n88,4,,010,100,,,015,-250,,/'],
    ['a funds type that begins a continuation', '03,17,,100,500,4/\n88,S,1,2,3,010,100,,,015,-250,,/'],
    ['no count and funds type before a continuation', '03,17,,010,100/\n88,015,-250/'],
    ['no funds type before a continuation', '03,17,,010,100,/\n88,015,-250/'],
    ['a comma before the closing slash', '03,17,,010,100,,,/\n88,015,-250,,,/'],
    ['empty sums first', '03,17,USD,,,,,010,100,,,015,-250,,/'],
    ['plus signs and leading zeros', '03,17,,010,+000000100,,,015,-0000250,,/'],
    ['value dated sums', '03,17,,100,500,3,V,260301,,400,500,8,V,260301,1200,010,100,,,015,-250,,/'],
    ['sums distributed by days', '03,17,,110,70,15,D,3,0,20,1,30,3,20,010,100,,,015,-250,,/'],
    ['no closing slash', '03,17,,010,100,,,015,-250,,'],
    ['blanks at the end', '03,17,,010,100,,,015,-250,,/         '],
    ['other sums', '03,17,,010,100,,,040,7,,,045,8,,,072,9,,,015,-250,,/'],
  ])('has its opening and closing ledger balance: %s', async (_, record) => {
    expect(await balances(record)).toEqual([1000n, -2500n, 0]);
  });

  it.each<[string, string, unknown[]]>([
    ['a balance that is not a number', '03,17,,010,1x0,,,015,-250,,/', [undefined, -2500n, 1]],
    ['no balances', '03,17,,,,,/', [undefined, undefined, 0]],
    ['an account number alone', '03,17', [undefined, undefined, 0]],
    ['an unknown type code', '03,17,,010,100,,,15X,-250,,/', [1000n, undefined, 1]],
    ['a line end inside a balance', '03,17,,010,100,,,015,-2\n50,,/', [1000n, undefined, 1]],
  ])('keeps the readable balances of a record with %s', async (_, record, expected) => {
    expect(await balances(record)).toEqual(expected);
  });

  it.each<[string, string, string, string | null]>([
    ['its own field', 'USD', 'EUR', 'EUR'],
    ['its group', 'EUR', '', 'EUR'],
    ['the default USD of the specification', '', '', 'USD'],
    ['its own field in lower case', '', 'try', 'TRY'],
    ['its group when its own field is invalid', 'EUR', 'E1', 'EUR'],
  ])('has the right currency: %s', async (_, groupCurrency, currency, expected) => {
    const events = await read(
      `${FILE}02,ACME,BANKEX,1,260301,,${groupCurrency},2/\n03,17,${currency},,,,/\n${END}`,
    );
    expect(events[0]).toMatchObject({
      type: 'statement',
      account: { number: '17', iban: null, currency: expected, bank: 'BANKEX' },
    });
  });

  it('has an IBAN when its account number is an IBAN', async () => {
    const events = await read(`${FILE}${GROUP}03,TR380006400000099423106133,TRY,,,,/\n${END}`);
    expect(events[0]).toMatchObject({ account: { iban: 'TR380006400000099423106133', number: null } });
  });
});

describe('a group of a BAI2 file', () => {
  const withGroup = (group: string) => `${FILE}${group}\n${ACCOUNT}16,195,100,,R,,T\n${END}`;

  it.each<[string, string, string]>([
    ['YYMMDD', '260301', '2026-03-01'],
    ['YYYYMMDD', '20260301', '2026-03-01'],
    ['the last century', '990301', '1999-03-01'],
  ])('gives its date to its transactions: %s', async (_, date, expected) => {
    expect(entriesOf(await read(withGroup(`02,A,B,1,${date},,,2/`)))[0]?.date).toBe(expected);
  });

  it.each(['', '260229', '261301', '2603', 'x'])(
    'with the unusable date "%s" has no transactions',
    async (date) => {
      const events = await read(withGroup(`02,A,B,1,${date},,,2/`));
      expect(describeEvents(events)).toEqual(['warning at 2', STATEMENT, 'issue at 4: as-of date', 'end']);
    },
  );

  it.each<[string, string, string[]]>([
    ['an update', '1', [STATEMENT, '2026-03-01 +1.00', 'end']],
    ['a deletion', '2', ['issue at 3: group status']],
    ['a correction', '3', ['warning at 2', STATEMENT, '2026-03-01 +1.00', 'end']],
    ['a test', '4', ['issue at 3: group status']],
    ['an unknown status', '9', ['warning at 2', STATEMENT, '2026-03-01 +1.00', 'end']],
  ])('is read or refused according to its status: %s', async (_, status, expected) => {
    expect(describeEvents(await read(withGroup(`02,A,B,${status},260301,,,2/`)))).toEqual(expected);
  });

  it.each([
    ['1', 'interim'],
    ['2', 'final'],
    ['3', 'interim'],
    ['4', 'final'],
    ['', 'final'],
  ])('with the modifier "%s" has %s statements', async (modifier, kind) => {
    expect((await read(withGroup(`02,A,B,1,260301,,,${modifier}/`)))[0]).toMatchObject({
      type: 'statement',
      kind,
    });
  });
});
