import type { Sql } from '../../database/transaction.ts';

/** Reads the sources of all customers, as the console shows them. */

export interface SourceListRow {
  id: string;
  customer: string;
  title: string;
  kind: string;
  status: 'active' | 'paused';
  is_running: number | string;
  last_run_at: Date | null;
  next_run_at: Date | null;
  consecutive_failures: number;
  error: string | null;
}

/** Index: the primary key. The ids are found first, so that the join costs a page and no more. */
const LIST = `
  SELECT s.id, u.name AS customer, s.title, s.kind, s.status, s.run_id IS NOT NULL AS is_running, s.last_run_at, s.next_run_at,
    s.consecutive_failures, s.error
  FROM (SELECT id FROM sources FORCE INDEX (PRIMARY) WHERE id > ? AND status <> 'deleted' ORDER BY id LIMIT ?) f
  JOIN sources s ON s.id = f.id JOIN customers u ON u.id = s.customer_id ORDER BY s.id`;

/** Reads sources, the oldest first. */
export const listSources = (sql: Sql, after: string, limit: number): Promise<SourceListRow[]> =>
  sql.query(LIST, [after, limit]);
