import type { Sql } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { parseDeliveryId } from '../../delivery/delivery.ts';

/** Reads the history of one movement. */

export interface TracedMovement {
  id: string;
  customer_id: string;
  customer: string;
  account_id: string;
  account: string;
  bank: string;
  currency: string;
  import_id: string;
  unique_id: string;
  dc: string;
  amount: string;
  description: string | null;
  date_issue: string;
  date_readed: Date;
  import_received_at: Date | null;
  import_format: string | null;
  /** The source that has collected the movement. null: it was sent over the API, or the import was deleted. */
  source_id: string | null;
  /** The name of the API key that sent the movement. null: a source has collected it, or the key or the import was deleted. */
  api_key: string | null;
}

/** Indexes: the primary keys, a row of each. */
const MOVEMENT = `
  SELECT t.id, t.customer_id, u.name AS customer, t.account_id, a.title AS account, b.name AS bank, a.currency, t.import_id,
    CONVERT(t.unique_id USING utf8mb4) AS unique_id, t.dc, t.amount, t.description, t.date_issue, t.date_readed,
    i.received_at AS import_received_at, i.format AS import_format, i.source_id, CONCAT(k.prefix, '… ', k.title) AS api_key
  FROM transactions t JOIN customers u ON u.id = t.customer_id JOIN accounts a ON a.id = t.account_id
    JOIN banks b ON b.id = a.bank_id LEFT JOIN imports i ON i.id = t.import_id LEFT JOIN api_keys k ON k.id = i.api_key_id
  WHERE t.id = ?`;

export async function readMovement(sql: Sql, id: string): Promise<TracedMovement | undefined> {
  const [movement] = await sql.query<TracedMovement[]>(MOVEMENT, [id]);
  return movement;
}

/** Finds the objects with an id, a unique_id or a customer's name. */

export interface Hit {
  kind: 'movement' | 'delivery' | 'webhook' | 'import' | 'source' | 'customer';
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
} as const;

const DELIVERY = `
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

/** Index: customers_name. */
const BY_NAME = `SELECT id, name AS text FROM customers FORCE INDEX (customers_name) WHERE name LIKE ? ORDER BY name LIMIT ${MOST}`;

const HREF: Record<Hit['kind'], (id: string) => string> = {
  movement: (id) => `/ops/trace?movement=${id}`,
  delivery: (id) => `/ops/deliveries/${id}`,
  webhook: (id) => `/ops/webhooks/${id}`,
  import: (id) => `/ops/imports/${id}`,
  source: (id) => `/ops/sources/${id}`,
  customer: (id) => `/ops/webhooks?customer=${id}`,
};

/** Finds everything that a text may mean. A number may be the id of several objects, and also a unique_id. */
export async function search(sql: Sql, text: string): Promise<Hit[]> {
  const find = async (kind: Hit['kind'], statement: string, values: unknown[]): Promise<Hit[]> => {
    const rows = await sql.query<{ id: string; text: string }[]>(statement, values);
    return rows.map((row) => ({ kind, ...row, href: HREF[kind](row.id) }));
  };
  const key = parseDeliveryId(text.replace(/^msg_/, ''));
  const isId = /^[1-9]\d{0,17}$/.test(text);
  const kinds = ['movement', 'webhook', 'import', 'source', 'customer'] as const;
  const found = await Promise.all([
    key === null ? [] : find('delivery', DELIVERY, [key.transactionId, key.transactionId, key.webhookId]),
    ...kinds.map((kind) => (isId ? find(kind, BY_ID[kind], [text]) : [])),
    find('movement', BY_UNIQUE_ID, [Buffer.from(text, 'utf8')]),
    isId ? [] : find('customer', BY_NAME, [`${text.replaceAll(/[\\%_]/g, '\\$&')}%`]),
  ]);
  // A movement may be found twice, by its id and by its unique_id.
  return [...new Map(found.flat().map((hit) => [hit.href, hit])).values()];
}
