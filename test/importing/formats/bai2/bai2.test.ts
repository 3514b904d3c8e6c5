import { describe, expect, it } from 'vitest';
import { looksLikeBai2 } from '../../../../src/importing/formats/bai2/detect.ts';
import { parseBai2 } from '../../../../src/importing/formats/bai2/parse.ts';
import type { StatementEvent } from '../../../../src/importing/formats/statement.ts';
import { describeEvents, entriesOf, readEvents } from '../statement-events.ts';

const read = (text: string) => readEvents(parseBai2, text);
const FILE = '01,BANKEX,ACME,260302,0600,1,,,2/\n';
const GROUP = '02,ACME,BANKEX,1,260301,,USD,2/\n';
const ACCOUNT = '03,17,,,,,/\n';
const STATEMENT = 'statement 17 USD';
/** Trailers without numbers compare nothing. */
const END = '49,,/\n98,,,/\n99,,,/\n';
const inAccount = (records: string) => `${FILE}${GROUP}${ACCOUNT}${records}\n${END}`;
const readOne = async (record: string) => entriesOf(await read(inAccount(record)))[0];
const warningsOf = (events: readonly StatementEvent[]) =>
  events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));

describe('a file is taken for BAI2', () => {
  it.each([
    ['BAI2', FILE],
    ['blank lines first', `\r\n\r\n${FILE}`],
    ['a byte order mark', `\uFEFF${FILE}`],
    ['dates with the century', '01,BANKEX,ACME,20260302,0600,1,,,2/'],
    ['empty sender and receiver', '01,,,260302,0600,1,,,2/'],
    ['no file header', GROUP],
  ])('%s', (_, start) => {
    expect(looksLikeBai2(start)).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['a CSV with a date', '01,02,2026,100.00,Kira\n'],
    ['a CSV with numbers', '01,1,2,3,4,5'],
    ['MT940', ':20:START\r\n:25:123\r\n'],
    ['an account alone', ACCOUNT],
    ['JSON', '{"transactions":[]}'],
  ])('but not: %s', (_, start) => {
    expect(looksLikeBai2(start)).toBe(false);
  });
});

