import { describe, expect, it } from 'vitest';
import { bankCodesOf, IBAN_COUNTRIES } from '../../packages/statements/src/iban-registry.ts';
import { isIban } from '../../packages/statements/src/values.ts';
import { type ComparedAccount, compareAccount } from '../../src/intake/importer/same-account.ts';
import { createAccount } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { createStatementCustomer } from './statement-files.ts';

/** Whether a statement is of an account, by what both say. */

const NOTHING = { iban: null, number: null, currency: 'EUR', bank: null };
const NO_NUMBER: ComparedAccount = { iban: null, number: null };

/** IBANs of the registry, by country, with the codes of their bank: as SWIFT's examples have them. */
const EXAMPLES: Record<string, [iban: string, ...codes: string[]]> = {
  AD: ['AD1200012030200359100100', '0001', '2030', '00012030'],
  AE: ['AE070331234567890123456', '033'],
  AT: ['AT611904300234573201', '19043'],
  BE: ['BE68539007547034', '539'],
  BG: ['BG80BNBG96611020345678', 'BNBG', '9661', 'BNBG9661'],
  BR: ['BR1800360305000010009795493C1', '00360305', '00001', '0036030500001'],
  CH: ['CH9300762011623852957', '00762'],
  CY: ['CY17002001280000001200527600', '002', '00128', '00200128'],
  CZ: ['CZ6508000000192000145399', '0800'],
  DE: ['DE89370400440532013000', '37040044'],
  DK: ['DK5000400440116243', '0040'],
  EE: ['EE382200221020145685', '22'],
  ES: ['ES9121000418450200051332', '2100', '0418', '21000418'],
  FI: ['FI2112345600000785', '123'],
  FR: ['FR1420041010050500013M02606', '20041', '01005', '2004101005'],
  GB: ['GB29NWBK60161331926819', 'NWBK', '601613', 'NWBK601613'],
  GR: ['GR1601101250000000012300695', '011', '0125', '0110125'],
  HR: ['HR1210010051863000160', '1001005'],
  HU: ['HU42117730161111101800000000', '117', '7301', '1177301'],
  IE: ['IE29AIBK93115212345678', 'AIBK', '931152', 'AIBK931152'],
  IL: ['IL620108000000099999999', '010', '800', '010800'],
  IT: ['IT60X0542811101000000123456', '05428', '11101', '0542811101'],
  LT: ['LT121000011101001000', '10000'],
  LU: ['LU280019400644750000', '001'],
  LV: ['LV80BANK0000435195001', 'BANK'],
  NL: ['NL91ABNA0417164300', 'ABNA'],
  NO: ['NO9386011117947', '8601'],
  PL: ['PL61109010140000071219812874', '10901014'],
  PT: ['PT50000201231234567890154', '0002', '0123', '00020123'],
  RO: ['RO49AAAA1B31007593840000', 'AAAA'],
  SE: ['SE4550000000058398257466', '500'],
  SI: ['SI56263300012039086', '26330'],
  SK: ['SK3112000000198742637541', '1200'],
  TR: ['TR330006100519786457841326', '00061'],
};

describe('the codes of the bank in an IBAN', () => {
  it.each(Object.entries(EXAMPLES))('are those of the registry in %s', (country, [iban, ...codes]) => {
    expect(isIban(iban)).toBe(true);
    expect(IBAN_COUNTRIES).toContain(country);
    expect(bankCodesOf(iban).filter((code) => !codes.includes(code))).toEqual([]);
    expect(bankCodesOf(iban)[0]).toBe(codes[0]);
    expect(bankCodesOf(`${iban}0`)).toEqual([]);
  });

  it('are unknown in countries without IBANs', () => {
    expect(bankCodesOf('US64SVBKUS6S3300958879')).toEqual([]);
  });
});

