import type { Sql } from '../database/transaction.ts';
import type { Caller } from '../http/environment.ts';
import { notFound } from '../http/problem.ts';

/** A row of `sources`, as the API needs it. */
export interface SourceRow {
  id: string;
  customer_id: string;
  title: string;
  kind: string;
  settings: string;
  credentials: string | null;
  schedule: string;
  account_id: string | null;
  format: string;
  profile: string | null;
  create_accounts: number;
  status: 'active' | 'paused' | 'deleted';
  run_id: string | null;
  next_run_at: Date | null;
  last_run_at: Date | null;
  consecutive_failures: number;
  error: string | null;
  created_at: Date;
}

/** A key limited to accounts sees the sources of its accounts, and not those for all. */
const VISIBLE = `
  SELECT id, customer_id, title, kind, settings, credentials, schedule, account_id, format, profile, create_accounts, status, run_id,
    next_run_at, last_run_at, consecutive_failures, error, created_at
  FROM sources WHERE customer_id = ? AND status <> 'deleted' AND (? OR account_id IN (?))`;

const visibleTo = ({ customerId, accountIds }: Caller) => [
  customerId,
  accountIds === 'all',
  // `IN ()` is not valid SQL, and `IN (NULL)` matches nothing.
  accountIds === 'all' || accountIds.length === 0 ? [null] : accountIds,
];

/** Reads sources, the oldest first. Index: sources_page. */
export function findSources(
  sql: Sql,
  caller: Caller,
  { after, limit }: { after: string; limit: number },
): Promise<SourceRow[]> {
  return sql.query(`${VISIBLE} AND id > ? ORDER BY id LIMIT ?`, [...visibleTo(caller), after, limit]);
}

/** Reads a source. @throws {Problem} 404 when the caller cannot see it. */
export async function findSource(sql: Sql, caller: Caller, id: string): Promise<SourceRow> {
  const [found] = await sql.query<SourceRow[]>(`${VISIBLE} AND id = ?`, [...visibleTo(caller), id]);
  if (found === undefined) throw notFound('source');
  return found;
}
