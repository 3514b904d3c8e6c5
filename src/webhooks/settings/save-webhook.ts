import type { Sql, WriteResult } from '../../database/transaction.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import { createProgress, lockImports, resetHealth, setFilter } from '../../delivery/filters.ts';
import { markDue } from '../../delivery/reconcile.ts';
import { Problem } from '../../platform/problem.ts';
import { type Filter, toFilter } from '../../webhook-record/filter.ts';
import type { WebhookSettings } from '../../webhook-record/record.ts';

/** Writes the rows of webhooks, with sealed secrets. */

/** Columns of `webhooks` and their values. The names come from our code, never from a caller. */
type WebhookColumns = Record<string, unknown>;

const INSERT_WEBHOOK = (columns: readonly string[]) => `
  INSERT INTO webhooks (customer_id, event, withdrawals, account_id, ${columns.join(', ')})
  VALUES (?, ?, ?, ?, ${columns.map(() => '?').join(', ')})`;

const SET_SECRETS = 'UPDATE webhooks SET secret = ?, headers = ? WHERE id = ?';

interface NewWebhookRow {
  customerId: string;
  event: WebhookSettings['event'];
  /** Default: 0. */
  withdrawals?: WebhookSettings['withdrawals'];
  /** null: all. */
  accountId: string | null;
  /** Default: false. */
  isTemplate?: boolean;
  columns: WebhookColumns;
  /** The most webhooks that the customer may have, including this one. Default: no limit. */
  most?: number;
  /** Returns the sealed columns. Sealing needs the row's id, which is known only after the INSERT. */
  seal: (webhookId: string) => { secret: string | null; headers: string | null };
  /** Runs in the same transaction. */
  record?: (sql: Sql, webhookId: string) => Promise<void>;
}

/**
 * Stores a new webhook with its filter, backlog and cursor. The webhook matches movements stored from now on.
 * @returns the webhook's id.
 * @throws {Problem} 409 when the customer has reached its limit of webhooks.
 */
export async function addWebhook(sql: Sql, row: NewWebhookRow): Promise<string> {
  const { customerId, event, withdrawals = 0, accountId, isTemplate = false, most, seal, record } = row;
  const columns = { ...row.columns, is_template: isTemplate ? 1 : 0 };
  // Imports take this lock before they lock accounts. The INSERT locks the webhook's account, so it must come after this lock too.
  await lockImports(sql, customerId);
  if (most !== undefined) await requireRoom(sql, customerId, most);
  const { insertId } = await sql.query<WriteResult>(INSERT_WEBHOOK(Object.keys(columns)), [
    customerId,
    event,
    withdrawals,
    accountId,
    ...Object.values(columns),
  ]);
  const id = String(insertId);
  const { secret, headers } = seal(id);
  await sql.query(SET_SECRETS, [secret, headers, id]);
  const filter = filterOf({
    event,
    withdrawals,
    account_id: accountId,
    status: 'active',
    is_template: columns.is_template,
  });
  await createProgress(sql, { id, customerId }, filter);
  await record?.(sql, id);
  return id;
}

/** Index: webhooks_customer. */
const COUNT_WEBHOOKS =
  "SELECT COUNT(*) AS number FROM webhooks WHERE customer_id = ? AND status <> 'deleted' AND is_template = 0 AND template_id IS NULL";

async function requireRoom(sql: Sql, customerId: string, most: number): Promise<void> {
  const [count] = await sql.query<{ number: string | number }[]>(COUNT_WEBHOOKS, [customerId]);
  if (Number(count?.number) >= most)
    throw new Problem(
      'webhook-limit-reached',
      `You have ${most} webhooks, which is the limit. Delete one that you no longer need, or ask the operator to raise WEBHOOKS_PER_CUSTOMER.`,
    );
}

/** A webhook before its change. */
export interface StoredWebhook {
  delivery: WebhookSettings['delivery'];
  event: WebhookSettings['event'];
  withdrawals: WebhookSettings['withdrawals'];
  account_id: string | null;
  is_template: number;
  status: 'active' | 'paused' | 'disabled';
  revision: number;
  endpoint: string | null;
  /** Sealed; null: none. */
  headers: string | null;
}

const LOCK_WEBHOOK = `
  SELECT delivery, event, withdrawals, account_id, is_template, status, revision, endpoint, headers FROM webhooks WHERE id = ? AND status <> 'deleted' FOR UPDATE`;

