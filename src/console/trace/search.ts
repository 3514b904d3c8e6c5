import * as v from 'valibot';
import type { Sql } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { parseDeliveryId } from '../../delivery/delivery.ts';
import { SUBJECT } from '../../delivery/subject.ts';
import { IdText } from '../../platform/whole-numbers.ts';
import { joinSettings } from '../../webhook-record/record.ts';

/** Finds the objects with an id, a unique_id, an IBAN, an account number, a title or a customer's name, and the movements of a customer with an amount. */

export interface Hit {
  kind: keyof typeof HREF;
  id: string;
  /** Further facts about it. */
  text: string;
  href: string;
}

const MOST = 20;

/** Index of each: the primary key. */
const BY_ID = {
  movement: `SELECT t.id, u.name AS text FROM ${SUBJECT.sql} JOIN customers u ON u.id = t.customer_id WHERE t.withdraws IS NULL`,
  webhook: `SELECT w.id, CONCAT(s.title, ', ', u.name) AS text FROM webhooks w ${joinSettings('w', 's')} JOIN customers u ON u.id = w.customer_id WHERE w.id = ?`,
  import: `SELECT i.id, CONCAT(i.status, ', ', u.name) AS text FROM imports i JOIN customers u ON u.id = i.customer_id WHERE i.id = ?`,
  source: `SELECT s.id, CONCAT(s.title, ', ', u.name) AS text FROM sources s JOIN customers u ON u.id = s.customer_id WHERE s.id = ?`,
  customer: 'SELECT id, name AS text FROM customers WHERE id = ?',
  account: `SELECT a.id, CONCAT(a.title, ', ', u.name) AS text FROM accounts a JOIN customers u ON u.id = a.customer_id WHERE a.id = ?`,
} as const;

const FIND_DELIVERY = `
  SELECT CONCAT(w.id, '-', COALESCE(t.id, e.id)) AS id, CONCAT(s.title, ', ', u.name) AS text
  FROM webhooks w ${joinSettings('w', 's')} JOIN customers u ON u.id = w.customer_id
    LEFT JOIN ${SUBJECT.sql} ON w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} AND t.customer_id = w.customer_id
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

/** Index: customers_external_id. */
const BY_EXTERNAL_ID =
  "SELECT id, CONCAT(name, ', external id ', external_id) AS text FROM customers WHERE external_id = ?";

/** Index: customers_name. */
const BY_NAME = `SELECT id, name AS text FROM customers FORCE INDEX (customers_name) WHERE name LIKE ? ORDER BY name LIMIT ${MOST}`;

/** Index: the one on the titles, of which at most 20 entries are read. */
const BY_TITLE = (table: 'accounts' | 'webhooks' | 'sources') => `
  SELECT o.id, CONCAT(o.title, ', ', u.name) AS text FROM (
    SELECT id FROM ${table} FORCE INDEX (${table}_title) WHERE title LIKE ? ORDER BY title LIMIT ${MOST}) f
  JOIN ${table} o ON o.id = f.id JOIN customers u ON u.id = o.customer_id ORDER BY o.title, o.id`;

const HREF = {
  movement: (id: string) => `/ops/trace?movement=${id}`,
  delivery: (id: string) => `/ops/deliveries/${id}`,
  webhook: (id: string) => `/ops/webhooks/${id}`,
  import: (id: string) => `/ops/imports/${id}`,
  source: (id: string) => `/ops/sources/${id}`,
  customer: (id: string) => `/ops/customers/${id}`,
  account: (id: string) => `/ops/books/accounts/${id}`,
  'movements of customer': (id: string) => `/ops/movements?customer=${id}`,
};

const TITLED = [
  ['account', 'accounts'],
  ['webhook', 'webhooks'],
  ['source', 'sources'],
] as const;

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

/** The pattern of LIKE for texts that begin so. */
const beginsWith = (text: string) => `${text.replaceAll(/[\\%_]/g, '\\$&')}%`;

/** Finds accounts, webhooks and sources by the beginning of their title. */
export async function findTitled(sql: Sql, text: string): Promise<Hit[]> {
  const found = await Promise.all(
    TITLED.map(async ([kind, table]) =>
      hitsOf(kind)(await sql.query<FoundRow[]>(BY_TITLE(table), [beginsWith(text)])),
    ),
  );
  return found.flat();
}

const AMOUNT = /^(-?\d[\d.,]*)(?:\s+(\S.*))?$/;

/**
 * Finds the customers whose movements may have an amount: those of the name in `1250.50 NAME` or, if the text is an amount alone, the
 * customer of the page. Whether it is an amount, the page of movements says.
 */
async function findAmount(sql: Sql, text: string, customerId: string | undefined): Promise<Hit[]> {
  const [, amount, name] = AMOUNT.exec(text) ?? [];
  if (amount === undefined || (name ?? customerId) === undefined) return [];
  const customers = await (name === undefined
    ? sql.query<FoundRow[]>(BY_ID.customer, [customerId])
    : sql.query<FoundRow[]>(BY_NAME, [beginsWith(name)]));
  return customers.map((it) => ({
    kind: 'movements of customer',
    id: it.id,
    text: `${it.text}, with the amount ${amount}`,
    href: `${HREF['movements of customer'](it.id)}&amount=${amount}`,
  }));
}

/**
 * Finds everything that a text may mean. A number may be the id of several objects, a unique_id and an amount.
 * @param customerId the customer of the page on which the text was typed.
 */
export async function search(sql: Sql, text: string, customerId?: string): Promise<Hit[]> {
  const find = async (kind: Hit['kind'], statement: string, values: unknown[]): Promise<Hit[]> => {
    return hitsOf(kind)(await sql.query<FoundRow[]>(statement, values));
  };
  const key = parseDeliveryId(text.replace(/^msg_/, '').replace(/-withdrawn$/, ''));
  const isId = v.safeParse(IdText, text).success;
  const kinds = ['movement', 'webhook', 'import', 'source', 'customer', 'account'] as const;
  const found = await Promise.all([
    findAmount(sql, text, customerId),
    key === null
      ? []
      : find('delivery', FIND_DELIVERY, [...SUBJECT.values(key.subjectId), key.subjectId, key.webhookId]),
    ...kinds.map((kind) =>
      isId ? find(kind, BY_ID[kind], kind === 'movement' ? SUBJECT.values(text) : [text]) : [],
    ),
    find('movement', BY_UNIQUE_ID, [Buffer.from(text, 'utf8')]),
    findAccounts(sql, text).then(hitsOf('account')),
    find('customer', BY_EXTERNAL_ID, [text]),
    isId ? [] : find('customer', BY_NAME, [beginsWith(text)]),
    isId ? [] : findTitled(sql, text),
  ]);
  // A movement may be found twice, by its id and by its unique_id.
  return [...new Map(found.flat().map((hit) => [hit.href, hit])).values()];
}