describe('a statement of a national number', () => {
  it.each(IBAN_COUNTRIES)('is not of an IBAN in %s whose bank has another code', (country) => {
    // The structure alone counts here, so that an IBAN of zeros will do.
    const lengths = Array.from({ length: 20 }, (_, more) => `${country}00${'0'.repeat(5 + more)}345678`);
    const iban = lengths.find((it) => bankCodesOf(it).length > 0);
    if (iban === undefined) throw new Error(`no IBAN of ${country}`);
    const [code = ''] = bankCodesOf(iban);
    const account = { ...NO_NUMBER, iban };
    const statement = (bank: string) => compareAccount({ ...NOTHING, number: '345678', bank }, account);
    expect(statement('0'.repeat(code.length))).toEqual({ is: 'ending' });
    if (code.length >= 3) expect(statement('7'.repeat(code.length))).toMatchObject({ is: 'other' });
    // A code of another length says nothing, and neither does a name.
    expect(statement('777777777777')).toEqual({ is: 'ending' });
    expect(statement('Some Bank')).toEqual({ is: 'ending' });
  });

  const german = { ...NO_NUMBER, iban: 'DE11500105170062000360' };
  const type = (it: string) => ({ ...NO_NUMBER, number: '7700260', type: it });
  it.each<[string, Partial<Parameters<typeof compareAccount>[0]>, ComparedAccount, string]>([
    ['with zeros is the one without', { number: '0062000371' }, { ...NO_NUMBER, number: '62000371' }, 'same'],
    ['of another bank', { number: '62000360', bank: '10020030' }, german, 'other'],
    ['of the same bank', { number: '62000360', bank: '50010517' }, german, 'ending'],
    ['of nobody knows which bank', { number: '62000360' }, german, 'ending'],
    ['that is too short', { number: '360' }, german, 'other'],
    [
      'of two banks',
      { number: '2001234567', bank: '2010' },
      { iban: null, number: '2001234567', bank: '5500' },
      'other',
    ],
    [
      'of a bank with a name',
      { number: '2001234567', bank: '2010' },
      { iban: null, number: '2001234567', bank: 'Fio' },
      'same',
    ],
    ['of another type', { number: '7700260', type: 'CHECKING' }, type('SAVINGS'), 'other'],
    ['of the same type', { number: '7700260', type: 'SAVINGS' }, type('SAVINGS'), 'same'],
    ['of a type that nobody knows', { number: '7700260' }, type('SAVINGS'), 'same'],
    ['that is an IBAN', { iban: 'DE11500105170062000360' }, { ...NO_NUMBER, number: '0062000360' }, 'ending'],
    [
      'that is the end of an IBAN, but short',
      { iban: 'DE11500105170062000360' },
      { ...NO_NUMBER, number: '2000360' },
      'other',
    ],
    [
      'that is an IBAN of another bank',
      { iban: 'DE11500105170062000360' },
      { iban: null, number: '62000360', bank: '10020030' },
      'other',
    ],
    ['that is another IBAN', { iban: 'PL61109010140000071219812874' }, german, 'other'],
    ['that is the IBAN with its currency', { iban: 'DE11500105170062000360EUR' }, german, 'same'],
  ])('%s', (_, statement, account, expected) => {
    expect(compareAccount({ ...NOTHING, ...statement }, account).is).toBe(expected);
  });
});

const service = useService({ roles: ['api'] });

const mt940 = (account: string, amount: string) =>
  [
    ':20:X',
    `:25:${account}`,
    ':28C:1/1',
    ':60F:C260301EUR0,00',
    `:61:2603020302C${amount}NTRFNONREF`,
    `:62F:C260302EUR${amount}`,
    '-',
    '',
  ].join('\r\n');

describe('an account that has only a number', () => {
  it('takes the IBAN of the first statement that ends with it, and says so in the audit log', async () => {
    const { importFile, key } = await createStatementCustomer(service);
    const account = await createAccount(service, key, { number: '62000360', currency: 'EUR' });
    expect(await importFile(mt940('DE11500105170062000360', '1,00'))).toMatchObject({
      inserted: 1,
      rejected: 0,
    });
    const { accounts } = (await service.call('GET', '/v1/accounts', { key })).body;
    expect(accounts.find(({ id }: { id: number }) => id === Number(account.id)).iban).toBe(
      'DE11500105170062000360',
    );
    const rows = await service.runtime.database.query<{ actor: string; detail: string }[]>(
      "SELECT actor, detail FROM audit_events WHERE subject = ? AND action = 'complete'",
      [`account ${account.id}`],
    );
    expect(rows).toEqual([
      { actor: expect.stringMatching(/^import \d+$/), detail: 'iban DE11500105170062000360' },
    ]);
    // Another bank with this number is another account now.
    const other = await importFile(mt940('10020030/62000360', '2,00'), { create_accounts: 1 });
    expect(other).toMatchObject({ inserted: 1, rejected: 0 });
    expect((await service.call('GET', '/v1/accounts', { key })).body.accounts).toHaveLength(3);
  });

  it('is not guessed among several', async () => {
    const { importFile, key } = await createStatementCustomer(service);
    const [one, other] = [
      await createAccount(service, key, { iban: 'DE11500105170062000360', currency: 'EUR' }),
      await createAccount(service, key, { iban: 'DE92100200300062000360', currency: 'EUR' }),
    ];
    for (const create_accounts of [0, 1]) {
      const { inserted, errors } = await importFile(mt940('62000360', '1,00'), { create_accounts });
      expect(inserted).toBe(0);
      expect(errors[0].message).toMatch(
        new RegExp(`^62000360 may be account ${one.id} or account ${other.id}: .*account_id`),
      );
    }
  });
});

describe('the bank of an account', () => {
  it('that a file did not tell is told by the next file, and can be changed', async () => {
    const { importFile, key } = await createStatementCustomer(service);
    const accountOf = async () => {
      const { accounts } = (await service.call('GET', '/v1/accounts', { key })).body;
      return accounts.find(({ number }: { number: string | null }) => number === '62000361');
    };
    await importFile(mt940('62000361', '1,00'), { create_accounts: 1 });
    expect((await accountOf()).bank.name).toBe('Unknown bank');
    await importFile(mt940('50010517/62000361', '2,00'));
    const { id, bank } = await accountOf();
    expect(bank.name).toBe('50010517');
    const change = (body: object) => service.call('PATCH', `/v1/accounts/${id}`, { key, body });
    expect((await change({ bank: 'ING' })).body.account.bank).toMatchObject({ name: 'ING' });
    expect((await change({ bank: '50010517' })).body.account.bank).toEqual(bank);
  });
});
