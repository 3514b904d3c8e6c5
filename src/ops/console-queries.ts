import type { Sql } from '../database/transaction.ts';
import { PENDING } from '../webhooks/pending.ts';

/** How many webhooks, and how many imports, the console shows. */
const SHOWN = 50;

export interface WebhookNeedingAttention {
  id: string;
  title: string;
  customer: string;
  status: string;
  status_reason: string | null;
  consecutive_failures: number;
  last_error: string | null;
  /** Seconds for which the circuit stays open; null when it is not open. */
  circuit_seconds: string | null;
  failing_since: Date | null;
  pending: string;
}

const WEBHOOKS_NEEDING_ATTENTION = `
  SELECT w.id, w.title, u.name AS customer, w.status, w.status_reason, c.consecutive_failures, c.last_error, c.failing_since,
    TIMESTAMPDIFF(SECOND, NOW(6), IF(c.circuit_open_until > NOW(6), c.circuit_open_until, NULL)) AS circuit_seconds,
    ${PENDING} AS pending
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    JOIN customers u ON u.id = w.customer_id
  WHERE w.status <> 'deleted' AND (w.status <> 'active' OR c.failing_since IS NOT NULL)
  ORDER BY c.failing_since IS NULL, c.failing_since, w.id LIMIT ${SHOWN}`;

/** Reads failing, paused and disabled webhooks of all customers: those that have been failing for the longest time first. */
export const readWebhooksNeedingAttention = (sql: Sql): Promise<WebhookNeedingAttention[]> =>
  sql.query(WEBHOOKS_NEEDING_ATTENTION);

export interface UnfinishedImport {
  id: string;
  customer: string;
  status: string;
  checkpoint: number;
  error: string | null;
  received_at: Date;
}

const UNFINISHED_IMPORTS = `
  SELECT i.id, c.name AS customer, i.status, i.checkpoint, i.error, i.received_at
  FROM imports i JOIN customers c ON c.id = i.customer_id
  WHERE i.status IN ('queued', 'running', 'failed') ORDER BY i.id DESC LIMIT ${SHOWN}`;

/** Reads queued, running and failed imports of all customers, newest first. */
export const readUnfinishedImports = (sql: Sql): Promise<UnfinishedImport[]> => sql.query(UNFINISHED_IMPORTS);
