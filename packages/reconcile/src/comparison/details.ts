import type { Batch, StatementRow } from '../statement.ts';

/** Details of a batch that are stored, or that an earlier statement of the file has. */
export interface Details {
  batch: Batch;
  /** Of their statement. */
  format: string;
  /** With their movements, in the order of their statement. */
  rows: readonly { movement: number; row: StatementRow }[];
}

/** Finds the details that follow each other and together are their batch. @returns the positions of each batch. */
export function findBatches(rows: readonly StatementRow[]): number[][] {
  const found: number[][] = [];
  let positions: number[] = [];
  let sum = 0n;
  for (const [position, { batch, day, amount }] of rows.entries()) {
    const first = rows[positions[0] ?? -1];
    const isNext = first?.batch?.reference === batch?.reference && first?.batch?.total === batch?.total;
    if (!isNext || first?.day !== day) [positions, sum] = [[], 0n];
    if (batch === undefined) continue;
    positions.push(position);
    sum += amount;
    if (sum !== batch.total || positions.length < 2) continue;
    found.push(positions);
    [positions, sum] = [[], 0n];
  }
  return found;
}
