import { describe, expect, it } from 'vitest';
import { readOne } from './read.ts';

const readText = (...lines: string[]) => {
  const [first = '', ...rest] = lines;
  return readOne(':61:2611021102C1,00NTRFNONREF', `:86:${first}`, ...rest);
};

describe('sub-fields of an MT940 :86:', () => {
  it('give the name, account and remittance information', async () => {
    const text = '166?00GUTSCHRIFT?109800?20Rechnung 4711?3012345678?310011223344?32Erika?33Muster?34000';
    expect(await readText(text)).toMatchObject({
      description: 'Rechnung 4711',
      name: 'Erika Muster',
      opponentId: '0011223344',
      opponentIban: null,
    });
  });

  it.each(['?', '~', '^', '<', '>', '@', '&', '#', '|', '$', '!', '/'])(
    'may be separated by %s',
    async (separator) => {
      const text = '020?00ZLECENIE?20Faktura 1?31DE02120300000000202051?32Jan Nowak'.replaceAll(
        '?',
        separator,
      );
      expect(await readText(text)).toMatchObject({
        description: 'Faktura 1',
        name: 'Jan Nowak',
        opponentIban: 'DE02120300000000202051',
        opponentId: null,
      });
    },
  );

  it('are read without a transaction code', async () => {
    expect(await readText('?20Faktura 1?32Jan Nowak')).toMatchObject({
      description: 'Faktura 1',
      name: 'Jan Nowak',
    });
  });

  it('continue in the next sub-field when full, and end a line when shorter', async () => {
    const full = `${'x'.repeat(20)} Rechnu`;
    expect((await readText(`166?20${full}?21ng 1?22Danke`)).description).toBe(`${full}ng 1 Danke`);
  });

  it('are read from lines that are cut anywhere, even within a sub-field’s number', async () => {
    const entry = await readText(
      '159?00RETOURE?100399?20EREF+TFNR 40005 00005?21MTLG:Grund nicht s',
      'pezifizie?2',
      '2rt?32Name',
    );
    expect(entry).toMatchObject({
      description: 'EREF+TFNR 40005 00005 MTLG:Grund nicht spezifiziert',
      name: 'Name',
    });
  });

  it('get back the blank that a line lost at its end', async () => {
    const line = '166?20Zahlung?32Erika Muster?33'.padEnd(58, 'x');
    expect((await readText(`${line} Hotel`, 'Garni')).name).toMatch(/Hotel Garni$/);
  });

  it('may stand on a line each', async () => {
    expect(await readText('020?00VIREMENT', '?20Facture', '?21numero 1', '?32ACME')).toMatchObject({
      description: 'Facture numero 1',
      name: 'ACME',
    });
  });

  it.each([
    ['SVWZ+ is the description', '?20EREF+1234?21MREF+M1?22CRED+DE1?23SVWZ+Miete Mai', 'Miete Mai'],
    ['SVWZ+ may follow a full sub-field', `?20EREF+${'1'.repeat(22)}?21SVWZ+Miete Mai`, 'Miete Mai'],
    [
      'a tag that is cut by a sub-field that is not full is not recognised',
      '?20EREF+ 1 MREF+ 2 CRED+ 3 S?21VWZ+ Miete',
      'EREF+ 1 MREF+ 2 CRED+ 3 S VWZ+ Miete',
    ],
    [
      'a tag that is cut by a full sub-field is recognised',
      `?20EREF+ ${'1'.repeat(19)} S?21VWZ+ Miete`,
      'Miete',
    ],
    ['without SVWZ+, the whole text is the description', '?20EREF+1234?21Danke', 'EREF+1234 Danke'],
    ['without a text, the booking text is the description', '?00ENTGELT?109800', 'ENTGELT'],
    ['sub-fields continue in ?60 to ?63', '?20eins?29zwei?32Name?60drei?63vier', 'eins zwei drei vier'],
    ['a separator in the text is kept', '?20Really?21?20 EUR?x', 'Really ?20 EUR?x'],
  ])('give the right description: %s', async (_, text, description) => {
    expect((await readText(`166${text}`)).description).toBe(description);
  });

  it('give the name from ABWA+ and the account from IBAN+ when ?31 and ?32 are missing', async () => {
    const text = '166?20SVWZ+Miete?21ABWA+Erika Muster?22IBAN+DE02120300000000202051 BIC+BYLADEM1001';
    expect(await readText(text)).toMatchObject({
      description: 'Miete',
      name: 'Erika Muster',
      opponentIban: 'DE02120300000000202051',
    });
  });

  it('give the IBAN of ?38 beside the number of ?31', async () => {
    const entry = await readText('020~20Faktura~31123456789~32Jan~38PL61109010140000071219812874');
    expect(entry).toMatchObject({ opponentId: '123456789', opponentIban: 'PL61109010140000071219812874' });
  });
});

