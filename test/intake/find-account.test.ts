import { expect, it } from 'vitest';
import { createAccountFinder, type KnownAccount } from '../../src/intake/importer/find-account.ts';
import { expectTurns } from '../support/turns.ts';

const CURRENCIES = ['EUR', 'TRY', 'USD'];

/** Accounts of which some share an IBAN in several currencies, some have a number alone, and some have IBANs with one ending. */
const ACCOUNTS: KnownAccount[] = Array.from({ length: 20_000 }, (_, at) => ({
  id: String(at + 1),
  currency: CURRENCIES[at % 3] ?? 'EUR',
  iban:
    at % 5 === 0 ? null : `DE${10 + (at % 7)}37040044${String(Math.floor(at / 4) * 31).padStart(10, '0')}`,
  number: at % 5 === 0 ? `N-${at}` : null,
}));

const reference = (iban: string | null, number: string | null, currency: string | null) => ({
  iban,
  number,
  currency,
  bank: null,
});

const finderOf = (accounts: readonly KnownAccount[]) =>
  createAccountFinder({
    customerId: '1',
    accountId: null,
    forceAccount: false,
    createAccounts: true,
    accounts,
    addAccount: async () => ({ id: 'new' }),
    completeAccount: async () => {},
  });

it('of many accounts, the one that a statement names is found by its IBAN, its number, or the end of its IBAN', async () => {
  const find = finderOf(ACCOUNTS);
  for (const account of ACCOUNTS.slice(0, 2_000)) {
    const { iban, number, currency } = account;
    if (number !== null) {
      expect(await find(reference(null, number, currency))).toBe(account);
      continue;
    }
    expect(await find(reference(iban, null, currency))).toMatchObject({ iban, currency });
    // Shorter numbers can be the end of several IBANs.
    const digits = (iban ?? '').slice(-9).replace(/^0+/, '');
    const ending = ACCOUNTS.filter((it) => it.iban?.endsWith(digits));
    const inCurrency = ending.filter((it) => it.currency === currency);
    if (digits.length < 6 || inCurrency.length !== 1) continue;
    expect(await find(reference(null, digits, currency))).toBe(inCurrency[0]);
  }
});

it('an account that the file creates is found again by its next statement', async () => {
  const find = finderOf(ACCOUNTS);
  const iban = 'FR7630006000011234567890189';
  expect(await find(reference(iban, null, 'EUR'))).toMatchObject({ id: 'new', iban });
  const again = await find(reference(iban, null, 'EUR'));
  expect(again).toBe(await find(reference(null, '1234567890189', 'EUR')));
});

it('other work goes on while many statements find their accounts', async () => {
  const find = finderOf(ACCOUNTS);
  await expectTurns(async () => {
    for (let at = 0; at < 20_000; at += 1) await find(reference(null, String(1_000_000 + at), 'EUR'));
  });
});
