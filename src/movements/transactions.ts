import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { showAmount } from '../../packages/statements/src/amounts.ts';
import { type Caller, maySee } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import type { ZoneOffset } from '../platform/moment.ts';
import { type Extended, type MovementTable, readExtendedPage } from './extended.ts';
import { type Listing, NEAR_PAGES } from './listing.ts';
import { readByIds, readPage } from './pages/read-page.ts';
import { readWithdrawn, readWithdrawnPage } from './pages/read-withdrawn.ts';
import type { FoundPage, Row } from './pages/rows.ts';

/** Reads movements: a page of a listing, or one movement. */

/** A movement and its account. */
export interface ListedTransaction extends Row {
  account: ListedAccount;
  /** Only if it was asked for. */
  extended?: Extended;
}

/** A page of a listing. */
export interface Page extends Omit<FoundPage, 'rows'> {
  transactions: ListedTransaction[];
}

/**
 * Lists movements. The cost of a page depends on its rows, not on the position of the cursor, because both listings walk an index
 * in order of id. The index is forced, because the optimiser would have to sort if it chose a date index.
 * @param known the listing's accounts, if they have been read already.
 */
export async function listTransactions(
  sql: Sql,
  listing: Listing,
  zone: ZoneOffset,
  known?: AccountsOfRows,
): Promise<Page> {
  const read = listing.isWithdrawn === true ? readWithdrawnPage : readPage;
  const { rows, ...page } = await read(sql, listing, zone);
  const accounts = known ?? (await readAccounts(sql, listing.customerId, rows));
  const transactions = rows.flatMap((row) => addAccount(row, accounts) ?? []);
  return { transactions, ...page };
}

/**
 * Reads one movement, which may be withdrawn. Reads stored movements first, because a withdrawal may move the movement meanwhile.
 * @returns null when the caller cannot see it.
 */
export async function findTransaction(
  sql: Sql,
  caller: Caller,
  id: string,
  zone: ZoneOffset,
): Promise<ListedTransaction | null> {
  const row =
    (await readByIds(sql, caller, [id], zone)).get(id) ??
    (await readWithdrawn(sql, caller, { column: 'id', ids: [id] }, zone)).get(id);
  if (row === undefined || !maySee(caller, row.account_id)) return null;
  const accounts = await readAccounts(sql, caller.customerId, [row]);
  return addAccount(row, accounts) ?? null;
}

/** Reads movements of a customer by their ids. @returns those that are stored, in the order of the ids. */
export async function findTransactions(
  sql: Sql,
  { customerId }: Pick<Caller, 'customerId'>,
  ids: readonly string[],
  zone: ZoneOffset,
): Promise<ListedTransaction[]> {
  const rows = await readByIds(sql, { customerId }, ids, zone);
  const found = ids.flatMap((id) => rows.get(id) ?? []);
  const accounts = await readAccounts(sql, customerId, found);
  return found.flatMap((row) => addAccount(row, accounts) ?? []);
}

/** Adds the banks' details that have no field of their own. A movement may be withdrawn after it was read. */
export async function addExtended(sql: Sql, transactions: readonly ListedTransaction[]): Promise<void> {
  const isWithdrawn = ({ withdrawn_at }: ListedTransaction) => withdrawn_at !== undefined;
  await addExtendedFrom(
    sql,
    'transactions',
    transactions.filter((it) => !isWithdrawn(it)),
  );
  await addExtendedFrom(
    sql,
    'withdrawn_transactions',
    transactions.filter(({ extended }) => extended === undefined),
  );
}

async function addExtendedFrom(
  sql: Sql,
  table: MovementTable,
  transactions: readonly ListedTransaction[],
): Promise<void> {
  const extended = await readExtendedPage(
    sql,
    transactions.map(({ id }) => id),
    table,
  );
  for (const transaction of transactions) {
    const found = extended.get(transaction.id);
    if (found !== undefined) transaction.extended = found;
  }
}

/** Adds the account, and shows the amounts as its currency has them. */
function addAccount(row: Row, accounts: AccountsOfRows): ListedTransaction | undefined {
  const account = accounts.get(row.account_id);
  if (account === undefined) return undefined;
  // Changes the row in place, because copying a thousand rows costs as much as rendering them.
  row.amount = showAmount(row.amount, account.currency);
  if (row.balance !== null) row.balance = showAmount(row.balance, account.currency);
  return Object.assign(row, { account });
}

