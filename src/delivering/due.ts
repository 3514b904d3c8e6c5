import type { Sql } from '../database/transaction.ts';
import type { NotifiedMovement } from './notification.ts';

/** A delivery to be sent now, with all that its body is made of. */
export interface DueDelivery extends NotifiedMovement {
  id: string;
  attempts: number;
  failures: number;
  /** 1: never tried, or asked for again by hand. 0: its next attempt on the schedule has come. */
  fresh: number;
  /** The webhook's revision at the time of reading: another one means that its settings must be read again. */
  revision: number;
}

/**
 * A delivery is due at this moment until its first attempt: no clock, right or wrong, can hold it back, and
 * new deliveries of one webhook are in the order of their ids.
 */
export const AT_ONCE = "'1970-01-01 00:00:00'";

/**
 * The moment at which the next delivery of the webhook of that column is due, NULL when it is owed nothing: the first entry of
 * the index for it. With MIN, or with the condition inside, MySQL would walk through all that a webhook is owed.
 */
export const NEXT_DUE_AT = (webhookId: string) => `(
    SELECT d.due_at FROM deliveries d FORCE INDEX (deliveries_due)
    WHERE d.webhook_id = ${webhookId} AND d.status = 'pending' ORDER BY d.due_at LIMIT 1)`;

/**
 * Two ranges of the index deliveries_due, read in its order: those whose next attempt has come, and those never tried.
 * Each has its share of a batch, so that neither a flood of new movements holds retries back, nor the other way round.
 * They are found first and joined then: joined at once, the optimiser reads and sorts all that the webhook is owed. The order
 * of joining is stated too: after a large import, before InnoDB has counted anew, it would begin with all movements.
 */
const READ_DUE = `
  SELECT STRAIGHT_JOIN due.fresh, due.id, due.attempts, due.failures, due.transaction_id, w.revision, t.dc, t.code, t.amount, t.balance,
    a.currency, t.description, t.account_id, a.title AS account, b.name AS bank, t.opponent_id, t.opponent_iban, t.date_issue
  FROM (
    (SELECT 0 AS fresh, id, webhook_id, transaction_id, attempts, failures
     FROM deliveries FORCE INDEX (deliveries_due)
     WHERE webhook_id = ? AND status = 'pending' AND due_at > ${AT_ONCE} AND due_at <= NOW(6)
     ORDER BY due_at, id LIMIT ?)
    UNION ALL
    (SELECT 1 AS fresh, id, webhook_id, transaction_id, attempts, failures
     FROM deliveries FORCE INDEX (deliveries_due)
     WHERE webhook_id = ? AND status = 'pending' AND due_at = ${AT_ONCE} AND id > ?
     ORDER BY id LIMIT ?)
  ) due
  JOIN webhooks w ON w.id = due.webhook_id AND w.status = 'active'
  JOIN transactions t ON t.id = due.transaction_id
  JOIN accounts a ON a.id = t.account_id
  JOIN banks b ON b.id = a.bank_id`;

/** Deliveries read in one query; those due for another attempt have a quarter of it. */
const READ_FRESH = 300;
const READ_RETRIES = 100;

/** What one look found to be due. */
export interface Batch {
  rows: DueDelivery[];
  /** The newest id among those never tried; where the next look begins. */
  newestFresh: string;
  /** Nothing else was due at that moment. */
  complete: boolean;
}

/**
 * Reads what one webhook is owed now: first those that have been tried before, then those never tried beyond the id `after`,
 * each in the order of their ids. Nothing when the webhook is not active.
 */
export async function readDue(sql: Sql, webhookId: string, after = '0'): Promise<Batch> {
  const rows = await sql.query<DueDelivery[]>(READ_DUE, [
    webhookId,
    READ_RETRIES,
    webhookId,
    after,
    READ_FRESH,
  ]);
  // By MySQL they would be written into a temporary table, texts and all, for a third more of its time.
  rows.sort((a, b) => a.fresh - b.fresh || Number(a.id) - Number(b.id));
  const fresh = rows.filter((row) => row.fresh === 1);
  return {
    rows,
    newestFresh: fresh.at(-1)?.id ?? after,
    complete: fresh.length < READ_FRESH && rows.length - fresh.length < READ_RETRIES,
  };
}

/**
 * When the rate limit lets the next POST go, from `pumps p`. The interval is a second at most: what lies further ahead was
 * written before the clock was set back.
 */
export const RATE_NEXT_AT = 'IF(p.rate_next_at < NOW(6) + INTERVAL 2 SECOND, p.rate_next_at, NULL)';
