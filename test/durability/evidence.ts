import type { RowDataPacket } from 'mysql2/promise';
import type { FeedCount, RecordedDelivery, StoredMovement } from './checker.ts';
import type { Installation } from './service.ts';

/** Imports that count other movements than are stored for them, and movements of an import that does not exist. */
const MISCOUNTED = `
  SELECT i.id, i.inserted, t.found FROM imports i
  LEFT JOIN (SELECT import_id, customer_id, COUNT(*) AS found FROM transactions GROUP BY import_id, customer_id) t
    ON t.import_id = i.id AND t.customer_id = i.customer_id
  WHERE COALESCE(t.found, 0) <> i.inserted
  UNION ALL SELECT t.import_id, NULL, COUNT(*) FROM transactions t
  WHERE NOT EXISTS (SELECT 1 FROM imports i WHERE i.id = t.import_id AND i.customer_id = t.customer_id) GROUP BY t.import_id`;

/** Reads all movements. */
export async function readStored(sql: Installation['sql']): Promise<StoredMovement[]> {
  const [stored] = await sql.query<(RowDataPacket & StoredMovement)[]>(
    `SELECT CAST(id AS CHAR) AS id, CAST(customer_id AS CHAR) AS customerId, CAST(account_id AS CHAR) AS accountId, dc,
       CONVERT(unique_id USING utf8mb4) AS uniqueId, SUBSTRING_INDEX(description, ' ', 1) AS name FROM transactions`,
  );
  return stored;
}

/**
 * Reads what MySQL holds at the end of a run, with ids as strings.
 * @param oldImports imports that may have been removed, or have lost movements.
 */
export async function readTables(
  { sql }: Pick<Installation, 'sql'>,
  oldImports: readonly string[],
): Promise<{
  stored: StoredMovement[];
  recorded: RecordedDelivery[];
  miscounted: string[];
  feedCounts: FeedCount[];
}> {
  const stored = await readStored(sql);
  const [recorded] = await sql.query<(RowDataPacket & RecordedDelivery)[]>(
    `SELECT CAST(webhook_id AS CHAR) AS webhookId, CAST(transaction_id AS CHAR) AS transactionId, status FROM deliveries`,
  );
  const [miscounted] = await sql.query<RowDataPacket[]>(MISCOUNTED);
  const [feedCounts] = await sql.query<(RowDataPacket & FeedCount)[]>(
    `SELECT CAST(k.webhook_id AS CHAR) AS webhookId, k.delivered_count AS delivered, k.failed_count AS failed
     FROM webhook_cursors k JOIN webhooks w ON w.id = k.webhook_id WHERE w.delivery = 'pull'`,
  );
  const counted = miscounted.filter(({ id }) => !oldImports.includes(String(id)));
  return { stored, recorded, feedCounts, miscounted: counted.map((row) => JSON.stringify(row)) };
}
