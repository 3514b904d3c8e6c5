import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { findRecorded, recordEvent } from '../delivery/operational-event.ts';

/**
 * Ends imports as failed, and reports the failure in the same transaction. Keeps their staged parts, so that they can be retried.
 */

/** An import fails after this many runs in a row that stored no chunk, because its process crashed or the run failed. */
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

/** Ends an import that keeps failing, or crashing its process, at the same row. */
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

/** Finds and reports accepted imports that make no progress. */

/**
 * The part of an SQL statement that finds imports that have waited for more than five minutes while nothing of their customer was
 * stored. A large import that makes progress is not stuck, because it stores chunks. Indexes: imports_status, and the primary key
 * of import_locks.
 */
export const STUCK_IMPORTS = `imports i JOIN import_locks l ON l.customer_id = i.customer_id
  WHERE i.status IN ('queued', 'running') AND COALESCE(i.retried_at, i.received_at) < NOW(6) - INTERVAL 5 MINUTE
    AND l.last_date_readed < NOW(6) - INTERVAL 5 MINUTE`;

/** Only the oldest import of each customer, because it holds up the customer's other imports. Index: the primary key of imports. */
const OLDEST = `
  SELECT o.id, o.customer_id, o.source_id, o.format, o.checkpoint, o.received_at, s.imports, s.last_stored
  FROM (SELECT MIN(i.id) AS id, COUNT(*) AS imports, MAX(l.last_date_readed) AS last_stored
    FROM ${STUCK_IMPORTS} GROUP BY i.customer_id) s
  JOIN imports o ON o.id = s.id`;

interface StuckImport {
  id: string;
  customer_id: string;
  source_id: string | null;
  format: string;
  checkpoint: number;
  received_at: Date;
  imports: string | number;
  last_stored: Date;
}

/**
 * Records an `import.stuck` for the oldest stuck import of each customer. Records it again only after something of the customer was
 * stored, or when another import is the oldest.
 */
export async function reportStuckImports(database: DataSource): Promise<void> {
  const stuck = await database.query<StuckImport[]>(OLDEST);
  const recorded = await findRecorded(database, stuck.map(occasionOf));
  for (const it of stuck) {
    const occasion = occasionOf(it);
    if (recorded.has(occasion)) continue;
    const { id, customer_id: customerId, source_id, format, checkpoint, received_at, imports } = it;
    await inTransaction(database, (sql) =>
      recordEvent(sql, {
        type: 'import.stuck',
        customerId,
        occasion,
        data: {
          customer_id: Number(customerId),
          import: {
            id: Number(id),
            format,
            source_id: source_id === null ? null : Number(source_id),
            rows_stored: checkpoint,
          },
          received_at: received_at.toISOString(),
          imports: Number(imports),
        },
      }),
    );
  }
}

const occasionOf = ({ id, last_stored }: StuckImport): string =>
  `import.stuck ${id} ${last_stored.toISOString()}`;
