import { describe, expect, it } from 'vitest';
import { describeEvents, warningsOf } from '../statement-events.ts';
import { END, FILE, GROUP, read, STATEMENT } from './records.ts';

const file = (account: string, ...details: string[]) =>
  `${FILE}${GROUP}${account}\n${details.map((it) => `${it}\n`).join('')}${END}`;

const CREDITS = ['16,195,300,,C1,,A', '16,115,200,,C2,,B'];
const DEBITS = ['16,475,40,,D1,,C'];
const LOAN = ['16,721,5,,L1,,D', '16,722,6,,L2,,E'];
const ALL = [...CREDITS, ...DEBITS, ...LOAN];

describe('the totals of a BAI2 account', () => {
  it.each<[string, string, string]>([
    [
      'total credits',
      '100,501,2,',
      'total credits (100) of 501 in 2 items, but its transactions (16) add up to 500 in 2 items.',
    ],
    [
      'the items of total credits',
      '100,500,3,',
      'total credits (100) of 500 in 3 items, but its transactions (16) add up to 500 in 2 items.',
    ],
    [
      'total debits',
      '400,39,1,',
      'total debits (400) of 39 in 1 item, but its transactions (16) add up to 40 in 1 item.',
    ],
    [
      'the items of total debits',
      '400,40,0,',
      'total debits (400) of 40 in 0 items, but its transactions (16) add up to 40 in 1 item.',
    ],
    [
      'total debits without an item count',
      '400,41,,',
      'total debits (400) of 41, but its transactions (16) add up to 40.',
    ],
    [
      'total loan payments',
      '720,12,2,',
      'total loan payments (720) of 12 in 2 items, but its transactions (16) add up to 11 in 2 items.',
    ],
  ])('are compared with its transactions: %s', async (_, total, message) => {
    const events = await read(file(`03,17,,${total}/`, ...ALL));
    expect(warningsOf(events)).toEqual([`The account (03) has ${message}`]);
    expect(events.find(({ type }) => type === 'warning')).toMatchObject({ line: 3 });
  });

  it.each<[string, string, string[]]>([
    ['all agree', '100,500,2,,400,40,1,,720,11,2,', ALL],
    ['there are no item counts', '100,500,,,400,40,,,720,11,,', ALL],
    ['the item count is left out before a continuation', '100,500/\n88,400,40', ALL],
    ['the amounts are empty', '100,,,,400,,,', ALL],
    ['other sums differ', '110,1,1,,470,1,1,', ALL],
    ['the account has no transactions', '100,500,2,,400,40,1,', []],
    ['an amount cannot be read', '100,500,2,', ['16,195,x,,C1,,A', ...CREDITS]],
    ['there is information', '100,500,2,', [...CREDITS, '16,890,,,,,NEWS']],
  ])('give no warning when %s', async (_, totals, details) => {
    expect(warningsOf(await read(file(`03,17,,${totals}/`, ...details)))).toEqual([]);
  });

  it('are those of each account', async () => {
    const one = file('03,17,,100,500,2,/', ...CREDITS);
    const two = one.replace(END, `49,,/\n03,18,,400,40,1,/\n${DEBITS[0]}\n${END}`);
    expect(warningsOf(await read(two))).toEqual([]);
  });

  it('are not compared when the account is not imported', async () => {
    const text = file('03,17,,100,1,1,/', ...CREDITS).replace(',1,260301', ',4,260301');
    expect(warningsOf(await read(text))).toEqual([]);
  });
});

describe('an item of a BAI2 deposit', () => {
  it.each([
    ['115', '116'],
    ['135', '136'],
    ['142', '143'],
    ['155', '156'],
    ['344', '345'],
    ['451', '452'],
  ])('is a part of the whole before it, and is refused: %s, %s', async (whole, item) => {
    const sign = whole === '451' ? '-' : '+';
    const total = whole === '451' ? '400' : '100';
    const events = await read(
      file(
        `03,17,,${total},500,1,/`,
        `16,${whole},500,,W,,ALL`,
        `16,${item},300,,I1,,ONE`,
        `16,${item},200,,I2,,TWO`,
      ),
    );
    expect(describeEvents(events)).toEqual([
      STATEMENT,
      `2026-03-01 ${sign}5.00`,
      'issue at 5: type code',
      'issue at 6: type code',
      'end',
    ]);
    expect(events[2]).toMatchObject({
      message: `The item (${item}) is a part of the transaction at line 4, which counts as a whole.`,
    });
  });

  it.each<[string, string[]]>([
    ['no whole is before it', ['16,116,300,,I1,,ONE', '16,116,200,,I2,,TWO']],
    ['it is more than is left of the whole', ['16,115,400,,W,,ALL', '16,116,401,,I1,,ONE']],
    ['the whole before it is of another kind', ['16,142,400,,W,,ALL', '16,116,300,,I1,,ONE']],
    ['another transaction is between', ['16,115,400,,W,,ALL', '16,195,5,,X,,Y', '16,116,300,,I1,,ONE']],
  ])('is a transaction of its own when %s', async (_, details) => {
    const events = await read(file('03,17,,,,,/', ...details));
    expect(events.filter(({ type }) => type === 'entry')).toHaveLength(details.length);
  });
});
