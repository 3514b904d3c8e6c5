import { iban, type Party } from './parties.ts';

/** The three accounts of the invented company; an importer puts the ids its server gave in the place of `ref`. */
export const ACCOUNTS = [
  {
    ref: '1',
    bank: 'Garanti BBVA',
    title: 'Ana Hesap',
    currency: 'TRY',
    iban: iban('TR', '0006200000099000000101'),
  },
  {
    ref: '2',
    bank: 'Türkiye İş Bankası',
    title: 'Tahsilat Hesabı',
    currency: 'TRY',
    iban: iban('TR', '0006400000099000000202'),
  },
  {
    ref: '3',
    bank: 'Türkiye İş Bankası',
    title: 'EUR Hesabı',
    currency: 'EUR',
    iban: iban('TR', '0006400000099000000303'),
  },
] as const;

export type AccountRef = (typeof ACCOUNTS)[number]['ref'];

/** The company itself, as the other side of a transfer between two of its accounts. */
export function ownParty(ref: AccountRef): Party {
  return {
    name: 'Örnekdağ Zeytincilik Gıda San. ve Tic. Ltd. Şti.',
    id: '1234567899',
    iban: ACCOUNTS.find((account) => account.ref === ref)?.iban ?? null,
  };
}
