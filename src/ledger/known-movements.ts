import type { Sql } from '../database/transaction.ts';
import type { Movement } from './movement.ts';

/** Reads stored movements, by the unique ids of rows or by their own ids. */

/** A movement as it is stored. */
export type StoredMovement = Movement & { id: string };

/** A row with the unique id that it is stored under. */
export interface IdentifiedRow {
  line: number;
  uniqueId: string;
  movement: Movement;
  /** Its id was made for it, and no movement has that id. */
  isNew?: boolean;
}

const COLUMNS = `
  id, account_id, CONVERT(unique_id USING utf8mb4) AS unique_id, name, dc, code, amount, balance, description, date_issue, opponent_id,
  opponent_iban`;
/** Index: transactions_unique_id. */
const READ = `
  SELECT ${COLUMNS} FROM transactions FORCE INDEX (transactions_unique_id) WHERE (account_id, unique_id) IN (?)`;
/** Indexes: the primary key, and withdrawn_transactions_id. */
const READ_BY_ID = ['transactions', 'withdrawn_transactions']
  .map((table) => `SELECT ${COLUMNS} FROM ${table} WHERE id IN (?)`)
  .join(' UNION ALL ');

export const keyOf = ({ account_id }: { account_id: string }, uniqueId: string) =>
  `${account_id} ${uniqueId}`;

/** Finds the stored movement with the account and unique id of a row. */
export type FindStored = (row: IdentifiedRow) => StoredMovement | undefined;

/** Reads the stored movements of rows. @returns a function that finds them, for these rows only. */
export async function readStored(sql: Sql, rows: readonly IdentifiedRow[]): Promise<FindStored> {
  const keys = new Map(
    rows.map(({ movement, uniqueId }) => [keyOf(movement, uniqueId), [movement.account_id, uniqueId]]),
  );
  const found = await sql.query<(StoredMovement & { unique_id: string })[]>(READ, [[...keys.values()]]);
  const stored = new Map(found.map((it) => [keyOf(it, it.unique_id), it]));
  return ({ movement, uniqueId }) => stored.get(keyOf(movement, uniqueId));
}

/** @returns movements by their ids, also withdrawn ones. */
export async function readStoredById(
  sql: Sql,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredMovement>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<StoredMovement[]>(READ_BY_ID, [ids, ids]);
  return new Map(rows.map((row) => [row.id, row]));
}
