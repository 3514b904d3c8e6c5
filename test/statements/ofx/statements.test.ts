import { describe, expect, it } from 'vitest';
import { describeEvents } from '../statement-events.ts';
import { inStatement, read, STATEMENT } from './statement.ts';

describe('a statement of an OFX file', () => {
  it('has an IBAN when its account number is an IBAN', async () => {
    const [statement] = await read(inStatement('').replace('17-4', 'tr38 0006 4000 0009 9423 1061 33'));
    expect(statement).toMatchObject({
      account: { iban: 'TR380006400000099423106133', number: null, currency: 'TRY', bank: '0062' },
    });
  });

  it('of a credit card has the bank of the sign-on', async () => {
    const [statement] = await read(
      '<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS><FI><ORG>Acme Bank<FID>7</FI></SONRS></SIGNONMSGSRSV1>' +
        '<CREDITCARDMSGSRSV1><CCSTMTTRNRS><CCSTMTRS><CURDEF>usd<CCACCTFROM><ACCTID>4111</CCACCTFROM></CCSTMTRS></CCSTMTTRNRS></CREDITCARDMSGSRSV1></OFX>',
    );
    expect(statement).toMatchObject({
      account: { iban: null, number: '4111', currency: 'USD', bank: 'Acme Bank' },
    });
  });

  it.each<[string, string, string[]]>([
    ['a ledger balance', '<LEDGERBAL><BALAMT>-1.234,56<DTASOF>20260331</LEDGERBAL>', ['end -1234.56']],
    [
      'an available balance alone, which is not used',
      '<AVAILBAL><BALAMT>5<DTASOF>20260331</AVAILBAL>',
      ['end'],
    ],
    [
      'a ledger balance beside an available balance',
      '<LEDGERBAL><BALAMT>1</LEDGERBAL><AVAILBAL><BALAMT>5</AVAILBAL>',
      ['end 1.00'],
    ],
    ['an empty ledger balance', '<LEDGERBAL><BALAMT><DTASOF></LEDGERBAL>', ['warning at 3', 'end']],
    [
      'two amounts in one ledger balance',
      '<LEDGERBAL><BALAMT>1<BALAMT>2</LEDGERBAL>',
      ['warning at 3', 'end'],
    ],
    [
      'two ledger balances that differ',
      '<LEDGERBAL><BALAMT>1</LEDGERBAL><LEDGERBAL><BALAMT>2</LEDGERBAL>',
      ['warning at 3', 'end'],
    ],
    ['balances in a list', '<BALLIST><BAL><NAME>x<VALUE>9<BALAMT>9</BAL></BALLIST>', ['end']],
  ])('ends with a balance only when its ledger balance is clear: %s', async (_, more, end) => {
    expect(describeEvents(await read(inStatement('', more)))).toEqual([STATEMENT, ...end]);
  });

  it.each([
    ['without a transaction', ''],
    ['with a transaction', '<STMTTRN><DTPOSTED>20260305<TRNAMT>1</STMTTRN>'],
  ])('has the period of its own list: %s', async (_, transactions) => {
    const list = `<DTSTART>20260301<DTEND>20260331120000[+3:TRT]${transactions}`;
    const [statement] = await read(inStatement(list) + inStatement(transactions));
    expect(statement).toMatchObject({ identity: { from: '2026-03-01', to: '2026-03-31' } });
    const others = (await read(inStatement(list) + inStatement(transactions))).slice(1);
    expect(others.find(({ type }) => type === 'statement')).toMatchObject({
      identity: { from: null, to: null },
    });
  });

  it('may be one of several in the file', async () => {
    const one = inStatement(
      '<STMTTRN><DTPOSTED>20260301<TRNAMT>1</STMTTRN>',
      '<LEDGERBAL><BALAMT>1</LEDGERBAL>',
    );
    const events = describeEvents(await read(one + one.replace('17-4', '18-2')));
    expect(events).toEqual([
      STATEMENT,
      '2026-03-01 +1.00',
      'end 1.00',
      'statement 18-2 TRY',
      '2026-03-01 +1.00',
      'end 1.00',
    ]);
  });

  it.each<[string, string, RegExp]>([
    [
      'the sign-on',
      '<SIGNONMSGSRSV1><SONRS><STATUS><CODE>15500<SEVERITY>ERROR<MESSAGE>Wrong password</STATUS></SONRS></SIGNONMSGSRSV1>',
      /SONRS with status "15500" \(ERROR\): "Wrong password"/,
    ],
    [
      'a statement',
      '<BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STATUS><CODE>2000<SEVERITY>ERROR</STATUS></STMTTRNRS></BANKMSGSRSV1>',
      /STMTTRNRS with status "2000"/,
    ],
  ])('is missing, with a warning, when the bank refused %s', async (_, content, message) => {
    const events = await read(`<OFX>${content}</OFX>`);
    expect(events).toEqual([
      { type: 'warning', line: 1, message: expect.stringMatching(message) },
      {
        type: 'issue',
        line: 1,
        path: 'OFX',
        message: expect.stringMatching(/no bank or credit card statement/),
      },
    ]);
  });

  it('is missing in a file that holds only investments', async () => {
    const events = await read(
      '<OFX><INVSTMTMSGSRSV1><INVSTMTTRNRS><INVSTMTRS><INVTRANLIST><INVBANKTRAN><STMTTRN><DTPOSTED>20260301<TRNAMT>1</STMTTRN>' +
        '</INVBANKTRAN></INVTRANLIST></INVSTMTRS></INVSTMTTRNRS></INVSTMTMSGSRSV1></OFX>',
    );
    expect(events).toMatchObject([
      { type: 'issue', path: 'OFX', message: expect.stringMatching(/investment statements/) },
    ]);
  });

  it('is read beside an investment account, which a warning names with its cash', async () => {
    const investment = (cash: string) =>
      `<INVSTMTMSGSRSV1><INVSTMTTRNRS><INVSTMTRS><CURDEF>USD<INVACCTFROM><ACCTID>INV1</INVACCTFROM><INVTRANLIST>${cash}</INVTRANLIST></INVSTMTRS></INVSTMTTRNRS></INVSTMTMSGSRSV1>`;
    const cash = ['77.00', '-7.5'].map(
      (amount) => `<INVBANKTRAN><STMTTRN><DTPOSTED>20260301<TRNAMT>${amount}</STMTTRN></INVBANKTRAN>`,
    );
    const bank =
      '<BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM></STMTRS></STMTTRNRS></BANKMSGSRSV1>';
    for (const [transactions, said] of [
      [cash.join(''), ' Its cash is not stored either: 2 transactions, 69.50 USD altogether.'],
      ['', ''],
    ] as const) {
      const events = await read(`<OFX>${investment(transactions)}${bank}</OFX>`);
      expect(events.filter(({ type }) => type !== 'statement' && type !== 'end')).toMatchObject([
        {
          type: 'warning',
          message: `The file has the investment account "INV1" (INVSTMTRS), which is not read.${said}`,
        },
      ]);
    }
  });

  it('that breaks off gives an issue, and keeps no value that may be cut', async () => {
    const whole = inStatement(
      '<STMTTRN><DTPOSTED>20260301<TRNAMT>1</STMTTRN><STMTTRN><DTPOSTED>20260302<TRNAMT>-12.34',
    );
    const text = whole.slice(0, whole.indexOf('12.34') + 4);
    expect(describeEvents(await read(text))).toEqual([
      STATEMENT,
      '2026-03-01 +1.00',
      'issue at 3: STMTTRN',
      'warning at 3',
      'end',
      'warning at 3',
    ]);
  });
});
