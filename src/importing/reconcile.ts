import type { Sql } from '../database/transaction.ts';

const PAGE = 1_000;

const UNFINISHED = `
  SELECT id FROM imports WHERE status IN ('queued', 'running') AND id > ? ORDER BY id LIMIT ${PAGE}`;

/**
 * Queues every unfinished import. An import that has a job already keeps it, because the job's id contains the import's id.
 * @returns the number of unfinished imports.
 */
export async function reconcileImports(
  sql: Sql,
  queue: (importIds: readonly string[]) => Promise<void>,
): Promise<number> {
  let unfinished = 0;
  for (let after = '0'; ; ) {
    const page = await sql.query<{ id: string }[]>(UNFINISHED, [after]);
    await queue(page.map(({ id }) => id));
    unfinished += page.length;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return unfinished;
    after = last.id;
  }
}
