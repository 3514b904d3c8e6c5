import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../packages/statements/src/statement.ts';
import { describeEvents, entriesOf } from '../statement-events.ts';
import { fileOf, IBAN, messagesOf, movement, read, record } from './records.ts';

const entryOf = async (...records: string[]): Promise<Entry | undefined> =>
  entriesOf(await read(fileOf(records)))[0];

describe('a movement of CODA', () => {
  it('has the fields of its records', async () => {
    expect(
      await entryOf(
        movement(-5_000n, { reference: 'BANK 1', text: 'A TEXT', valueDate: '280226' }),
        record({ 1: '2200010000', 11: 'GOES ON', 64: 'E2E-1', 99: 'MILLBEBB' }),
        record({ 1: '2300010000', 11: IBAN.padEnd(34).concat('EUR'), 48: 'NORTH FLOUR', 83: 'TO ITS END' }),
        record({ 1: '3100010001', 40: '0INFORMATION' }),
      ),
    ).toEqual({
      line: 3,
      status: 'booked',
      date: '2026-03-02',
      dc: 'Debit',
      amount: 5_000n,
      currency: null,
      balance: null,
      code: '00150000',
      description: 'A TEXT GOES ON TO ITS END INFORMATION',
      name: 'NORTH FLOUR',
      opponentId: null,
      opponentIban: IBAN,
      reference: 'BANK 1',
      details: { valueDate: '2026-02-28', endToEndId: 'E2E-1' },
    });
  });

  it('has no value date, end-to-end id or counterparty of zeros', async () => {
    const entry = await entryOf(
      movement(5_000n, { valueDate: '000000', reference: '' }),
      record({ 1: '2200010000', 64: '0000' }),
      record({ 1: '2300010000', 11: '000000000000' }),
    );
    expect(entry).toMatchObject({ reference: null, name: null, opponentId: null, opponentIban: null });
    expect(entry?.details).toBeUndefined();
  });

  it('has a text that is cut within a word', async () => {
    const text = 'A'.repeat(53);
    const entry = await entryOf(
      movement(5_000n, { text }),
      record({ 1: '2200010000', 11: 'BC' }),
      record({ 1: '3100010001', 40: `0${'D'.repeat(73)}` }),
      record({ 1: '3200010001', 11: 'E' }),
      record({ 1: '3300010001', 11: 'F' }),
    );
    expect(entry?.description).toMatch(/^A{53}BC D{73}E F$/);
  });

  it.each<[string, string, Partial<Entry>]>([
    [
      'twelve digits',
      '101123456789002',
      { description: '+++123/4567/89002+++', details: { creditorReference: '+++123/4567/89002+++' } },
    ],
    [
      'reconstituted digits, with a text',
      '102123456789002 AND MORE',
      {
        description: '+++123/4567/89002+++ AND MORE',
        details: { creditorReference: '+++123/4567/89002+++' },
      },
    ],
    ['twelve digits with a wrong check', '101123456789012', { description: '123456789012' }],
    [
      'no rest, whose check is 97',
      '101000000009797',
      { details: { creditorReference: '+++000/0000/09797+++' } },
    ],
    [
      'a reference of ISO 11649',
      '100RF18539007547034',
      { details: { creditorReference: 'RF18539007547034' } },
    ],
    [
      'an original amount',
      `105${'9500'.padStart(15, '0')}${'10000'.padStart(15, '0')}000105263158USD`,
      {
        description: null,
        details: { originalAmount: 10_000n, originalCurrency: 'USD', exchangeRate: '1.05263158' },
      },
    ],
    [
      'an amount in the currency of the account',
      `105${'9500'.padStart(15, '0')}${'9500'.padStart(15, '0')}000100000000EUR`,
      { description: null },
    ],
    ['another kind', '103000000000042', { description: '000000000042' }],
  ])('has the structured communication of %s', async (_, text, expected) => {
    const entry = await entryOf(movement(5_000n, { structured: true, text, valueDate: '000000' }));
    expect(entry).toMatchObject(expected);
    expect(entry?.details).toEqual(expected.details);
  });

  it('has a structured communication that was written into a free one', async () => {
    const entry = await entryOf(movement(5_000n, { text: '***123/4567/89002***' }));
    expect(entry?.details).toMatchObject({ creditorReference: '+++123/4567/89002+++' });
    const wrong = await entryOf(movement(5_000n, { text: '***123/4567/89003***', valueDate: '000000' }));
    expect(wrong?.details).toBeUndefined();
  });

  it('has the mandate and the return of a direct debit', async () => {
    const mandate = 'MANDATE-77'.padEnd(35);
    const body = `127020326120${'BE12ZZZ0123456789'.padEnd(35)}${mandate}${'MARCH ORDER'.padEnd(62)}3AC04`;
    const entry = await entryOf(
      movement(-5_000n, { structured: true, text: body.slice(0, 53) }),
      record({ 1: '2200010000', 11: body.slice(53, 106) }),
      record({ 1: '2300010000', 83: body.slice(106) }),
    );
    expect(entry).toMatchObject({
      description: 'MARCH ORDER',
      details: { mandateReference: 'MANDATE-77', isReversal: true },
    });
  });

  it('has the name of its information', async () => {
    const entry = await entryOf(
      movement(5_000n),
      record({ 1: '3100010001', 40: '1001NORTH FLOUR NV' }),
      record({ 1: '3200010001', 11: 'MILL ROAD 5' }),
    );
    expect(entry).toMatchObject({ name: 'NORTH FLOUR NV', description: null });
  });
});

