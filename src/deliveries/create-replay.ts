import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { lockSendable, type Sendable } from './request-redelivery.ts';

/** How a delivery that can be replayed has ended. */
export const REPLAYABLE = ['failed', 'delivered'] as const;
export type Replayable = (typeof REPLAYABLE)[number];

/** As many deliveries are counted; of more a replay says only that there are more. */
const COUNTED = 1_000;

/** Entries looked at to count them, where not all of a range match. */
const LOOKED_AT = 5_000;

/** Ids and date_readed grow together per customer: each bound is one place in the index. */
const NEWEST_BEFORE = (compare: '<' | '<=') => `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed ${compare} ? ORDER BY date_readed DESC, id DESC LIMIT 1`;

const NEWEST = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? ORDER BY date_readed DESC, id DESC LIMIT 1`;

const INSERT = `
  INSERT INTO replays (customer_id, webhook_id, statuses, account_ids, position, until_id, created_at, finished_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

/** Milliseconds, so that the answer and the table say the same. */
const NOW = 'SELECT NOW(3) AS now';

/** Dead letters of a range, in the index retries_due. */
const FAILED = `
  SELECT r.transaction_id, 'failed' AS status FROM retries r FORCE INDEX (retries_due)
  WHERE r.webhook_id = ? AND r.due_at IS NULL AND r.transaction_id > ? AND r.transaction_id <= ?
  ORDER BY r.transaction_id LIMIT ?`;

/** All deliveries of a range that had an attempt, by the primary key. */
const ATTEMPTED = `
  SELECT d.transaction_id, d.status FROM deliveries d FORCE INDEX (PRIMARY)
  WHERE d.webhook_id = ? AND d.transaction_id > ? AND d.transaction_id <= ?
  ORDER BY d.transaction_id LIMIT ?`;

const COUNT = (looked: string, ofAccounts: string) => `
  SELECT COUNT(*) AS looked, COALESCE(SUM(it.status IN (?)${ofAccounts}), 0) AS matched FROM (${looked}) it`;

/** Primary key of transactions, once for each entry looked at. */
const OF_ACCOUNTS =
  ' AND EXISTS (SELECT 1 FROM transactions t WHERE t.id = it.transaction_id AND t.account_id IN (?))';

export interface ReplayRequest {
  webhook: { id: string; customerId: string };
  /** Both inclusive, on when the movement was stored (its date_readed). A string is UTC: `2026-01-31 12:00:00`. */
  since: Date | string;
  until?: Date | string | undefined;
  /** Default: failed. What was delivered is sent a second time only to who asks for it. */
  statuses?: readonly Replayable[] | undefined;
  /** Only notifications of these accounts' movements: the webhook may have been for others before. Default: all. */
  accountIds?: 'all' | readonly string[] | undefined;
}

export interface Replay {
  id: string;
  webhookId: string;
  statuses: Replayable[];
  /** How many deliveries it finds now; null: more than a thousand, or more than can be counted quickly. */
  matched: number | null;
  createdAt: Date;
}

/**
 * Accepts a replay: one row, however many deliveries it is for. Delivery runs of the webhook work it off; the caller wakes the
 * webhook.
 * @returns 'disabled' or 'deleted' for a webhook that sends nothing.
 */
export function createReplay(
  database: DataSource,
  request: ReplayRequest,
): Promise<Replay | Exclude<Sendable, 'accepted'>> {
  return inTransaction(database, (sql) => storeReplay(sql, request));
}

/** The same in a transaction of the caller's. */
export async function storeReplay(
  sql: Sql,
  { webhook, since, until, statuses: asked = ['failed'], accountIds = 'all' }: ReplayRequest,
): Promise<Replay | Exclude<Sendable, 'accepted'>> {
  const statuses = REPLAYABLE.filter((status) => asked.includes(status));
  const sendable = await lockSendable(sql, webhook.id);
  if (sendable !== 'accepted') return sendable;
  const range = await findRange(sql, webhook.customerId, since, until);
  const matched = await countMatched(sql, webhook.id, { ...range, statuses, accountIds });
  const [clock] = await sql.query<{ now: Date }[]>(NOW);
  const createdAt = clock?.now ?? new Date();
  const { insertId } = await sql.query<WriteResult>(INSERT, [
    webhook.customerId,
    webhook.id,
    statuses.join(','),
    accountIds === 'all' ? null : accountIds.join(','),
    range.position,
    range.untilId,
    createdAt,
    matched === 0 ? createdAt : null,
  ]);
  return { id: String(insertId), webhookId: webhook.id, statuses, matched, createdAt };
}

interface IdRange {
  /** The newest movement before the range; "0" when there is none. */
  position: string;
  untilId: string;
}

async function findRange(
  sql: Sql,
  customerId: string,
  since: Date | string,
  until: Date | string | undefined,
): Promise<IdRange> {
  const [before] = await sql.query<{ id: string }[]>(NEWEST_BEFORE('<'), [customerId, since]);
  const [last] =
    until === undefined
      ? await sql.query<{ id: string }[]>(NEWEST, [customerId])
      : await sql.query<{ id: string }[]>(NEWEST_BEFORE('<='), [customerId, until]);
  return { position: before?.id ?? '0', untilId: last?.id ?? '0' };
}

/** Failed ones alone are counted among the dead letters, which are few; what was delivered stands in between all others. */
async function countMatched(
  sql: Sql,
  webhookId: string,
  {
    position,
    untilId,
    statuses,
    accountIds,
  }: IdRange & { statuses: readonly Replayable[]; accountIds: 'all' | readonly string[] },
): Promise<number | null> {
  if (statuses.length === 0 || accountIds.length === 0 || BigInt(untilId) <= BigInt(position)) return 0;
  const looked = statuses.includes('delivered') ? ATTEMPTED : FAILED;
  const accounts = accountIds === 'all' ? [] : [accountIds];
  const limit = looked === FAILED && accountIds === 'all' ? COUNTED + 1 : LOOKED_AT;
  const [counts] = await sql.query<{ looked: string; matched: string }[]>(
    COUNT(looked, accountIds === 'all' ? '' : OF_ACCOUNTS),
    [statuses, ...accounts, webhookId, position, untilId, limit],
  );
  const matched = Number(counts?.matched);
  return matched > COUNTED || Number(counts?.looked) === limit ? null : matched;
}
