import type { RowDataPacket } from 'mysql2/promise';
import type { RecordedDelivery, StoredMovement } from './checker.ts';
import type { Installation } from './service.ts';

/** Reads what MySQL holds at the end of a run, with ids as strings. */
export async function readTables({
  sql,
}: Pick<Installation, 'sql'>): Promise<{ stored: StoredMovement[]; recorded: RecordedDelivery[] }> {
  const [stored] = await sql.query<(RowDataPacket & StoredMovement)[]>(
    `SELECT CAST(id AS CHAR) AS id, CAST(customer_id AS CHAR) AS customerId, CAST(account_id AS CHAR) AS accountId, dc,
       CONVERT(unique_id USING utf8mb4) AS uniqueId, SUBSTRING_INDEX(description, ' ', 1) AS name FROM transactions`,
  );
  const [recorded] = await sql.query<(RowDataPacket & RecordedDelivery)[]>(
    `SELECT CAST(webhook_id AS CHAR) AS webhookId, CAST(transaction_id AS CHAR) AS transactionId, status FROM deliveries`,
  );
  return { stored, recorded };
}
