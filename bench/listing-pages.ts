import type { DataSource } from 'typeorm';
import { encodeCursor } from '../src/http/paging.ts';
import { FIRST_DAY, type Owner } from './history.ts';

const PER_PAGE = 1_000;

/** One page: the request to the service, and the best SQL for it that we know. */
export interface Page {
  name: string;
  path: string;
  /** Finds the id at which the page begins, if that takes a statement of its own. It becomes the second value of `sql`. */
  find?: { sql: string; values: unknown[] };
  /** The SQL after FROM transactions t. */
  sql: string;
  values: unknown[];
}

export interface Pages {
  /** Pages that are compared with their SQL. */
  plain: Page[];
  first: Page;
  deep: Page;
  /** A page requested by its number, of a listing that begins on this day. */
  numbered: (starts: string) => Page;
}

const OF_CUSTOMER = 'FORCE INDEX (transactions_customer_page) WHERE t.customer_id = ?';
const OF_ACCOUNT = 'FORCE INDEX (transactions_account_page) WHERE t.account_id = ?';
const END = `ORDER BY t.id LIMIT ${PER_PAGE}`;

/** Finds the smallest id of each account and day with a loose index scan, and the smallest of these. */
const FIRST_OF_DATES = `
  SELECT MIN(first) AS id FROM (
    SELECT MIN(id) AS first FROM transactions FORCE INDEX (transactions_account_date)
    WHERE account_id IN (?) AND date_issue BETWEEN ? AND ? GROUP BY account_id, date_issue) days`;

const FIRST_READ = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed >= ? ORDER BY date_readed, id LIMIT 1`;

/**
 * Chooses pages of one customer's history, with each filter.
 * @param owners the customer's accounts.
 * @param number number of the page that is requested by its number.
 */
export async function choosePages(
  database: DataSource,
  owners: readonly Owner[],
  number: number,
): Promise<Pages> {
  const { customerId, accountId } = owners[0] as Owner;
  const accountIds = owners.map((it) => it.accountId);
  const [starts, ends] = ['2025-01-01', '2025-03-31'];
  const after = '2025-05-01 00:00:00';
  const first: Page = {
    name: 'the first page',
    path: `/v1/transactions?starts=${FIRST_DAY}`,
    sql: `${OF_CUSTOMER} AND t.date_issue >= ? ${END}`,
    values: [customerId, FIRST_DAY],
  };
  const deep = await idNearEnd(database);
  return {
    plain: [
      first,
      {
        name: 'starts and ends',
        path: `/v1/transactions?starts=${starts}&ends=${ends}`,
        find: { sql: FIRST_OF_DATES, values: [accountIds, starts, ends] },
        sql: `${OF_CUSTOMER} AND t.id >= ? AND t.date_issue BETWEEN ? AND ? ${END}`,
        values: [customerId, starts, ends],
      },
      {
        name: 'after',
        path: `/v1/transactions?after=${encodeURIComponent(`${after}+00`)}`,
        find: { sql: FIRST_READ, values: [customerId, after] },
        sql: `${OF_CUSTOMER} AND t.id >= ? ${END}`,
        values: [customerId],
      },
      {
        name: 'one account',
        path: `/v1/accounts/${accountId}/transactions?starts=${starts}`,
        find: { sql: FIRST_OF_DATES, values: [[accountId], starts, '9999-12-31'] },
        sql: `${OF_ACCOUNT} AND t.id >= ? AND t.date_issue >= ? ${END}`,
        values: [accountId, starts],
      },
    ],
    first,
    deep: {
      name: 'a deep page by Link',
      path: `${first.path}&cursor=${encodeCursor(deep, 't1')}`,
      sql: `${OF_CUSTOMER} AND t.id > ? AND t.date_issue >= ? ${END}`,
      values: [customerId, deep, FIRST_DAY],
    },
    numbered: (day) => ({
      name: `page ${number.toLocaleString('en')}`,
      path: `/v1/transactions?starts=${day}&page=${number}`,
      sql: `JOIN (SELECT id FROM transactions t ${first.sql} OFFSET ${(number - 1) * PER_PAGE}) p ON p.id = t.id
        ORDER BY t.id`,
      values: [customerId, day],
    }),
  };
}

async function idNearEnd(database: DataSource): Promise<string> {
  const [row] = await database.query<{ id: string }[]>(
    'SELECT MIN(id) + FLOOR(0.9 * (MAX(id) - MIN(id))) AS id FROM transactions',
  );
  return row?.id ?? '0';
}
