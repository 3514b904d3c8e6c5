import { type Caller, visibleAccounts } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import { cutPage, type Page } from '../platform/page.ts';
import { notFound } from '../platform/problem.ts';

/** Finds sources and their runs, for the API and for the console. */

/** The state of a source, with the name of its customer. */
export interface SourceSummary {
  id: string;
  customer_id: string;
  customer: string;
  title: string;
  kind: string;
  status: 'active' | 'paused' | 'deleted';
  run_id: string | null;
  last_run_at: Date | null;
  next_run_at: Date | null;
  consecutive_failures: number;
  error: string | null;
}

export const SUMMARY_COLUMNS = `
  s.id, s.customer_id, u.name AS customer, s.title, s.kind, s.status, s.run_id, s.last_run_at, s.next_run_at,
  s.consecutive_failures, s.error`;

export interface SourceRow extends SourceSummary {
  settings: string;
  /** Sealed. */
  credentials: string | null;
  schedule: string;
  account_id: string | null;
  format: string;
  profile: string | null;
  encoding: string | null;
  create_accounts: number;
  force_account: number;
  settle_seconds: number | null;
  on_conflict: 'hold' | 'store' | null;
  created_at: Date;
}

/** Finds the ids first, so that only one page is joined, whatever the statistics say. Indexes of the joins: the primary keys. */
const READ_SOURCES = (ids: string) => `
  SELECT ${SUMMARY_COLUMNS}, s.settings, s.credentials, s.schedule, s.account_id, s.format, s.profile, s.encoding, s.create_accounts,
    s.force_account, s.settle_seconds, s.on_conflict, s.created_at
  FROM (${ids}) f STRAIGHT_JOIN sources s FORCE INDEX (PRIMARY) ON s.id = f.id
  STRAIGHT_JOIN customers u FORCE INDEX (PRIMARY) ON u.id = s.customer_id ORDER BY s.id`;

/** A key limited to accounts sees only sources of its accounts, and none for all accounts. */
const IS_VISIBLE = "customer_id = ? AND status <> 'deleted' AND (? OR account_id IN (?))";

const visibleTo = ({ customerId, accountIds }: SourceViewer) => [
  customerId,
  accountIds === 'all',
  visibleAccounts({ accountIds }),
];

/** Each way to find sources above an id, with its index. */
const FIND_IDS = {
  all: `SELECT id FROM sources FORCE INDEX (PRIMARY) WHERE status <> 'deleted' AND id > ? ORDER BY id LIMIT ?`,
  paused: `SELECT id FROM sources FORCE INDEX (sources_status) WHERE status = 'paused' AND id > ? ORDER BY id LIMIT ?`,
  customer: `
    SELECT id FROM sources FORCE INDEX (sources_page)
    WHERE ${IS_VISIBLE} AND id > ? ORDER BY id LIMIT ?`,
  // Sources for this account alone, and sources whose files had movements of it.
  account: `
    SELECT id FROM (
      SELECT id FROM sources FORCE INDEX (sources_account) WHERE account_id = ? AND status <> 'deleted'
      UNION SELECT a.source_id FROM source_accounts a FORCE INDEX (source_accounts_account) JOIN sources d ON d.id = a.source_id
      WHERE a.account_id = ? AND d.status <> 'deleted') f
    WHERE id > ? ORDER BY id LIMIT ?`,
} as const;

/** The caller that looks at the sources of a customer. */
type SourceViewer = Pick<Caller, 'customerId' | 'accountIds'>;

interface SourceFilters {
  /** null: the sources of all customers, for operators. */
  viewer: SourceViewer | null;
  status?: 'active' | 'paused' | undefined;
  /** Only for operators. */
  accountId?: string | undefined;
  after: string;
}

/**
 * Lists sources, the oldest first. One filter decides the index. The other filters leave rows out, so a page may be shorter than
 * `limit`.
 * @returns `next`: the id after which the next page begins; null: this is the last page.
 */
export async function listSources(
  sql: Sql,
  { viewer, status, accountId, after }: SourceFilters,
  limit: number,
): Promise<Page<SourceRow>> {
  const [find, values] =
    accountId !== undefined
      ? [FIND_IDS.account, [accountId, accountId]]
      : viewer !== null
        ? [FIND_IDS.customer, visibleTo(viewer)]
        : [status === 'paused' ? FIND_IDS.paused : FIND_IDS.all, []];
  const found = await sql.query<SourceRow[]>(READ_SOURCES(find), [...values, after, limit + 1]);
  const { rows, next } = cutPage(found, limit);
  const isShown = (it: SourceRow) =>
    (status === undefined || it.status === status) &&
    (viewer === null || it.customer_id === viewer.customerId);
  return { rows: rows.filter(isShown), next };
}

/** Index: the primary key. */
const FIND_ONE_ID = 'SELECT id FROM sources WHERE id = ?';

/**
 * Reads a source.
 * @param viewer null: an operator, who also sees deleted sources.
 * @throws {Problem} 404 when it does not exist, or the viewer may not see it.
 */
export async function findSource(sql: Sql, viewer: SourceViewer | null, id: string): Promise<SourceRow> {
  const [found] =
    viewer === null
      ? await sql.query<SourceRow[]>(READ_SOURCES(FIND_ONE_ID), [id])
      : await sql.query<SourceRow[]>(READ_SOURCES(`${FIND_ONE_ID} AND ${IS_VISIBLE}`), [
          id,
          ...visibleTo(viewer),
        ]);
  if (found === undefined) throw notFound('source');
  return found;
}

/** A row of `source_runs`. */
export interface RunRow {
  id: string;
  status: 'running' | 'done' | 'failed';
  started_at: Date;
  finished_at: Date | null;
  files: number;
  error: string | null;
}

/** The most imports that are shown for each run. */
export const MAX_RUN_IMPORTS = 100;

export const RUN_STATUSES = ['running', 'done', 'failed'] as const;

export interface RunFilters {
  status?: (typeof RUN_STATUSES)[number] | undefined;
  /** UTC, as MySQL has it. */
  since?: string | undefined;
  until?: string | undefined;
  /** Only runs below this id. */
  before: string;
}

/** Index: source_runs_page. At most 1,000 runs of a source are kept, so filters may leave out many rows. */
const READ_RUNS = (conditions: readonly string[]) => `
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
  ].filter(([, value]) => value !== undefined);
  return sql.query(READ_RUNS(given.map(([condition]) => condition)), [
    sourceId,
    ...given.map(([, value]) => value),
    before,
    limit,
  ]);
}

/** Index: source_files_run. */
const READ_IMPORTS_OF_RUNS = `
  SELECT runId, id, file FROM (
    SELECT run_id AS runId, import_id AS id, name AS file, ROW_NUMBER() OVER (PARTITION BY run_id ORDER BY id) AS place
    FROM source_files WHERE run_id IN (?) AND import_id IS NOT NULL) f
  WHERE place <= ${MAX_RUN_IMPORTS} ORDER BY runId, place`;

/** Reads the imports of runs, in the order in which their files were collected. @returns the imports by run. */
export async function findRunImports(
  sql: Sql,
  runIds: readonly string[],
): Promise<Map<string, { id: number; file: string }[]>> {
  const imports = new Map<string, { id: number; file: string }[]>();
  if (runIds.length === 0) return imports;
  const rows = await sql.query<{ runId: string; id: string; file: string }[]>(READ_IMPORTS_OF_RUNS, [runIds]);
  for (const { runId, id, file } of rows)
    imports.set(runId, [...(imports.get(runId) ?? []), { id: Number(id), file }]);
  return imports;
}
