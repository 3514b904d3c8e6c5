import type { Retention } from '../../../src/platform/config.ts';
import { removeOld } from '../../../src/upkeep/retention/retention.ts';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';
import type { TestService } from '../../support/service.ts';

/** Rows that support/stored.ts writes were stored, and attempted, more than 90 days before. */
export const NOW = new Date('2026-06-01T00:00:00Z');
/** Less than 90 days before. */
export const YOUNG = '2026-05-01 12:00:00';

export const FOREVER: Retention = { deliveries: null, attempts: null, imports: null, movements: null };

/** Removes what is old at this moment. Default: deliveries after 90 days, and nothing else. */
export const removeAt = (
  { runtime }: TestService,
  fields: Partial<Retention> = { deliveries: 90 },
  now = NOW,
) =>
  removeOld({
    database: runtime.database,
    retention: { ...FOREVER, ...fields },
    steps: createSteps({ pauses: false }),
    now,
  });

/** The rows of a customer in these tables, counted. */
export async function countRows(
  { runtime }: TestService,
  customerId: string,
  tables: readonly string[],
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const column = table === 'customers' ? 'id' : 'customer_id';
    const rows = await runtime.database.query<unknown[]>(`SELECT 1 FROM ${table} WHERE ${column} = ?`, [
      customerId,
    ]);
    counts[table] = rows.length;
  }
  return counts;
}
