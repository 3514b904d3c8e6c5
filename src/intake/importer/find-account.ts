import type { AccountReference } from '../../../packages/statements/src/statement.ts';
import type { NewAccount } from '../../customers/accounts.ts';
import { cutTo } from '../../database/text-columns.ts';
import type { Sql } from '../../database/transaction.ts';
import { createGiveWay } from '../../platform/give-way.ts';
import { ADVICE } from '../advice.ts';
import type { FoundAccount } from './rows.ts';
import type { FindAccount } from './statement-rows.ts';

/**
 * The accounts whose movements an import may contain: the accounts that its API key sees. An import that a source has collected may
 * contain movements of the source's account, or of all accounts of the customer if the source has none. Leaves out accounts that
 * are being deleted. This text follows the columns of a SELECT. Its value is the import's id. Indexes: the primary keys, and the
 * customer index of accounts.
 */
const VISIBLE_TO_IMPORT = `
  FROM imports i
  JOIN import_locks l ON l.customer_id = i.customer_id
  JOIN accounts a ON a.customer_id = i.customer_id AND a.status <> 'deleting'
  LEFT JOIN api_keys k ON k.id = i.api_key_id
  LEFT JOIN api_key_accounts s ON s.api_key_id = k.id AND s.account_id = a.id
  WHERE i.id = ? AND (k.all_accounts = 1 OR s.account_id IS NOT NULL
    OR (i.source_id IS NOT NULL AND (i.account_id IS NULL OR i.account_id = a.id)))`;

/** Finds the account that a statement is about. */

/** The account that the sender of a file named, and the accounts that exist. */
interface AccountOptions {
  customerId: string;
  /** All statements of the file are about this account; null: each says which. */
  accountId: string | null;
  /** Whether statements that name another account than `accountId` are stored for it all the same. */
  forceAccount: boolean;
  /** Whether an account that the customer does not have is created. */
  createAccounts: boolean;
  /** The accounts that the sender can see. */
  accounts: readonly KnownAccount[];
  /** Creates an account. */
  addAccount: (account: NewAccount) => Promise<{ id: string } | { problem: string } | null>;
}

export interface KnownAccount {
  id: string;
  currency: string;
  iban: string | null;
  number: string | null;
  /** 1: the running balances of JSON are checked. */
  check_balances?: number;
  /** Of text that is not UTF-8 in its files; null: the letters decide. */
  encoding?: string | null;
  /** 1: statements have come, so that rows of JSON may be entries of them. */
  has_statements?: number;
}

const VISIBLE = `
  SELECT a.id, a.currency, a.iban, a.number, a.check_balances, a.has_statements, a.encoding, l.removals ${VISIBLE_TO_IMPORT} ORDER BY a.id`;

/** Many IBANs may end with a shorter number. */
const SHORTEST_NUMBER = 6;

export function createAccountFinder(options: AccountOptions): FindAccount {
  const giveWay = createGiveWay();
  const indexAccounts = async () => {
    const accounts = createAccountIndex();
    for (const account of options.accounts) {
      accounts.add(account);
      await giveWay();
    }
    return accounts;
  };
  // Imports of JSON have a finder too, and never call it.
  let indexing: Promise<AccountIndex> | null = null;
  return async (reference) => {
    indexing ??= indexAccounts();
    const accounts = await indexing;
    await giveWay();
    const named = accountsNamed(accounts, reference);
    if (options.accountId !== null) return givenAccount(accounts, named, reference, options);
    const [first] = named;
    // Accounts of several currencies may have one IBAN or number.
    const possible = named.filter((account) => isInCurrency(account, reference));
    const found =
      possible.find(({ currency }) => currency === reference.currency) ??
      (possible.length === 1 ? possible[0] : undefined);
    if (found !== undefined) return found;
    if (possible.length > 1) return { problem: `${SEVERAL}: ${ADVICE.account}` };
    if (!options.createAccounts)
      return first === undefined ? unknown(reference) : checkCurrency(first, reference);
    const created = await create(reference, options);
    if (!('problem' in created)) accounts.add(created);
    return created;
  };
}

type AccountIndex = ReturnType<typeof createAccountIndex>;

