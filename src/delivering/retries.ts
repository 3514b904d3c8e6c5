import type { Sql } from '../database/transaction.ts';
import type { Delivery, LoggedMovement } from './run/types.ts';

/** Reads the retries of a webhook that are due. */

/**
 * The movements are joined after the limit has been applied. In a direct join, the optimiser may read and sort all retries of the
 * webhook. Index: retries_due.
 */
const READ = (order: 'due_at' | 'transaction_id') => `
  SELECT STRAIGHT_JOIN r.transaction_id AS id, r.attempts, r.failures, r.due_in, t.id AS transaction_id, t.dc, t.code, t.amount,
    t.balance, a.currency, t.description, t.account_id, a.title AS account, b.name AS bank, t.opponent_id, t.opponent_iban,
    t.date_issue, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t.date_readed) AS stored_at
  FROM (
    SELECT transaction_id, attempts, failures, TIMESTAMPDIFF(MICROSECOND, NOW(6), due_at) / 1000 AS due_in
    FROM retries FORCE INDEX (retries_due)
    WHERE webhook_id = ? AND due_at IS NOT NULL ORDER BY ${order} LIMIT ?
  ) r
  LEFT JOIN transactions t ON t.id = r.transaction_id
  LEFT JOIN accounts a ON a.id = t.account_id
  LEFT JOIN banks b ON b.id = a.bank_id`;

type Row = Omit<LoggedMovement, 'transaction_id'> & {
  id: string;
  attempts: number;
  failures: number;
  due_in: string;
  transaction_id: string | null;
};

/** Retries of one webhook that are due. */
export interface RetriesRead {
  deliveries: Delivery[];
  /** Milliseconds until the next retry that is not among them; 0: more are due. null: there is none. */
  nextIn: number | null;
}

/**
 * Reads the retries of a webhook that are due, the longest due first. For an ordered webhook, the limit counts from the lowest
 * transaction id: with a limit of 1, only the first retry in its order is read, if it is due.
 */
export async function readRetries(
  sql: Sql,
  webhookId: string,
  { ordered, limit }: { ordered: boolean; limit: number },
): Promise<RetriesRead> {
  const rows = await sql.query<Row[]>(READ(ordered ? 'transaction_id' : 'due_at'), [webhookId, limit]);
  rows.sort((one, other) => Number(one.due_in) - Number(other.due_in));
  const due = rows.filter(({ due_in }) => Number(due_in) <= 0);
  const later = rows.find(({ due_in }) => Number(due_in) > 0);
  const nextIn = later === undefined ? (due.length === limit ? 0 : null) : Number(later.due_in);
  return { deliveries: due.map(toDelivery), nextIn };
}

function toDelivery({ id, attempts, failures, transaction_id, ...movement }: Row): Delivery {
  return {
    transactionId: Number(id),
    source: 'retries',
    attempts,
    failures,
    movement: transaction_id === null ? null : { ...movement, transaction_id },
  };
}
