import type { DataSource } from 'typeorm';
import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS, isOfEvents } from '../database/webhook-enums.ts';
import { Problem } from '../platform/problem.ts';
import { joinSettings, statusOf } from '../webhook-record/record.ts';
import { type FoundDelivery, findDelivery, REPLAYABLE, type Replayable } from './delivery.ts';
import { type DeliveryKey, formatDeliveryId } from './delivery-id.ts';
import { makePendingAgain } from './engine/make-pending.ts';
import { countBack, moveBack, requireOwnAccounts } from './feed/position.ts';
import { lockCursor } from './filters.ts';
import { type Contents, newestBefore } from './list-deliveries.ts';
import { markDue } from './reconcile.ts';
import { accountOf, SUBJECT } from './subject.ts';
import { wakeChangedWebhook } from './wake.ts';
import { readAllFilters } from './webhook-state.ts';

/** Requests that deliveries are sent again: one (a redelivery), or many (a replay). */

/** Takes a shared lock: the status cannot change until the transaction ends, but requests for other deliveries can read it too. */
const LOCK_STATUS = `
  SELECT ${statusOf('w', 's')} AS status, w.template_id FROM webhooks w ${joinSettings('w', 's')} WHERE w.id = ? LOCK IN SHARE MODE`;

/** The delivery is sent even if the replay that it belonged to is cancelled. */
const MAKE_RETRY_DUE = `
  UPDATE retries SET due_at = LEAST(due_at, NOW(6)), replay_id = NULL
  WHERE webhook_id = ? AND transaction_id = ? AND due_at IS NOT NULL`;

/** Says whether a webhook can be sent anything. A paused webhook is accepted, because it sends when it is active again. */
type Sendable = 'accepted' | 'disabled' | 'deleted';

/**
 * Locks a webhook's status until the transaction ends.
 * @param sql a transaction.
 * @returns 'accepted', or why deliveries of the webhook cannot be requested again.
 */
export async function lockSendable(sql: Sql, webhookId: string): Promise<Sendable> {
  const [webhook] = await sql.query<{ status: string; template_id: string | null }[]>(LOCK_STATUS, [
    webhookId,
  ]);
  if (webhook === undefined || webhook.status === 'deleted') return 'deleted';
  // The webhooks of a disabled template keep what is pending, as those of a paused one.
  return webhook.status === 'disabled' && webhook.template_id === null ? 'disabled' : 'accepted';
}

/** Indexes: the primary keys. */
const READ_MOVEMENT = `
  SELECT a.status = 'deleting' AS is_deleting, t.is_withdrawn
  FROM webhooks w JOIN ${SUBJECT.sql} JOIN accounts a ON a.id = t.account_id
  WHERE w.id = ? AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS}`;

/**
 * Requests that a delivery is sent again, and wakes its webhook. A delivered or failed delivery becomes pending. A delivery that waits
 * for its next attempt becomes due now. A delivery that was never attempted is due already.
 * @throws {Problem} 404; 409 for a webhook that sends nothing, for a movement of an account that is being deleted, and for one that was
 * withdrawn.
 */
export async function redeliver(
  runtime: Pick<Runtime, 'database' | 'queues' | 'redis' | 'prefix' | 'log'>,
  caller: Caller,
  key: DeliveryKey,
): Promise<FoundDelivery> {
  const { database } = runtime;
  const { webhookId, subjectId } = key;
  // Checked before locking, because a caller that may not see the delivery must not wait for its locks.
  await findDelivery(database, caller, key);
  await inTransaction(database, async (sql) => {
    const sendable = await lockSendable(sql, webhookId);
    if (sendable !== 'accepted') throw notSendable(sendable);
    if (await isPulled(sql, webhookId)) throw pulled();
    const [movement] = await sql.query<Record<'is_deleting' | 'is_withdrawn', number | string>[]>(
      READ_MOVEMENT,
      [...SUBJECT.values(subjectId), webhookId],
    );
    if (Number(movement?.is_deleting) === 1) throw notSendable('account deleting');
    if (Number(movement?.is_withdrawn) === 1) throw notSendable('movement withdrawn');
    await lockCursor(sql, webhookId);
    const changed = await makePendingAgain(sql, webhookId, [subjectId], null);
    if (changed === 0) await sql.query(MAKE_RETRY_DUE, [webhookId, subjectId]);
    await markDue(sql, webhookId);
    await recordChange(sql, caller, { action: 'redeliver', subject: `delivery ${formatDeliveryId(key)}` });
  });
  const delivery = await findDelivery(database, caller, key);
  await wakeChangedWebhook(runtime, webhookId);
  return delivery;
}

