import type { AccountReference } from '../../../packages/statements/src/statement.ts';
import { isIban } from '../../../packages/statements/src/values.ts';
import type { NewAccount, ToldColumns } from '../../customers/accounts.ts';
import { cutTo } from '../../database/text-columns.ts';
import type { Sql } from '../../database/transaction.ts';
import { createGiveWay } from '../../platform/give-way.ts';
import { ADVICE } from '../advice.ts';
import type { FoundAccount } from './rows.ts';
import {
  compareAccount,
  haveTwoIbans,
  numberKey,
  plain,
  SHORTEST_NUMBER,
  SHORTEST_OWN_NUMBER,
} from './same-account.ts';
import type { FindAccount } from './statement-rows.ts';

/** Finds the account that a statement is about, among those that the sender of the file can see. */

/**
 * The accounts whose movements an import may contain: the accounts that its API key sees, or all if an operator has sent it. An import
 * that a source has collected may contain movements of the source's account, or of all accounts of the customer if the source has none.
 * Leaves out accounts that are being deleted. This text follows the columns of a SELECT. Its value is the import's id. Indexes: the primary keys, and the
 * customer index of accounts.
 */
const VISIBLE_TO_IMPORT = `
  FROM imports i
  JOIN import_locks l ON l.customer_id = i.customer_id
  JOIN accounts a ON a.customer_id = i.customer_id AND a.status <> 'deleting'
  LEFT JOIN api_keys k ON k.id = i.api_key_id
  LEFT JOIN api_key_accounts s ON s.api_key_id = k.id AND s.account_id = a.id
  WHERE i.id = ? AND (k.all_accounts = 1 OR s.account_id IS NOT NULL
    OR i.operator IS NOT NULL OR (i.source_id IS NOT NULL AND (i.account_id IS NULL OR i.account_id = a.id)))`;

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
  /** Stores what a statement has told about an account: its IBAN, if it had none, its type, and its bank. */
  completeAccount: (id: string, told: ToldColumns) => Promise<void>;
}

export interface KnownAccount {
  id: string;
  currency: string;
  iban: string | null;
  number: string | null;
  /** The name of its bank. */
  bank?: string | null;
  /** The type of account as OFX names it. null: unknown. */
  type?: string | null;
  /** 1: the running balances of JSON are checked. */
  check_balances?: number;
  /** Of text that is not UTF-8 in its files; null: the letters decide. */
  encoding?: string | null;
  /** 1: statements have come, so that rows of JSON may be entries of them. */
  has_statements?: number;
}

const VISIBLE = `
  SELECT a.id, a.currency, a.iban, a.number, (SELECT b.name FROM banks b WHERE b.id = a.bank_id) AS bank, a.type, a.check_balances, a.has_statements, a.encoding, l.removals ${VISIBLE_TO_IMPORT} ORDER BY a.id`;

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
    const { found, isCertain } = named;
    const [first] = found;
    // Accounts of several currencies may have one IBAN or number.
    const possible = found.filter((account) => isInCurrency(account, reference));
    const inCurrency = possible.filter(({ currency }) => currency === reference.currency);
    const chosen =
      inCurrency.length > 0 && isCertain
        ? inCurrency.slice(0, 1)
        : inCurrency.length === 1
          ? inCurrency
          : possible;
    const [only, ...others] = chosen;
    if (only !== undefined && others.length === 0) return complete(accounts, only, reference, options);
    if (only !== undefined)
      return isCertain ? { problem: `${SEVERAL}: ${ADVICE.account}` } : perhaps(reference, chosen);
    if (!options.createAccounts)
      return first === undefined ? unknown(reference, named.why) : checkCurrency(first, reference);
    const created = await create(reference, options);
    if (!('problem' in created)) accounts.add(created);
    return created;
  };
}

/** Takes from a statement what the account does not have yet. */
async function complete(
  accounts: AccountIndex,
  account: KnownAccount,
  { iban, type, bank }: AccountReference,
  { forceAccount, completeAccount }: AccountOptions,
): Promise<KnownAccount> {
  const told: ToldColumns = {};
  if (account.iban === null && isIban(plain(iban)) && !forceAccount) told.iban = plain(iban);
  if (account.type === null && type !== undefined) told.type = cutTo('accounts.type', type);
  if (account.bank === UNKNOWN_BANK && bank?.trim()) told.bank = cutTo('banks.name', bank.trim());
  if (Object.keys(told).length === 0) return account;
  await completeAccount(account.id, told);
  Object.assign(account, told);
  accounts.add(account);
  return account;
}

