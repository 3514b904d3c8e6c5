import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { recordEvent } from '../delivering/events/record-event.ts';

/** Ends imports as failed, and reports it in the same transaction. Their staged parts are kept, so that they can be retried. */

/** An import fails after this many runs in a row that stored no chunk: it crashes its process, or cannot be read. */
export const MAX_CRASHES = 10;

const GIVE_UP = `
  UPDATE imports SET status = 'failed', finished_at = NOW(6), error = CONCAT('Reading on from row ', checkpoint + 1,
    ' has failed ${MAX_CRASHES} times in a row. The rows before it are stored, and what was sent is kept.')
  WHERE id = ? AND status IN ('queued', 'running')`;

const FAIL = `
  UPDATE imports SET status = 'failed', started_at = COALESCE(started_at, NOW(6)), finished_at = NOW(6), received = checkpoint,
    error = CONCAT(?, CASE checkpoint WHEN 0 THEN '' WHEN 1 THEN ' The row before that is stored.'
      ELSE CONCAT(' The ', checkpoint, ' rows before that are stored.') END)
  WHERE id = ? AND status IN ('queued', 'running')`;

const READ = 'SELECT id, customer_id, source_id, format, checkpoint, error FROM imports WHERE id = ?';

interface FailedImport {
  id: string;
  customer_id: string;
  source_id: string | null;
  format: string;
  checkpoint: number;
  error: string | null;
}

/** Ends an import that keeps crashing its process, or failing, at the same row. */
export const giveUp = (database: DataSource, importId: string): Promise<void> =>
  inTransaction(database, (sql) => fail(sql, importId, GIVE_UP, [importId]));

/** Ends an import whose file cannot be read. @param reason a sentence. */
export const failUnreadable = (database: DataSource, importId: string, reason: string): Promise<void> =>
  inTransaction(database, (sql) => fail(sql, importId, FAIL, [reason, importId]));

async function fail(sql: Sql, importId: string, update: string, values: unknown[]): Promise<void> {
  const { affectedRows } = await sql.query<WriteResult>(update, values);
  if (affectedRows !== 1) return;
  const [failed] = await sql.query<FailedImport[]>(READ, [importId]);
  if (failed === undefined) return;
  const { id, customer_id, source_id, format, checkpoint, error } = failed;
  await recordEvent(sql, {
    type: 'import.failed',
    customerId: customer_id,
    data: {
      customer_id: Number(customer_id),
      import: {
        id: Number(id),
        format,
        source_id: source_id === null ? null : Number(source_id),
        rows_stored: checkpoint,
        error,
      },
    },
  });
}
