import { describe, expect, it } from 'vitest';
import { describeEvents, entriesOf } from '../statement-events.ts';
import { inStatement, read, STATEMENT, withFields } from './statement.ts';

const readOne = async (fields: string) => entriesOf(await read(withFields(fields)))[0];

describe('a transaction of an OFX file', () => {
  it.each<[string, string, object]>([
    [
      'an IBAN as counterparty',
      '<BANKACCTTO><BANKID>1<ACCTID>TR38 0006 4000 0009 9423 1061 33</BANKACCTTO>',
      { opponentIban: 'TR380006400000099423106133', opponentId: null },
    ],
    [
      'a number as counterparty',
      '<BANKACCTTO><BANKID>1<ACCTID>4711<ACCTTYPE>SAVINGS</BANKACCTTO>',
      { opponentIban: null, opponentId: '4711' },
    ],
    [
      'an IBAN whose check digits are wrong',
      '<BANKACCTTO><ACCTID>TR390006400000099423106133</BANKACCTTO>',
      { opponentIban: null, opponentId: 'TR390006400000099423106133' },
    ],
    ['a credit card as counterparty', '<CCACCTTO><ACCTID>4111</CCACCTTO>', { opponentId: '4111' }],
    ['a name and a memo', '<NAME>Acme<MEMO>Fatura 1', { name: 'Acme', description: 'Fatura 1' }],
    ['a name alone', '<NAME>Acme', { name: 'Acme', description: 'Acme' }],
    ['an extended name', '<NAME>Acme Tekst<EXTDNAME>Acme Tekstil A.Ş.', { name: 'Acme Tekstil A.Ş.' }],
    [
      'a payee',
      '<PAYEE><NAME>Acme<ADDR1>Street 1<CITY>X</PAYEE><MEMO>Fatura',
      { name: 'Acme', description: 'Fatura' },
    ],
    ['a check number', '<CHECKNUM>319<NAME>CHECK', { description: 'CHECK 319' }],
    [
      'a check number that the memo repeats',
      '<CHECKNUM>319<MEMO>CHECK # 319',
      { description: 'CHECK # 319' },
    ],
    ['a check number of zeros', '<CHECKNUM>000<MEMO>POS', { description: 'POS' }],
    ['another currency', '<CURRENCY><CURRATE>1.08<CURSYM>eur</CURRENCY>', { currency: 'EUR' }],
    [
      'an amount that was converted',
      '<ORIGCURRENCY><CURRATE>35.1<CURSYM>EUR</ORIGCURRENCY>',
      { currency: null, amount: 12340n },
    ],
    [
      'amounts elsewhere',
      '<EXTDPMT><EXTDPMTINV><INVOICE><INVTOTALAMT>99</INVOICE></EXTDPMTINV></EXTDPMT>',
      { amount: 12340n },
    ],
    [
      'nothing else',
      '',
      {
        name: null,
        description: null,
        opponentId: null,
        opponentIban: null,
        balance: null,
        reference: 'A1',
        code: 'XFER',
      },
    ],
  ])('is mapped with %s', async (_, fields, expected) => {
    expect(await readOne(fields)).toMatchObject(expected);
  });

  it.each([
    ['no amount', '<DTPOSTED>20260301', 'TRNAMT'],
    ['an amount that is none', '<DTPOSTED>20260301<TRNAMT>12.3456', 'TRNAMT'],
    ['an amount that means two things', '<DTPOSTED>20260301<TRNAMT>1,234', 'TRNAMT'],
    ['no date', '<TRNAMT>1', 'DTPOSTED'],
    ['a date that does not exist', '<DTPOSTED>20260229<TRNAMT>1', 'DTPOSTED'],
    [
      'two amounts, since tags between two transactions are missing',
      '<DTPOSTED>20260301<TRNAMT>1<DTPOSTED>20260301<TRNAMT>2',
      'TRNAMT',
    ],
    ['a tag inside of the amount', '<DTPOSTED>20260301</DTPOSTED><TRNAMT>-12<B>34</B></TRNAMT>', 'TRNAMT'],
    ['two dates', '<DTPOSTED>20260301<TRNAMT>1<DTPOSTED>20260302', 'DTPOSTED'],
    ['a correction', '<DTPOSTED>20260301<TRNAMT>1<CORRECTFITID>A0<CORRECTACTION>REPLACE', 'CORRECTFITID'],
    ['a deletion', '<DTPOSTED>20260301<TRNAMT>1<CORRECTFITID>A0<CORRECTACTION>DELETE', 'CORRECTFITID'],
  ])('is refused for %s, and the following transaction is read', async (_, fields, path) => {
    const good = '<STMTTRN><DTPOSTED>20260302<TRNAMT>5</STMTTRN>';
    const events = await read(inStatement(`<STMTTRN>${fields}</STMTTRN>${good}`));
    expect(describeEvents(events)).toEqual([STATEMENT, `issue at 3: ${path}`, '2026-03-02 +5.00', 'end']);
  });

  it('in the list of pending transactions is pending', async () => {
    const pending =
      '</BANKTRANLIST><BANKTRANLISTP><DTASOF>20260301<STMTTRNP><TRNTYPE>POS<DTTRAN>20260301<TRNAMT>-5<NAME>Market</STMTTRNP></BANKTRANLISTP>';
    expect(describeEvents(await read(inStatement(pending)))).toEqual([
      STATEMENT,
      'pending 2026-03-01 -5.00',
      'end',
    ]);
  });

  it('without its opening tag gives an issue', async () => {
    const events = await read(inStatement('<DTPOSTED>20260301<TRNAMT>1</STMTTRN>'));
    expect(describeEvents(events)).toEqual(['issue at 3: STMTTRN', STATEMENT, 'end']);
  });

  it('outside a statement gives an issue', async () => {
    const events = await read('<OFX><STMTTRN><DTPOSTED>20260301<TRNAMT>1</STMTTRN></OFX>');
    expect(describeEvents(events)).toEqual(['issue at 1: STMTTRN', 'issue at 1: OFX']);
  });
});

it.each([
  ['DEBIT', '12.00', 'Credit', 1],
  ['CREDIT', '-12.00', 'Debit', 1],
  ['FEE', '12.00', 'Credit', 1],
  ['DEBIT', '-12.00', 'Debit', 0],
  ['CREDIT', '12.00', 'Credit', 0],
  ['XFER', '12.00', 'Credit', 0],
  ['DEBIT', '0.00', 'Credit', 0],
])(
  'the sign of an OFX transaction counts, with a warning if TRNTYPE is against it: %s with %s',
  async (type, amount, dc, count) => {
    const row = `<STMTTRN><TRNTYPE>${type}<DTPOSTED>20260301<TRNAMT>${amount}<FITID>A</STMTTRN>`;
    const events = await read(inStatement(row + row));
    expect(events.flatMap((it) => (it.type === 'entry' ? [it.entry.dc] : []))).toEqual([dc, dc]);
    const warnings = events.flatMap((it) => (it.type === 'warning' ? [it.message] : []));
    expect(warnings).toEqual(
      Array(count).fill('The TRNTYPE of 2 transactions is against the sign of TRNAMT. The sign counts.'),
    );
  },
);
