import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { showAmount } from '../../packages/statements/src/amounts.ts';
import { type Caller, maySee } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import type { ZoneOffset } from '../platform/moment.ts';
import { cutPage } from '../platform/page.ts';
import { type Extended, readExtendedPage } from './extended.ts';
import {
  conditions,
  findIdRange,
  type IdRange,
  type Listing,
  NEAR_PAGES,
  narrowToDates,
  type PageStart,
  seek,
} from './listing.ts';

/** Reads movements: a page of a listing, or one movement. */

/** A movement and its account, as they are read. */
export interface ListedTransaction {
  id: string;
  account_id: string;
  name: string | null;
  dc: 'Debit' | 'Credit';
  code: string | null;
  amount: string;
  balance: string | null;
  description: string | null;
  date_issue: string;
  date_readed: string;
  opponent_id: string | null;
  opponent_iban: string | null;
  unique_id: string;
  account: ListedAccount;
  /** Only if it was asked for. */
  extended?: Extended;
}

export interface Page {
  transactions: ListedTransaction[];
  /** The id of the page's last movement. null: no movement follows. */
  next: string | null;
}

const COLUMNS = `t.id, t.account_id, t.name, t.dc, t.code, t.amount, t.balance, t.description, t.date_issue,
  CONCAT(DATE_FORMAT(t.date_readed + INTERVAL ? MINUTE, '%Y-%m-%d %H:%i:%s'), ?) AS date_readed,
  t.opponent_id, t.opponent_iban, CONVERT(t.unique_id USING utf8mb4) AS unique_id`;

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
  const { rows, next } = cutPage(await readPage(sql, listing, zone), listing.perPage);
  const accounts = known ?? (await readAccounts(sql, listing.customerId, rows));
  const transactions = rows.flatMap((row) => addAccount(row, accounts) ?? []);
  return { transactions, next };
}

/** Reads one movement. @returns null when the caller cannot see it. Index: the primary key. */
export async function findTransaction(
  sql: Sql,
  caller: Caller,
  id: string,
  zone: ZoneOffset,
): Promise<ListedTransaction | null> {
  const [row] = await sql.query<Row[]>(
    `SELECT ${COLUMNS} FROM transactions t WHERE t.id = ? AND t.customer_id = ?`,
    [zone.minutes, zone.text, id, caller.customerId],
  );
  if (row === undefined || !maySee(caller, row.account_id)) return null;
  const accounts = await readAccounts(sql, caller.customerId, [row]);
  return addAccount(row, accounts) ?? null;
}

/** Adds the banks' details that have no field of their own. */
export async function addExtended(sql: Sql, transactions: readonly ListedTransaction[]): Promise<void> {
  const extended = await readExtendedPage(
    sql,
    transactions.map(({ id }) => id),
  );
  for (const transaction of transactions) {
    const found = extended.get(transaction.id);
    if (found !== undefined) transaction.extended = found;
  }
}

/** Adds the account, and shows the amounts as its currency has them. */
function addAccount(row: Row, accounts: AccountsOfRows): ListedTransaction | undefined {
  const found = accounts.get(row.account_id);
  if (found === undefined) return undefined;
  const { account, currency } = found;
  // Changes the row in place, because copying a thousand rows costs as much as rendering them.
  row.amount = showAmount(row.amount, currency);
  if (row.balance !== null) row.balance = showAmount(row.balance, currency);
  return Object.assign(row, { account });
}

type Row = Omit<ListedTransaction, 'account'>;

/**
 * Reads a page, and one row more to know whether there is a next page.
 *
 * A far page is found with `seek`. Other pages are searched from the beginning of the listing to at most one page beyond their end.
 * This succeeds if nearly all movements lie between the dates, as they do after a cursor. If it fails, the dates are turned into a
 * range of ids, at a cost that grows with the number of days and accounts.
 */
