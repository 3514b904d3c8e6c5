import { describe, expect, it } from 'vitest';
import { warningsOf } from '../statement-events.ts';
import { closing, fileOf, movement, read } from './records.ts';

const DEBIT = movement({ sign: '1', amount: '200' });
const CREDIT = movement();
const ZERO = movement({ amount: '0' });
const ZERO_DEBIT = movement({ sign: '1', amount: '0' });

const differences = async (...records: string[]) => warningsOf(await read(fileOf(...records)));

describe('the end of an account (33) of Norma 43', () => {
  it('is compared with the movements', async () => {
    expect(await differences(DEBIT, CREDIT, closing([1, 200], [1, 500], 100_300))).toEqual([]);
  });

  it('says by how much its sums differ', async () => {
    expect(await differences(DEBIT, CREDIT, closing([1, 300], [1, 450], 100_300))).toEqual([
      'The end of the account (33) has debits of 3.00, but its movements (22) add up to 2.00, a difference of 1.00.',
      'The end of the account (33) has credits of 4.50, but its movements (22) add up to 5.00, a difference of -0.50.',
    ]);
  });

  it('says which counts differ', async () => {
    expect(await differences(DEBIT, CREDIT, closing([2, 200], [0, 500], 100_300))).toEqual([
      'The end of the account (33) counts 2 debits and 0 credits, but there are 1 and 1.',
    ]);
  });

  it.each([
    ['by their sign', [ZERO, CREDIT], [0, 0], [2, 500]],
    ['as debits', [ZERO, ZERO, CREDIT], [2, 0], [1, 500]],
    ['as credits', [ZERO_DEBIT, CREDIT], [0, 0], [2, 500]],
    ['not at all', [ZERO, CREDIT], [0, 0], [1, 500]],
  ] as const)('may count amounts of zero %s', async (_, records, debits, credits) => {
    expect(await differences(...records, closing([...debits], [...credits], 100_500))).toEqual([]);
  });

  it('may not count more amounts of zero than there are', async () => {
    expect(await differences(ZERO, CREDIT, closing([1, 0], [2, 500], 100_500))).toEqual([
      'The end of the account (33) counts 1 debit and 2 credits, but there are 0 and 1, and 1 amount of zero.',
    ]);
  });

  it('is not compared with a sum that has an amount that cannot be read', async () => {
    const unread = movement({ amount: '50O' });
    expect(await differences(unread, DEBIT, closing([1, 300], [1, 500], 100_300))).toEqual([
      'The end of the account (33) has debits of 3.00, but its movements (22) add up to 2.00, a difference of 1.00.',
    ]);
    expect(await differences(movement({ sign: '3' }), closing([5, 1], [5, 1], 100_300))).toEqual([]);
  });

  it('is of the account, or its balance is not used', async () => {
    const events = await read(fileOf(closing([0, 0], [0, 0], 7).replace('123456', '123457')));
    expect(warningsOf(events)).toEqual([
      'The end of the account (33) is of "987600070000123457", and the account (11) is "987600070000123456". Its closing balance was not used, and movements may belong to another account.',
    ]);
    expect(events.find(({ type }) => type === 'end')).toMatchObject({ closing: null });
  });

  it('is in the currency of the account', async () => {
    expect(await differences(closing([0, 0], [0, 0], 100_000).replace('978', '840'))).toEqual([
      'The currency of the end of the account (33) is "840", and that of the account (11) "978".',
    ]);
  });

  it.each([
    ['its sign', closing([0, 0], [0, 0], 7).replace('20000000000000', '00000000000000'), 'sign'],
    ['its balance', closing([0, 0], [0, 0], 7).replace('7978', 'X978'), 'closing balance'],
    ['its end', closing([0, 0], [0, 0], 7).slice(0, 72), 'closing balance'],
    ['80 characters at most', closing([0, 0], [0, 0], 7).padEnd(81, 'X'), '80 characters'],
  ])('without %s has no balance, and a warning', async (_, record, message) => {
    const events = await read(fileOf(record));
    expect(warningsOf(events).join(' ')).toContain(message);
    expect(events.find(({ type }) => type === 'end')).toMatchObject({ closing: null });
  });
});

describe('the end of the file (88) of Norma 43', () => {
  const END = closing([0, 0], [0, 0], 100_000);

  it.each(['000002', '000003'])('may count %s of two records', async (count) => {
    expect(warningsOf(await read(fileOf(END).replace('000002\n', `${count}\n`)))).toEqual([]);
  });

  it.each(['000001', '000004'])('that counts %s of two records has a warning', async (count) => {
    expect(warningsOf(await read(fileOf(END).replace('000002\n', `${count}\n`)))).toEqual([
      `The end of the file (88) counts ${count === '000001' ? '1 record' : '4 records'}, but there are 2.`,
    ]);
  });
});
