import { describe, expect, it } from 'vitest';
import { read, readOne, statement } from './read.ts';

describe('the direction and amount of an MT940 :61:', () => {
  it.each([
    ['a credit', ':61:2611021102C10,00NTRFNONREF', 'Credit', 10000n],
    ['a debit', ':61:2611021102D10,00NTRFNONREF', 'Debit', 10000n],
    ['the reversal of a credit is a debit', ':61:2611021102RC10,00NTRFNONREF', 'Debit', 10000n],
    ['the reversal of a debit is a credit', ':61:2611021102RD10,00NTRFNONREF', 'Credit', 10000n],
    ['the third letter of EUR follows', ':61:2611021102CR10,00NTRFNONREF', 'Credit', 10000n],
    ['the third letter of EUR follows a reversal', ':61:2611021102RCR10,00NTRFNONREF', 'Debit', 10000n],
    ['the third letter of USD follows', ':61:2611021102DD10,00NTRFNONREF', 'Debit', 10000n],
    ['the third letter of TRY follows', ':61:2611021102CY10,00NTRFNONREF', 'Credit', 10000n],
    ['no fraction digits', ':61:2611021102C10,NTRFNONREF', 'Credit', 10000n],
    ['one fraction digit', ':61:2611021102C10,5NTRFNONREF', 'Credit', 10500n],
    ['no comma', ':61:2611021102C10NTRFNONREF', 'Credit', 10000n],
    ['a point before two digits', ':61:2611021102C1211771.46NTRFNONREF', 'Credit', 1211771460n],
    ['a point at the end', ':61:2611021102C348000.NTRFNONREF', 'Credit', 348000000n],
    ['leading zeros', ':61:261102D000000000025,00N102EREF', 'Debit', 25000n],
    ['no digit before the comma', ':61:261102D,42NTRFNONREF', 'Debit', 420n],
    ['the largest amount', ':61:261102D999999999999999999,99NTRF', 'Debit', 10n ** 21n - 10n],
  ])('are read: %s', async (_, line, dc, amount) => {
    expect(await readOne(line)).toMatchObject({ dc, amount, status: 'booked' });
  });

  it('mark an entry as pending when it is expected (EC, ED)', async () => {
    const { entries } = await read(statement(':61:261102EC1,00NTRFX', ':61:261102ED1,00NTRFX'));
    expect(entries).toMatchObject([
      { status: 'pending', dc: 'Credit' },
      { status: 'pending', dc: 'Debit' },
    ]);
  });
});

describe('the date of an MT940 :61:', () => {
  it.each([
    ['the entry date is the booking date', '2611021103', '2026-11-03'],
    ['without an entry date, the value date is the booking date', '261102', '2026-11-02'],
    ['blanks are no entry date', '261102    ', '2026-11-02'],
    ['0000 is no entry date', '2611020000', '2026-11-02'],
    ['booked in January, value in December', '1412310105', '2015-01-05'],
    ['booked in December, value in January', '2001011230', '2019-12-30'],
    ['nearly half a year later, in the next year', '2612300601', '2027-06-01'],
    ['29 February of the next year', '2312310229', '2024-02-29'],
    ['the value date 30 February does not matter', '1602300301', '2016-03-01'],
    ['1980 to 1999', '991231', '1999-12-31'],
    ['2000 to 2079', '791231', '2079-12-31'],
  ])('is chosen by the rule: %s', async (_, dates, date) => {
    expect((await readOne(`:61:${dates}C1,00NTRFNONREF`)).date).toBe(date);
  });

  it.each([
    ['an entry on 31 November is on the 30th', '2611301131', '2026-11-30', '1131'],
    ['a value on 30 February is on the 28th', '270230', '2027-02-28', '270230'],
  ])('is corrected with a warning: %s', async (_, dates, date, found) => {
    const { entries, issues, warnings } = await read(statement(`:61:${dates}C1,00NTRFNONREF`));
    expect(entries).toMatchObject([{ date }]);
    expect(issues).toEqual([]);
    expect(warnings).toMatchObject([
      { line: 5, message: `the entry's date is "${found}", which does not exist: it is read as ${date}` },
    ]);
  });
});

