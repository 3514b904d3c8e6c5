import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../packages/statements/src/statement.ts';
import { entriesOf, issuesOf, warningsOf } from '../statement-events.ts';
import { closing, fileOf, movement, read } from './records.ts';

const END = closing([0, 0], [1, 500], 100_500);
const entryOf = async (...records: string[]): Promise<Entry | undefined> =>
  entriesOf(await read(fileOf(...records, END)))[0];

describe('a movement of Norma 43', () => {
  it('has all that its records say', async () => {
    const entry = await entryOf(
      movement({
        date: '260303',
        valueDate: '260227',
        concepts: '03117',
        sign: '1',
        amount: '12050',
        document: '0000004711',
        reference1: 'FRA-2026-014',
        reference2: 'RECIBO LUZ',
      }),
      `2301${'ADEUDO ELÉCTRICA DEL SUR'.padEnd(38)}CONTRATO 889912`,
      '2302PERIODO DE ENERO',
      '240184000000000009999',
    );
    expect(entry).toEqual({
      line: 2,
      status: 'booked',
      date: '2026-03-03',
      dc: 'Debit',
      amount: 120_500n,
      currency: null,
      balance: null,
      code: '03117',
      description: 'ADEUDO ELÉCTRICA DEL SUR CONTRATO 889912 PERIODO DE ENERO RECIBO LUZ 0000004711',
      name: null,
      opponentId: null,
      opponentIban: null,
      reference: 'FRA-2026-014',
      isOwnReference: true,
      details: { valueDate: '2026-02-27', originalAmount: 99_990n, originalCurrency: 'USD' },
    });
  });

  it.each([
    [{}, null],
    [{ reference1: '000000000017' }, '000000000017'],
    [{ reference2: '0000000000000017' }, '0000000000000017'],
    [{ reference2: 'PAGO DE MARZO' }, null],
    [{ document: '0000000017' }, '0000000017'],
    [{ document: '0000000018', reference2: '17' }, '17'],
  ])('with %j has the reference %s, which is no id', async (fields, reference) => {
    const entry = await entryOf(movement(fields));
    expect(entry?.reference).toBe(reference);
    expect(entry?.isOwnReference).toBe(reference === null ? undefined : true);
  });

  it('has a text that goes on within a word where the first one fills its columns', async () => {
    const text = 'PERIODO DE ENERO A FEBRERO, LECTURA REAL DEL CONTADOR '.repeat(2);
    const entry = await entryOf(
      movement(),
      `2301${text.slice(0, 76)}`,
      `2302${text.slice(76)}`,
      '2303DESPUES',
    );
    expect(entry?.description).toBe(`${text.trim()} DESPUES`);
  });

  it('has five texts at most', async () => {
    const texts = Array.from({ length: 9 }, (_, at) => `230${at + 1}TEXTO ${at + 1}`);
    const events = await read(fileOf(movement(), ...texts, END));
    expect(entriesOf(events)[0]?.description).toBe('TEXTO 1 TEXTO 2 TEXTO 3 TEXTO 4 TEXTO 5');
    expect(warningsOf(events)).toEqual([
      'The movement (22) has more than 5 texts (23). The others were left out.',
    ]);
  });

  it('needs no value date', async () => {
    const entry = await entryOf(movement({ valueDate: '000000' }));
    expect(entry).toMatchObject({ date: '2026-03-02', amount: 5_000n });
    expect(entry?.details).toBeUndefined();
  });

  it.each([
    ['an operation date', movement({ date: '260230' }), 'operation date: The operation date of'],
    ['an amount', movement({ amount: '50O' }), 'amount: The amount of the movement (22) is "0000000000050O"'],
    ['an amount without a sign', movement({ amount: '-500' }), 'amount: The amount of the movement (22)'],
    ['a sign', movement({ sign: ' ' }), 'sign: The sign of the movement (22) is " "'],
    ['a sign of 1 or 2', movement({ sign: '3' }), 'sign: The sign of the movement (22) is "3"'],
    ['its whole amount', movement().slice(0, 41), 'amount: The line ends before the end of the amount'],
    ['80 characters at most', `${movement()}0`, 'record: The movement (22) has more than 80 characters'],
  ])('without %s is rejected', async (_, record, message) => {
    const events = await read(fileOf(record, '2301TEXTO', END));
    expect(entriesOf(events)).toEqual([]);
    expect(issuesOf(events)).toHaveLength(1);
    expect(issuesOf(events)[0]?.slice(0, message.length)).toBe(message);
    expect(warningsOf(events)).toEqual([]);
  });

  it('may be shorter than 80 characters after its amount', async () => {
    expect(await entryOf(movement().slice(0, 42))).toMatchObject({ amount: 5_000n, reference: null });
  });

  it.each([
    ['240199900000000000100', 'The currency of the record 24 is "999"'],
    ['2401978000000000001', 'The line ends before the end of the amount of the record 24'],
    [`240184000000000009999${' '.repeat(59)}X`, 'The record 24 has more than 80 characters'],
  ])('has no amount in another currency with %j, and a warning', async (record, message) => {
    const events = await read(fileOf(movement(), record, END));
    expect(entriesOf(events)[0]?.details).toEqual({ valueDate: '2026-03-02' });
    expect(warningsOf(events)).toHaveLength(1);
    expect(warningsOf(events)[0]).toContain(message);
  });

  it('has one amount in another currency, and one warning', async () => {
    const events = await read(fileOf(movement(), ...Array(1_000).fill('240199900000000000100'), END));
    expect(warningsOf(events)).toHaveLength(1);
  });

  it('outside of an account is rejected', async () => {
    expect(issuesOf(await read(fileOf(END, movement(), '2301TEXTO')))).toEqual([
      'account: The movement (22) stands outside of an account (11), so it was not read.',
    ]);
  });

  it('outside of the period is read, with one warning for all', async () => {
    const events = await read(
      fileOf(
        movement({ date: '260228' }),
        movement({ date: '260401' }),
        closing([0, 0], [2, 1_000], 101_000),
      ),
    );
    expect(entriesOf(events).map(({ date }) => date)).toEqual(['2026-02-28', '2026-04-01']);
    expect(warningsOf(events)).toEqual([
      '2 movements have operation dates outside of the period from 2026-03-01 to 2026-03-31.',
    ]);
  });
});
