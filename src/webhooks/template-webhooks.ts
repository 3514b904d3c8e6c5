import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS, type WebhookEvent } from '../database/webhook-enums.ts';

/** Keeps one webhook of each template for each customer that the template matches. */

/**
 * The lock of the templates. Who creates a customer or changes its metadata shares the lock, and reads all templates. Who changes which customers
 * a template matches, or for what, has the lock alone. Take it first in a transaction, because a new template must not be missed.
 */
const LOCK_TEMPLATES = 'SELECT id FROM installation_id WHERE id = 1 FOR UPDATE';
const SHARE_TEMPLATES = 'SELECT id FROM installation_id WHERE id = 1 LOCK IN SHARE MODE';

export async function lockTemplates(sql: Sql): Promise<void> {
  await sql.query(LOCK_TEMPLATES);
}

export async function shareTemplates(sql: Sql): Promise<void> {
  await sql.query(SHARE_TEMPLATES);
}

/** The part of a template that decides which webhooks it has. */
interface Template {
  id: string;
  delivery: 'push' | 'pull';
  event: WebhookEvent;
  withdrawals: number;
  isDeleted: boolean;
  /** null: all customers. */
  metadata: Readonly<Record<string, string>> | null;
}

interface TemplateRow extends Omit<Template, 'isDeleted' | 'metadata'> {
  status: string;
  metadata: string | null;
}

const TEMPLATE_COLUMNS = 'w.id, w.delivery, w.event, w.withdrawals, w.status, t.metadata';

/** Index: webhooks_templates. */
const READ_TEMPLATES = `
  SELECT ${TEMPLATE_COLUMNS} FROM webhooks w FORCE INDEX (webhooks_templates) JOIN webhook_templates t ON t.webhook_id = w.id
  WHERE w.is_template = 1 AND w.status <> 'deleted' ORDER BY w.id`;

const toTemplate = ({ metadata, status, ...row }: TemplateRow): Template => ({
  ...row,
  isDeleted: status === 'deleted',
  metadata: metadata === null ? null : JSON.parse(metadata),
});

/** A customer as templates look at it. */
interface Candidate {
  id: string;
  /** JSON; null: none. */
  metadata: string | null;
}

/** Whether a customer has all that a template asks for. */
function isMatched({ metadata: asked }: Template, { metadata }: Candidate): boolean {
  if (asked === null) return true;
  const own = new Map<string, unknown>(Object.entries(metadata === null ? {} : JSON.parse(metadata)));
  return Object.entries(asked).every(([name, value]) => own.get(name) === value);
}

/**
 * Makes the webhooks of a new customer, or adapts those of a customer whose metadata has changed.
 * @param sql a transaction that shares the templates and has locked or added the customer.
 */
export async function keepWebhooksOf(sql: Sql, customer: Candidate): Promise<void> {
  const rows = await sql.query<TemplateRow[]>(READ_TEMPLATES);
  if (rows.length > 0) await keepWebhooks(sql, rows.map(toTemplate), [customer]);
}

/** No movement of these customers is stored until the transaction ends. Index: the primary key. */
const LOCK_IMPORTS = `
  SELECT customer_id FROM import_locks WHERE customer_id IN (?) ORDER BY customer_id FOR UPDATE`;

/** Customers that are deleted, whose webhooks are deleted with them. Index: the primary key. */
const READ_DELETED = 'SELECT customer_id FROM deletions WHERE customer_id IN (?) AND account_id = 0';

/** Index: webhooks_of_template. */
const READ_KEPT_WEBHOOKS = `
  SELECT id, template_id, customer_id, event, withdrawals, status FROM webhooks FORCE INDEX (webhooks_of_template)
  WHERE template_id IN (?) AND customer_id IN (?)`;

interface KeptWebhook {
  id: string;
  template_id: string;
  customer_id: string;
  event: WebhookEvent;
  withdrawals: number;
  status: 'active' | 'paused' | 'ended' | 'deleted';
}

/** The settings of these webhooks are those of their template. Theirs are not read. */
const ADD_WEBHOOKS = `
  INSERT INTO webhooks (customer_id, template_id, delivery, event, withdrawals, title, encoding, hash_encoding, max_in_flight) VALUES ?`;
const UNREAD = ['', 'json', 'hex', 1];

const ADD_BACKLOGS = `
  INSERT INTO webhook_backlogs (webhook_id, customer_id, matched_through, due_at)
  SELECT w.id, w.customer_id, l.last_transaction_id, NULL
  FROM webhooks w JOIN import_locks l ON l.customer_id = w.customer_id WHERE w.id IN (?)`;

const ADD_CURSORS = `
  INSERT INTO webhook_cursors (webhook_id, customer_id, sent_through, highest_recorded_id)
  SELECT w.id, w.customer_id, l.last_transaction_id, l.last_transaction_id
  FROM webhooks w JOIN import_locks l ON l.customer_id = w.customer_id WHERE w.id IN (?)`;

