import type { RowDataPacket } from 'mysql2/promise';
import type {
  EndedWithdrawal,
  Evidence,
  ListedMovement,
  Listing,
  RecordedDelivery,
  StoredMovement,
  WebhookCount,
  WithdrawnMovement,
} from './checker.ts';
import type { Customer } from './customers.ts';
import type { Installation } from './service.ts';

/** Imports that count other movements than are stored for them, and movements of an import that does not exist. */
const MISCOUNTED = `
  SELECT i.id, i.inserted, t.found FROM imports i
  LEFT JOIN (
    SELECT import_id, customer_id, COUNT(*) AS found
    FROM (SELECT import_id, customer_id FROM transactions
      UNION ALL SELECT import_id, customer_id FROM withdrawn_transactions) b
    GROUP BY import_id, customer_id) t
    ON t.import_id = i.id AND t.customer_id = i.customer_id
  WHERE COALESCE(t.found, 0) <> i.inserted
  UNION ALL SELECT t.import_id, NULL, COUNT(*) FROM transactions t
  WHERE NOT EXISTS (SELECT 1 FROM imports i WHERE i.id = t.import_id AND i.customer_id = t.customer_id) GROUP BY t.import_id`;

/** Withdrawals that count other movements than they have withdrawn, or other ones than their import had stored. */
const WITHDRAWALS_THAT_MISCOUNT = `
  SELECT w.id, w.withdrawn, w.kept, i.inserted, COALESCE(t.found, 0) AS found
  FROM withdrawals w JOIN imports i ON i.id = w.import_id
  LEFT JOIN (SELECT withdrawal_id, COUNT(*) AS found FROM withdrawn_transactions GROUP BY withdrawal_id) t ON t.withdrawal_id = w.id
  WHERE w.withdrawn <> COALESCE(t.found, 0)
    OR (w.statement_id = 0 AND w.withdrawn + w.kept < i.inserted)
    OR (w.statement_id = 0 AND i.duplicates = 0 AND w.withdrawn + w.kept <> i.inserted)`;

/** Movements of withdrawn imports and statements that nothing else has. */
const KEPT_WITHOUT_CAUSE = `
  SELECT t.id FROM transactions t LEFT JOIN transaction_details d ON d.transaction_id = t.id
  JOIN withdrawals w ON w.import_id = t.import_id AND w.status = 'done' AND (w.statement_id = 0 OR w.statement_id = d.statement_id)
  WHERE NOT EXISTS (
      SELECT 1 FROM import_duplicates u JOIN imports i ON i.id = u.import_id AND i.format IN ('json', 'ndjson')
      LEFT JOIN withdrawals o ON o.import_id = i.id AND o.statement_id = 0
      WHERE u.transaction_id = t.id AND u.import_id <> t.import_id AND o.id IS NULL)
    AND NOT EXISTS (
      SELECT 1 FROM repeated_entries r JOIN statements s ON s.id = r.statement_id
      WHERE r.transaction_id = t.id AND s.id <> COALESCE(d.statement_id, 0))`;

/** Segments of the listing, and the movements after the last one, that are other ones than are stored. */
const SEGMENTS_THAT_MISCOUNT = `
  SELECT s.customer_id, s.account_id, s.last_id, s.movements, COUNT(t.id) AS found FROM transaction_segments s
  LEFT JOIN transactions t ON t.customer_id = s.customer_id AND (s.account_id = 0 OR t.account_id = s.account_id)
    AND t.id <= s.last_id AND t.id > COALESCE((SELECT MAX(p.last_id) FROM transaction_segments p
      WHERE p.customer_id = s.customer_id AND p.account_id = 0 AND p.last_id < s.last_id), 0)
  GROUP BY s.customer_id, s.account_id, s.last_id, s.movements HAVING found <> s.movements
  UNION ALL SELECT l.customer_id, NULL, NULL, l.movements - COALESCE(c.movements, 0) AS counted, COUNT(t.id) AS found
  FROM import_locks l LEFT JOIN segment_checkpoints c ON c.customer_id = l.customer_id
  LEFT JOIN transactions t ON t.customer_id = l.customer_id AND t.id > COALESCE(c.last_id, 0)
  GROUP BY l.customer_id, l.movements, c.movements HAVING found <> counted`;

