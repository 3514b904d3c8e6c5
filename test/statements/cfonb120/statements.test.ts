import { describe, expect, it } from 'vitest';
import { ribOf } from '../../../packages/statements/src/cfonb120/account.ts';
import { readAmount } from '../../../packages/statements/src/cfonb120/records.ts';
import type { Entry } from '../../../packages/statements/src/statement.ts';
import { entriesOf, issuesOf, warningsOf } from '../statement-events.ts';
import { amountOf, balance, detail, fileOf, movement, RIB, read } from './records.ts';

const entryOf = async (...records: string[]): Promise<Entry | undefined> =>
  entriesOf(await read(fileOf(100_500, ...records)))[0];

describe('a movement of CFONB 120', () => {
  it('has all that its records say', async () => {
    const entry = await entryOf(
      movement({
        value: -12_050,
        date: '030326',
        valueDate: '270226',
        code: '08',
        internalCode: 'B1B',
        label: 'PRLV SEPA ELECTRICITE DU SUD',
        entryNumber: '0004711',
        reference: 'REF-889912',
      }),
      detail('LIB', 'ECHEANCE DE MARS'),
      detail('NBE', 'ELECTRICITE DU SUD SA'),
      detail('IBE', 'FR76 3000 4008 0500 0123 4567 895'),
      detail('NPY', 'BOULANGERIE MARTIN'),
      detail('RCN', `${'E2E-2026-014'.padEnd(35)}SUPP`),
      detail('RUM', `${'MANDAT-17'.padEnd(35)}RCUR`),
      detail('LCC', 'FACTURE 2026-014 DU 3 MARS, CONTRAT 889912, PERIODE DE JANVIER A FEVRI'),
      detail('LC2', 'ER'),
      detail('MMO', 'USD200000000013025'),
      detail('XYZ', 'CE QUE PERSONNE NE CONNAIT'),
    );
    expect(entry).toEqual({
      line: 2,
      status: 'booked',
      date: '2026-03-03',
      dc: 'Debit',
      amount: 120_500n,
      currency: null,
      balance: null,
      code: '08',
      description:
        'PRLV SEPA ELECTRICITE DU SUD 0004711 ECHEANCE DE MARS SUPP RCUR CE QUE PERSONNE NE CONNAIT FACTURE 2026-014 DU 3 MARS, CONTRAT 889912, PERIODE DE JANVIER A FEVRIER BOULANGERIE MARTIN',
      name: 'ELECTRICITE DU SUD SA',
      opponentId: null,
      opponentIban: 'FR7630004008050001234567895',
      reference: 'REF-889912',
      isOwnReference: true,
      details: {
        valueDate: '2026-02-27',
        endToEndId: 'E2E-2026-014',
        mandateReference: 'MANDAT-17',
        originalAmount: 130_250n,
        originalCurrency: 'USD',
      },
    });
  });

  it.each([
    ['{', 100n],
    ['A', 101n],
    ['I', 109n],
    ['}', -100n],
    ['J', -101n],
    ['R', -109n],
  ])('whose amount ends with %s has the sign and the last digit of it', (last, cents) => {
    expect(readAmount(`000000000001${'0'}${last}`, '2')).toBe(10n * cents);
  });

  it.each([
    ['0', 5_000n],
    ['2', 50n],
    ['3', 5n],
  ])('with %s decimals is read so', (decimals, thousandths) => {
    expect(readAmount('0000000000000E', decimals)).toBe(thousandths);
  });

  it.each([
    ['no letter at its end', '00000000000500', '2'],
    ['a sign before it', '-000000000050{', '2'],
    ['a letter within', '000000000A050{', '2'],
    ['four decimals', '0000000000050{', '4'],
    ['no decimals', '0000000000050{', null],
    ['nothing', '', '2'],
    ['one digit, because its line was broken', '0R', '2'],
    ['a digit too many', '00000000000500{', '2'],
  ])('with %s is not guessed', (_, found, decimals) => {
    expect(readAmount(found, decimals)).toBeNull();
  });

  it('that cannot be read is an issue, and costs no other', async () => {
    const events = await read(
      fileOf(
        100_500,
        movement({ amount: '00000000000500' }),
        movement({ date: '310226' }),
        movement({ account: '00099999999' }),
        movement(),
      ),
    );
    expect(issuesOf(events)).toEqual([
      expect.stringMatching(
        /^amount: The amount of the movement \(04\) is "00000000000500" with 2 decimals, in line 2/,
      ),
      expect.stringMatching(/^booking date: The booking date of the movement \(04\) is "310226"/),
      expect.stringMatching(/^account: The movement \(04\) is of "30004 00805 EUR 00099999999"/),
    ]);
    expect(entriesOf(events)).toHaveLength(1);
    // What is missing may be the difference.
    expect(warningsOf(events)).toEqual([]);
  });

  it('that the bank has sent back is a reversal', async () => {
    expect((await entryOf(movement({ reject: '64' })))?.details).toMatchObject({ isReversal: true });
    expect((await entryOf(movement({ reject: '00' })))?.details).not.toHaveProperty('isReversal');
  });

  it('has a counterparty with an identifier that is no IBAN', async () => {
    const entry = await entryOf(movement(), detail('NPY', 'DUPONT'), detail('IPY', 'SIREN 552100554'));
    expect(entry).toMatchObject({ name: 'DUPONT', opponentId: 'SIREN 552100554', opponentIban: null });
  });

  it('drops no text of more than one payer', async () => {
    const entry = await entryOf(movement(), detail('NPY', 'DUPONT'), detail('NPY', 'DURAND'));
    expect(entry).toMatchObject({ name: 'DUPONT', description: 'VIR SEPA DURAND' });
  });
});