describe('slash tags of an MT940 :86:', () => {
  it('are read from ABN AMRO, even when a line end cuts a word', async () => {
    const entry = await readText(
      '/TRTP/SEPA OVERBOEKING/IBAN/NL91ABNA0417164300/BIC/ABNANL2A/NAME/',
      'J JANSEN EN P PIETERSEN/REMI/FACTUUR 1/2 VAN MEI, BETAALD PER OVE',
      'RBOEKING/EREF/NOTPROVIDED',
    );
    expect(entry).toMatchObject({
      description: 'FACTUUR 1/2 VAN MEI, BETAALD PER OVERBOEKING',
      name: 'J JANSEN EN P PIETERSEN',
      opponentIban: 'NL91ABNA0417164300',
      opponentId: null,
    });
  });

  it('are read from Rabobank', async () => {
    const entry = await readText('/EREF/E1/BENM//NAME/JOHN DOE/REMI/Reference 1/ISDT/2026-11-02');
    expect(entry).toMatchObject({ description: 'Reference 1', name: 'JOHN DOE' });
  });

  it('are read from ING', async () => {
    const entry = await readText(
      '/EREF/E1//CNTP/NL32INGB0000012345/INGBNL2A/ING BANK NV/AMSTERDAM///REMI/USTD//Factuur 1/',
    );
    expect(entry).toMatchObject({
      description: 'Factuur 1',
      name: 'ING BANK NV',
      opponentIban: 'NL32INGB0000012345',
    });
  });

  it('keep a name and a text that are words of tags', async () => {
    const entry = await readText('/TRTP/SEPA/NAME/PURP/REMI/ID/EREF/E1');
    expect(entry).toMatchObject({ description: 'ID', name: 'PURP' });
  });

  it('leave the whole text as the description when they have no remittance information', async () => {
    expect((await readText('/TRTP/GEA/NAME/ATM')).description).toBe('/TRTP/GEA/NAME/ATM');
  });

  it('give an account number that is not an IBAN', async () => {
    expect(await readText('/IBAN/0417164300/NAME/X/REMI/Y')).toMatchObject({
      opponentId: '0417164300',
      opponentIban: null,
    });
  });
});

describe('the codes of an MT940 :86:', () => {
  it.each([
    [
      'an account that is no IBAN',
      '/TRTP/X/BBAN/70441288/NAME/A/REMI/B',
      { opponentId: '70441288', name: 'A' },
    ],
    [
      'why it comes back',
      '/RTRN/MS03//EREF/E/CNTP/X/Y/K///REMI/USTD//STORNO/',
      { description: 'STORNO MS03' },
    ],
    [
      'a reference without a text',
      '/EREF/E/NAME/A/CDTRREFTP//CD/SCOR/CDTRREF/RF18539007547034',
      { description: 'RF18539007547034' },
    ],
    ['a name in /BENM/', '/EREF/E/BENM/J. Doe/REMI/B', { name: 'J. Doe' }],
    ['a name in /ORDP/', '/ORDP/J. Doe/REMI/B', { name: 'J. Doe' }],
    ['a name in /ULTD/', '/ULTD/J. Doe/REMI/B', { name: 'J. Doe' }],
  ])('give %s', async (_, text, found) => {
    expect(await readText(text)).toMatchObject(found);
  });

  const OWN = '0099887766';
  it.each([
    ['?31', `166?20Rent?31${OWN}?32Erika`],
    ['?31 with the bank code', `166?20Rent?31DE0012345678${OWN}?32Erika`],
    ['/IBAN/', `/IBAN/${OWN}/NAME/Erika/REMI/Rent`],
    ['IBAN+', `166?20SVWZ+Rent?21IBAN+DE0012345678${OWN}?32Erika`],
    ['/CNTP/', `/CNTP/${OWN}/INGBNL2A/Erika///REMI/USTD//Rent/`],
  ])('never give the own account as the counterparty: %s', async (_, text) => {
    expect(await readText(text)).toMatchObject({
      opponentId: null,
      opponentIban: null,
      name: 'Erika',
      description: 'Rent',
    });
  });

  it.each([
    ['a number in ?10', '000>100555555501>20SHOP>31', { opponentId: '0555555501', description: 'SHOP' }],
    ['zeros in ?10', '000>100000000000>20SHOP>31', { opponentId: null, description: 'SHOP' }],
    [
      'a BIC and an IBAN before the text',
      '000>100000000000>20TRIONL2U>21NL39RABO0300065264>22RENT>31',
      { opponentId: null, opponentIban: 'NL39RABO0300065264', description: 'RENT' },
    ],
  ])('give the counterparty of Triodos: %s', async (_, text, found) => {
    expect(await readText(text + OWN)).toMatchObject(found);
  });

  it.each([
    ['EREF+RE 2026-17 / 5', ['166?20EREF+RE 2026-17 / 5?21SVWZ+X']],
    ['an id over two sub-fields', ['166?20EREF+RE 2026?21-17 / 5?22SVWZ+X']],
    ['an id over two full sub-fields', ['166?20SVWZ+XXXXXXXXX EREF+RE 2026?21-17 / 5']],
    ['an id over two lines', ['/TRTP/X/EREF/RE 2026', '-17 / 5/REMI/X']],
  ])('keep the blanks within ids: %s', async (_, lines) => {
    expect((await readText(...lines)).details?.endToEndId).toBe('RE 2026-17 / 5');
  });

  it.each([
    ['the code alone, then the sub-fields', ['034', ':86:034~00TR~20Rent~32Erika']],
    ['twice with the code', ['034~00TR~20Rent', ':86:034~32Erika']],
    ['the same text twice', ['034~20Rent~32Erika', ':86:034~20Rent']],
  ])('are read from two :86: of an entry: %s', async (_, lines) => {
    expect(await readText(...lines)).toMatchObject({
      description: expect.stringMatching(/^(?:TR )?Rent$|^Rent TR$/),
      name: 'Erika',
    });
  });
});