const CHANGE_WEBHOOKS = `
  UPDATE webhooks SET event = ?, withdrawals = ?, status = ?, revision = revision + 1 WHERE id IN (?)`;

/** From now on, a webhook that is active or paused matches what it says, and any other nothing. */
const SET_FILTERS = `
  INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event, account_id, withdrawals)
  SELECT w.id, l.last_transaction_id, w.customer_id,
    IF(w.status IN ('active', 'paused') AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS}, w.event, NULL), NULL,
    IF(w.status IN ('active', 'paused'), w.withdrawals, 0)
  FROM webhooks w JOIN import_locks l ON l.customer_id = w.customer_id WHERE w.id IN (?)
  ON DUPLICATE KEY UPDATE event = VALUES(event), account_id = VALUES(account_id), withdrawals = VALUES(withdrawals)`;

const CHANGE_VERSIONS =
  'UPDATE import_locks SET filters_version = filters_version + 1 WHERE customer_id IN (?)';

/** A webhook that is deleted is not looked at any more. */
const FORGET_DUE = 'UPDATE webhook_backlogs SET due_at = NULL WHERE webhook_id IN (?)';

/** Gives these customers the webhooks that the templates say, in statements for all of them. */
async function keepWebhooks(
  sql: Sql,
  templates: readonly Template[],
  customers: readonly Candidate[],
): Promise<void> {
  const ids = customers.map(({ id }) => id);
  await sql.query(LOCK_IMPORTS, [ids]);
  const deleted = await sql.query<{ customer_id: string }[]>(READ_DELETED, [ids]);
  const gone = new Set(deleted.map(({ customer_id }) => customer_id));
  const kept = customers.filter(({ id }) => !gone.has(id));
  if (kept.length === 0) return;
  const found = await sql.query<KeptWebhook[]>(READ_KEPT_WEBHOOKS, [
    templates.map(({ id }) => id),
    kept.map(({ id }) => id),
  ]);
  const existing = new Map(found.map((it) => [`${it.template_id} ${it.customer_id}`, it]));
  const added: { template: Template; customerId: string }[] = [];
  const changed: KeptWebhook[] = [];
  for (const template of templates)
    for (const customer of kept) {
      const webhook = existing.get(`${template.id} ${customer.id}`);
      const matches = !template.isDeleted && isMatched(template, customer);
      if (webhook === undefined) {
        if (matches) added.push({ template, customerId: customer.id });
        continue;
      }
      const after = adapt(webhook, template, matches);
      if (after !== null) changed.push(after);
    }
  await add(sql, added);
  await change(sql, changed);
}

/** @returns the webhook as its template wants it; null: it is so already. A webhook that was deleted stays deleted. */
function adapt(
  webhook: KeptWebhook,
  { event, withdrawals, isDeleted }: Template,
  matches: boolean,
): KeptWebhook | null {
  const status = isDeleted
    ? 'deleted'
    : !matches
      ? 'ended'
      : // The service has paused it. It stays so until its template is made active.
        webhook.status === 'paused'
        ? 'paused'
        : 'active';
  const isSame = webhook.status === status && webhook.event === event && webhook.withdrawals === withdrawals;
  return webhook.status === 'deleted' || isSame ? null : { ...webhook, event, withdrawals, status };
}

async function add(sql: Sql, added: readonly { template: Template; customerId: string }[]): Promise<void> {
  if (added.length === 0) return;
  await sql.query(ADD_WEBHOOKS, [
    added.map(({ template: { id, delivery, event, withdrawals }, customerId }) => [
      ...[customerId, id, delivery, event, withdrawals],
      ...UNREAD,
    ]),
  ]);
  const rows = await sql.query<KeptWebhook[]>(READ_KEPT_WEBHOOKS, [
    [...new Set(added.map(({ template }) => template.id))],
    [...new Set(added.map(({ customerId }) => customerId))],
  ]);
  const wanted = new Set(added.map((it) => `${it.template.id} ${it.customerId}`));
  const own = rows.filter((it) => wanted.has(`${it.template_id} ${it.customer_id}`));
  const ids = own.map(({ id }) => id);
  await sql.query(ADD_BACKLOGS, [ids]);
  await sql.query(ADD_CURSORS, [ids]);
  await setFilters(sql, own);
}

