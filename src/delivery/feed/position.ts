import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { Problem } from '../../platform/problem.ts';
import {
  concernedAt,
  dcOf,
  type Filter,
  indexOf,
  matchesNewMovements,
  ownerIdOf,
  ownerOf,
} from '../../webhook-record/filter.ts';
import { eachFilter, type IdRange, matchedAmong, type RemovedMovement } from '../filters.ts';
import type { LogFilter } from '../webhook-state.ts';
import type { Position } from './cursor.ts';

/**
 * Moves the position up to which a feed is acknowledged, with its counters. Movements that were matched up to the position are delivered or
 * failed. Movements that were matched beyond it are pending. A movement fails if its account is deleted before the movement is acknowledged.
 */

/** Every change of a feed's position or counters locks this row first. Index: the primary key. */
const LOCK_POSITION = `
  SELECT customer_id, sent_through, feed_epoch, failed_count FROM webhook_cursors WHERE webhook_id = ? FOR UPDATE`;

interface Locked {
  customer_id: string;
  sent_through: string;
  feed_epoch: number;
  failed_count: string;
}

const ADVANCE_POSITION = `
  UPDATE webhook_cursors SET sent_through = ?, delivered_count = delivered_count + ?, failed_count = failed_count + ?,
    progressed_at = NOW(6)
  WHERE webhook_id = ?`;

/**
 * Acknowledges all events up to a position. A position that is acknowledged already stays as it is.
 * @throws {Problem} 410 when the feed was replayed since the position was handed out.
 */
export async function acknowledge(
  database: DataSource,
  webhookId: string,
  { epoch, through }: Position,
): Promise<void> {
  await inTransaction(database, async (sql) => {
    const [feed] = await sql.query<Locked[]>(LOCK_POSITION, [webhookId]);
    if (feed === undefined) return;
    if (feed.feed_epoch !== epoch) throw replayed();
    if (Number(feed.sent_through) >= through) return;
    const range = { after: feed.sent_through, through: String(through) };
    const { live, deleting } = await countMatches(sql, { webhookId, customerId: feed.customer_id, ...range });
    await sql.query(ADVANCE_POSITION, [through, live, deleting, webhookId]);
  });
}

/** The 410 for a cursor from before a replay. */
export const replayed = (): Problem =>
  new Problem(
    'cursor-gone',
    'The feed was replayed after this cursor was handed out. Leave cursor out: the answer then begins where the replay begins.',
  );

const MOVE_POSITION_BACK = `
  UPDATE webhook_cursors SET sent_through = ?, delivered_count = delivered_count - ?, failed_count = failed_count - ?,
    feed_epoch = feed_epoch + 1
  WHERE webhook_id = ?`;

/** Nothing was matched before this id. Index: the primary key. */
const READ_FIRST_FILTER = 'SELECT MIN(from_id) AS id FROM webhook_filters WHERE webhook_id = ?';

/**
 * Moves the position of a feed back. Cursors that were handed out before are refused from then on.
 * @param sql a transaction.
 * @param through the new position. A later one than the present changes nothing.
 * @returns how many events are pending again.
 */
export async function moveBack(sql: Sql, webhookId: string, through: string): Promise<number> {
  const back = await measureBack(sql, webhookId, through);
  if (back === null) return 0;
  const { feed, to, live, deleting } = back;
  const failed = Math.min(deleting, Number(feed.failed_count));
  await sql.query(MOVE_POSITION_BACK, [to, live + deleting - failed, failed, webhookId]);
  return live + deleting;
}

/** Counts what `moveBack` would make pending. @param sql a transaction. */
export async function countBack(sql: Sql, webhookId: string, through: string): Promise<number> {
  const { live = 0, deleting = 0 } = (await measureBack(sql, webhookId, through)) ?? {};
  return live + deleting;
}

/** @returns null if the position would not move back. */
async function measureBack(sql: Sql, webhookId: string, through: string) {
  const [feed] = await sql.query<Locked[]>(LOCK_POSITION, [webhookId]);
  const [created] = await sql.query<{ id: string | null }[]>(READ_FIRST_FILTER, [webhookId]);
  const first = BigInt(created?.id ?? 0);
  const to = BigInt(through) < first ? first : BigInt(through);
  if (feed === undefined || to >= BigInt(feed.sent_through)) return null;
  const range = { after: String(to), through: feed.sent_through };
  const counts = await countMatches(sql, { webhookId, customerId: feed.customer_id, ...range });
  return { feed, to: String(to), ...counts };
}

/**
 * A webhook may have matched other accounts before. A reader that cannot see them must not read them, nor acknowledge them unread.
 * @param filters of the webhook, at least from `after` on.
 * @throws {Problem} 403.
 */