describe('the code and references of an MT940 :61:', () => {
  it.each([
    ['of two references, the bank’s is used', 'NTRFCUSTOMER-1//BANK-1', 'NTRF', 'BANK-1'],
    ['only the owner’s reference', 'NTRFCUSTOMER-1', 'NTRF', 'CUSTOMER-1'],
    ['NONREF', 'NTRFNONREF', 'NTRF', null],
    ['NONREF for both', 'NTRFNONREF//NONREF', 'NTRF', null],
    ['NONREF beside the bank’s reference', 'NTRFNONREF//BANK-1', 'NTRF', 'BANK-1'],
    ['an owner’s reference beside a blank bank reference', 'NTRFCUSTOMER-1// ', 'NTRF', 'CUSTOMER-1'],
    ['a bank reference with slashes', 'NMSC341/1X//O/341', 'NMSC', 'O/341'],
    ['nothing but the type', 'N527', 'N527', null],
    ['KREF+ refers to :86:, and is no reference', 'NTRFKREF+', 'NTRF', null],
    ['a type with blanks', 'S   ', 'S', null],
    ['a type that SWIFT does not know', 'MCI0NONREF', 'MCI0', null],
    ['a first advice', 'FMSC01916', 'FMSC', '01916'],
  ])('are read: %s', async (_, text, code, reference) => {
    expect(await readOne(`:61:2611021102C1,00${text}`)).toMatchObject({ code, reference });
  });

  it('may have the bank reference on the next line', async () => {
    const entry = await readOne(':61:2611021102D98,54FMSC20120418003117', '//CLT-1205389307', ':86:Card');
    expect(entry).toMatchObject({ reference: 'CLT-1205389307', description: 'Card' });
  });

  it('may be followed by a name after a reference padded to 16 characters', async () => {
    const entry = await readOne(':61:261102D1,00N0600733959555      ACME B.V.', ':86:Invoice');
    expect(entry).toMatchObject({ reference: '0733959555', name: 'ACME B.V.', description: 'Invoice' });
  });

  it('leave an IBAN to the counterparty’s account', async () => {
    const inLine = await readOne(':61:261102D1,00NOVBNL56ASNB9999999999', ':86:Betaling');
    expect(inLine).toMatchObject({ reference: null, opponentIban: 'NL56ASNB9999999999' });
    const below = await readOne(':61:261102D1,00N102EREF', 'NL70ABNA0987654321', ':86:Betaling');
    expect(below).toMatchObject({ reference: null, opponentIban: 'NL70ABNA0987654321' });
  });

  it('may be followed by supplementary details, which describe an entry without text', async () => {
    const alone = await readOne(':61:261102C1,00NMSCNONREF', 'Deposit', 'in cash');
    expect(alone.description).toBe('Deposit in cash');
    const beside = await readOne(':61:261102C1,00NMSCNONREF', 'Deposit', ':86:Counter 7');
    expect(beside.description).toBe('Counter 7 Deposit');
  });
});

describe('an MT940 :61: without a type', () => {
  const DATES = ['261102', '2611021102'];
  const AMOUNTS = ['10,00', '10.00', 'N10,00', '000000000010,00'];
  const REFERENCES = [
    ['', null, null],
    ['//B1', 'B1', null],
    ['NONREF', null, null],
    ['NONREF//B1', 'B1', null],
    ['EREF//B1', 'B1', null],
    ['EREF+', null, null],
    ['KREF', null, null],
  ] as const;
  const ROWS = DATES.flatMap((dates) =>
    AMOUNTS.flatMap((amount) => REFERENCES.map((it) => [`:61:${dates}C${amount}${it[0]}`, it[1]] as const)),
  );

  it.each(ROWS)('is read: %s', async (line, reference) => {
    expect(await readOne(line, ':86:Rent')).toMatchObject({
      ...{ code: null, amount: 10000n, dc: 'Credit', date: '2026-11-02', reference, description: 'Rent' },
    });
  });

  it('is read with its type if the type is on the next line', async () => {
    expect(await readOne(':61:261102C10,00', 'NTRFNONREF//B1')).toMatchObject({
      code: 'NTRF',
      reference: 'B1',
    });
  });

  it('is not read if the file ends at its amount', async () => {
    const { entries, issues } = await read(':20:A\n:25:1\n:60F:C261101EUR0,\n:61:261102C10,00');
    expect([entries.length, issues.length]).toEqual([0, 1]);
  });
});