/** Index: the primary key. */
const FIND_PULLED_WEBHOOK = "SELECT 1 FROM webhooks WHERE id = ? AND delivery = 'pull'";

const isPulled = async (sql: Sql, webhookId: string): Promise<boolean> =>
  (await sql.query<unknown[]>(FIND_PULLED_WEBHOOK, [webhookId])).length > 0;

const pulled = (): Problem =>
  new Problem(
    'pulled-webhook',
    'The events of this webhook are pulled, so nothing is sent. POST /v1/webhooks/{id}/replay moves its feed back.',
  );

/** The 409 for a webhook whose deliveries cannot be requested again. */
export function notSendable(
  status: Exclude<Sendable, 'accepted'> | 'account deleting' | 'movement withdrawn',
): Problem {
  switch (status) {
    case 'disabled':
      return new Problem(
        'webhook-disabled',
        'The webhook is disabled. Set its status to "active" with PATCH /v1/webhooks/{id} first.',
      );
    case 'account deleting':
      return new Problem(
        'account-deleting',
        'The account of this movement is being deleted. Nothing of it is sent any more.',
      );
    case 'movement withdrawn':
      return new Problem(
        'movement-withdrawn',
        'This movement was withdrawn. It is not sent any more. Webhooks for WITHDRAWN_TRANSACTION hear of its withdrawal.',
      );
    case 'deleted':
      return new Problem(
        'webhook-deleted',
        'The webhook was deleted. Create a new one, and read past movements with GET /v1/transactions.',
      );
  }
}

/**
 * Limits of counting a replay's deliveries. Above `counted`, the replay reports only that there are more. `entries` is how many index
 * entries are read for the count if not all of a range match.
 */
interface CountLimits {
  counted: number;
  entries: number;
}

/** Kept low, so that the request is answered quickly. */
const ACCEPTED: CountLimits = { counted: 1_000, entries: 5_000 };
/** Higher, because the count is all that a dry run returns. */
const DRY_RUN: CountLimits = { counted: 100_000, entries: 500_000 };

/** Indexes: transactions_readed and withdrawn_transactions_customer. */
const READ_NEWEST_MOVEMENT = `
  SELECT GREATEST(
    COALESCE((SELECT id FROM transactions FORCE INDEX (transactions_readed)
      WHERE customer_id = ? ORDER BY date_readed DESC, id DESC LIMIT 1), 0),
    COALESCE((SELECT MAX(event_id) FROM withdrawn_transactions WHERE customer_id = ?), 0)) AS id`;

/** Index: the primary key. */
const READ_NEWEST_EVENT = 'SELECT id FROM operational_events ORDER BY id DESC LIMIT 1';

