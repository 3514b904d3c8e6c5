import type { Sql } from '../database/transaction.ts';
import { type Caller, maySee } from '../http/environment.ts';
import { type DeliveryRange, type Found, MOST_LOOKED_AT, scan } from './scan.ts';
import type { ListedStatus } from './view.ts';

interface Entry {
  id: string;
  /** Read only if the caller may not see all accounts. */
  account_id: string | null;
  kept: number | string;
}

const WITH_ACCOUNT = (limited: boolean, entries: string) =>
  limited
    ? `SELECT it.id, t.account_id, it.kept FROM (${entries}) it LEFT JOIN transactions t ON t.id = it.id ORDER BY it.id DESC`
    : entries;

/** Index: the primary key. */
const DELIVERIES = `
  SELECT transaction_id AS id, NULL AS account_id, (? IS NULL OR status = ?) AS kept
  FROM deliveries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id > ? AND transaction_id < ? ORDER BY transaction_id DESC LIMIT ?`;

/** Index: retries_due, which has the dead letters in the order of their movements. */
const DEAD_LETTERS = `
  SELECT transaction_id AS id, NULL AS account_id, 1 AS kept FROM retries FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NULL AND transaction_id > ? AND transaction_id < ? ORDER BY transaction_id DESC LIMIT ?`;

/** Index: the primary key. */
const RETRIES = `
  SELECT transaction_id AS id, NULL AS account_id, due_at IS NOT NULL AS kept FROM retries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id > ? AND transaction_id < ? ORDER BY transaction_id DESC LIMIT ?`;

/** Finds deliveries that had an attempt, in the tables that have a row for each of them. @param status null: all. */
export function findAttempted(
  sql: Sql,
  caller: Caller,
  { webhookId, status, after, before, perPage }: DeliveryRange & { status: ListedStatus | null },
): Promise<Found> {
  const limited = caller.accountIds !== 'all';
  const [statement, values] = sourceOf(status);
  const read = (from: string, limit: number) =>
    sql.query<Entry[]>(WITH_ACCOUNT(limited, statement), [...values, webhookId, after, from, limit]);
  return scan({ before, perPage, budget: { entries: MOST_LOOKED_AT } }, read, (entries) =>
    entries.filter(
      ({ account_id, kept }) =>
        Number(kept) === 1 && (!limited || (account_id !== null && maySee(caller, account_id))),
    ),
  );
}

function sourceOf(status: ListedStatus | null): [statement: string, values: unknown[]] {
  switch (status) {
    case null:
    case 'delivered':
      return [DELIVERIES, [status, status]];
    case 'failed':
      return [DEAD_LETTERS, []];
    case 'pending':
      return [RETRIES, []];
  }
}
