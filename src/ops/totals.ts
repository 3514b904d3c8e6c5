import type { Sql } from '../database/transaction.ts';
import { PENDING } from '../webhooks/pending.ts';

/** What is to be done, in all customers together. */
export interface Totals {
  /** Pending deliveries of active webhooks. */
  pending: number;
  /** Pending deliveries of paused and disabled webhooks. */
  held: number;
  circuitsOpen: number;
  /** Active webhooks whose last attempts failed. */
  failing: number;
  /** Webhooks that are failing, paused or disabled. */
  needingAttention: number;
  /** Webhooks that the service has paused, because their delivery runs kept crashing. */
  quarantined: number;
  imports: { queued: number; running: number; failed: number };
}

/** The table of webhooks is read once. A webhook that its owner has paused has no status_reason. */
const WEBHOOKS = `
  SELECT COALESCE(SUM(IF(w.status = 'active', ${PENDING}, 0)), 0) AS pending,
    COALESCE(SUM(IF(w.status <> 'active', ${PENDING}, 0)), 0) AS held,
    COALESCE(SUM(w.status = 'active' AND c.circuit_open_until > NOW(6)), 0) AS circuits_open,
    COALESCE(SUM(w.status = 'active' AND c.failing_since IS NOT NULL), 0) AS failing,
    COALESCE(SUM(w.status <> 'active' OR c.failing_since IS NOT NULL), 0) AS needing_attention,
    COALESCE(SUM(w.status = 'paused' AND w.status_reason IS NOT NULL), 0) AS quarantined
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.status <> 'deleted'`;

/** Index: imports_status. */
const IMPORTS = `
  SELECT status, COUNT(*) AS number FROM imports WHERE status IN ('queued', 'running', 'failed') GROUP BY status`;

/** Reads the totals. Nothing is counted delivery by delivery. */
export async function readTotals(sql: Sql): Promise<Totals> {
  const [webhooks] = await sql.query<Record<string, string | null>[]>(WEBHOOKS);
  const imports = await sql.query<{ status: string; number: string }[]>(IMPORTS);
  const count = (status: string) => Number(imports.find((it) => it.status === status)?.number ?? 0);
  return {
    pending: Number(webhooks?.pending),
    held: Number(webhooks?.held),
    circuitsOpen: Number(webhooks?.circuits_open),
    failing: Number(webhooks?.failing),
    needingAttention: Number(webhooks?.needing_attention),
    quarantined: Number(webhooks?.quarantined),
    imports: { queued: count('queued'), running: count('running'), failed: count('failed') },
  };
}

/**
 * For each active webhook with pending deliveries, its first movement in the log without an attempt, and its oldest one that is to
 * be tried again. `matched_after` skips a gap in which nothing matches. Indexes: transactions_customer_page, retries_due, and the
 * primary keys.
 */
const FIRST_PENDING = (condition: string) => `
    SELECT w.id AS webhook_id,
      (SELECT l.id FROM transactions l FORCE INDEX (transactions_customer_page)
        WHERE l.customer_id = w.customer_id
          AND l.id > IF(c.sent_through >= b.previous_through, GREATEST(c.sent_through, b.matched_after), c.sent_through)
          AND l.id <= b.matched_through AND (w.account_id IS NULL OR l.account_id = w.account_id)
          AND (w.event = 'NEW_TRANSACTION' OR w.event = CONCAT('NEW_', UPPER(l.dc)))
          AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.transaction_id = l.id)
        ORDER BY l.customer_id, l.id LIMIT 1) AS unattempted,
      (SELECT MIN(r.transaction_id) FROM retries r FORCE INDEX (retries_due)
        WHERE r.webhook_id = w.id AND r.due_at IS NOT NULL) AS retried
    FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    WHERE w.status = 'active' AND ${PENDING} > 0 ${condition}`;

const OLDER_OF_BOTH = 't.id = LEAST(COALESCE(p.unattempted, p.retried), COALESCE(p.retried, p.unattempted))';

const OLDEST_PENDING = `
  SELECT MIN(t.date_readed) AS oldest FROM (${FIRST_PENDING('')}) p JOIN transactions t ON ${OLDER_OF_BOTH}`;

const LONGEST_WAITING = `
  SELECT p.webhook_id AS id, t.date_readed AS oldest
  FROM (${FIRST_PENDING('AND c.failing_since IS NULL')}) p JOIN transactions t ON ${OLDER_OF_BOTH}
  ORDER BY t.date_readed, p.webhook_id LIMIT ?`;

/**
 * When the oldest pending movement of an active webhook was stored; null when nothing is pending. What a webhook matched before its
 * event or account were changed is not looked at.
 */
export async function readOldestPending(sql: Sql): Promise<Date | null> {
  const [row] = await sql.query<{ oldest: Date | null }[]>(OLDEST_PENDING);
  return row?.oldest ?? null;
}

/**
 * The webhooks whose endpoints answer, and which have nevertheless had something pending for the longest time, those first.
 * @returns when their oldest pending movements were stored, by the ids of the webhooks.
 */
export async function readLongestWaiting(sql: Sql, most: number): Promise<ReadonlyMap<string, Date>> {
  const rows = await sql.query<{ id: string; oldest: Date }[]>(LONGEST_WAITING, [most]);
  return new Map(rows.map(({ id, oldest }) => [id, oldest]));
}