const ADD_REPLAY = `
  INSERT INTO replays (customer_id, webhook_id, statuses, account_ids, position, until_id, to_come, created_at, finished_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** With millisecond precision, so that the answer and the table have the same value. */
const READ_TIME = 'SELECT NOW(3) AS now';

/** Dead letters of a range. Index: retries_due. */
const FAILED_IN_RANGE = `
  SELECT r.transaction_id, 'failed' AS status FROM retries r FORCE INDEX (retries_due)
  WHERE r.webhook_id = ? AND r.due_at IS NULL AND r.transaction_id > ? AND r.transaction_id <= ?
  ORDER BY r.transaction_id LIMIT ?`;

/** All deliveries of a range that had an attempt. Index: the primary key. */
const ATTEMPTED_IN_RANGE = `
  SELECT d.transaction_id, d.status FROM deliveries d FORCE INDEX (PRIMARY)
  WHERE d.webhook_id = ? AND d.transaction_id > ? AND d.transaction_id <= ?
  ORDER BY d.transaction_id LIMIT ?`;

const COUNT_MATCHED = (entries: string, ofAccounts: string) => `
  SELECT COUNT(*) AS looked, COALESCE(SUM(it.status IN (?)${ofAccounts}), 0) AS matched FROM (${entries}) it`;

/** Indexes: the primary keys, once for each entry read. */
const OF_ACCOUNTS = ` AND ${accountOf('it.transaction_id')} IN (?)`;

export interface ReplayRequest {
  webhook: { id: string; customerId: string; event?: string; delivery?: 'push' | 'pull' };
  /** `since` and `until` are inclusive. They refer to when the movement was stored (date_readed). A string is UTC: `2026-01-31 12:00:00`. */
  since: Date | string;
  until?: Date | string | undefined;
  /** Default: failed. Delivered deliveries are sent a second time only on request. */
  statuses?: readonly Replayable[] | undefined;
  /** Only deliveries of these accounts' movements. The webhook may have matched other accounts before. Default: all. */
  accountIds?: 'all' | readonly string[] | undefined;
}

export interface Replay {
  id: string;
  webhookId: string;
  statuses: Replayable[];
  /** How many deliveries the replay matches now. null: more than a thousand, or more than can be counted quickly. */
  matched: number | null;
  createdAt: Date;
}

/**
 * Stores the replay that a caller requests, and wakes the webhook.
 * @throws {Problem} 409 for a webhook that sends nothing; 403 for a feed that would hand out events of accounts that the caller cannot see.
 */
export async function requestReplay(
  runtime: Pick<Runtime, 'database' | 'queues' | 'redis' | 'prefix' | 'log'>,
  caller: Caller,
  request: ReplayRequest,
): Promise<Replay> {
  const { id } = request.webhook;
  const replay = await inTransaction(runtime.database, async (sql) => {
    const stored = await storeReplayOf(sql, request);
    const detail = `${stored.statuses.join(' and ')}, stored since ${request.since} UTC`;
    await recordChange(sql, caller, { action: 'replay', subject: `webhook ${id}`, detail });
    return stored;
  });
  if (replay.matched !== 0) await wakeChangedWebhook(runtime, id);
  return replay;
}

/** Stores a replay, or moves a feed back. @param sql a transaction. @throws {Problem} as `requestReplay`. */
export const storeReplayOf = (sql: Sql, request: ReplayRequest): Promise<Replay> =>
  request.webhook.delivery === 'pull' ? replayFeed(sql, request) : storeReplay(sql, request);

/**
 * Stores a replay as one row, however many deliveries it covers. The webhook's delivery runs work through it.
 * @param sql a transaction.
 * @throws {Problem} 409 for a webhook that sends nothing.
 */
export async function storeReplay(sql: Sql, request: ReplayRequest): Promise<Replay> {
  const { statuses, range, matched } = await measure(sql, request, ACCEPTED);
  const { webhook } = request;
  const accountIds = accountsOf(request);
  const [clock] = await sql.query<{ now: Date }[]>(READ_TIME);
  const createdAt = clock?.now ?? new Date();
  const { insertId } = await sql.query<WriteResult>(ADD_REPLAY, [
    webhook.customerId,
    webhook.id,
    statuses.join(','),
    accountIds === 'all' ? null : accountIds.join(','),
    range.position,
    range.untilId,
    matched,
    createdAt,
    matched === 0 ? createdAt : null,
  ]);
  await markDue(sql, webhook.id);
  return { id: String(insertId), webhookId: webhook.id, statuses, matched, createdAt };
}

/** A replay of a feed is done when it is stored. */
const ADD_DONE_REPLAY = `
  INSERT INTO replays (customer_id, webhook_id, statuses, position, until_id, replayed, to_come, created_at, started_at, finished_at)
  VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`;

/** Moves a feed back to before a moment. @param sql a transaction. */
async function replayFeed(sql: Sql, request: ReplayRequest): Promise<Replay> {
  const { range, createdAt, statuses } = await findFeedRange(sql, request);
  const { webhook } = request;
  const matched = await moveBack(sql, webhook.id, range.position);
  const { insertId } = await sql.query<WriteResult>(ADD_DONE_REPLAY, [
    webhook.customerId,
    webhook.id,
    statuses.join(','),
    range.position,
    range.untilId,
    matched,
    createdAt,
    createdAt,
    createdAt,
  ]);
  return { id: String(insertId), webhookId: webhook.id, statuses, matched, createdAt };
}

/** Finds what a replay of a feed covers. Locks the webhook's status until the transaction ends. */
async function findFeedRange(sql: Sql, { webhook, since, accountIds = 'all' }: ReplayRequest) {
  const sendable = await lockSendable(sql, webhook.id);
  if (sendable !== 'accepted') throw notSendable(sendable);
  const range = await findRange(sql, { customerId: webhook.customerId, ofEvents: false }, since, undefined);
  requireOwnAccounts(accountIds, await readAllFilters(sql, webhook.id), {
    after: Number(range.position),
    through: Number(range.untilId),
  });
  const [clock] = await sql.query<{ now: Date }[]>(READ_TIME);
  return { range, createdAt: clock?.now ?? new Date(), statuses: [...REPLAYABLE] };
}

/**
 * Counts the deliveries that a replay would send again, and stores nothing. It counts further than `storeReplay`: null means more
 * than 100,000, or more than can be counted quickly.
 * @throws {Problem} 409 for a webhook that sends nothing.
 */
export async function countReplay(
  database: DataSource,
  request: ReplayRequest,
): Promise<Pick<Replay, 'webhookId' | 'statuses' | 'matched'>> {
  if (request.webhook.delivery === 'pull')
    return inTransaction(database, async (sql) => {
      const { range, statuses } = await findFeedRange(sql, request);
      const matched = await countBack(sql, request.webhook.id, range.position);
      return { webhookId: request.webhook.id, statuses, matched };
    });
  const { statuses, matched } = await inTransaction(database, (sql) => measure(sql, request, DRY_RUN));
  return { webhookId: request.webhook.id, statuses, matched };
}

/** The account of a webhook that is sent events never changes. A key that can see the webhook can therefore see all its deliveries. */
const accountsOf = ({ webhook, accountIds = 'all' }: ReplayRequest): 'all' | readonly string[] =>
  isOfEvents(webhook.event) ? 'all' : accountIds;

/** Finds the range of a replay, and counts its matches. Locks the webhook's status until the transaction ends. */
async function measure(
  sql: Sql,
  request: ReplayRequest,
  limits: CountLimits,
): Promise<{ statuses: Replayable[]; range: IdRange; matched: number | null }> {
  const { webhook, since, until, statuses: asked = ['failed'] } = request;
  const statuses = REPLAYABLE.filter((status) => asked.includes(status));
  const sendable = await lockSendable(sql, webhook.id);
  if (sendable !== 'accepted') throw notSendable(sendable);
  const contents = { customerId: webhook.customerId, ofEvents: isOfEvents(webhook.event) };
  const range = await findRange(sql, contents, since, until);
  const matched = await countMatched(
    sql,
    webhook.id,
    { ...range, statuses, accountIds: accountsOf(request) },
    limits,
  );
  return { statuses, range, matched };
}

interface IdRange {
  /** The newest movement or event before the range; "0" when there is none. */
  position: string;
  untilId: string;
}

async function findRange(
  sql: Sql,
  contents: Contents,
  since: Date | string,
  until: Date | string | undefined,
): Promise<IdRange> {
  const position = await newestBefore(sql, contents, since, { inclusive: false });
  if (until !== undefined) {
    return { position, untilId: await newestBefore(sql, contents, until, { inclusive: true }) };
  }
  const [newest] = contents.ofEvents
    ? await sql.query<{ id: string }[]>(READ_NEWEST_EVENT)
    : await sql.query<{ id: string }[]>(READ_NEWEST_MOVEMENT, [contents.customerId, contents.customerId]);
  return { position, untilId: newest?.id ?? '0' };
}

/** If only failed deliveries are wanted, counts only the dead letters, which are few. */
async function countMatched(
  sql: Sql,
  webhookId: string,
  {
    position,
    untilId,
    statuses,
    accountIds,
  }: IdRange & { statuses: readonly Replayable[]; accountIds: 'all' | readonly string[] },
  { counted, entries: mostEntries }: CountLimits,
): Promise<number | null> {
  if (statuses.length === 0 || accountIds.length === 0 || BigInt(untilId) <= BigInt(position)) return 0;
  const entries = statuses.includes('delivered') ? ATTEMPTED_IN_RANGE : FAILED_IN_RANGE;
  const accounts = accountIds === 'all' ? [] : [accountIds];
  const limit = entries === FAILED_IN_RANGE && accountIds === 'all' ? counted + 1 : mostEntries;
  const [counts] = await sql.query<{ looked: string; matched: string }[]>(
    COUNT_MATCHED(entries, accountIds === 'all' ? '' : OF_ACCOUNTS),
    [statuses, ...accounts, webhookId, position, untilId, limit],
  );
  const matched = Number(counts?.matched);
  return matched > counted || Number(counts?.looked) === limit ? null : matched;
}