const COLUMNS = `CAST(customer_id AS CHAR) AS customerId, CAST(account_id AS CHAR) AS accountId, dc,
  CONVERT(unique_id USING utf8mb4) AS uniqueId, SUBSTRING_INDEX(description, ' ', 1) AS name`;

/** Reads all movements. */
export async function readStored(sql: Installation['sql']): Promise<StoredMovement[]> {
  const [stored] = await sql.query<(RowDataPacket & StoredMovement)[]>(
    `SELECT CAST(id AS CHAR) AS id, ${COLUMNS} FROM transactions`,
  );
  return stored;
}

type Tables = Pick<
  Evidence,
  | 'stored'
  | 'withdrawn'
  | 'withdrawals'
  | 'recorded'
  | 'counts'
  | 'miscounted'
  | 'miscountedWithdrawals'
  | 'miscountedSegments'
  | 'keptWithoutCause'
>;

/**
 * Reads what MySQL holds at the end of a run, with ids as strings.
 * @param oldImports imports that may have been removed, or have lost movements.
 */
export async function readTables(
  { sql }: Pick<Installation, 'sql'>,
  oldImports: readonly string[],
): Promise<Tables> {
  const readAll = async <Row>(statement: string): Promise<Row[]> =>
    (await sql.query<(RowDataPacket & Row)[]>(statement))[0];
  const readCases = async (statement: string): Promise<string[]> =>
    (await readAll<object>(statement)).map((row) => JSON.stringify(row));
  const miscounted = await readAll<{ id: number }>(MISCOUNTED);
  return {
    stored: await readStored(sql),
    withdrawn: await readAll<WithdrawnMovement>(
      `SELECT CAST(id AS CHAR) AS id, ${COLUMNS}, CAST(event_id AS CHAR) AS eventId, CAST(withdrawal_id AS CHAR) AS withdrawalId
       FROM withdrawn_transactions`,
    ),
    withdrawals: await readAll<EndedWithdrawal>(
      'SELECT CAST(id AS CHAR) AS id, status, withdrawn, kept FROM withdrawals',
    ),
    recorded: await readAll<RecordedDelivery>(
      `SELECT CAST(webhook_id AS CHAR) AS webhookId, CAST(transaction_id AS CHAR) AS transactionId, status, error FROM deliveries`,
    ),
    counts: await readAll<WebhookCount>(
      `SELECT CAST(c.webhook_id AS CHAR) AS webhookId, b.matched_count AS matched, c.delivered_count AS delivered, c.failed_count AS failed
       FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id`,
    ),
    miscounted: miscounted
      .filter(({ id }) => !oldImports.includes(String(id)))
      .map((row) => JSON.stringify(row)),
    miscountedWithdrawals: await readCases(WITHDRAWALS_THAT_MISCOUNT),
    miscountedSegments: await readCases(SEGMENTS_THAT_MISCOUNT),
    keptWithoutCause: await readCases(KEPT_WITHOUT_CAUSE),
  };
}

/** Reads what the API lists of a customer: all movements, and those that were withdrawn. */
export async function readListing(url: string, { id, apiKey }: Customer): Promise<Listing> {
  const read = async (query: string): Promise<ListedMovement[]> => {
    const rows: { id: number; account_id: number; dc: ListedMovement['dc'] }[] = [];
    for (let path: string | undefined = `/v1/transactions?starts=2000-01-01&per_page=1000${query}`; path; ) {
      const response: Response = await fetch(url + path, { headers: { Authentication: apiKey } });
      rows.push(...((await response.json()) as { transactions: typeof rows }).transactions);
      [, path] = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? [];
    }
    return rows.map((row) => ({
      ...{ id: String(row.id), customerId: id, accountId: String(row.account_id), dc: row.dc },
    }));
  };
  return { customerId: id, stored: await read(''), withdrawn: await read('&withdrawn=only') };
}