/** An active delivery run ends when it sees another revision, and the settings are read again. */
const UPDATE_WEBHOOK = (columns: readonly string[]) => `
  UPDATE webhooks SET ${[...columns, 'revision'].map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;

/** Columns that decide which movements a webhook matches. Imports are locked before they change. */
const FILTERING = ['event', 'withdrawals', 'account_id', 'status'];

/** After a change of these columns, the health so far says nothing about the new endpoint, so it is reset. */
const REDIRECTING = ['endpoint', 'headers'];

interface WebhookUpdate {
  id: string;
  customerId: string;
  columns: WebhookColumns;
}

/**
 * Changes a webhook. New events, or a new account or status, decide which movements the webhook matches from then on. A paused webhook keeps
 * matching. A disabled webhook that becomes active matches again. The endpoint's health is reset when the webhook becomes active, or
 * gets another endpoint or headers.
 * @param check throws when the change is not allowed. It runs while the webhook is locked.
 * @returns false when the webhook does not exist any more.
 */
export async function changeColumns(
  sql: Sql,
  { id, customerId, columns }: WebhookUpdate,
  check: (sql: Sql, webhook: Readonly<StoredWebhook>) => Promise<void>,
): Promise<boolean> {
  const names = Object.keys(columns);
  if (names.some((name) => FILTERING.includes(name))) await lockImports(sql, customerId);
  const [webhook] = await sql.query<StoredWebhook[]>(LOCK_WEBHOOK, [id]);
  if (webhook === undefined) return false;
  await check(sql, webhook);
  const changed: StoredWebhook = { ...webhook, ...columns, revision: webhook.revision + 1 };
  if (!sameFilter(filterOf(webhook), filterOf(changed)))
    await setFilter(sql, { id, customerId }, filterOf(changed));
  await sql.query(UPDATE_WEBHOOK(names), [...Object.values(columns), changed.revision, id]);
  const isReset = columns.status === 'active' || names.some((name) => REDIRECTING.includes(name));
  // A feed has no health, and its progressed_at says when its reader acknowledged events.
  if (isReset && webhook.delivery === 'push') await resetHealth(sql, id, changed.revision);
  await markDue(sql, id);
  return true;
}

/** The movements that a webhook matches. null: none. A template matches none: its webhooks do. */
const filterOf = ({
  event,
  status,
  is_template,
  ...row
}: Pick<StoredWebhook, 'event' | 'withdrawals' | 'account_id' | 'status' | 'is_template'>): Filter | null =>
  is_template === 1 || status === 'disabled' || isOfEvents(event) ? null : toFilter({ ...row, event });

const sameFilter = (one: Filter | null, other: Filter | null): boolean =>
  one?.event === other?.event &&
  one?.accountId === other?.accountId &&
  one?.withdrawals === other?.withdrawals;

const DELETE_WEBHOOK = `
  UPDATE webhooks SET status = 'deleted', revision = revision + 1 WHERE id = ? AND status <> 'deleted'`;

/**
 * Deletes a webhook even if deliveries are pending. It matches nothing any more, and no delivery run sends for it. Its log stays.
 * @param record runs in the same transaction, if the webhook is deleted.
 * @returns false when it was deleted before.
 */
export async function markDeleted(
  sql: Sql,
  webhook: { id: string; customerId: string },
  record: (sql: Sql) => Promise<void>,
): Promise<boolean> {
  await lockImports(sql, webhook.customerId);
  const { affectedRows } = await sql.query<WriteResult>(DELETE_WEBHOOK, [webhook.id]);
  if (affectedRows === 0) return false;
  await setFilter(sql, webhook, null);
  await record(sql);
  return true;
}

/** MySQL assigns from left to right, so the old secret is kept before the new one replaces it. */
const ROTATE_SECRET = `
  UPDATE webhooks SET previous_secret = secret, previous_secret_until = NOW(6) + INTERVAL 24 HOUR, secret = ?,
    revision = revision + 1
  WHERE id = ? AND status <> 'deleted'`;

/**
 * Replaces a webhook's secret. For 24 h, notifications are signed with the new and the old secret.
 * @returns false when there is no such webhook any more.
 */
export async function replaceSecret(sql: Sql, id: string, sealedSecret: string): Promise<boolean> {
  const { affectedRows } = await sql.query<WriteResult>(ROTATE_SECRET, [sealedSecret, id]);
  return affectedRows > 0;
}