describe('a statement of CFONB 120', () => {
  it('is each 01 to 07, with the number of the account and its key', async () => {
    const text = [
      balance('01', 100_000),
      movement(),
      balance('07', 100_500, { date: '020326' }),
      balance('01', 100_500, { date: '020326' }),
      movement({ value: -700, date: '030326' }),
      balance('07', 99_800, { date: '030326' }),
    ].join('\r\n');
    const events = await read(text);
    expect(events.filter(({ type }) => type !== 'entry')).toEqual([
      {
        type: 'statement',
        line: 1,
        account: { iban: null, number: RIB, currency: 'EUR', bank: '30004' },
        kind: 'final',
        opening: { amount: 1_000_000n, date: '2026-02-28' },
        identity: { number: null, sequence: null, from: '2026-02-28', to: null },
      },
      { type: 'end', line: 3, closing: { amount: 1_005_000n, date: '2026-03-02' } },
      expect.objectContaining({ type: 'statement', line: 4 }),
      { type: 'end', line: 6, closing: { amount: 998_000n, date: '2026-03-03' } },
    ]);
  });

  it('has the key of its account, also with letters', () => {
    expect(ribOf('30004', '00805', '00012345678')).toBe(RIB);
    expect(ribOf('20041', '01005', '0500013M026')).toBe('20041010050500013M02606');
    expect(ribOf('3000', '00805', '00012345678')).toBeNull();
    expect(ribOf('30004', '00805', '0001234567 ')).toBeNull();
  });

  it('without line ends is the same', async () => {
    const text = fileOf(100_500, movement(), detail('LIB', 'LOYER'));
    const entries = entriesOf(await read(text.replaceAll('\r\n', '')));
    expect(entries).toMatchObject([{ amount: 5_000n, description: 'VIR SEPA LOYER' }]);
  });

  it('says by how much it does not add up', async () => {
    expect(warningsOf(await read(fileOf(100_600, movement())))).toEqual([
      'The new balance (07) is 1006.00, but the old one (01) and the movements (04) add up to 1005.00, a difference of 1.00.',
    ]);
  });

  it('that is cut says so', async () => {
    const text = fileOf(100_500, movement());
    for (const end of [245, 300, 200]) {
      const events = await read(text.slice(0, end));
      expect([...warningsOf(events), ...issuesOf(events)].length, `cut at ${end}`).toBeGreaterThan(0);
    }
    expect(warningsOf(await read(text.slice(0, 245)))).toEqual([
      'The statement (01) has no new balance (07). Its movements may be incomplete.',
    ]);
  });

  it('of another account at its end says so', async () => {
    const text = [balance('01', 0), balance('07', 0, { account: '00000000001' })].join('\n');
    expect(warningsOf(await read(text))).toEqual([
      'The new balance (07) is of "30004 00805 EUR 00000000001", and the old one (01) of "30004 00805 EUR 00012345678".',
    ]);
  });

  it('of francs of the Pacific has no decimals', async () => {
    const francs = { currency: 'XPF', decimals: '0' };
    const text = [
      balance('01', 5_000, francs),
      movement({ value: 1_500, ...francs }),
      balance('07', 6_500, francs),
    ].join('\n');
    const events = await read(text);
    expect(entriesOf(events)).toMatchObject([{ amount: 1_500_000n }]);
    expect(warningsOf(events)).toEqual([]);
  });

  it.each([
    ['a line that is no record', fileOf(100_000, 'BONJOUR'), 'record'],
    ['a movement of 121 characters', fileOf(100_000, `${movement()}X`), 'record'],
    ['a movement before any balance', movement(), 'account'],
  ])('with %s has an issue', async (_, text, path) => {
    const events = await read(text);
    expect(issuesOf(events).some((it) => it.startsWith(`${path}: `))).toBe(true);
    expect(entriesOf(events)).toEqual([]);
  });

  it('with a hundred thousand complements keeps some, and is not slow', async () => {
    const many = Array.from({ length: 100_000 }, (_, at) => detail('LIB', `TEXTE ${at}`)).join('\r\n');
    const [entry] = entriesOf(await read(fileOf(100_500, movement(), many)));
    expect(entry?.description?.length).toBeLessThan(2_000);
    expect(amountOf(-1)).toBe('0000000000000J');
  });
});