describe('a transaction', () => {
  const rest = { reference: 'REF', description: 'TEXT 9' };
  it.each<[string, string, object]>([
    ['no funds type', '16,195,100,,REF,9,TEXT', rest],
    ['immediate', '16,195,100,0,REF,9,TEXT', rest],
    ['one day', '16,195,100,1,REF,9,TEXT', rest],
    ['two days', '16,195,100,2,REF,9,TEXT', rest],
    ['unknown', '16,195,100,Z,REF,9,TEXT', rest],
    ['lower case', '16,195,100,z,REF,9,TEXT', rest],
    ['value dated', '16,195,100,V,260303,1200,REF,9,TEXT', rest],
    ['value dated without a time', '16,195,100,V,260303,,REF,9,TEXT', rest],
    ['distributed', '16,195,100,S,50,30,20,REF,9,TEXT', rest],
    ['distributed without amounts', '16,195,100,S,,,,REF,9,TEXT', rest],
    ['distributed by days', '16,195,100,D,2,0,60,1,40,REF,9,TEXT', rest],
    ['distributed over no days', '16,195,100,D,0,REF,9,TEXT', rest],
    ['continued after the funds type', '16,195,100,S,50,30,20/\n88,REF,9,TEXT', rest],
    ['continued within the funds type', '16,195,100,D,2,0/\n88,60,1,40/\n88,REF/\n88,9,TEXT', rest],
    ['continued before the text', '16,195,100,,REF,9/\n88,TEXT', rest],
    ['a closing slash after the text', '16,195,100,,REF,9,TEXT/', rest],
    ['blanks up to the record length', '16,195,100,,REF,9,TEXT                   /       ', rest],
    ['blanks around fields', ' 16, 195, 100, , REF, 9, TEXT', rest],
    ['leading zeros', '16,195,000000000000100,,REF,9,TEXT', rest],
    ['a plus sign', '16,195,+100,,REF,9,TEXT', rest],
  ])('with the funds type: %s', async (_, record, expected) => {
    expect(await readOne(record)).toMatchObject({
      dc: 'Credit',
      amount: 100n,
      date: '2026-03-01',
      code: '195',
      currency: null,
      ...expected,
    });
  });

  it.each<[string, string, string | null]>([
    ['commas and slashes', 'A, B/C, 1/2/2026', 'A, B/C, 1/2/2026'],
    ['several lines', 'ONE\n88,TWO\n88,THREE', 'ONE TWO THREE'],
    ['closing slashes on each of several lines', 'ONE/\n88,TWO/\n88,THREE/', 'ONE TWO THREE'],
    ['a slash at the beginning of a continuation', 'ONE\n88,/TWO', 'ONE /TWO'],
    [
      'what looks like a record, but has not its fields',
      'PAID 12/16,000 AND 3/49,5 ON 1/03,ROOM',
      'PAID 12/16,000 AND 3/49,5 ON 1/03,ROOM',
    ],
    ['a line that the bank broke', 'ONE\nTWO 2', 'ONE TWO 2'],
    ['no text', '/', null],
  ])('with the text: %s', async (_, text, description) => {
    expect((await readOne(`16,195,100,,REF,,${text}`))?.description).toBe(description);
  });

  it.each<[string, 'Credit' | 'Debit']>([
    ['108', 'Credit'],
    ['399', 'Credit'],
    ['408', 'Debit'],
    ['699', 'Debit'],
    ['721', 'Credit'],
    ['728', 'Credit'],
    ['920', 'Credit'],
    ['959', 'Credit'],
    ['960', 'Debit'],
    ['999', 'Debit'],
  ])('has the direction of its type code: %s', async (code, dc) => {
    expect((await readOne(`16,${code},100,,R,,T`))?.dc).toBe(dc);
  });

  it.each([
    ['a status', '16,010,100,,R,,T', 'type code'],
    ['a status that was agreed', '16,919,100,,R,,T', 'type code'],
    ['total credits', '16,100,100,,R,,T', 'type code'],
    ['total debits', '16,400,100,,R,,T', 'type code'],
    ['another sum', '16,470,100,,R,,T', 'type code'],
    ['a loan code that is no payment', '16,740,100,,R,,T', 'type code'],
    ['a code that is not in use', '16,850,100,,R,,T', 'type code'],
    ['letters', '16,ABC,100,,R,,T', 'type code'],
    ['no code', '16,,100,,R,,T', 'type code'],
    ['no amount', '16,195,,,R,,T', 'amount'],
    ['nothing but a code', '16,195', 'amount'],
    ['a minus sign', '16,195,-100,,R,,T', 'amount'],
    ['a decimal point', '16,195,1.00,,R,,T', 'amount'],
    ['letters for an amount', '16,195,1OO,,R,,T', 'amount'],
    ['an amount that is too large', `16,195,${'9'.repeat(21)},,R,,T`, 'amount'],
    ['an amount that a line end breaks', '16,195,10\n000,,R,,T', 'amount'],
  ])('is refused, and the others are read: %s', async (_, record, path) => {
    const events = await read(inAccount(`${record}\n16,195,5,,G,,GOOD`));
    expect(events.find(({ type }) => type === 'issue')).toMatchObject({ line: 4, path });
    const others = events.filter(({ type }) => type !== 'issue');
    expect(describeEvents(others)).toEqual([STATEMENT, '2026-03-01 +0.05', 'end']);
  });

  it('that is information is none', async () => {
    expect(describeEvents(await read(inAccount('16,890,,,,,REPORTS WILL BE LATE')))).toEqual([
      STATEMENT,
      'end',
    ]);
  });

  it('with a funds type that does not exist keeps its amount', async () => {
    const events = await read(inAccount('16,195,100,Q,REF,,TEXT\n16,195,100,D,x,REF,,TEXT'));
    expect(describeEvents(events)).toEqual([
      STATEMENT,
      'warning at 4',
      '2026-03-01 +1.00',
      'warning at 5',
      '2026-03-01 +1.00',
      'end',
    ]);
  });

  it('outside of an account is not read', async () => {
    expect(describeEvents(await read(`${FILE}${GROUP}16,195,100,,R,,T\n98,,,/\n99,,,/`))).toEqual([
      'issue at 3: account',
      'issue at 5: account',
    ]);
  });

  it.each<[string, string, string]>([
    ['JPY', '1234', '1234.00'],
    ['KWD', '1230', '1.23'],
    ['KWD', '0', '0.00'],
    ['KWD', '10', '0.01'],
    ['EUR', '1234', '12.34'],
    ['BRL', '1234', '12.34'],
    ['CLF', '12300', '1.23'],
    ['USD', '5', '0.05'],
    ['XYZ', '1234', '12.34'],
  ])('has the decimals of its currency: %s %s', async (currency, amount, expected) => {
    const events = await read(`${FILE}${GROUP}03,17,${currency},,,,/\n16,195,${amount},,R,,T/\n${END}`);
    expect(describeEvents(events)).toEqual([`statement 17 ${currency}`, `2026-03-01 +${expected}`, 'end']);
  });

  it.each([
    ['KWD', '1234'],
    ['CLF', '12345'],
  ])('that does not fit in hundredths is refused: %s %s', async (currency, amount) => {
    const events = await read(`${FILE}${GROUP}03,17,${currency},,,,/\n16,195,${amount},,R,,T/\n${END}`);
    expect(events[1]).toMatchObject({
      type: 'issue',
      path: 'amount',
      message: expect.stringMatching(/does not fit in hundredths/),
    });
  });
});