/** An account as the API returns it with each movement. */
export interface ListedAccount {
  id: number;
  title: string;
  currency: string;
  bank_id: number;
  bank: { id: number; name: string };
}

/** The accounts of rows, by id. */
export type AccountsOfRows = ReadonlyMap<string, ListedAccount>;

const READ_ACCOUNTS = `
  SELECT a.id, a.currency, a.title, a.bank_id, b.name AS bank_name FROM accounts a JOIN banks b ON b.id = a.bank_id
  WHERE a.id IN (?) AND a.customer_id = ?`;

/**
 * Reads the accounts of these rows, by id. Does not join them to the movements, because the movements of a page have only a few
 * accounts. Leaves out accounts of another customer.
 */
export async function readAccounts(
  sql: Sql,
  customerId: string,
  rows: readonly { account_id: string }[],
): Promise<AccountsOfRows> {
  if (rows.length === 0) return new Map();
  const ids = [...new Set(rows.map(({ account_id }) => account_id))];
  const found = await sql.query<
    { id: string; currency: string; title: string; bank_id: string; bank_name: string }[]
  >(READ_ACCOUNTS, [ids, customerId]);
  return new Map(
    found.map(({ id, currency, title, bank_id, bank_name }) => {
      const bank = { id: Number(bank_id), name: bank_name };
      return [id, { id: Number(id), title, currency, bank_id: bank.id, bank }];
    }),
  );
}

const MINUTE = 60_000;

/** About 2 MB when full. */
const MAX_ENTRIES = 10_000;

/** Entries expire, because a database that was restored from a backup assigns ids again. */
const LIFETIME = 10 * MINUTE;

/** Remembers at which ids numbered pages begin. */
export type PageOffsetCache = ReturnType<typeof createPageOffsetCache>;

/**
 * To find page 1,001, MySQL walks past all rows before it. The cache avoids this. Movements are added in the order of their ids and
 * seldom removed, so a full page hardly ever changes, and the next page begins after the same id. A client that reads page after
 * page by number walks past nothing, or only past the few pages that other processes have answered. After a removal, pages shift
 * once the entries have expired. A missing entry costs only the seek (listing.ts).
 * @param clock milliseconds; above 0; must never go back.
 */
export function createPageOffsetCache({ kept = MAX_ENTRIES, clock = () => performance.now() } = {}) {
  const ids = new LRUCache<string, string>({
    max: kept,
    ttl: LIFETIME,
    ttlResolution: 0,
    perf: { now: clock },
  });

  return {
    /**
     * Returns the same page counted from a cursor, if the position of this page or of one shortly before it is known. Otherwise
     * returns `listing`.
     */
    shorten(listing: Listing): Listing {
      if (listing.page === 1 || !isCounted(listing)) return listing;
      const name = nameOf(listing);
      for (let page = listing.page; page > Math.max(1, listing.page - NEAR_PAGES); page -= 1) {
        const id = ids.get(keyOf(name, listing, page));
        if (id !== undefined) return { ...listing, cursor: id, page: listing.page - page + 1 };
      }
      return listing;
    },
    /** Remembers where a page that was read begins, and where the next one begins. */
    keep(listing: Listing, { transactions, next }: Page): void {
      const [first] = transactions;
      if (!isCounted(listing) || first === undefined) return;
      const name = nameOf(listing);
      if (listing.page > 1) ids.set(keyOf(name, listing, listing.page), String(BigInt(first.id) - 1n));
      if (next !== null) ids.set(keyOf(name, listing, listing.page + 1), next);
    },
  };
}

/** Whether a page's number says where it begins. Newest first, each new movement shifts all pages. Pages of a filter, and of withdrawn movements, have no numbers. */
const isCounted = ({ cursor, isReversed, isWithdrawn, filter }: Listing) =>
  cursor === null && isReversed !== true && isWithdrawn !== true && filter === undefined;

/**
 * A hash of everything that decides the rows of a listing. It is a hash because a limited API key may have any number of accounts.
 */
const nameOf = ({ customerId, accountIds, starts, ends, after, dc, uniqueId, ...listing }: Listing): string =>
  hash('sha256', JSON.stringify([customerId, accountIds, starts, ends, after, dc, uniqueId, listing.import]));

/** A position in a listing, given by the number of rows before it. */
const keyOf = (name: string, { perPage }: Listing, page: number): string => `${name} ${(page - 1) * perPage}`;
