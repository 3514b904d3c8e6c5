import { type Caller, isOperator, visibleAccounts } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import { type FilterRange, MOST_RANGES, readFilterRanges } from '../delivery/filters.ts';
import { SUBJECTS } from '../delivery/subject.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { joinSettings, settingsOf, statusOf, type WebhookSettings } from '../webhook-record/record.ts';

/** Finds the webhooks that a caller may see. */

/**
 * A caller sees its customer's webhooks. A key limited to accounts sees only webhooks of its accounts, and none for all accounts. Only
 * operators see the webhooks of their templates.
 */
const visible = (caller: Caller) => {
  const isLimited = caller.accountIds !== 'all';
  return {
    condition: `w.customer_id = ? ${isLimited ? 'AND w.account_id IN (?)' : ''} ${isOperator(caller.actor) ? '' : 'AND w.template_id IS NULL'}`,
    values: [caller.customerId, ...(isLimited ? [visibleAccounts(caller)] : [])],
  };
};

/**
 * Finds webhooks, the oldest first, without templates and their webhooks. Index: webhooks_customer, or the primary key.
 * @param viewer null: an operator, who sees all webhooks.
 */
export async function findWebhooks(
  sql: Sql,
  viewer: Caller | null,
  { after, limit }: { after: string; limit: number },
): Promise<{ id: string }[]> {
  const { condition, values } = viewer === null ? { condition: 'TRUE', values: [] } : visible(viewer);
  return sql.query<{ id: string }[]>(
    `SELECT w.id FROM webhooks w
     WHERE ${condition} AND w.is_template = 0 AND w.template_id IS NULL AND w.status <> 'deleted' AND w.id > ? ORDER BY w.id LIMIT ?`,
    [...values, after, limit],
  );
}

/** Index: the primary key. @throws {Problem} 404. */
export async function findWebhook(sql: Sql, caller: Caller, id: string): Promise<WebhookSettings> {
  const { condition, values } = visible(caller);
  const [webhook] = await sql.query<WebhookSettings[]>(
    `SELECT ${settingsOf('w', 's')} FROM webhooks w ${joinSettings('w', 's')}
     WHERE w.id = ? AND ${condition} AND w.is_template = 0 AND ${statusOf('w', 's')} <> 'deleted'`,
    [id, ...values],
  );
  if (webhook === undefined) throw notFound('webhook');
  return { ...webhook, revision: Number(webhook.revision) };
}

/**
 * Finds a webhook that is to be changed.
 * @throws {Problem} 404; 409 for the webhook of a template.
 */
export async function findOwnWebhook(sql: Sql, caller: Caller, id: string): Promise<WebhookSettings> {
  const webhook = await findWebhook(sql, caller, id);
  if (webhook.template_id !== null)
    throw new Problem(
      'webhook-of-template',
      `Webhook ${id} belongs to the template ${webhook.template_id}, and is not changed by itself. Change the template with PATCH /v1/webhook-templates/${webhook.template_id}.`,
    );
  return webhook;
}

/** With more pending retries than this, their movements are not checked one by one. */
const MOST_RETRIES = 1_000;

/** Indexes: the primary keys. */
const READ_PROGRESS = `
  SELECT c.sent_through, b.matched_through
  FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id WHERE c.webhook_id = ?`;

/** Index: retries_due. */
const READ_RETRIES = `
  SELECT transaction_id FROM retries FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NOT NULL LIMIT ${MOST_RETRIES + 1}`;

/** Indexes: the primary keys. */
const FIND_MOVEMENT_OF_OTHERS = `SELECT t.id FROM ${SUBJECTS.sql} WHERE t.account_id NOT IN (?) LIMIT 1`;

/** Index: replays_open. */
const READ_REPLAYS = `
  SELECT position, until_id, account_ids FROM replays FORCE INDEX (replays_open)
  WHERE webhook_id = ? AND finished_at IS NULL`;

/**
 * Says whether a webhook may have pending movements of other accounts, which it matched before. When in doubt, returns true.
 * @param accountIds the accounts that the caller may see; not empty.
 */
export async function mayHavePendingOfOtherAccounts(
  sql: Sql,
  webhookId: string,
  accountIds: readonly string[],
): Promise<boolean> {
  const [progress] = await sql.query<{ sent_through: string; matched_through: string }[]>(READ_PROGRESS, [
    webhookId,
  ]);
  if (progress === undefined) return false;
  const { sent_through, matched_through } = progress;
  const isForeign = ({ filter }: FilterRange) =>
    filter !== null && (filter.accountId === null || !accountIds.includes(filter.accountId));
  const foreignWithin = async (after: string, through: string): Promise<boolean> => {
    if (BigInt(through) <= BigInt(after)) return false;
    const ranges = await readFilterRanges(sql, webhookId, { after, through });
    return ranges.length === MOST_RANGES || ranges.some(isForeign);
  };
  if (await foreignWithin(sent_through, matched_through)) return true;

  const retries = await sql.query<{ transaction_id: string }[]>(READ_RETRIES, [webhookId]);
  if (retries.length > MOST_RETRIES) return foreignWithin('0', matched_through);
  if (retries.length > 0) {
    const ids = retries.map(({ transaction_id }) => transaction_id);
    const others = await sql.query<unknown[]>(FIND_MOVEMENT_OF_OTHERS, [...SUBJECTS.values(ids), accountIds]);
    if (others.length > 0) return true;
  }

  const replays = await sql.query<{ position: string; until_id: string; account_ids: string | null }[]>(
    READ_REPLAYS,
    [webhookId],
  );
  for (const { position, until_id, account_ids } of replays) {
    if (account_ids?.split(',').every((id) => accountIds.includes(id))) continue;
    if (await foreignWithin(position, until_id)) return true;
  }
  return false;
}
