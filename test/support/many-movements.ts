import type { DataSource } from 'typeorm';
import { storeMovements } from './stored.ts';

/** A search looks at so many movements for one page (docs/listing-movements.md). */
export const LOOKED_AT = 200_000;

const PART = 10_000;

/** Stores as many movements of 1.00 as a search looks at for one page, quickly. The customer must have imported something before. */
export async function storePageOfMovements(
  database: DataSource,
  owner: { customerId: string; accountId: string },
): Promise<void> {
  const part = Array.from({ length: PART }, () => ({}));
  for (let stored = 0; stored < LOOKED_AT; stored += PART) await storeMovements(database, owner, part);
}