describe('an account', () => {
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
  ])('has its ledger balances: %s', async (_, record) => {
    expect(await balances(record)).toEqual([100n, -250n, 0]);
  });

  it.each<[string, string, unknown[]]>([
    ['a balance that is no number', '03,17,,010,1x0,,,015,-250,,/', [undefined, -250n, 1]],
    ['no balances', '03,17,,,,,/', [undefined, undefined, 0]],
    ['an account number alone', '03,17', [undefined, undefined, 0]],
    ['a type code that is none', '03,17,,010,100,,,15X,-250,,/', [100n, undefined, 1]],
    ['a line end inside of it', '03,17,,010,100,,,015,-2\n50,,/', [100n, undefined, 1]],
  ])('may have: %s', async (_, record, expected) => {
    expect(await balances(record)).toEqual(expected);
  });

  it.each<[string, string, string, string | null]>([
    ['its own', 'USD', 'EUR', 'EUR'],
    ["its group's", 'EUR', '', 'EUR'],
    ['USD, as the specification says', '', '', 'USD'],
    ['lower case', '', 'try', 'TRY'],
    ["its group's, if its own is none", 'EUR', 'E1', 'EUR'],
  ])('has a currency: %s', async (_, groupCurrency, currency, expected) => {
    const events = await read(
      `${FILE}02,ACME,BANKEX,1,260301,,${groupCurrency},2/\n03,17,${currency},,,,/\n${END}`,
    );
    expect(events[0]).toMatchObject({
      type: 'statement',
      account: { number: '17', iban: null, currency: expected, bank: 'BANKEX' },
    });
  });

  it('has an IBAN if its number is one', async () => {
    const events = await read(`${FILE}${GROUP}03,TR380006400000099423106133,TRY,,,,/\n${END}`);
    expect(events[0]).toMatchObject({ account: { iban: 'TR380006400000099423106133', number: null } });
  });
});

describe('a group', () => {
  const withGroup = (group: string) => `${FILE}${group}\n${ACCOUNT}16,195,100,,R,,T\n${END}`;

  it.each<[string, string, string]>([
    ['YYMMDD', '260301', '2026-03-01'],
    ['YYYYMMDD', '20260301', '2026-03-01'],
    ['the last century', '990301', '1999-03-01'],
  ])('has the date of its transactions: %s', async (_, date, expected) => {
    expect(entriesOf(await read(withGroup(`02,A,B,1,${date},,,2/`)))[0]?.date).toBe(expected);
  });

  it.each(['', '260229', '261301', '2603', 'x'])('without a date has no transactions: %s', async (date) => {
    const events = await read(withGroup(`02,A,B,1,${date},,,2/`));
    expect(describeEvents(events)).toEqual(['warning at 2', STATEMENT, 'issue at 4: as-of date', 'end']);
  });

  it.each<[string, string, string[]]>([
    ['an update', '1', [STATEMENT, '2026-03-01 +1.00', 'end']],
    ['a deletion', '2', ['issue at 3: group status']],
    ['a correction', '3', ['warning at 2', STATEMENT, '2026-03-01 +1.00', 'end']],
    ['a test', '4', ['issue at 3: group status']],
    ['a status that is none', '9', ['warning at 2', STATEMENT, '2026-03-01 +1.00', 'end']],
  ])('may be %s', async (_, status, expected) => {
    expect(describeEvents(await read(withGroup(`02,A,B,${status},260301,,,2/`)))).toEqual(expected);
  });

  it.each([
    ['1', 'interim'],
    ['2', 'final'],
    ['3', 'interim'],
    ['4', 'final'],
    ['', 'final'],
  ])('with the modifier "%s" is %s', async (modifier, kind) => {
    expect((await read(withGroup(`02,A,B,1,260301,,,${modifier}/`)))[0]).toMatchObject({
      type: 'statement',
      kind,
    });
  });
});

