import { describe, expect, it } from 'vitest';
import { parseOfx } from '../../../../src/importing/formats/ofx/parse.ts';
import { describeEvents, entriesOf, readEvents } from '../statement-events.ts';

const read = (text: string) => readEvents(parseOfx, text);
const inStatement = (list: string, more = '') =>
  `OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>TRY<BANKACCTFROM><BANKID>0062<ACCTID>17-4` +
  `<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST>${list}</BANKTRANLIST>${more}</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`;
const transaction = (fields: string) =>
  inStatement(`<STMTTRN><TRNTYPE>XFER<DTPOSTED>20260301<TRNAMT>-12.34<FITID>A1${fields}</STMTTRN>`);
const readOne = async (fields: string) => entriesOf(await read(transaction(fields)))[0];

const STATEMENT = 'statement 17-4 TRY';

describe('the markup', () => {
  const entry = '<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20260301<TRNAMT>-12.34<FITID>A1<MEMO>Kira</STMTTRN>';
  it.each<[string, string]>([
    ['SGML without closing tags of values', inStatement(entry)],
    ['XML', inStatement(entry).replaceAll(/<(\w+)>([^<]+)(?=<)/g, '<$1>$2</$1>')],
    ['a closing tag for some values', inStatement(entry.replace('-12.34', '-12.34</TRNAMT>'))],
    ['line ends after each value', inStatement(entry).replaceAll('<', '\r\n  <')],
    ['carriage returns alone', inStatement(entry).replaceAll('<', '\r<')],
    ['lower case', inStatement(entry).replaceAll(/<[^>]*>/g, (tag) => tag.toLowerCase())],
    ['a namespace prefix', inStatement(entry).replaceAll(/<(\/?)(\w)/g, '<$1ofx:$2')],
    ['attributes', inStatement(entry).replace('<OFX>', '<OFX xmlns="http://ofx.net" a=\'b\'>')],
    ['comments', inStatement(`<!-- <STMTTRN> -->${entry}<!-- </STMTRS> > -- -->`)],
    ['a document type', inStatement(entry).replace('<OFX>', '<!DOCTYPE OFX [<!ENTITY a "b">]><OFX>')],
    ['CDATA', inStatement(entry.replace('Kira', '<![CDATA[Kira]]>'))],
    ['blanks around values', inStatement(entry.replaceAll(/>([^<]+)</g, '> \t$1  <'))],
    ['empty elements', inStatement(entry.replace('<MEMO>', '<PAYEE/><NAME/><MEMO>'))],
    ['no header', inStatement(entry).slice('OFXHEADER:100\n\n'.length)],
    ['a transaction without its closing tag', inStatement(entry.replace('</STMTTRN>', ''))],
    ['unknown elements', inStatement(entry.replace('<MEMO>', '<INTU.X>1<Y.Z><A>2</A></Y.Z><MEMO>'))],
  ])('is read: %s', async (_, text) => {
    const events = await read(text);
    expect(describeEvents(events)).toEqual([STATEMENT, '2026-03-01 -12.34', 'end']);
    expect(entriesOf(events)[0]).toMatchObject({
      reference: 'A1',
      description: 'Kira',
      code: expect.stringMatching(/debit/i),
    });
  });

  it.each([
    ['a value over two lines', '<MEMO>Kira\r\n    Mart', 'Kira Mart'],
    ['blanks inside of a value', '<MEMO>Kira   Mart', 'Kira   Mart'],
    ['entities', '<MEMO>A &amp; B&nbsp;&lt;C&gt; &#304;', 'A & B <C> İ'],
    ['no entities in CDATA', '<MEMO><![CDATA[A &amp; <B>]]> C', 'A &amp; <B> C'],
    ['a bare "&"', '<MEMO>R&D & AT&T', 'R&D & AT&T'],
    ['a bare "<"', '<MEMO>1 < 2 <3 << 4', '1 < 2 <3 << 4'],
    ['a bare ">"', '<MEMO>2 > 1', '2 > 1'],
  ])('keeps text: %s', async (_, fields, description) => {
    expect((await readOne(fields))?.description).toBe(description);
  });

  it('gives the lines, whatever the line ends', async () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const text = inStatement('<STMTTRN>\n<TRNAMT>x\n</STMTTRN>').replaceAll('\n', end);
      for (const sizes of [[], [1], [3, 2]])
        expect(describeEvents(await readEvents(parseOfx, text, sizes))).toContain('issue at 3: TRNAMT');
    }
  });

  it('shortens a value that does not end, and says so', async () => {
    const events = await read(transaction(`<MEMO>${'x'.repeat(100_000)}`));
    expect(describeEvents(events)).toEqual([STATEMENT, 'warning at 3', '2026-03-01 -12.34', 'end']);
    expect(entriesOf(events)[0]?.description).toHaveLength(8 * 1024);
  });
});

