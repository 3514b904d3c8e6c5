import type { Sql } from '../../platform/database/transaction.ts';
import type { RunRow } from '../../sources/find-source.ts';

/** Reads the sources of all customers, as the console shows them. */

export interface ConsoleSource {
  id: string;
  customer_id: string;
  customer: string;
  title: string;
  kind: string;
  status: 'active' | 'paused' | 'deleted';
  is_running: number | string;
  last_run_at: Date | null;
  next_run_at: Date | null;
  consecutive_failures: number;
  error: string | null;
}

const COLUMNS = `
  s.id, s.customer_id, u.name AS customer, s.title, s.kind, s.status, s.run_id IS NOT NULL AS is_running, s.last_run_at,
  s.next_run_at, s.consecutive_failures, s.error`;

/** Indexes: the primary keys. */
const ONE = `SELECT ${COLUMNS} FROM sources s JOIN customers u ON u.id = s.customer_id WHERE s.id = ?`;

/** Reads one source, also a deleted one; undefined: it does not exist. */
export async function readSource(sql: Sql, id: string): Promise<ConsoleSource | undefined> {
  const [source] = await sql.query<ConsoleSource[]>(ONE, [id]);
  return source;
}

/** Each way to find sources above an id, with its index. */
const FIND = {
  all: `SELECT id FROM sources FORCE INDEX (PRIMARY) WHERE status <> 'deleted' AND id > ? ORDER BY id LIMIT ?`,
  paused: `SELECT id FROM sources FORCE INDEX (sources_status) WHERE status = 'paused' AND id > ? ORDER BY id LIMIT ?`,
  customer: `
    SELECT id FROM sources FORCE INDEX (sources_page)
    WHERE customer_id = ? AND status <> 'deleted' AND id > ? ORDER BY id LIMIT ?`,
  // Those that are for the account alone, and those whose files had movements of it.
  account: `
    SELECT id FROM (
      SELECT id FROM sources FORCE INDEX (sources_account) WHERE account_id = ? AND status <> 'deleted'
      UNION SELECT a.source_id FROM source_accounts a FORCE INDEX (source_accounts_account) JOIN sources d ON d.id = a.source_id
      WHERE a.account_id = ? AND d.status <> 'deleted') f
    WHERE id > ? ORDER BY id LIMIT ?`,
} as const;

/** The ids are found first, so that the joins cost a page and no more. */
const ROWS = (ids: string) => `
  SELECT ${COLUMNS} FROM (${ids}) f JOIN sources s ON s.id = f.id JOIN customers u ON u.id = s.customer_id ORDER BY s.id`;

export interface SourceFilters {
  status: 'active' | 'paused' | null;
  customerId: string | null;
  accountId: string | null;
  after: string;
}

/**
 * Lists sources, the oldest first. One filter decides the index, and the others leave rows out, so that a page may be shorter than
 * `limit`.
 * @returns `next`: the id after which the next page begins; null: this is the last one.
 */
