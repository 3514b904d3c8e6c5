import type { Sql } from '../../database/transaction.ts';
import { concernedAt } from '../../webhook-record/filter.ts';
import type { LoggedMovement } from '../run/types.ts';
import type { LogRange, LogRead } from './log-ranges.ts';
import { WITHDRAWAL_COLUMNS } from './logged-movement.ts';

/**
 * Reads the withdrawals of movements that a webhook hears of. Their ids are of the same sequence as those of movements, so that they take
 * their place in the log.
 */

/** The most withdrawals of a customer that are looked at in one read. */
const MOST_LOOKED_AT = 1_000;

/**
 * Looks at a limited number, because a webhook may hear of few of very many. Indexes: withdrawn_transactions_customer, and the primary keys.
 */
const READ_IDS = `
  SELECT event_id AS id FROM withdrawn_transactions FORCE INDEX (withdrawn_transactions_customer)
  WHERE customer_id = ? AND event_id > ? AND event_id <= ? ORDER BY customer_id, event_id LIMIT ${MOST_LOOKED_AT}`;

const READ_WITHDRAWALS = (condition: string) => `
  SELECT ${WITHDRAWAL_COLUMNS} FROM withdrawn_transactions t
  STRAIGHT_JOIN accounts a FORCE INDEX (PRIMARY) ON a.id = t.account_id
  STRAIGHT_JOIN banks b FORCE INDEX (PRIMARY) ON b.id = a.bank_id
  WHERE t.event_id IN (?) ${condition} ORDER BY t.event_id`;

/** Index: the primary key of deliveries. */
const WITHOUT_RESULT =
  'AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id = t.event_id)';

/**
 * Adds the withdrawals that a webhook hears of to a read of its log.
 * @param range as it was read. It may end at the limit.
 */
export async function addWithdrawals(
  sql: Sql,
  webhookId: string,
  { customerId, after, limit, withoutResultsOf }: Omit<LogRange, 'filter'>,
  read: LogRead,
): Promise<LogRead> {
  const found = await sql.query<{ id: string }[]>(READ_IDS, [customerId, after, read.through]);
  if (found.length === 0) return read;
  const isWhole = found.length < MOST_LOOKED_AT;
  const reached = isWhole ? read.through : Number(found.at(-1)?.id);
  const [condition, values] = withoutResultsOf === null ? ['', []] : [WITHOUT_RESULT, [withoutResultsOf]];
  const withdrawals = await sql.query<LoggedMovement[]>(
    READ_WITHDRAWALS(`AND ${concernedAt('t')} ${condition}`),
    [found.map(({ id }) => id), webhookId, ...values],
  );
  const idOf = ({ transaction_id }: LoggedMovement) => Number(transaction_id);
  const all = [...read.movements.filter((it) => idOf(it) <= reached), ...withdrawals];
  all.sort((one, other) => idOf(one) - idOf(other));
  const movements = all.slice(0, limit);
  const last = movements.at(-1);
  if (movements.length < all.length && last !== undefined)
    return { ...read, movements, through: idOf(last), complete: false };
  return { ...read, movements, through: reached, complete: read.complete && isWhole };
}

/** Reads withdrawals by their own ids. Index: the primary keys. */
export const readWithdrawalsById = (sql: Sql, ids: readonly string[]): Promise<LoggedMovement[]> =>
  ids.length === 0 ? Promise.resolve([]) : sql.query<LoggedMovement[]>(READ_WITHDRAWALS(''), [ids]);

/** Index: withdrawn_transactions_id. */
const FIND_WITHDRAWN = 'SELECT id FROM withdrawn_transactions WHERE id IN (?)';

/** @returns which of these movements were withdrawn. */
export async function findWithdrawn(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql.query<{ id: string }[]>(FIND_WITHDRAWN, [ids]);
  return new Set(rows.map(({ id }) => id));
}