describe('a transaction', () => {
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
      { currency: null, amount: 1234n },
    ],
    [
      'amounts elsewhere',
      '<EXTDPMT><EXTDPMTINV><INVOICE><INVTOTALAMT>99</INVOICE></EXTDPMTINV></EXTDPMT>',
      { amount: 1234n },
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
  ])('is mapped: %s', async (_, fields, expected) => {
    expect(await readOne(fields)).toMatchObject(expected);
  });

  it.each([
    ['no amount', '<DTPOSTED>20260301', 'TRNAMT'],
    ['an amount that is none', '<DTPOSTED>20260301<TRNAMT>12.345', 'TRNAMT'],
    ['an amount that means two things', '<DTPOSTED>20260301<TRNAMT>1,234', 'TRNAMT'],
    ['no date', '<TRNAMT>1', 'DTPOSTED'],
    ['a date that does not exist', '<DTPOSTED>20260229<TRNAMT>1', 'DTPOSTED'],
    [
      'two amounts, since tags between two transactions are missing',
      '<DTPOSTED>20260301<TRNAMT>1<DTPOSTED>20260301<TRNAMT>2',
      'TRNAMT',
    ],
    ['two dates', '<DTPOSTED>20260301<TRNAMT>1<DTPOSTED>20260302', 'DTPOSTED'],
    ['a correction', '<DTPOSTED>20260301<TRNAMT>1<CORRECTFITID>A0<CORRECTACTION>REPLACE', 'CORRECTFITID'],
    ['a deletion', '<DTPOSTED>20260301<TRNAMT>1<CORRECTFITID>A0<CORRECTACTION>DELETE', 'CORRECTFITID'],
  ])('is refused, and the others are read: %s', async (_, fields, path) => {
    const good = '<STMTTRN><DTPOSTED>20260302<TRNAMT>5</STMTTRN>';
    const events = await read(inStatement(`<STMTTRN>${fields}</STMTTRN>${good}`));
    expect(describeEvents(events)).toEqual([STATEMENT, `issue at 3: ${path}`, '2026-03-02 +5.00', 'end']);
  });

  it('is pending in the list of pending ones', async () => {
    const pending =
      '</BANKTRANLIST><BANKTRANLISTP><DTASOF>20260301<STMTTRNP><TRNTYPE>POS<DTTRAN>20260301<TRNAMT>-5<NAME>Market</STMTTRNP></BANKTRANLISTP>';
    expect(describeEvents(await read(inStatement(pending)))).toEqual([
      STATEMENT,
      'pending 2026-03-01 -5.00',
      'end',
    ]);
  });

  it('that has lost its opening tag is not passed over', async () => {
    const events = await read(inStatement('<DTPOSTED>20260301<TRNAMT>1</STMTTRN>'));
    expect(describeEvents(events)).toEqual(['issue at 3: STMTTRN', STATEMENT, 'end']);
  });

  it('outside of a statement is not read', async () => {
    const events = await read('<OFX><STMTTRN><DTPOSTED>20260301<TRNAMT>1</STMTTRN></OFX>');
    expect(describeEvents(events)).toEqual(['issue at 1: STMTTRN', 'issue at 1: OFX']);
  });
});

describe('a statement', () => {
  it('of an account whose number is an IBAN', async () => {
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
      'an available balance alone, which is another one',
      '<AVAILBAL><BALAMT>5<DTASOF>20260331</AVAILBAL>',
      ['end'],
    ],
    ['both', '<LEDGERBAL><BALAMT>1</LEDGERBAL><AVAILBAL><BALAMT>5</AVAILBAL>', ['end 1.00']],
    ['an empty one', '<LEDGERBAL><BALAMT><DTASOF></LEDGERBAL>', ['warning at 3', 'end']],
    [
      'two that differ',
      '<LEDGERBAL><BALAMT>1</LEDGERBAL><LEDGERBAL><BALAMT>2</LEDGERBAL>',
      ['warning at 3', 'end'],
    ],
    ['balances in a list', '<BALLIST><BAL><NAME>x<VALUE>9<BALAMT>9</BAL></BALLIST>', ['end']],
  ])('ends with its ledger balance: %s', async (_, more, end) => {
    expect(describeEvents(await read(inStatement('', more)))).toEqual([STATEMENT, ...end]);
  });

  it('is one of several', async () => {
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
  ])('is missing because the bank refused %s', async (_, content, message) => {
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

  it('is missing in a file with investments alone', async () => {
    const events = await read(
      '<OFX><INVSTMTMSGSRSV1><INVSTMTTRNRS><INVSTMTRS><INVTRANLIST><INVBANKTRAN><STMTTRN><DTPOSTED>20260301<TRNAMT>1</STMTTRN>' +
        '</INVBANKTRAN></INVTRANLIST></INVSTMTRS></INVSTMTTRNRS></INVSTMTMSGSRSV1></OFX>',
    );
    expect(events).toMatchObject([
      { type: 'issue', path: 'OFX', message: expect.stringMatching(/investment statements/) },
    ]);
  });

  it('that breaks off says so, and keeps no value that may be cut', async () => {
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