export async function listSources(
  sql: Sql,
  { status, customerId, accountId, after }: SourceFilters,
  limit: number,
): Promise<{ rows: ConsoleSource[]; next: string | null }> {
  const [find, values] =
    accountId !== null
      ? [FIND.account, [accountId, accountId]]
      : customerId !== null
        ? [FIND.customer, [customerId]]
        : [status === 'paused' ? FIND.paused : FIND.all, []];
  const found = await sql.query<ConsoleSource[]>(ROWS(find), [...values, after, limit + 1]);
  const page = found.slice(0, limit);
  return {
    rows: page.filter(
      (it) =>
        (status === null || it.status === status) && (customerId === null || it.customer_id === customerId),
    ),
    next: found.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}

/** Only what is in trouble is read. Index: sources_status. */
const IN_TROUBLE = `
  SELECT ${COLUMNS} FROM sources s FORCE INDEX (sources_status) STRAIGHT_JOIN customers u ON u.id = s.customer_id
  WHERE s.status = 'active' AND s.error IS NOT NULL ORDER BY s.consecutive_failures DESC, s.id LIMIT ?`;

const COUNT_TROUBLE = `
  SELECT COUNT(*) AS all_of_them, COALESCE(SUM(consecutive_failures > 0), 0) AS failing
  FROM sources FORCE INDEX (sources_status) WHERE status = 'active' AND error IS NOT NULL`;

/** Active sources with an error: those whose runs fail first, the most often failed on top, then those that brought a wrong file. */
export const findSourcesInTrouble = (sql: Sql, most: number): Promise<ConsoleSource[]> =>
  sql.query(IN_TROUBLE, [most]);

export interface SourcesInTrouble {
  /** Sources whose last runs failed. */
  failing: number;
  /** Sources that were reached, and brought a file that could not be imported, or not all of it. */
  withWrongFile: number;
}

export async function countSourcesInTrouble(sql: Sql): Promise<SourcesInTrouble> {
  const [row] = await sql.query<{ all_of_them: string; failing: string }[]>(COUNT_TROUBLE);
  const failing = Number(row?.failing);
  return { failing, withWrongFile: Number(row?.all_of_them) - failing };
}

/** Reads the runs and files of one source, as the console shows them. */

export const RUN_STATUSES = ['running', 'done', 'failed'] as const;

export interface RunFilters {
  status: (typeof RUN_STATUSES)[number] | null;
  /** UTC, as MySQL has it; null: no bound. */
  since: string | null;
  until: string | null;
  /** Only runs below this id. */
  before: string;
}

/** Index: source_runs_page. At most 1,000 runs of a source are kept, so filters may leave out what they like. */
const RUNS = (conditions: readonly string[]) => `
  SELECT id, status, started_at, finished_at, files, error FROM source_runs FORCE INDEX (source_runs_page)
  WHERE ${['source_id = ?', ...conditions, 'id < ?'].join(' AND ')} ORDER BY id DESC LIMIT ?`;

/** Lists runs of a source that began within a span of time, newest first. */
export function listRuns(
  sql: Sql,
  sourceId: string,
  { status, since, until, before }: RunFilters,
  limit: number,
): Promise<RunRow[]> {
  const given = [
    ['status = ?', status] as const,
    ['started_at >= ?', since] as const,
    ['started_at <= ?', until] as const,
  ].filter(([, value]) => value !== null);
  return sql.query(RUNS(given.map(([condition]) => condition)), [
    sourceId,
    ...given.map(([, value]) => value),
    before,
    limit,
  ]);
}

/** Index of both parts: source_runs_page. */
const FAILING_SINCE = `
  SELECT r.started_at FROM source_runs r FORCE INDEX (source_runs_page)
  WHERE r.source_id = ? AND r.status = 'failed' AND r.id > COALESCE(
    (SELECT MAX(d.id) FROM source_runs d FORCE INDEX (source_runs_page) WHERE d.source_id = ? AND d.status = 'done'), 0)
  ORDER BY r.id LIMIT 1`;

/** When the first failed run after the last one that was done began; null: the last run was done. */
export async function readFailingSince(sql: Sql, sourceId: string): Promise<Date | null> {
  const [run] = await sql.query<{ started_at: Date }[]>(FAILING_SINCE, [sourceId, sourceId]);
  return run?.started_at ?? null;
}

export interface WrongFile {
  name: string;
  run_id: string;
  /** Null: it was refused without an import. */
  import_id: string | null;
  created_at: Date;
}

/** Index: source_files_outcome. */
const WRONG_FILES = `
  SELECT name, run_id, import_id, created_at FROM source_files FORCE INDEX (source_files_outcome)
  WHERE outcome = 'failed' AND source_id = ? ORDER BY id DESC LIMIT ?`;

/** The newest files of a source that could not be imported, or not all of them. */
export const readWrongFiles = (sql: Sql, sourceId: string, most: number): Promise<WrongFile[]> =>
  sql.query(WRONG_FILES, [sourceId, most]);