describe('trailers', () => {
  const RIGHT = `${FILE}${GROUP}03,17,,010,100,,,015,300,,/\n16,195,200,,R,,T\n88,U\n49,600,4/\n98,600,1,6/\n99,600,1,8/\n`;

  it.each<[string, string, RegExp[]]>([
    ['right', RIGHT, []],
    [
      'a total of the account',
      RIGHT.replace('49,600', '49,601'),
      [
        /total of the account is 601, but its amounts add up to 600/,
        /total of the group is 600, but its amounts add up to 601/,
      ],
    ],
    [
      'records of the account',
      RIGHT.replace('600,4', '600,5'),
      [/trailer of the account counts 5 records, but there are 4/],
    ],
    [
      'a total of the group',
      RIGHT.replace('98,600', '98,-600'),
      [/total of the group is -600/, /total of the file is 600/],
    ],
    ['accounts of the group', RIGHT.replace('98,600,1', '98,600,2'), [/counts 2 accounts, but there are 1/]],
    ['a total of the file', RIGHT.replace('99,600', '99,1'), [/total of the file is 1/]],
    [
      'groups and records of the file',
      RIGHT.replace('99,600,1,8', '99,600,3,9'),
      [/counts 3 groups, but there are 1/, /counts 9 records, but there are 8/],
    ],
    [
      'no trailer of the account',
      RIGHT.replace('49,600,4/\n', ''),
      [/no trailer \(49\)/, /counts 6 records, but there are 5/, /counts 8 records, but there are 7/],
    ],
    ['no trailer of the file', RIGHT.replace('99,600,1,8/\n', ''), [/no trailer \(99\)/]],
    ['none', RIGHT.slice(0, RIGHT.indexOf('49,')), [/\(49\)/, /\(98\)/, /\(99\)/]],
    ['empty', RIGHT.replace('49,600,4', '49').replace('98,600,1,6', '98').replace('99,600,1,8', '99'), []],
    ['an amount that cannot be read, so nothing to compare', RIGHT.replace('16,195,200', '16,195,x'), []],
  ])('are compared: %s', async (_, text, expected) => {
    const messages = warningsOf(await read(text));
    expect(messages).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(messages[index]).toMatch(pattern);
  });
});

describe('a file', () => {
  it('without an account says so', async () => {
    expect(describeEvents(await read(FILE))).toEqual(['warning at 1', 'issue at 1: account']);
    expect(describeEvents(await read(''))).toEqual(['issue at 1: account']);
  });

  it('may be one line, longer than any limit of a line', async () => {
    const records = '16,195,100,,R,,SOME TEXT/ '.repeat(10_000);
    const text = `${`${FILE}${GROUP}${ACCOUNT}`.replaceAll('\n', ' ')}${records}49,1000000,10002/98,1000000,1,10004/99,1000000,1,10006/`;
    const events = await readEvents(parseBai2, text, [5_000]);
    expect(entriesOf(events)).toHaveLength(10_000);
    expect(events.filter(({ type }) => type === 'issue' || type === 'warning')).toEqual([]);
  });

  it('reports lines that are no records', async () => {
    const events = await read(inAccount('16,195,100,,R,,T/\n17,195,100,,R,,T\nHELLO'));
    expect(describeEvents(events)).toEqual([
      STATEMENT,
      '2026-03-01 +1.00',
      'issue at 5: record',
      'issue at 6: record',
      'end',
    ]);
  });

  it('shortens a text that does not end, and says so', async () => {
    const events = await read(inAccount(`16,195,100,,R,,${'x'.repeat(300_000)}\n16,195,5,,G,,GOOD`));
    expect(describeEvents(events)).toEqual([
      STATEMENT,
      'warning at 4',
      '2026-03-01 +1.00',
      '2026-03-01 +0.05',
      'end',
    ]);
    const many = await read(
      inAccount(`16,195,100,,R,,T\n${'88,MORE OF THE TEXT\n'.repeat(10_000)}16,195,5,,G,,GOOD`),
    );
    expect(describeEvents(many)).toEqual([
      STATEMENT,
      'warning at 4',
      '2026-03-01 +1.00',
      '2026-03-01 +0.05',
      'end',
    ]);
  });
});