export function requireOwnAccounts(
  accountIds: 'all' | readonly string[],
  filters: readonly LogFilter[],
  { after, through }: { after: number; through: number },
): void {
  if (accountIds === 'all' || after >= through) return;
  const isForeign = filters.some(
    ({ from, through: end, filter }) =>
      from < through &&
      (end === null || end > after) &&
      filter !== null &&
      (filter.accountId === null || !accountIds.includes(filter.accountId)),
  );
  if (isForeign)
    throw new Problem(
      'pending-for-other-accounts',
      'This feed would have events of accounts that this API key cannot see. Read it with a key for all accounts.',
    );
}

/** Index: the primary key. */
const FIND_FEEDS =
  "SELECT id FROM webhooks FORCE INDEX (PRIMARY) WHERE id IN (?) AND delivery = 'pull' ORDER BY id";

const ADD_FAILED = 'UPDATE webhook_cursors SET failed_count = failed_count + ? WHERE webhook_id = ?';

/**
 * Counts the events of feeds that can never be handed out, because their movements are deleted with their account, or withdrawn.
 * @param sql the transaction that deletes or withdraws the movements.
 * @param webhookIds of any webhooks.
 * @param movements in the order of their ids.
 */
export async function failInFeeds(
  sql: Sql,
  webhookIds: readonly string[],
  movements: readonly RemovedMovement[],
): Promise<void> {
  if (movements.length === 0 || webhookIds.length === 0) return;
  for (const { id: webhookId } of await sql.query<{ id: string }[]>(FIND_FEEDS, [webhookIds])) {
    const [feed] = await sql.query<Locked[]>(LOCK_POSITION, [webhookId]);
    if (feed === undefined) continue;
    const pending = movements.filter(({ id }) => BigInt(id) > BigInt(feed.sent_through));
    const failed = (await matchedAmong(sql, webhookId, pending)).length;
    if (failed > 0) await sql.query(ADD_FAILED, [failed, webhookId]);
  }
}

/** Index: the primary key. */
const READ_DELETING_ACCOUNTS = 'SELECT account_id FROM deletions WHERE customer_id = ?';

/** Index: the one of the filter. */
const COUNT_MOVEMENTS = (range: { customerId: string; filter: Filter }, condition: string) => `
  SELECT COUNT(*) AS number FROM transactions t FORCE INDEX (${indexOf(range, 't').name})
  WHERE t.${ownerOf(range)} = ? AND t.id > ? AND t.id <= ?${condition}`;

/** Indexes: withdrawn_transactions_customer, and the primary key of webhook_filters. */
const COUNT_WITHDRAWALS = (condition: string) => `
  SELECT COALESCE(SUM(${concernedAt('t')}), 0) AS number
  FROM withdrawn_transactions t FORCE INDEX (withdrawn_transactions_customer)
  WHERE t.customer_id = ? AND t.event_id > ? AND t.event_id <= ?${condition}`;

/**
 * Counts the stored movements in a range of ids that a webhook matched when they were stored, and the withdrawals that it hears of.
 * @returns live: of accounts that stay. deleting: of accounts that are being deleted.
 */
export async function countMatches(
  sql: Sql,
  { webhookId, customerId, after, through }: { webhookId: string; customerId: string } & IdRange,
): Promise<{ live: number; deleting: number }> {
  const deletions = await sql.query<{ account_id: string }[]>(READ_DELETING_ACCOUNTS, [customerId]);
  const accounts = deletions.map(({ account_id }) => account_id);
  let matched = 0;
  let deleting = 0;
  const countWithdrawals = async (condition: string, values: unknown[]) => {
    const [row] = await sql.query<{ number: string | number }[]>(COUNT_WITHDRAWALS(condition), values);
    return Number(row?.number ?? 0);
  };
  await eachFilter(sql, webhookId, { after, through }, async ({ fromId, throughId, filter }) => {
    if (filter.withdrawals) {
      const ofRange = [webhookId, customerId, fromId, throughId];
      matched += await countWithdrawals('', ofRange);
      if (accounts.length > 0)
        deleting += await countWithdrawals(' AND t.account_id IN (?)', [...ofRange, accounts]);
    }
    if (!matchesNewMovements(filter)) return;
    const range = { customerId, filter };
    const dc = dcOf(filter);
    const count = async (condition: string, values: unknown[]) => {
      const ofFilter = dc === null ? [] : [dc];
      const [row] = await sql.query<{ number: string | number }[]>(
        COUNT_MOVEMENTS(range, `${dc === null ? '' : ' AND t.dc = ?'}${condition}`),
        [ownerIdOf(range), fromId, throughId, ...ofFilter, ...values],
      );
      return Number(row?.number);
    };
    matched += await count('', []);
    if (accounts.length > 0) deleting += await count(' AND t.account_id IN (?)', [accounts]);
  });
  return { live: matched - deleting, deleting };
}
