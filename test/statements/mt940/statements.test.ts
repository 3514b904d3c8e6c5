import { describe, expect, it } from 'vitest';
import { looksLikeMt940, looksLikeMt942 } from '../../../packages/statements/src/mt940/parse.ts';
import { read, readParts, statement } from './read.ts';

describe('the account in :25: of an MT940 statement', () => {
  it.each([
    ['an IBAN', ':25:DE02120300000000202051', { iban: 'DE02120300000000202051' }],
    ['with blanks and small letters', ':25:de02 1203 0000 0000 2020 51', { iban: 'DE02120300000000202051' }],
    ['with a currency', ':25:NL91ABNA0417164300EUR', { iban: 'NL91ABNA0417164300', currency: 'EUR' }],
    [
      'that ends with a currency of its own',
      ':25:MU17BOMM0101101030300200000MUR',
      { iban: 'MU17BOMM0101101030300200000MUR' },
    ],
    ['with wrong check digits', ':25:NL81ASNB9999999999', { iban: 'NL81ASNB9999999999' }],
    ['behind a slash', ':25:/PL61109010140000071219812874', { iban: 'PL61109010140000071219812874' }],
    ['behind the BIC', ':25:ABNANL2A/NL91ABNA0417164300', { iban: 'NL91ABNA0417164300', bank: 'ABNANL2A' }],
    ['bank code and number', ':25:12345678/0011223344', { number: '0011223344', bank: '12345678' }],
    [
      'bank code, number and currency',
      ':25:12345678/0011223344EUR',
      { number: '0011223344', bank: '12345678', currency: 'EUR' },
    ],
    [
      'BIC, number and currency',
      ':25:TCZBTR2A/123-456/TRY',
      { number: '123-456', bank: 'TCZBTR2A', currency: 'TRY' },
    ],
    ['a number', ':25:1291.99.348EUR', { number: '1291.99.348', currency: 'EUR' }],
    [
      'an IBAN and the BIC below',
      ':25P:NL91ABNA0417164300\r\nABNANL2A',
      { iban: 'NL91ABNA0417164300', bank: 'ABNANL2A' },
    ],
    ['nothing', ':25:', {}],
  ])('is read: %s', async (_, field, account) => {
    const { statements } = await read(`:20:X\r\n${field}\r\n:62F:C261130EUR1,00\r\n-`);
    const [found] = statements;
    expect({ ...found?.account, currency: null }).toEqual({
      ...{ iban: null, number: null, bank: null },
      ...account,
      currency: null,
    });
    const { statements: withoutBalance } = await read(`:20:X\r\n${field}\r\n:61:261101C1,00NTRF\r\n-`);
    expect(withoutBalance[0]?.account.currency).toBe('currency' in account ? account.currency : null);
  });
});

describe('the balances of an MT940 statement', () => {
  it.each([
    ['credit', ':60F:C261101EUR1234,56', 1234560n],
    ['debit', ':60F:D261101EUR1234,56', -1234560n],
    ['no fraction digits', ':60F:C261101EUR1234,', 1234000n],
    ['leading zeros', ':60F:C180410TRY0000000000000000,00', 0n],
    ['a point before two digits', ':60F:C090506EUR1211771.46', 1211771460n],
    ['no currency', ':60M:C020315105000,00', 105000000n],
  ])('are read: %s', async (_, field, amount) => {
    const { statements, warnings } = await read(`:20:X\n:25:1\n${field}\n:62F:C261130EUR1,00`);
    expect(statements[0]?.opening?.amount).toBe(amount);
    expect(warnings.filter(({ line }) => line === 3)).toEqual([]);
  });

  it('include a closing balance on 31 November, read as of the 30th with a warning', async () => {
    const { entries, ends, warnings } = await read(
      ':20:X\n:25:1\n:60F:C261101EUR1,00\n:61:261102C1,00NTRF\n:62F:C261131EUR2,00\n-',
    );
    expect(entries).toHaveLength(1);
    expect(ends).toMatchObject([{ line: 6, closing: { amount: 2000n, date: '2026-11-30' } }]);
    expect(warnings).toEqual([
      {
        type: 'warning',
        line: 5,
        message:
          ':62F: has the date "261131", which does not exist: a date of the calendar, YYMMDD, is allowed',
      },
    ]);
  });

  it.each([
    ['no sign', ':62F:261130EUR1,00'],
    ['no amount', ':62F:C261130EUR'],
    ['a point of thousands', ':62F:C261130EUR1.000,00'],
    ['something behind it', ':62F:C261130EUR1,00x'],
  ])('leave out an unreadable closing balance, with a warning: %s', async (_, field) => {
    const { entries, ends, warnings } = await read(
      `:20:X\n:25:1\n:60F:C261101EUR1,00\n:61:261102C1,00NTRF\n${field}\n-`,
    );
    expect(entries).toHaveLength(1);
    expect(ends).toMatchObject([{ closing: null }]);
    expect(warnings).toMatchObject([{ line: 5, message: expect.stringContaining(':62F: is "') }]);
  });

  it('have a warning when the closing balance is in another currency', async () => {
    const { warnings } = await read(':20:X\n:25:1\n:60F:C261101EUR1,00\n:62F:C261130TRY1,00\n-');
    expect(warnings).toMatchObject([
      { message: expect.stringContaining('is in TRY, and the statement in EUR') },
    ]);
  });
});

