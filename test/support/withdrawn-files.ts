import type { DataSource } from 'typeorm';
import { fingerprintOf } from '../../src/sources/runs/source-files.ts';

/** Stores a file that a source has collected, with its withdrawn import. @returns the id of the import. */
export async function insertWithdrawnFile(
  database: Pick<DataSource, 'query'>,
  sourceId: string,
): Promise<string> {
  const insert = async (statement: string, values: unknown[]) =>
    String((await database.query<{ insertId: number }>(statement, values)).insertId);
  const [source] = await database.query<{ customerId: string; revision: number }[]>(
    'SELECT customer_id AS customerId, revision FROM sources WHERE id = ?',
    [sourceId],
  );
  if (source === undefined) throw new Error(`there is no source ${sourceId}`);
  const { customerId, revision } = source;
  const importId = await insert(
    "INSERT INTO imports (customer_id, source_id, format, status, finished_at) VALUES (?, ?, 'auto', 'done', NOW(6))",
    [customerId, sourceId],
  );
  await database.query(
    "INSERT INTO withdrawals (customer_id, import_id, statement_id, reason, status, finished_at) VALUES (?, ?, 0, 'wrong', 'done', NOW(6))",
    [customerId, importId],
  );
  const runId = await insert(
    "INSERT INTO source_runs (source_id, customer_id, status) VALUES (?, ?, 'done')",
    [sourceId, customerId],
  );
  const file = { name: `${importId}.sta`, version: '1' };
  const fingerprint = fingerprintOf({ revision }, file);
  await database.query(
    "INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version, import_id, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, 'done')",
    [sourceId, customerId, runId, fingerprint, file.name, file.version, importId],
  );
  return importId;
}