/** Finds accounts by what statements name, because a file may have thousands of statements, and a customer 100,000 accounts. */
function createAccountIndex() {
  const byId = new Map<string, KnownAccount>();
  const places = new Map<KnownAccount, number>();
  const byIban = new Map<string, KnownAccount[]>();
  const byNumber = new Map<string, KnownAccount[]>();
  const byEnding = new Map<string, KnownAccount[]>();
  const addTo = (map: Map<string, KnownAccount[]>, key: string, account: KnownAccount) => {
    if (key === '') return;
    const list = map.get(key);
    if (list === undefined) map.set(key, [account]);
    else list.push(account);
  };
  return {
    add(account: KnownAccount): void {
      const iban = plain(account.iban);
      byId.set(account.id, account);
      places.set(account, places.size);
      addTo(byIban, iban, account);
      addTo(byNumber, plain(account.number), account);
      addTo(byEnding, iban.slice(-SHORTEST_NUMBER), account);
    },
    find: (id: string | null) => (id === null ? undefined : byId.get(id)),
    /** The accounts with this IBAN, or with this number as their number or IBAN, in the order in which they were added. */
    named(iban: string, number: string): KnownAccount[] {
      const found = new Set(
        [byIban.get(iban), byNumber.get(number), byIban.get(number)].flatMap((list) => list ?? []),
      );
      return [...found].sort((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
    },
    /** The accounts whose IBAN ends with these digits, which are six at least. */
    ending: (digits: string) =>
      (byEnding.get(digits.slice(-SHORTEST_NUMBER)) ?? []).filter(({ iban }) => plain(iban).endsWith(digits)),
  };
}

const SEVERAL =
  'the statement does not say its currency, and you have accounts of several currencies with its number';

/** The accounts that the API key of an import can see, and the `removals` at which they were read; see RemovedTime. */
export const readAccountsOfImport = (sql: Sql, importId: string) =>
  sql.query<(KnownAccount & { removals: number })[]>(VISIBLE, [importId]);

/** The account that the sender has given for all statements. The statement may not contradict it. */
function givenAccount(
  accounts: AccountIndex,
  named: readonly KnownAccount[],
  reference: AccountReference,
  { accountId, forceAccount }: AccountOptions,
): FoundAccount {
  const account = accounts.find(accountId);
  if (account === undefined) return { problem: 'is not one of your accounts' };
  const checked = checkCurrency(account, reference);
  if ('problem' in checked || !namesOther(account, named, reference)) return checked;
  const [other] = named;
  const contradiction =
    `the statement names ${nameOf(reference)?.slice(0, 40)}, which is ` +
    (other === undefined
      ? `not the IBAN of account ${account.id}`
      : `account ${other.id}, not account ${account.id}`);
  return forceAccount
    ? {
        ...account,
        warning: `The account may be wrong: ${contradiction}. It was stored for account ${account.id}, as was asked for.`,
      }
    : { problem: `${contradiction}: leave the account out, or ${ADVICE.forceAccount} if it is meant` };
}

/** Whether a statement names another account: another IBAN than the account has, or one of the customer's other accounts. */
function namesOther(
  account: KnownAccount,
  named: readonly KnownAccount[],
  reference: AccountReference,
): boolean {
  if (named.some(({ id }) => id === account.id)) return false;
  const [own, iban] = [plain(account.iban), plain(reference.iban)];
  return named.length > 0 || (own !== '' && IBAN.test(iban) && !iban.startsWith(own));
}

/** ISO 13616. Some banks add the currency. */
const IBAN = /^[A-Z]{2}\d{2}[A-Z0-9]{11,33}$/;

const plain = (text: string | null): string => (text ?? '').replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();

/** The accounts that a statement may name, whatever its currency: by IBAN or number, else by the number at the end of an IBAN. */
function accountsNamed(accounts: AccountIndex, reference: AccountReference): KnownAccount[] {
  const same = accounts.named(plain(reference.iban), plain(reference.number));
  if (same.length > 0) return same;
  const digits = plain(reference.number).replace(/^0+/, '');
  if (digits.length < SHORTEST_NUMBER) return [];
  const ending = accounts.ending(digits);
  const inCurrency = ending.filter(({ currency }) => currency === reference.currency);
  const matching = inCurrency.length === 1 ? inCurrency : ending;
  // Only one IBAN may match.
  return new Set(matching.map(({ iban }) => plain(iban))).size === 1 ? matching : [];
}

const isInCurrency = (account: KnownAccount, { currency, isCurrencyAssumed }: AccountReference): boolean =>
  currency === null || isCurrencyAssumed === true || currency === account.currency;

function checkCurrency(account: KnownAccount, reference: AccountReference): FoundAccount {
  if (isInCurrency(account, reference)) return account;
  return {
    problem: `the statement is in ${reference.currency}, and account ${account.id} is kept in ${account.currency}`,
  };
}

const nameOf = ({ iban, number }: AccountReference): string | null =>
  plain(iban) || (number ?? '').trim() || null;

function unknown(reference: AccountReference): FoundAccount {
  const name = nameOf(reference);
  if (name === null) {
    return { problem: `the statement does not say which account it is about: ${ADVICE.account}` };
  }
  return {
    problem: `${name.slice(0, 40)} is not one of your accounts: create it, ${ADVICE.account}, or ${ADVICE.newAccounts}`,
  };
}

async function create(
  reference: AccountReference,
  { customerId, addAccount }: AccountOptions,
): Promise<KnownAccount | { problem: string }> {
  const name = nameOf(reference);
  const { currency, bank, iban, number } = reference;
  if (name === null || currency === null || !/^[A-Z]{3}$/.test(currency)) {
    return {
      problem: 'the statement does not say the account’s number and currency, which a new account needs',
    };
  }
  const names = {
    currency,
    iban: cutTo('accounts.iban', plain(iban)) || null,
    number: cutTo('accounts.number', (number ?? '').trim()) || null,
  };
  const added = await addAccount({
    customerId,
    bank: { name: cutTo('banks.name', (bank ?? '').trim()) || 'Unknown bank' },
    title: cutTo('accounts.title', name),
    ...names,
  });
  if (added !== null && 'problem' in added) return added;
  return added === null ? { problem: 'the account could not be created' } : { id: added.id, ...names };
}