describe('an MT940 file', () => {
  const first = ':20:A\n:25:111\n:60F:C261101EUR1,00\n:61:261101C1,00NTRFA1\n:62F:C261101EUR2,00';
  const second = ':20:B\n:25:222\n:60F:C261101EUR5,00\n:61:261101C1,00NTRFB1\n:62F:C261101EUR6,00';
  const envelope = '{1:F01ABCDTRISAXXX0000000000}{2:O9401200261101ABCDTRISAXXX00000000002611011200N}{4:';
  const german = envelope.replaceAll('{', 'ä').replaceAll('}', 'ü');

  it.each([
    ['without anything between', `${first}\n${second}`],
    ['ended by a hyphen', `${first}\n-\n${second}\n-`],
    ['ended by -XXX', `${first}\n-XXX\n${second}\n-XXX`],
    ['ended with blanks behind the hyphen', `${first}\n- \n${second}\n- \n`],
    ['between blank lines', `\n\n${first}\n\n\n${second}\n\n`],
    ['in envelopes', `${envelope}\n${first}\n-}{5:{CHK:0123456789AB}}\n${envelope}\n${second}\n-}`],
    ['in envelopes in another code page', `${german}\n${first}\n-üä5:ü\n${german}\n${second}\n-ü`],
    ['in envelopes that were read as ISO-8859-1', `Ã¤4:\n${first}\n-Ã¼\nÃ¤4:\n${second}\n-`],
    ['in envelopes on the line of the first field', `${envelope}${first}\n-}${envelope}${second}\n-}`],
    ['with an envelope on the line of an end', `${envelope}\n${first}\n-}${envelope}\n${second}\n-}`],
    [
      'with lines that are not SWIFT’s before',
      `ABNANL2A\n940\nABNANL2A\n${first}\n-\nABNANL2A\n940\nABNANL2A\n${second}\n-`,
    ],
    ['with :940: before', `:940:\n${first}\n:940:\n${second}`],
    ['with a byte order mark', `\uFEFF${first}\n${second}`],
    [
      'with information behind the closing balance',
      `${first}\n:64:C261101EUR2,00\n:65:C261102EUR2,00\n:86:Info\n-\n${second}`,
    ],
  ])('with two statements is read: %s', async (_, text) => {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const { statements, entries, issues, warnings, ends } = await read(text.replaceAll('\n', lineEnd));
      expect(statements).toMatchObject([
        { account: { number: '111', currency: 'EUR' }, opening: { amount: 1000n } },
        { account: { number: '222', currency: 'EUR' }, opening: { amount: 5000n } },
      ]);
      expect(entries).toMatchObject([
        { reference: 'A1', description: 'A1' },
        { reference: 'B1', description: 'B1' },
      ]);
      expect(ends).toMatchObject([{ closing: { amount: 2000n } }, { closing: { amount: 6000n } }]);
      expect([...issues, ...warnings]).toEqual([]);
    }
  });

  it('may have intermediate balances, between messages and within one message', async () => {
    const page = ':60F:C261101EUR1,00\n:61:261101C1,00NTRFA\n:62M:C261101EUR2,00';
    const next = ':60M:C261101EUR2,00\n:61:261101C1,00NTRFB\n:62F:C261101EUR3,00';
    for (const between of ['\n-\n:20:X\n:25:1\n:28C:1/2\n', '\n:28C:1/2\n', '\n']) {
      const { statements, warnings, ends } = await read(
        `:20:X\n:25:1\n:28C:1/1\n${page}${between}${next}\n-`,
      );
      expect(statements).toMatchObject([
        { account: { number: '1' }, opening: { amount: 1000n } },
        { account: { number: '1' }, opening: { amount: 2000n } },
      ]);
      expect(ends).toMatchObject([{ closing: { amount: 2000n } }, { closing: { amount: 3000n } }]);
      expect(warnings).toEqual([]);
    }
  });

  it('without entries gives a statement without entries', async () => {
    const { events } = await read(':20:X\n:25:1\n:60F:C261101EUR1,00\n:62F:C261101EUR1,00');
    expect(events.map(({ type }) => type)).toEqual(['statement', 'end']);
  });

  it('has no known account for entries after the end of a message', async () => {
    const { statements } = await read(`${first}\n-\n:61:261101C1,00NTRFB1`);
    expect(statements.map(({ account }) => account.number)).toEqual(['111', null]);
  });

  it('that begins with an entry instead of a header is read, with a warning', async () => {
    const { statements, entries, warnings } = await read(':61:261101C1,00NTRFB1\n:86:text');
    expect(statements).toMatchObject([{ account: { iban: null, number: null }, opening: null }]);
    expect(entries).toMatchObject([{ description: 'text' }]);
    expect(warnings).toMatchObject([{ line: 2, message: expect.stringContaining('may have broken off') }]);
  });

  it('keeps its account when a stray text uses the tag :25:', async () => {
    const text = ':25:166?00GUTSCHRIFT?109800?20EREF+4711?21SVWZ+Rechnung 4711?32Erika';
    const { statements, entries, warnings } = await read(statement(':61:261101C1,00NTRF', text));
    expect(statements).toHaveLength(1);
    expect(entries).toHaveLength(1);
    expect(warnings).toMatchObject([{ line: 6, message: expect.stringContaining('was skipped') }]);
  });

  it('is read when a line end cuts a tag in two', async () => {
    const { entries, warnings } = await read(
      statement(':61:2611011101CR', '30,00N062NONREF', ':', '86:166?20SVWZ+Test'),
    );
    expect(entries).toMatchObject([{ amount: 30000n, description: 'Test' }]);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['nothing', ''],
    ['blank lines', '\n\r\n\n'],
    ['other text', 'Date;Amount\n2026-11-01;1,00\n'],
    ['a reference alone', ':20:X\n'],
    ['text alone', ':86:text\n-'],
  ])('gives no events when it holds %s', async (_, text) => {
    expect((await read(text)).events).toEqual([]);
  });
});