async function change(sql: Sql, changed: readonly KeptWebhook[]): Promise<void> {
  if (changed.length === 0) return;
  // All webhooks of a template that have the same status become the same.
  const groups = new Map<string, KeptWebhook[]>();
  for (const it of changed) {
    const key = `${it.template_id} ${it.status}`;
    groups.set(key, [...(groups.get(key) ?? []), it]);
  }
  for (const group of groups.values()) {
    const [{ event, withdrawals, status } = group[0] as KeptWebhook] = group;
    const ids = group.map(({ id }) => id);
    await sql.query(CHANGE_WEBHOOKS, [event, withdrawals, status, ids]);
    if (status === 'deleted') await sql.query(FORGET_DUE, [ids]);
  }
  await setFilters(sql, changed);
}

async function setFilters(sql: Sql, webhooks: readonly KeptWebhook[]): Promise<void> {
  await sql.query(SET_FILTERS, [webhooks.map(({ id }) => id)]);
  await sql.query(CHANGE_VERSIONS, [[...new Set(webhooks.map(({ customer_id }) => customer_id))]]);
}

/** Customers that are looked at in one transaction. */
const PART = 100;

/** A template of which not all customers are looked at. Index: webhook_templates_unchecked. */
const LOCK_UNCHECKED = `
  SELECT webhook_id AS id, checked_through FROM webhook_templates
  WHERE checked_through IS NOT NULL ORDER BY checked_through LIMIT 1 FOR UPDATE`;

/** Index: the primary key. */
const READ_TEMPLATE = `
  SELECT ${TEMPLATE_COLUMNS} FROM webhooks w JOIN webhook_templates t ON t.webhook_id = w.id WHERE w.id = ?`;

/** Index: the primary key. */
const READ_CUSTOMERS = `
  SELECT id, metadata FROM customers WHERE id > ? AND is_operator IS NULL ORDER BY id LIMIT ${PART} LOCK IN SHARE MODE`;

const SET_CHECKED = 'UPDATE webhook_templates SET checked_through = ? WHERE webhook_id = ?';

/**
 * Goes through the customers of templates that are new or have changed, in parts, each in a transaction. What is done stays done, so that the next
 * call continues after a crash.
 * @param signal ends the work after the current part.
 * @returns how many customers were looked at.
 */
export async function keepTemplates(database: DataSource, signal: AbortSignal): Promise<number> {
  let looked = 0;
  for (;;) {
    if (signal.aborted) return looked;
    const part = await inTransaction(database, keepPart);
    if (part === null) return looked;
    looked += part;
  }
}

/** @returns how many customers were looked at; null: of no template any are left. */
async function keepPart(sql: Sql): Promise<number | null> {
  await shareTemplates(sql);
  const [next] = await sql.query<{ id: string; checked_through: string }[]>(LOCK_UNCHECKED);
  if (next === undefined) return null;
  const rows = await sql.query<TemplateRow[]>(READ_TEMPLATE, [next.id]);
  const customers = await sql.query<Candidate[]>(READ_CUSTOMERS, [next.checked_through]);
  if (customers.length > 0) await keepWebhooks(sql, rows.map(toTemplate), customers);
  await sql.query(SET_CHECKED, [customers.length < PART ? null : customers.at(-1)?.id, next.id]);
  return customers.length;
}

/** Without deleted webhooks, whose pending deliveries are cancelled. Indexes: webhooks_templates, webhooks_of_template, and the primary keys. */
const READ_SUMS = `
  SELECT t.id AS template_id, COALESCE(SUM(b.matched_count), 0) AS matched, COALESCE(SUM(c.delivered_count), 0) AS delivered,
    COALESCE(SUM(c.failed_count), 0) AS failed, MAX(c.progressed_at) AS progressed_at
  FROM webhooks t FORCE INDEX (webhooks_templates)
    LEFT JOIN webhooks w FORCE INDEX (webhooks_of_template) ON w.template_id = t.id AND w.status <> 'deleted'
    LEFT JOIN webhook_backlogs b ON b.webhook_id = w.id LEFT JOIN webhook_cursors c ON c.webhook_id = w.id
  WHERE t.is_template = 1 AND t.status <> 'deleted' GROUP BY t.id`;

const STORE_SUMS = `
  UPDATE webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id
  SET b.matched_count = ?, c.delivered_count = ?, c.failed_count = ?, c.progressed_at = GREATEST(COALESCE(c.progressed_at, ?), COALESCE(?, c.progressed_at))
  WHERE c.webhook_id = ?`;

interface Sums {
  template_id: string;
  matched: string;
  delivered: string;
  failed: string;
  progressed_at: Date | null;
}

/** Adds up the deliveries of all webhooks of each template, so that showing a template reads no more than showing a webhook. */
export async function sumTemplates(database: DataSource): Promise<number> {
  const rows = await database.query<Sums[]>(READ_SUMS);
  for (const { template_id, matched, delivered, failed, progressed_at } of rows)
    await database.query(STORE_SUMS, [
      ...[matched, delivered, failed, progressed_at, progressed_at, template_id],
    ]);
  return rows.length;
}
