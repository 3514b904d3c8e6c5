import type { Sql } from '../database/transaction.ts';
import type { Movement } from './movement.ts';
import { canonical, isContentId } from './unique-ids.ts';

/** Compares rows with the stored movements that have their unique ids. */

/**
 * Why a row counts as known:
 *
 * - `same`: the row has the unique id and the content of a stored movement, or it came in a statement and has the same reference or
 *   balance as the stored movement.
 * - `changed`: the row has the unique id of a stored movement, but another text or balance; or it came in a statement and has
 *   another day, balance or text than the stored movement.
 * - `assumed`: nothing tells the row apart from a stored movement, but nothing proves that they are the same.
 * - `conflict`: the row has the unique id of a stored movement, but another direction, amount or date.
 */
export const DUPLICATE_REASONS = ['same', 'changed', 'assumed', 'conflict'] as const;
export type DuplicateReason = (typeof DUPLICATE_REASONS)[number];
/** Why a row is listed. `assumed_new`: it was stored, although it may be a stored movement. */
export const LISTED_REASONS = [...DUPLICATE_REASONS, 'assumed_new'] as const;

/** A movement as it is stored. */
export type StoredMovement = Movement & { id: string };

/** The movement that a row was taken for. In a dry run, `stored` is null if that is an earlier row of the same file. */
export interface Known {
  reason: DuplicateReason;
  stored: StoredMovement | null;
}

/** A row with the unique id that it is stored under. */
export interface IdentifiedRow {
  line: number;
  uniqueId: string;
  movement: Movement;
}

const COLUMNS = `
  id, account_id, CONVERT(unique_id USING utf8mb4) AS unique_id, name, dc, code, amount, balance, description, date_issue, opponent_id,
  opponent_iban`;
/** Index: transactions_unique_id. */
const READ = `
  SELECT ${COLUMNS} FROM transactions FORCE INDEX (transactions_unique_id) WHERE (account_id, unique_id) IN (?)`;
/** Index: the primary key. */
const READ_BY_ID = `SELECT ${COLUMNS} FROM transactions WHERE id IN (?)`;

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

/** @returns stored movements by their ids. */
export async function readStoredById(
  sql: Sql,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredMovement>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<StoredMovement[]>(READ_BY_ID, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Says how a row differs from the movement that has its unique id. */
export function compareWith({ movement, uniqueId }: IdentifiedRow, stored: StoredMovement): DuplicateReason {
  if (versionOf(movement) !== versionOf(stored)) return 'conflict';
  if (isContentId(movement, uniqueId)) return 'assumed';
  return textsOf(movement) === textsOf(stored) ? 'same' : 'changed';
}

type Content = Omit<Movement, 'account_id' | 'unique_id'>;

/** Rows with the same unique id and different versions conflict. */
export const versionOf = ({
  dc,
  amount,
  date_issue,
}: Pick<Movement, 'dc' | 'amount' | 'date_issue'>): string => `${dc} ${canonical(amount)} ${date_issue}`;

export const textsOf = ({ name, code, balance, description, opponent_id, opponent_iban }: Content): string =>
  JSON.stringify([name, code, canonical(balance), description, opponent_id, opponent_iban]);
