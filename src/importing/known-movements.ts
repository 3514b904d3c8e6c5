import { createHash } from 'node:crypto';
import type { Sql } from '../database/transaction.ts';
import type { Batch } from './store.ts';
import { createTally } from './tally.ts';

/** Index: transactions_unique_id. */
const STORED = `
  SELECT account_id, unique_id FROM transactions FORCE INDEX (transactions_unique_id)
  WHERE (account_id, unique_id) IN (?)`;

/**
 * Creates a function that says which movements of a file are known: stored already, or a repetition of an earlier one in the file.
 * Call it for each chunk, in the order of the file.
 */
export function createKnownMovements(
  sql: Sql,
): (movements: Batch['movements']) => Promise<ReadonlyArray<boolean>> {
  const countIn = createTally();
  return async (movements) => {
    if (movements.length === 0) return [];
    const keys = movements.map(({ uniqueId, movement }) => [movement.account_id, uniqueId] as const);
    const rows = await sql.query<{ account_id: string; unique_id: Buffer }[]>(STORED, [keys]);
    const stored = new Set(rows.map(({ account_id, unique_id }) => `${account_id} ${unique_id.toString()}`));
    return keys.map((key) => {
      const text = key.join(' ');
      const isRepeated = countIn(createHash('sha256').update(text).digest()) > 1;
      return isRepeated || stored.has(text);
    });
  };
}
