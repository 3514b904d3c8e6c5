import { describe, expect, it } from 'vitest';
import { ibanOf } from '../../../packages/statements/src/norma43/account.ts';
import { isIban } from '../../../packages/statements/src/values.ts';
import { issuesOf, warningsOf } from '../statement-events.ts';
import { closing, fileOf, HEADER, IBAN, movement, read } from './records.ts';

const END = closing([0, 0], [0, 0], 100_000);
const statementsOf = async (text: string) => (await read(text)).filter(({ type }) => type === 'statement');

describe('an account of Norma 43', () => {
  it('has the IBAN of its bank, office and number, its currency, period and balances', async () => {
    expect(await read(fileOf(END))).toEqual([
      {
        type: 'statement',
        line: 1,
        account: { iban: IBAN, number: null, currency: 'EUR', bank: '9876' },
        kind: 'final',
        opening: { amount: 1_000_000n, date: '2026-03-01' },
        identity: { number: null, sequence: null, from: '2026-03-01', to: '2026-03-31' },
      },
      { type: 'end', line: 2, closing: { amount: 1_000_000n, date: '2026-03-31' } },
    ]);
  });

  // The first is the example of Spain in SWIFT's IBAN registry, the others are examples of banks.
  it.each([
    ['2100', '0418', '0200051332', 'ES9121000418450200051332'],
    ['0049', '1500', '1234567892', 'ES6000491500051234567892'],
    ['1465', '0100', '1122334455', null],
  ])('makes the IBAN of %s %s %s', (bank, office, account, iban) => {
    const made = ibanOf(bank, office, account) ?? '';
    expect(isIban(made)).toBe(true);
    if (iban !== null) expect(made).toBe(iban);
  });

  it.each([
    ['a number that is not of ten digits', '    123456', '123456'],
    ['a number with a letter', '000012345A', '000012345A'],
    ['a number of zeros', '0000000000', '0000000000'],
  ])('has no IBAN with %s', async (_, text, number) => {
    const [statement] = await statementsOf(fileOf().replace('0000123456', text));
    expect(statement).toMatchObject({ account: { iban: null, number, bank: '9876' } });
  });

  it('has a negative opening balance if its sign is 1', async () => {
    const [statement] = await statementsOf(fileOf().replace('331200', '331100'));
    expect(statement).toMatchObject({ opening: { amount: -1_000_000n } });
  });

  it.each([
    ['an opening balance', '00000000100000', '0000000010000A', 'The opening balance of the account (11) is'],
    ['a sign', '2603312', '2603313', 'The sign of the opening balance is "3"'],
    ['a first day', '260301', '260001', 'The first day of the account (11) is "260001"'],
    ['a last day', '260331', '260332', 'The last day of the account (11) is "260332"'],
    ['its days in their order', '260331', '260228', 'The first day of the account (11) is 2026-03-01, after'],
  ])('without %s that can be read has a warning', async (_, text, other, message) => {
    const events = await read(fileOf(END).replace(text, other));
    expect(warningsOf(events).filter((it) => it.startsWith(message))).toHaveLength(1);
  });

  it('with a number that is no currency has no movements', async () => {
    const events = await read(
      fileOf(movement(), closing([0, 0], [1, 500], 100_500)).replaceAll('978', '979'),
    );
    expect(issuesOf(events)).toEqual([
      'currency: The currency of the account (11) is "979". It must be the number of a currency of ISO 4217, such as 978 for EUR.',
    ]);
    expect(events.filter(({ type }) => type === 'entry')).toEqual([]);
  });

  it('with days in the order DDMMYY is a period of thirty years, and has no movements', async () => {
    const days = fileOf(
      movement({ date: '020326', valueDate: '020326' }),
      closing([0, 0], [1, 500], 100_500),
    );
    const events = await read(days.replace('260301260331', '010326310326'));
    expect(issuesOf(events)).toEqual([
      'period: The period of the account (11) is from 2001-03-26 to 2031-03-26, more than 10 years. Its days must be YYMMDD, and may be DDMMYY.',
    ]);
    expect(events.filter(({ type }) => type === 'entry')).toEqual([]);
  });

  it('without a currency has a warning', async () => {
    const events = await read(fileOf(movement()).replace('978', '   '));
    expect(warningsOf(events)[0]).toBe('The account (11) has no currency.');
    expect(events.filter(({ type }) => type === 'entry')).toHaveLength(1);
  });

  it('of more than 80 characters is not read, and neither are its movements', async () => {
    const long = await read(
      `${fileOf(END)}${fileOf(movement(), END).replace(HEADER, HEADER.padEnd(81, 'X'))}`,
    );
    expect(long.filter(({ type }) => type === 'statement')).toHaveLength(1);
    expect(issuesOf(long)).toEqual([
      'account: The account (11) has more than 80 characters, so its columns may be shifted, and it was not read.',
      'account: The movement (22) stands outside of an account (11), so it was not read.',
    ]);
  });
});
