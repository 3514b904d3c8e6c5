import { describe, expect, it } from 'vitest';
import { describeEvents, entriesOf } from '../statement-events.ts';
import { END, FILE, GROUP, inAccount, read, STATEMENT } from './records.ts';

const readOne = async (record: string) => entriesOf(await read(inAccount(record)))[0];

describe('a transaction of a BAI2 file', () => {
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
  ])('has the same fields in each notation: %s', async (_, record, expected) => {
    expect(await readOne(record)).toMatchObject({
      dc: 'Credit',
      amount: 1000n,
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
      'words that look like a record but lack its fields',
      'PAID 12/16,000 AND 3/49,5 ON 1/03,ROOM',
      'PAID 12/16,000 AND 3/49,5 ON 1/03,ROOM',
    ],
    ['a line that the bank broke', 'ONE\nTWO 2', 'ONE TWO 2'],
    ['no text', '/', null],
  ])('has the right description for %s', async (_, text, description) => {
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
  ])('has the direction of its type code %s', async (code, dc) => {
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
  ])('is refused for %s, and the following transaction is read', async (_, record, path) => {
    const events = await read(inAccount(`${record}\n16,195,5,,G,,GOOD`));
    expect(events.find(({ type }) => type === 'issue')).toMatchObject({ line: 4, path });
    const others = events.filter(({ type }) => type !== 'issue');
    expect(describeEvents(others)).toEqual([STATEMENT, '2026-03-01 +0.05', 'end']);
  });

  it('that holds only information becomes no entry', async () => {
    expect(describeEvents(await read(inAccount('16,890,,,,,REPORTS WILL BE LATE')))).toEqual([
      STATEMENT,
      'end',
    ]);
  });

  it('with an unknown funds type keeps its amount, with a warning', async () => {
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

  it('outside an account is refused', async () => {
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
    ['KWD', '1234', '1.234'],
    ['CLF', '12300', '1.23'],
    ['USD', '5', '0.05'],
    ['XYZ', '1234', '12.34'],
  ])('has the decimals of its currency: %s %s', async (currency, amount, expected) => {
    const events = await read(`${FILE}${GROUP}03,17,${currency},,,,/\n16,195,${amount},,R,,T/\n${END}`);
    expect(describeEvents(events)).toEqual([`statement 17 ${currency}`, `2026-03-01 +${expected}`, 'end']);
  });

  it.each([
    ['CLF', '12345'],
    ['UYW', '1'],
  ])('is refused when its amount does not fit in thousandths: %s %s', async (currency, amount) => {
    const events = await read(`${FILE}${GROUP}03,17,${currency},,,,/\n16,195,${amount},,R,,T/\n${END}`);
    expect(events[1]).toMatchObject({
      type: 'issue',
      path: 'amount',
      message: expect.stringMatching(/does not fit in thousandths/),
    });
  });
});