const total = (amount: bigint, code = '10107000') =>
  movement(amount, { code, reference: 'TOTAL', text: 'WAGES', valueDate: '000000' });
const detail = (number: number, amount: bigint, code = '50107000') =>
  movement(amount, {
    detail: String(number).padStart(4, '0'),
    code,
    reference: `PART${number}`,
    text: `PAY ${number}`,
    valueDate: '000000',
  });

describe('a globalisation of CODA', () => {
  it.each(['1', '2', '3'])('of type %s has its details, if they add up to it', async (type) => {
    const part = { '1': '5', '2': '6', '3': '8' }[type];
    const text = fileOf([
      total(-30_000n, `${type}0107000`),
      detail(1, -40_000n, `${part}0107000`),
      record({ 1: '2300010001', 48: 'BAKER ONE' }),
      detail(2, 10_000n, `${part}0107000`),
    ]);
    const events = await read(text);
    expect(messagesOf(events)).toEqual([]);
    const batch = { reference: 'TOTAL', amount: -30_000n };
    expect(entriesOf(events)).toMatchObject([
      { dc: 'Debit', amount: 40_000n, reference: 'PART1', name: 'BAKER ONE', details: { batch } },
      { dc: 'Credit', amount: 10_000n, reference: 'PART2', name: null, details: { batch } },
    ]);
  });

  it('has no details of details', async () => {
    const text = fileOf([
      total(30_000n, '20450000'),
      detail(1, 10_000n, '70450000'),
      detail(2, 9_000n, '90450000'),
      detail(3, 1_000n, '90450000'),
      detail(4, 20_000n, '60450000'),
    ]);
    expect(entriesOf(await read(text)).map(({ amount }) => amount)).toEqual([10_000n, 20_000n]);
  });

  it('with one detail is one movement, which is no batch', async () => {
    const [only, ...others] = entriesOf(await read(fileOf([total(-30_000n), detail(1, -30_000n)])));
    expect(others).toEqual([]);
    expect(only).toMatchObject({ reference: 'PART1', description: 'PAY 1' });
    expect(only?.details).toBeUndefined();
  });

  it.each<[string, string[], string]>([
    [
      'that do not add up to it',
      [detail(1, -10_000n), detail(2, -19_990n)],
      'The details of the globalisation add up to -29.99, but its amount is -30.00: a difference of -0.01. It is read as one entry.',
    ],
    [
      'of which one cannot be read',
      [detail(1, -10_000n), detail(2, -20_000n).replace('000000000020000', '00000000002000X')],
      'The detail of the globalisation at line 5 cannot be read. The amount of the movement (2.1) is "00000000002000X", columns 33 to 47 of line 5. It must be 15 digits. It is read as one entry.',
    ],
    [
      'with a third decimal',
      [detail(1, -10_001n), detail(2, -19_999n)],
      'The detail of the globalisation at line 4 has a third decimal other than 0: amounts in EUR have at most two decimals. Check the currency of the account. It is read as one entry.',
    ],
  ])('with details %s is its total, with a warning', async (_, details, message) => {
    const events = await read(fileOf([total(-30_000n), ...details]));
    expect(entriesOf(events)).toMatchObject([{ amount: 30_000n, reference: 'TOTAL', description: 'WAGES' }]);
    expect(messagesOf(events)).toEqual([message]);
  });

  it('without details is its total', async () => {
    expect(describeEvents(await read(fileOf([total(-30_000n)])))).toContain('2026-03-02 -30.00');
  });

  it('that is rejected has no details', async () => {
    const text = fileOf([total(-30_000n), detail(1, -10_000n), detail(2, -20_000n)]);
    const events = await read(text.replace('000000000030000000000', '00000000003000X000000'));
    expect(describeEvents(events).slice(1, 2)).toEqual(['issue at 3: amount']);
    expect(entriesOf(events)).toEqual([]);
  });

  it('is rejected if the file ends within it', async () => {
    const whole = fileOf([total(-30_000n), detail(1, -10_000n), detail(2, -20_000n)]);
    const events = await read(whole.slice(0, 4 * 130));
    expect(describeEvents(events).slice(1, 2)).toEqual(['issue at 3: record']);
    expect(entriesOf(events)).toEqual([]);
  });

  it('goes on after 9,999 details', async () => {
    const details = Array.from({ length: 9_999 }, (_, at) => detail(at + 1, -1_000n));
    const events = await read(
      fileOf([total(-10_001_000n), ...details]).replace(
        '\r\n8017',
        `\r\n${detail(0, -1_000n)}\r\n${detail(1, -1_000n)}\r\n8017`,
      ),
    );
    expect(entriesOf(events)).toHaveLength(10_001);
  });

  it('has no details of another sequence number', async () => {
    const stray = movement(-1_000n, { sequence: '0009', detail: '0001' });
    const events = await read(fileOf([total(-30_000n), stray]));
    expect(describeEvents(events).slice(1, 3)).toEqual(['2026-03-02 -30.00', 'issue at 4: detail number']);
  });
});