describe('the texts of an MT940 :61:', () => {
  it.each([
    [':61:261102D1,00NTRFRENT MAY', ':86:', 'RENT MAY'],
    [':61:261102D1,00NTRFNONREF//B7', ':86:', 'B7'],
    [':61:261102D1,00NTRFRENT MAY//B7', ':86:', 'RENT MAY'],
    [':61:261102D1,00NTRFRENT MAY', ':86:Flat 3', 'Flat 3'],
  ])('are the description if nothing else is: %s and %s', async (line, text, description) => {
    expect((await readOne(line, text)).description).toBe(description);
  });

  it.each([
    ['text', 'Card payment', 'Bakery', 'Bakery Card payment'],
    ['text that :86: has', '911-TRANSAKCJA IPH', '911 Transakcja IPH; X', '911 Transakcja IPH; X'],
    ['a code', '/TRCD/01016/', 'Bakery', 'Bakery'],
    ['a number', '20131209007602198765432000000012', 'Bakery', 'Bakery'],
  ])('on the next line are added to :86: if they say more: %s', async (_, line, text, description) => {
    expect((await readOne(':61:261102D1,00NTRFNONREF', line, `:86:${text}`)).description).toBe(description);
  });

  it('give the original amount of /OCMT/', async () => {
    expect((await readOne(':61:261102D1,00NTRFNONREF', '/OCMT/USD4,5//IACC/D3/')).details).toMatchObject({
      ...{ originalAmount: 4500n, originalCurrency: 'USD' },
    });
  });
});

describe('an unreadable MT940 :61:', () => {
  const ALLOWED =
    'YYMMDD, MMDD, one of C, D, RC, RD, EC, ED, an amount such as 1234,56 and a type such as NTRF are allowed';
  const AMOUNT = 'an amount such as 1234,56 or 1234, is allowed';
  it.each([
    ['no direction', '2611021102X1,00NTRF', ':61:', `:61: is "2611021102X1,00NTRF": ${ALLOWED}`],
    ['cut off within the amount', '2611021102C12', ':61:', `:61: is "2611021102C12": ${ALLOWED}`],
    ['cut off after a fraction digit', '2611021102C12,3', ':61:', `:61: is "2611021102C12,3": ${ALLOWED}`],
    ['empty', '', ':61:', `:61: is "": ${ALLOWED}`],
    [
      'a long text is cut to 40 characters',
      'x'.repeat(100),
      ':61:',
      `:61: is "${'x'.repeat(39)}…": ${ALLOWED}`,
    ],
    ['a point that may be of thousands', '261102C1.234NTRF', 'amount', `the amount is "1.234": ${AMOUNT}`],
    ['both signs', '261102C1.234,56NTRF', 'amount', `the amount is "1.234,56": ${AMOUNT}`],
    ['a fourth fraction digit', '261102C1,2345NTRF', 'amount', `the amount is "1,2345": ${AMOUNT}`],
    ['no digits', '261102C,NTRF', 'amount', `the amount is ",": ${AMOUNT}`],
    [
      'more than the database holds',
      '261102C1000000000000000000,00NTRF',
      'amount',
      `the amount is "1000000000000000000,00": ${AMOUNT}`,
    ],
    ['month 13', '261302C1,00NTRF', 'date', 'the date is "261302": YYMMDD, or YYMMDDMMDD, is allowed'],
    [
      'entry date in month 13',
      '2611021332C1,00NTRF',
      'date',
      'the date is "2611021332": YYMMDD, or YYMMDDMMDD, is allowed',
    ],
  ])('gives one issue, and the next entry is read: %s', async (_, text, path, message) => {
    const { entries, issues, warnings } = await read(
      statement(`:61:${text}`, ':86:of the bad one', ':61:261102C1,00NTRFGOOD', ':86:of the good one'),
    );
    expect(issues).toEqual([{ type: 'issue', line: 5, path, message }]);
    expect(entries).toMatchObject([{ line: 7, reference: 'GOOD', description: 'of the good one' }]);
    expect(warnings).toEqual([]);
  });
});