describe('the free text of an MT940 :86:', () => {
  it.each([
    ['short lines are lines', ['one', 'two'], 'one two'],
    ['a full line continues', [`${'x'.repeat(61)} Rec`, 'hnung'], `${'x'.repeat(61)} Rechnung`],
    ['blanks are one blank', ['  a   b\tc '], 'a b c'],
    ['a colon at the start of a line', ['one', ':something', ':99:more'], 'one :something :99:more'],
    ['a hyphen at the start of a line', ['one', '- two', '-3'], 'one - two -3'],
    [
      'a time that was cut before its minutes',
      ['x'.repeat(59).concat(' at 10'), ':20:15 Uhr'],
      `${'x'.repeat(59)} at 10:20:15 Uhr`,
    ],
    ['an enumeration', ['1: one', '4: four'], '1: one 4: four'],
    ['nothing', [''], null],
    ['a date with slashes', ['061/05-2026 Rent'], '061/05-2026 Rent'],
    ['SVWZ+ in free text', ['EREF+1 SVWZ+Rent IBAN+X'], 'Rent'],
  ])('becomes the description: %s', async (_, lines, description) => {
    const { description: found } = await readText(...lines);
    expect(found).toBe(description);
  });

  it('of several :86: belongs to one entry', async () => {
    expect((await readText('Terugboeking', ':86:NIET AKKOORD', ':86:JUNI')).description).toBe(
      'Terugboeking NIET AKKOORD JUNI',
    );
  });

  it('gives the account and name before an empty line (ASN, SNS)', async () => {
    expect(await readText('NL47INGB9999999999 hr paulissen', '', 'Betaling sieraden', '', '')).toMatchObject({
      description: 'Betaling sieraden',
      name: 'hr paulissen',
      opponentIban: 'NL47INGB9999999999',
    });
    const entry = await readOne(':61:261102D1,00NIOB0987654321', ':86:0987654321 marechal s', '', 'test');
    expect(entry).toMatchObject({ description: 'test', opponentId: '0987654321', reference: null });
  });

  it('gives the account and name of REK: and NAAM: (Knab)', async () => {
    expect(await readText('FACTUUR 1', 'REK: NL65INGB0123456789/NAAM: PICQER B.V.')).toMatchObject({
      description: 'FACTUUR 1',
      name: 'PICQER B.V.',
      opponentIban: 'NL65INGB0123456789',
    });
  });

  it('is read from the numbered lines of :NS:', async () => {
    const entry = await readOne(
      ':61:261102C1,00S051',
      ':NS:01Rechnung 1',
      '02Danke',
      '15Erika',
      '16Muster',
      '17GUTSCHRIFT',
      '3312030000',
      '340011223344',
    );
    expect(entry).toMatchObject({
      description: 'Rechnung 1 Danke',
      name: 'Erika Muster',
      opponentId: '0011223344',
    });
  });
});
