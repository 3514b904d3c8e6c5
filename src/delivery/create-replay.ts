import type { DataSource } from 'typeorm';
import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { isOfEvents } from '../database/webhook-enums.ts';
import { REPLAYABLE, type Replayable } from './delivery-view.ts';
import { type Contents, newestBefore } from './list-deliveries.ts';
import { markDue } from './reconcile.ts';
import { lockSendable, notSendable } from './redelivery.ts';
import { wakeChangedWebhook } from './wake.ts';

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

const NEWEST = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? ORDER BY date_readed DESC, id DESC LIMIT 1`;

/** Index: the primary key. */
const NEWEST_EVENT = 'SELECT id FROM operational_events ORDER BY id DESC LIMIT 1';

const INSERT = `
  INSERT INTO replays (customer_id, webhook_id, statuses, account_ids, position, until_id, to_come, created_at, finished_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** With millisecond precision, so that the answer and the table have the same value. */
const NOW = 'SELECT NOW(3) AS now';

/** Dead letters of a range. Index: retries_due. */
const FAILED = `
  SELECT r.transaction_id, 'failed' AS status FROM retries r FORCE INDEX (retries_due)
  WHERE r.webhook_id = ? AND r.due_at IS NULL AND r.transaction_id > ? AND r.transaction_id <= ?
  ORDER BY r.transaction_id LIMIT ?`;

/** All deliveries of a range that had an attempt. Index: the primary key. */
const ATTEMPTED = `
  SELECT d.transaction_id, d.status FROM deliveries d FORCE INDEX (PRIMARY)
  WHERE d.webhook_id = ? AND d.transaction_id > ? AND d.transaction_id <= ?
  ORDER BY d.transaction_id LIMIT ?`;

const COUNT = (entries: string, ofAccounts: string) => `
  SELECT COUNT(*) AS looked, COALESCE(SUM(it.status IN (?)${ofAccounts}), 0) AS matched FROM (${entries}) it`;

/** Index: the primary key of transactions, once for each entry read. */
const OF_ACCOUNTS =
  ' AND EXISTS (SELECT 1 FROM transactions t WHERE t.id = it.transaction_id AND t.account_id IN (?))';

export interface ReplayRequest {
  webhook: { id: string; customerId: string; event?: string };
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
 * @throws {Problem} 409 for a webhook that sends nothing.
 */
export async function requestReplay(
  runtime: Pick<Runtime, 'database' | 'queues' | 'redis' | 'prefix' | 'log'>,
  caller: Caller,
  request: ReplayRequest,
): Promise<Replay> {
  const { id } = request.webhook;
  const replay = await inTransaction(runtime.database, async (sql) => {
    const stored = await storeReplay(sql, request);
    const detail = `${stored.statuses.join(' and ')}, stored since ${request.since} UTC`;
    await recordChange(sql, caller, { action: 'replay', subject: `webhook ${id}`, detail });
    return stored;
  });
  if (replay.matched !== 0) await wakeChangedWebhook(runtime, id);
  return replay;
}

/**
 * Stores a replay as one row, however many deliveries it covers. The webhook's delivery runs work through it.
 * @param sql a transaction.
 * @throws {Problem} 409 for a webhook that sends nothing.
 */
export async function storeReplay(sql: Sql, request: ReplayRequest): Promise<Replay> {
  const { statuses, range, matched } = await measure(sql, request, ACCEPTED);
  const { webhook } = request;
  const accountIds = accountsOf(request);
  const [clock] = await sql.query<{ now: Date }[]>(NOW);
  const createdAt = clock?.now ?? new Date();
  const { insertId } = await sql.query<WriteResult>(INSERT, [
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

/**
 * Counts the deliveries that a replay would send again, and stores nothing. It counts further than `storeReplay`: null means more
 * than 100,000, or more than can be counted quickly.
 * @throws {Problem} 409 for a webhook that sends nothing.
 */
export async function countReplay(
  database: DataSource,
  request: ReplayRequest,
): Promise<Pick<Replay, 'webhookId' | 'statuses' | 'matched'>> {
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
    ? await sql.query<{ id: string }[]>(NEWEST_EVENT)
    : await sql.query<{ id: string }[]>(NEWEST, [contents.customerId]);
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
  const entries = statuses.includes('delivered') ? ATTEMPTED : FAILED;
  const accounts = accountIds === 'all' ? [] : [accountIds];
  const limit = entries === FAILED && accountIds === 'all' ? counted + 1 : mostEntries;
  const [counts] = await sql.query<{ looked: string; matched: string }[]>(
    COUNT(entries, accountIds === 'all' ? '' : OF_ACCOUNTS),
    [statuses, ...accounts, webhookId, position, untilId, limit],
  );
  const matched = Number(counts?.matched);
  return matched > counted || Number(counts?.looked) === limit ? null : matched;
}
