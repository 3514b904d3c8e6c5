import type { Sql } from '../database/transaction.ts';
import { type SourceSummary, SUMMARY_COLUMNS } from '../sources/find-source.ts';

/** Reads the sources of all customers, as the console shows them. */

/** Reads only sources in trouble. Index: sources_status. */
const IN_TROUBLE = `
  SELECT ${SUMMARY_COLUMNS} FROM sources s FORCE INDEX (sources_status) STRAIGHT_JOIN customers u ON u.id = s.customer_id
  WHERE s.status = 'active' AND s.error IS NOT NULL ORDER BY s.consecutive_failures DESC, s.id LIMIT ?`;

const COUNT_TROUBLE = `
  SELECT COUNT(*) AS all_of_them, COALESCE(SUM(consecutive_failures > 0), 0) AS failing
  FROM sources FORCE INDEX (sources_status) WHERE status = 'active' AND error IS NOT NULL`;

/** Active sources with an error. Sources whose runs fail come first, the most failures on top. Sources with a wrong file follow. */
export const findSourcesInTrouble = (sql: Sql, most: number): Promise<SourceSummary[]> =>
  sql.query(IN_TROUBLE, [most]);

export interface SourcesInTrouble {
  /** Sources whose last runs failed. */
  failing: number;
  /** Sources that were reached, but had a file that could not be imported completely. */
  withWrongFile: number;
}

export async function countSourcesInTrouble(sql: Sql): Promise<SourcesInTrouble> {
  const [row] = await sql.query<{ all_of_them: string; failing: string }[]>(COUNT_TROUBLE);
  const failing = Number(row?.failing);
  return { failing, withWrongFile: Number(row?.all_of_them) - failing };
}

/** Reads the runs and files of one source, as the console shows them. */

/** Index of both parts: source_runs_page. */
const FAILING_SINCE = `
  SELECT r.started_at FROM source_runs r FORCE INDEX (source_runs_page)
  WHERE r.source_id = ? AND r.status = 'failed' AND r.id > COALESCE(
    (SELECT MAX(d.id) FROM source_runs d FORCE INDEX (source_runs_page) WHERE d.source_id = ? AND d.status = 'done'), 0)
  ORDER BY r.id LIMIT 1`;

/** When the first failed run after the last `done` run began. null: no run has failed since. */
export async function readFailingSince(sql: Sql, sourceId: string): Promise<Date | null> {
  const [run] = await sql.query<{ started_at: Date }[]>(FAILING_SINCE, [sourceId, sourceId]);
  return run?.started_at ?? null;
}

export interface WrongFile {
  name: string;
  run_id: string;
  /** null: the file was refused without an import. */
  import_id: string | null;
  created_at: Date;
}

/** Index: source_files_outcome. */
const WRONG_FILES = `
  SELECT name, run_id, import_id, created_at FROM source_files FORCE INDEX (source_files_outcome)
  WHERE outcome = 'failed' AND source_id = ? ORDER BY id DESC LIMIT ?`;

/** The newest files of a source that could not be imported completely. */
export const readWrongFiles = (sql: Sql, sourceId: string, most: number): Promise<WrongFile[]> =>
  sql.query(WRONG_FILES, [sourceId, most]);
