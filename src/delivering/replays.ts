import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { AT_ONCE } from './due.ts';

/** Rows per transaction: the pump, which writes to the same rows, never waits for long. */
const BATCH = 2_000;

/** How a delivery that can be replayed has ended. What was cancelled stays cancelled. */
export const REPLAYABLE = ['failed', 'delivered'] as const;
export type Replayable = (typeof REPLAYABLE)[number];

const NEWEST = 'SELECT MAX(id) AS id FROM deliveries';

const OF_ACCOUNTS =
  'AND EXISTS (SELECT 1 FROM transactions t WHERE t.id = d.transaction_id AND t.account_id IN (?))';

/** Index: deliveries_due, in the order of ids (due_at is NULL once a delivery has ended). */
const endedAs = (ofAccounts: string) => `
  (SELECT d.id FROM deliveries d
   WHERE d.webhook_id = ? AND d.status = ? AND d.due_at IS NULL AND d.id > ? AND d.id <= ?
     AND d.created_at >= ? AND d.created_at <= COALESCE(?, d.created_at) ${ofAccounts}
   ORDER BY d.id LIMIT ${BATCH})`;

/** Due at once, with the whole schedule before it. `attempts` goes on, since the log is numbered by it. */
export const OWED_AGAIN = `status = 'pending', failures = 0, due_at = ${AT_ONCE}, finished_at = NULL`;

const OWE_AGAIN = `UPDATE deliveries SET ${OWED_AGAIN} WHERE id IN (?) AND status IN (?)`;

export interface ReplayRange {
  webhookId: string;
  /** Both inclusive, on when the notification came to be owed. A string is UTC: `2026-01-31 12:00:00`. */
  since: Date | string;
  until?: Date | string | undefined;
  /** Default: however they have ended. */
  statuses?: readonly Replayable[] | undefined;
  /** Only notifications of these accounts' movements: the webhook may have been for others before. Default: all. */
  accountIds?: 'all' | readonly string[] | undefined;
}

/**
 * Makes ended deliveries of one webhook pending again, oldest first, batch by batch. The caller then wakes the webhook.
 * It goes once through the ids: what is delivered again meanwhile is not replayed a second time.
 * @returns how many deliveries that were.
 */
export async function replay(database: DataSource, range: ReplayRange): Promise<number> {
  const { webhookId, since, until = null, statuses = REPLAYABLE, accountIds = 'all' } = range;
  if (statuses.length === 0 || accountIds.length === 0) return 0;
  const [newest] = await database.query<{ id: string | null }[]>(NEWEST);
  const last = newest?.id ?? '0';

  const ended = endedAs(accountIds === 'all' ? '' : OF_ACCOUNTS);
  const accounts = accountIds === 'all' ? [] : [accountIds];

  const readBatch = (sql: Sql, after: string) =>
    sql.query<{ id: string }[]>(
      `${statuses.map(() => ended).join(' UNION ALL ')} ORDER BY id LIMIT ${BATCH}`,
      statuses.flatMap((status) => [webhookId, status, after, last, since, until, ...accounts]),
    );

  let replayed = 0;
  for (let after = '0'; ; ) {
    const ids = (await readBatch(database, after)).map(({ id }) => id);
    const end = ids.at(-1);
    if (end === undefined) return replayed;
    const { affectedRows } = await inTransaction(database, (sql) =>
      sql.query<WriteResult>(OWE_AGAIN, [ids, statuses]),
    );
    replayed += affectedRows;
    after = end;
  }
}
