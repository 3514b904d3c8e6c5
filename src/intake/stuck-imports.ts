import type { DataSource } from 'typeorm';
import { inTransaction } from '../database/transaction.ts';
import { findRecorded, recordEvent } from '../delivery/operational-event.ts';

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