async function readPage(sql: Sql, listing: Listing, zone: ZoneOffset): Promise<Row[]> {
  const { starts, ends, page, perPage } = listing;
  const range = await findIdRange(sql, listing);
  if (range === null) return [];
  if (page > NEAR_PAGES) return readFarPage(sql, listing, await seek(sql, listing, range), zone);
  const offset = (page - 1) * perPage;
  if (starts === null && ends === null) return readRows(sql, listing, { range, offset }, zone);
  const ahead = await lookAhead(sql, listing, range);
  if (ahead === null || (ahead.date_issue >= (starts ?? '') && (ends === null || ahead.date_issue <= ends))) {
    const near = { range: { ...range, last: ahead?.id ?? range.last }, offset };
    const rows = await readRows(sql, listing, near, zone);
    if (ahead === null || rows.length > perPage) return rows;
  }
  const narrowed = await narrowToDates(sql, listing, range);
  return narrowed === null ? [] : readRows(sql, listing, { range: narrowed, offset }, zone);
}

/** Reads a far page. If it may be the last one, narrows the range to the dates, so that the walk ends there. */
async function readFarPage(sql: Sql, listing: Listing, start: PageStart, zone: ZoneOffset): Promise<Row[]> {
  const { starts, ends } = listing;
  if (start.full || (starts === null && ends === null)) return readRows(sql, listing, start, zone);
  const range = await narrowToDates(sql, listing, start.range);
  return range === null ? [] : readRows(sql, listing, { ...start, range }, zone);
}

/** Finds the first movement after the next page, ignoring dates. Reads the index only. @returns null when there is none. */
async function lookAhead(sql: Sql, listing: Listing, range: IdRange) {
  const { index, where, values } = conditions({ ...listing, starts: null, ends: null }, range);
  const [row] = await sql.query<{ id: string; date_issue: string }[]>(
    `SELECT t.id, t.date_issue FROM transactions t FORCE INDEX (${index}) WHERE ${where} ORDER BY t.id LIMIT 1 OFFSET ?`,
    [...values, (listing.page + 1) * listing.perPage],
  );
  return row ?? null;
}

async function readRows(
  sql: Sql,
  listing: Listing,
  { range, offset }: Pick<PageStart, 'range' | 'offset'>,
  zone: ZoneOffset,
): Promise<Row[]> {
  const { index, where, values } = conditions(listing, range);
  if (offset === 0) {
    return sql.query<Row[]>(
      `SELECT ${COLUMNS} FROM transactions t FORCE INDEX (${index}) WHERE ${where} ORDER BY t.id LIMIT ?`,
      [zone.minutes, zone.text, ...values, listing.perPage + 1],
    );
  }
  // Rows before the page are skipped in the index. Only the rows of the page are read completely.
  const ids = await sql.query<{ id: string }[]>(
    `SELECT t.id FROM transactions t FORCE INDEX (${index}) WHERE ${where} ORDER BY t.id LIMIT ? OFFSET ?`,
    [...values, listing.perPage + 1, offset],
  );
  if (ids.length === 0) return [];
  return sql.query<Row[]>(`SELECT ${COLUMNS} FROM transactions t WHERE t.id IN (?) ORDER BY t.id`, [
    zone.minutes,
    zone.text,
    ids.map(({ id }) => id),
  ]);
}

/** An account as the API returns it with each movement. */
export interface ListedAccount {
  id: number;
  title: string;
  bank_id: number;
  bank: { id: number; name: string };
}

/** The accounts of rows, by id. */
export type AccountsOfRows = ReadonlyMap<string, { currency: string; account: ListedAccount }>;

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
      return [id, { currency, account: { id: Number(id), title, bank_id: bank.id, bank } }];
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
      if (listing.page === 1 || listing.cursor !== null) return listing;
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
      if (listing.cursor !== null || first === undefined) return;
      const name = nameOf(listing);
      if (listing.page > 1) ids.set(keyOf(name, listing, listing.page), String(BigInt(first.id) - 1n));
      if (next !== null) ids.set(keyOf(name, listing, listing.page + 1), next);
    },
  };
}

/**
 * A hash of everything that decides the rows of a listing. It is a hash because a limited API key may have any number of accounts.
 */
const nameOf = ({ customerId, accountIds, starts, ends, after }: Listing): string =>
  hash('sha256', JSON.stringify([customerId, accountIds, starts, ends, after]));

/** A position in a listing, given by the number of rows before it. */
const keyOf = (name: string, { perPage }: Listing, page: number): string => `${name} ${(page - 1) * perPage}`;