/** More accounts with the same end of a number are not compared: then nothing says which is meant. */
const MOST_NEAR = 1_000;

type AccountIndex = ReturnType<typeof createAccountIndex>;

/** Finds accounts by what statements name, because a file may have thousands of statements, and a customer 100,000 accounts. */
function createAccountIndex() {
  const byId = new Map<string, KnownAccount>();
  const places = new Map<KnownAccount, number>();
  const byIban = new Map<string, KnownAccount[]>();
  const byNumber = new Map<string, KnownAccount[]>();
  const byEnding = new Map<string, KnownAccount[]>();
  /** Accounts without an IBAN, by the end of their number. */
  const byOwnEnding = new Map<string, KnownAccount[]>();
  const addTo = (map: Map<string, KnownAccount[]>, key: string, account: KnownAccount) => {
    if (key === '') return;
    const list = map.get(key);
    if (list === undefined) map.set(key, [account]);
    else list.push(account);
  };
  return {
    /** Adds an account, or finds it anew after it has got an IBAN. */
    add(account: KnownAccount): void {
      const iban = plain(account.iban);
      byId.set(account.id, account);
      if (!places.has(account)) places.set(account, places.size);
      addTo(byIban, iban, account);
      addTo(byNumber, numberKey(account.number), account);
      addTo(byNumber, numberKey(iban), account);
      addTo(byEnding, iban.slice(-SHORTEST_NUMBER), account);
      if (iban === '') addTo(byOwnEnding, numberKey(account.number).slice(-SHORTEST_OWN_NUMBER), account);
    },
    find: (id: string | null) => (id === null ? undefined : byId.get(id)),
    /** The accounts that may be that of a statement, in the order in which they were added. */
    near({ iban, number }: AccountReference): KnownAccount[] {
      const [own, key] = [plain(iban), numberKey(number)];
      const lists = [
        byIban.get(own),
        byNumber.get(key),
        key.length < SHORTEST_NUMBER ? undefined : byEnding.get(key.slice(-SHORTEST_NUMBER)),
        own === '' ? undefined : byOwnEnding.get(own.slice(-SHORTEST_OWN_NUMBER)),
      ];
      const found = new Set(lists.flatMap((list) => list?.slice(0, MOST_NEAR) ?? []));
      return [...found].sort((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
    },
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
  named: Named,
  reference: AccountReference,
  { accountId, forceAccount }: AccountOptions,
): FoundAccount {
  const account = accounts.find(accountId);
  if (account === undefined) return { problem: 'is not one of your accounts' };
  const checked = checkCurrency(account, reference);
  if ('problem' in checked || named.found.some(({ id }) => id === account.id)) return checked;
  const [other] = named.found;
  const { is, why } = { why: null, ...compareAccount(reference, account) };
  const isOther = other !== undefined || why !== null || (is === 'other' && haveTwoIbans(reference, account));
  if (!isOther) return checked;
  const name = nameOf(reference)?.slice(0, 40);
  const contradiction =
    why !== null
      ? `${why}, in a statement of ${name}`
      : `the statement names ${name}, which is ${
          other === undefined
            ? `not the IBAN of account ${account.id}`
            : `account ${other.id}, not account ${account.id}`
        }`;
  return forceAccount
    ? {
        ...account,
        warning: `The account may be wrong: ${contradiction}. It was stored for account ${account.id}, as was asked for.`,
      }
    : { problem: `${contradiction}: leave the account out, or ${ADVICE.forceAccount} if it is meant` };
}

/** The accounts that a statement may name, whatever its currency. */
interface Named {
  found: KnownAccount[];
  /** They have its IBAN or its number. Otherwise, the numbers differ in zeros, or a number is the end of an IBAN. */
  isCertain: boolean;
  /** Why an account with the same number is another one. null: there is none. */
  why: string | null;
}

function accountsNamed(accounts: AccountIndex, reference: AccountReference): Named {
  const compared = accounts
    .near(reference)
    .map((account) => ({ account, ...{ why: null, ...compareAccount(reference, account) } }));
  const of = (is: 'same' | 'ending') => compared.filter((it) => it.is === is).map(({ account }) => account);
  const same = of('same');
  const isExact = ({ iban, number }: KnownAccount) =>
    (iban !== null && plain(iban) === plain(reference.iban)) ||
    (number !== null && plain(number) === plain(reference.number));
  const exact = same.filter(isExact);
  const first = compared.find(({ why }) => why !== null);
  return {
    found: exact.length > 0 ? exact : same.length > 0 ? same : of('ending'),
    isCertain: exact.length > 0,
    why: first === undefined ? null : `it is not account ${first.account.id}, because ${first.why}`,
  };
}

/** Several accounts may be that of a statement, and nothing says which. */
const perhaps = (reference: AccountReference, accounts: readonly KnownAccount[]): FoundAccount => ({
  problem: `${nameOf(reference)?.slice(0, 40)} may be ${listed(accounts)}: ${ADVICE.account}`,
});

const listed = (accounts: readonly KnownAccount[]): string =>
  `${accounts
    .slice(0, 10)
    .map(({ id }) => `account ${id}`)
    .join(' or ')}${accounts.length > 10 ? ' or another one' : ''}`;

const isInCurrency = (account: KnownAccount, { currency, isCurrencyAssumed }: AccountReference): boolean =>
  currency === null || isCurrencyAssumed === true || currency === account.currency;

function checkCurrency(account: KnownAccount, reference: AccountReference): FoundAccount {
  if (isInCurrency(account, reference)) return account;
  const { currency } = reference;
  const problem = `the statement is in ${currency}, and account ${account.id} is kept in ${account.currency}`;
  // A file that names no accounts may have several currencies, such as a table with a column for them.
  return nameOf(reference) === null
    ? {
        problem: `${problem}: send the file once more for your account in ${currency}`,
        notStored: `in ${currency}`,
      }
    : { problem };
}

/** The bank of an account that a file has created without telling its bank. */
const UNKNOWN_BANK = 'Unknown bank';

const nameOf = ({ iban, number }: AccountReference): string | null =>
  plain(iban) || (number ?? '').trim() || null;

/** @param why an account with the same number is another one. */
function unknown(reference: AccountReference, why: string | null): FoundAccount {
  const name = nameOf(reference);
  if (name === null) {
    const known = reference.currency === null ? '' : `, only that it is kept in ${reference.currency}`;
    return { problem: `the statement does not say which account it is about${known}: ${ADVICE.account}` };
  }
  return {
    problem: `${name.slice(0, 40)} is not one of your accounts${why === null ? '' : ` (${why})`}: create it, ${ADVICE.account}, or ${ADVICE.newAccounts}`,
  };
}

async function create(
  reference: AccountReference,
  { customerId, addAccount }: AccountOptions,
): Promise<KnownAccount | { problem: string }> {
  const name = nameOf(reference);
  const { currency, bank, iban, number, type } = reference;
  if (name === null && currency !== null) {
    return {
      problem: `the statement does not say the account’s number, which a new account needs, only its currency: create the account in ${currency}, and ${ADVICE.account}`,
    };
  }
  if (name === null || currency === null || !/^[A-Z]{3}$/.test(currency)) {
    return {
      problem: 'the statement does not say the account’s number and currency, which a new account needs',
    };
  }
  const names = {
    currency,
    iban: cutTo('accounts.iban', plain(iban)) || null,
    number: cutTo('accounts.number', (number ?? '').trim()) || null,
    type: type === undefined ? null : cutTo('accounts.type', type),
  };
  const bankName = cutTo('banks.name', (bank ?? '').trim()) || UNKNOWN_BANK;
  const added = await addAccount({
    customerId,
    bank: { name: bankName },
    title: cutTo('accounts.title', type === undefined ? name : `${name} ${type}`),
    ...names,
  });
  if (added !== null && 'problem' in added) return added;
  return added === null
    ? { problem: 'the account could not be created' }
    : { id: added.id, bank: bankName, ...names };
}
