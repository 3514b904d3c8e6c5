import * as v from 'valibot';
import type { Sql } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { parseDeliveryId } from '../../delivery/delivery.ts';
import { IdText } from '../../platform/whole-numbers.ts';

/** Finds the objects with an id, a unique_id, an IBAN, an account number or a customer's name. Titles have no index, so they are not searched. */

export interface Hit {
  kind: 'movement' | 'delivery' | 'webhook' | 'import' | 'source' | 'customer' | 'account';
  id: string;
  /** Further facts about it. */
  text: string;
  href: string;
}

const MOST = 20;

/** Index of each: the primary key. */
const BY_ID = {
  movement:
    'SELECT t.id, u.name AS text FROM transactions t JOIN customers u ON u.id = t.customer_id WHERE t.id = ?',
  webhook: `SELECT w.id, CONCAT(w.title, ', ', u.name) AS text FROM webhooks w JOIN customers u ON u.id = w.customer_id WHERE w.id = ?`,
  import: `SELECT i.id, CONCAT(i.status, ', ', u.name) AS text FROM imports i JOIN customers u ON u.id = i.customer_id WHERE i.id = ?`,
  source: `SELECT s.id, CONCAT(s.title, ', ', u.name) AS text FROM sources s JOIN customers u ON u.id = s.customer_id WHERE s.id = ?`,
  customer: 'SELECT id, name AS text FROM customers WHERE id = ?',
  account: `SELECT a.id, CONCAT(a.title, ', ', u.name) AS text FROM accounts a JOIN customers u ON u.id = a.customer_id WHERE a.id = ?`,
} as const;

const FIND_DELIVERY = `
  SELECT CONCAT(w.id, '-', COALESCE(t.id, e.id)) AS id, CONCAT(w.title, ', ', u.name) AS text
  FROM webhooks w JOIN customers u ON u.id = w.customer_id
    LEFT JOIN transactions t ON w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} AND t.id = ? AND t.customer_id = w.customer_id
    LEFT JOIN operational_events e ON w.event IN ${EVENTS_WITHOUT_MOVEMENTS} AND e.id = ?
  WHERE w.id = ? AND (t.id IS NOT NULL OR e.id IS NOT NULL)`;

/** One entry of transactions_unique_id for each account. */
const BY_UNIQUE_ID = `
  SELECT STRAIGHT_JOIN t.id, CONCAT(a.title, ', ', u.name) AS text
  FROM accounts a JOIN transactions t FORCE INDEX (transactions_unique_id) ON t.account_id = a.id AND t.unique_id = ?
  JOIN customers u ON u.id = a.customer_id LIMIT ${MOST}`;

/** Indexes: accounts_iban, accounts_number, and the primary keys. */
const BY_IBAN_OR_NUMBER = `
  SELECT a.id, CONCAT(a.title, ', ', u.name) AS text FROM (
    (SELECT id FROM accounts FORCE INDEX (accounts_iban) WHERE iban = ? LIMIT ${MOST})
    UNION (SELECT id FROM accounts FORCE INDEX (accounts_number) WHERE number IN (?) LIMIT ${MOST})) f
  JOIN accounts a ON a.id = f.id JOIN customers u ON u.id = a.customer_id`;

/** Index: customers_name. */
const BY_NAME = `SELECT id, name AS text FROM customers FORCE INDEX (customers_name) WHERE name LIKE ? ORDER BY name LIMIT ${MOST}`;

const HREF: Record<Hit['kind'], (id: string) => string> = {
  movement: (id) => `/ops/trace?movement=${id}`,
  delivery: (id) => `/ops/deliveries/${id}`,
  webhook: (id) => `/ops/webhooks/${id}`,
  import: (id) => `/ops/imports/${id}`,
  source: (id) => `/ops/sources/${id}`,
  customer: (id) => `/ops/customers/${id}`,
  account: (id) => `/ops/books/accounts/${id}`,
};

type FoundRow = Pick<Hit, 'id' | 'text'>;

const hitsOf =
  (kind: Hit['kind']) =>
  (rows: readonly FoundRow[]): Hit[] =>
    rows.map((row) => ({ kind, ...row, href: HREF[kind](row.id) }));

/** Finds accounts by their IBAN or number, with or without the blanks with which banks print them. The collation ignores case. */
export function findAccounts(sql: Sql, text: string): Promise<FoundRow[]> {
  const withoutBlanks = text.replaceAll(/\s/g, '');
  return sql.query(BY_IBAN_OR_NUMBER, [withoutBlanks, [text, withoutBlanks]]);
}

/** Finds everything that a text may mean. A number may be the id of several objects, and also a unique_id. */
export async function search(sql: Sql, text: string): Promise<Hit[]> {
  const find = async (kind: Hit['kind'], statement: string, values: unknown[]): Promise<Hit[]> => {
    return hitsOf(kind)(await sql.query<FoundRow[]>(statement, values));
  };
  const key = parseDeliveryId(text.replace(/^msg_/, ''));
  const isId = v.safeParse(IdText, text).success;
  const kinds = ['movement', 'webhook', 'import', 'source', 'customer', 'account'] as const;
  const found = await Promise.all([
    key === null ? [] : find('delivery', FIND_DELIVERY, [key.subjectId, key.subjectId, key.webhookId]),
    ...kinds.map((kind) => (isId ? find(kind, BY_ID[kind], [text]) : [])),
    find('movement', BY_UNIQUE_ID, [Buffer.from(text, 'utf8')]),
    findAccounts(sql, text).then(hitsOf('account')),
    isId ? [] : find('customer', BY_NAME, [`${text.replaceAll(/[\\%_]/g, '\\$&')}%`]),
  ]);
  // A movement may be found twice, by its id and by its unique_id.
  return [...new Map(found.flat().map((hit) => [hit.href, hit])).values()];
}