describe('an MT942 report', () => {
  const entries = ':61:2611021102D1,00NTRFA//B\n:86:Fee\n:90D:1EUR1,00\n:90C:0EUR0,00';
  it.each([
    [
      'by its floor limit',
      `:20:X\n:25:1\n:28C:1/1\n:34F:EURD0,\n:34F:EURC0,\n:13D:2611021200+0100\n${entries}\n-`,
    ],
    ['by its time alone', `:20:X\n:25:1EUR\n:28C:1/1\n:13D:2611021200+0100\n${entries}`],
    [
      'by its envelope',
      `{1:F01ABCDTRISAXXX0000000000}{2:I942ABCDTRISAXXXN}{4:\n:20:X\n:25:1EUR\n:28C:1/1\n${entries}\n-}`,
    ],
  ])('is interim and has no balances when it is recognised %s', async (_, text) => {
    const { events } = await read(text);
    expect(events).toMatchObject([
      { type: 'statement', kind: 'interim', account: { number: '1', currency: 'EUR' }, opening: null },
      { type: 'entry', entry: { dc: 'Debit', amount: 1000n, reference: 'B', description: 'Fee' } },
      { type: 'end', closing: null },
    ]);
  });

  it('may stand between statements', async () => {
    const { statements } = await read(
      `${statement()}:20:X\n:25:1\n:34F:EUR0,\n${entries}\n-\n${statement()}`,
    );
    expect(statements.map(({ kind }) => kind)).toEqual(['final', 'interim', 'final']);
  });
});

it('an MT940 closing balance at which the file is cut off is not used', async () => {
  const file =
    ':20:X\r\n:25:1\r\n:60F:C261130EUR1,00\r\n:61:2611301130C1,98NTRFNONREF\r\n:62F:C261130EUR2,98';
  for (const missing of [1, 2, 3]) {
    const { ends, warnings } = await read(file.slice(0, -missing));
    expect(ends[0]?.closing).toBeNull();
    expect(warnings).toMatchObject([{ message: expect.stringContaining('the file ends within :62F:') }]);
  }
  expect((await read(file)).ends[0]?.closing).toMatchObject({ amount: 2980n });
  const whole = file.replaceAll(',98', ',').replaceAll(',00', ',');
  expect((await read(whole)).ends[0]?.closing).toMatchObject({ amount: 2000n });
});

it('an MT940 whose line ends are @@ is read in any split, and @@ in another file is text', async () => {
  const lines = statement(':61:261102C1,00NTRFNONREF', ':86:166?20Rent?32Er', 'ika').split('\n');
  const text = `@@${lines.join('@@')}`;
  for (const size of [1, 2, 7, 4096]) {
    async function* parts() {
      for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
    }
    const { entries, warnings, ends } = await readParts(parts());
    expect(entries).toMatchObject([{ amount: 1000n, description: 'Rent', name: 'Erika' }]);
    expect([warnings, ends.length]).toEqual([[], 1]);
  }
  const { entries } = await read(statement(':61:261102C1,00NTRFNONREF', ':86:a@@:20:b'));
  expect(entries).toMatchObject([{ description: 'a@@:20:b' }]);
});

it('an MT942 whose line ends are @@ is recognised', () => {
  const report = [
    '',
    ':20:A',
    ':25:1',
    ':28C:1/1',
    ':34F:EUR0,',
    ':13D:2611021200+0100',
    ':61:261102C1,00NTRFX',
  ].join('@@');
  expect([looksLikeMt940(report), looksLikeMt942(report)]).toEqual([true, true]);
});
